// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/engine/engine.h"

#include <QImage>
#include <QObject>
#include <QString>
#include <QStringList>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace attn::ui {

/// A pass at a higher resolution that starts from the first one's picture.
struct SecondPass {
  int width = 256;
  int height = 256;
  int steps = 10;
  double strength = 0.6;       ///< share of the noise that is put back, over 0 to 1
  bool through_image = false;  ///< enlarged as a decoded image; false: as a latent
  friend bool operator==(const SecondPass&, const SecondPass&) = default;
};

/// What the bundled model is asked to draw.
struct PictureRequest {
  QString prompt;
  QString negative_prompt;
  std::uint64_t seed = 0;
  int width = 128;
  int height = 128;
  int steps = 20;
  double guidance = 3.0;
  std::optional<SecondPass> second;
  DType dtype = DType::float32;  ///< of the attention tensors
  bool trimmed_text = false;     ///< a forward for each prompt without a mask; false: one padded forward for both
  bool step_hook = false;        ///< steps are counted by a hook before each forward; false: by a callback
  bool compiled = false;         ///< routes are kept per call site until the chain is rebuilt
  friend bool operator==(const PictureRequest&, const PictureRequest&) = default;
};

/// A picture and everything that made it.
struct MadePicture {
  QImage image;
  PictureRequest request;
  QString target;                                             ///< name of the machine that the chain was built for
  std::vector<std::pair<std::string, OptionValue>> settings;  ///< of the chain
  double seconds = 0.0;                                       ///< of the whole generation; 0: read from a file
  double seconds_per_step = 0.0;
  [[nodiscard]] bool is_there() const noexcept { return !image.isNull(); }
};

/// Where a generation is.
struct PreviewFrame {
  MadePicture made;  ///< the image as the model expects it now; the picture itself once `finished`
  bool finished = false;
  int pass = 0;   ///< 1: the high-resolution one
  int step = 0;   ///< steps of this pass that are done
  int steps = 0;  ///< of this pass
  double step_seconds = 0.0;
  double elapsed_seconds = 0.0;
  std::optional<double> seconds_left;
};

/// How far the picture is from the baseline.
struct PictureComparison {
  QString problem;    ///< a sentence where there are no numbers
  double psnr = 0.0;  ///< decibels; infinite for equal pictures
  double ssim = 0.0;
  int largest = 0;    ///< of a channel's differences
  QImage difference;  ///< absolute, times `gain`
  int gain = 1;
  QStringList changes;  ///< what was set differently: "steps: 20 → 10"
  const QObject* asker = nullptr;
};

/// The result of writing or reading a picture's file. `error` is a sentence; then the rest is empty.
struct SavedPicture {
  QString path;
  QString error;
};
struct OpenedPicture {
  QString path;
  QString error;
  MadePicture made;
};

/// The bundled model as the window sees it. A generation itself is a job like any other (RunRequest::picture). Files
/// and comparisons are worked on off the GUI thread; every signal arrives on it.
class PreviewService : public QObject {
  Q_OBJECT

 public:
  using QObject::QObject;
  /// Why the model cannot draw: a sentence. Empty when it can, as far as one can tell without its weights.
  [[nodiscard]] virtual QString missing() const = 0;
  /// The words of prompts, sorted; none when the model is missing.
  [[nodiscard]] virtual const QStringList& words() const = 0;
  /// What is wrong with a prompt: a sentence, or nothing.
  [[nodiscard]] virtual QString prompt_problem(const QString& prompt) const = 0;
  /// The model's own defaults.
  [[nodiscard]] virtual PictureRequest defaults() const = 0;
  /// The newest frame of the running or last generation; no image before the first.
  [[nodiscard]] virtual PreviewFrame frame() const = 0;

  virtual void save(const QString& path, const MadePicture& made) = 0;
  /// Reads the picture and what made it; changes nothing.
  virtual void open(const QString& path) = 0;
  /// A newer comparison replaces an older one of the same asker that is not answered yet.
  virtual void compare(const MadePicture& baseline, const MadePicture& picture, const QObject* asker) = 0;

 signals:
  /// frame() is another one. Frames that come while the window is busy with one are one piece of news.
  void frame_changed();
  void saved(const attn::ui::SavedPicture& result);
  void opened(const attn::ui::OpenedPicture& result);
  void compared(const attn::ui::PictureComparison& comparison);
};

}  // namespace attn::ui
