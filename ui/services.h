// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/engine/engine.h"
#include "trace/calls/call_log.h"
#include "trace/routes/route_table.h"
#include "ui/export/export_service.h"
#include "ui/preview/preview_service.h"

#include <QObject>
#include <QString>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace attn::ui {

/// One input of a model's profile, as a form shows it.
struct ModelInput {
  QString key;    ///< "height"
  QString label;  ///< "Height"
  QString unit;   ///< "px"; empty when it has none
  QString help;
  double value = 0.0;    ///< the profile's default
  double minimum = 0.0;  ///< smallest legal value
  bool whole = true;
};

/// A model that can be run.
struct ModelInfo {
  QString id;      ///< "flux.1-dev"
  QString name;    ///< "FLUX.1 dev"
  QString medium;  ///< "image", "video"
  std::vector<ModelInput> inputs;
  bool draws = false;  ///< the bundled model: takes a PictureRequest instead of inputs, and makes a picture
};

/// How much of a run is computed.
enum class Work {
  planned,
  representatives,
  all,
  compiled  ///< every call; routes are chosen once per call site, and a GPU records a forward and runs it as one
};
/// Every call is computed.
[[nodiscard]] constexpr bool computes_all(Work work) noexcept { return work == Work::all || work == Work::compiled; }

struct RunRequest {
  QString model;
  std::map<QString, double> inputs;
  Work work = Work::planned;
  std::optional<PictureRequest> picture;  ///< for a model that draws
  QString
      tensors{};  ///< a safetensors file whose tensors make the one call, instead of a model; which is its name then
};

struct RunProgress {
  qint64 calls_done = 0;
  qint64 calls_total = 0;
  Role role = Role::none;
  int step = 0;
  int steps = 0;
  double elapsed_seconds = 0.0;
  std::optional<double> seconds_left;
  QString noun = QStringLiteral("call");  ///< what is counted
};

struct RunEnd {
  enum class Outcome { finished, stopped, failed };
  Outcome outcome = Outcome::finished;
  QString error;  ///< for failed: a sentence
  double seconds = 0.0;
};

/// Jobs as the window sees them. One runs at a time. Every signal arrives on the GUI thread.
class JobControl : public QObject {
  Q_OBJECT

 public:
  using QObject::QObject;
  [[nodiscard]] virtual const std::vector<ModelInfo>& models() const = 0;
  /// Returns at once; the job has a thread of its own. Error: a sentence for the person who pressed Run.
  [[nodiscard]] virtual Expected<void> run(const RunRequest& request) = 0;
  /// Asks the running job to stop; ended() follows.
  virtual void stop() = 0;
  [[nodiscard]] virtual bool running() const = 0;

  /// Backends by name of which one must serve every call of the denoiser: run() refuses a job that would fall back, as
  /// `--require transformer=NAME` does. Empty: every fallback is allowed.
  [[nodiscard]] const std::vector<std::string>& required() const noexcept { return required_; }
  void require(std::vector<std::string> backends) {
    if (backends == required_) return;
    required_ = std::move(backends);
    emit required_changed();
  }

 signals:
  void required_changed();
  void started(const QString& title);
  void progressed(const attn::ui::RunProgress& progress);
  void ended(const attn::ui::RunEnd& end);

 private:
  std::vector<std::string> required_;
};

/// What the router did, as it becomes known. changed() arrives on the GUI thread, at most 60 times a second.
class TraceSource : public QObject {
  Q_OBJECT

 public:
  using QObject::QObject;
  [[nodiscard]] virtual trace::TraceSnapshot snapshot() const = 0;
  /// The single calls of the run; a cheap view. A source that has none gives an empty one.
  [[nodiscard]] virtual trace::CallView calls() const { return {}; }

 signals:
  void changed();
};

/// The machines that a chain can be built for.
class TargetList {
 public:
  TargetList() = default;
  TargetList(const TargetList&) = delete;
  TargetList& operator=(const TargetList&) = delete;
  virtual ~TargetList() = default;
  [[nodiscard]] virtual const std::vector<Target>& targets() const = 0;
};

class ErrorService;
class LeversService;
class LogFeed;
class PlatformService;
class PolicyService;
class PresetService;
class SparseService;
class WorkspaceService;

/// Everything that the window needs. The referred objects outlive it.
struct Services {
  Engine& engine;
  JobControl& jobs;
  TraceSource& trace;
  TargetList& targets;
  ExportService& exports;
  LogFeed& log;
  SparseService& sparse;
  PreviewService& pictures;
  PolicyService& policy;
  PlatformService& platform;
  LeversService& levers;
  PresetService& presets;
  WorkspaceService& workspace;
  ErrorService& errors;
};

}  // namespace attn::ui
