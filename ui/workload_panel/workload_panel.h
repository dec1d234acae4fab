// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/services.h"
#include "ui/theme/theme.h"

#include <QWidget>
#include <vector>

class QBoxLayout;
class QComboBox;
class QDoubleSpinBox;
class QGridLayout;
class QHBoxLayout;
class QLabel;
class QProgressBar;
class QPushButton;
class QSettings;
class QToolButton;

namespace attn::ui {

class ElidedLabel;
class FlowLayout;
class PanelTitle;
class PictureForm;

/// Chooses and runs a job. The panel holds the model's inputs and the progress; header() is the row with Run, Stop,
/// the model and how much is computed, for the tool bar.
class WorkloadPanel final : public QWidget {
  Q_OBJECT

 public:
  WorkloadPanel(JobControl& jobs, const PreviewService& pictures, const Theme& theme, QWidget* parent = nullptr);

  [[nodiscard]] QWidget* header() noexcept { return header_; }
  void run();
  /// In a small window: without its title, what is said beside the progress.
  void set_compact(bool compact);
  /// Runs the one call whose tensors a safetensors file holds.
  void run_tensors(const QString& path);
  void stop();
  /// A sentence about something that could not be started.
  void say_problem(const QString& sentence) { say(sentence, "bad"); }
  /// False: no such model.
  bool choose_model(const QString& id);
  void choose_work(Work work);
  /// False: the model has no such input.
  bool set_input(const QString& key, double value);
  [[nodiscard]] RunRequest request() const;
  /// The form of the model that draws.
  [[nodiscard]] PictureForm& form() noexcept { return *form_; }
  [[nodiscard]] bool draws() const;

  void save(QSettings& settings) const;
  void restore(const QSettings& settings);

 signals:
  /// Progress as facts for the status bar.
  void progressed(const attn::ui::RunProgress& progress, double calls_per_second);
  void ran(bool running);
  /// A run of this request was started.
  void run_started(const attn::ui::RunRequest& request);
  /// Another model, or other inputs of it.
  void workload_changed(const QString& model, int steps);

 private:
  void start(const RunRequest& wanted);
  struct Input {
    QString key;
    QWidget* cell;
    QDoubleSpinBox* spin;
    double fallback;
    bool rare;
  };
  void make_header();
  void make_body();
  void show_inputs();
  void show_more(bool more);
  void show_running(bool running);
  void show_progress(const RunProgress& progress);
  void show_end(const RunEnd& end);
  void say(const QString& text, const char* look);
  [[nodiscard]] const ModelInfo* model() const;
  void tell_workload();

  JobControl& jobs_;
  const Theme& theme_;
  QWidget* header_;
  QPushButton* run_;
  QPushButton* stop_;
  QComboBox* model_;
  QComboBox* work_;
  FlowLayout* flow_;
  PictureForm* form_;
  QWidget* form_area_ = nullptr;
  QToolButton* more_;
  std::vector<Input> inputs_;
  PanelTitle* title_ = nullptr;
  QBoxLayout* progress_ = nullptr;
  QProgressBar* bar_;
  ElidedLabel* state_;
  RunProgress last_;
};

}  // namespace attn::ui
