// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/preview/preview_service.h"
#include "ui/services.h"
#include "ui/theme/theme.h"

#include <QWidget>

class QLabel;
class QProgressBar;
class QPushButton;
class QStackedWidget;
class QTabBar;

namespace attn::ui {

class PictureView;

/// The picture while it forms and when it is done, and how it compares to one that was kept. Pictures are saved with
/// their settings and opened by a button or by dropping a file.
class PreviewPanel final : public QWidget {
  Q_OBJECT

 public:
  PreviewPanel(PreviewService& service, JobControl& jobs, const Theme& theme, QWidget* parent = nullptr);

  /// What is shown as the finished picture; no image while there is none.
  [[nodiscard]] const MadePicture& picture() const noexcept { return picture_; }
  [[nodiscard]] const MadePicture& baseline() const noexcept { return baseline_; }
  [[nodiscard]] PictureView& view() noexcept { return *view_; }
  [[nodiscard]] QString default_file() const;
  void keep_baseline();
  /// The baseline that was chosen elsewhere; no image: there is none.
  void show_baseline(const MadePicture& baseline);
  void save_as(const QString& path);
  void open_file(const QString& path);
  /// A sentence about the settings that were opened.
  void say_problem(const QString& sentence) { say(sentence, "bad"); }

 signals:
  /// A file's settings are wanted in force again.
  void settings_opened(const attn::ui::MadePicture& made);
  void baseline_kept();

 protected:
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  QWidget* make_empty(QWidget* parent);
  QWidget* make_body(QWidget* parent);
  QWidget* make_comparison(QWidget* parent);
  QPushButton* button(const QString& text, const char* name, const QString& tip, QWidget* parent);
  void begin(const QString& title);
  void take_frame();
  void take_end(const RunEnd& end);
  void take_saved(const SavedPicture& result);
  void take_opened(const OpenedPicture& result);
  void take_comparison(const PictureComparison& comparison);
  void compare();
  void show_picture(const MadePicture& made);
  void refresh();
  void say(const QString& text, const char* look = "dim");
  void choose_file();
  void choose_target_file();

  PreviewService& service_;
  JobControl& jobs_;
  const Theme& theme_;
  QStackedWidget* stack_;
  QLabel* advice_ = nullptr;
  PictureView* view_ = nullptr;
  QProgressBar* bar_ = nullptr;
  QLabel* state_ = nullptr;
  QPushButton* keep_ = nullptr;
  QPushButton* save_ = nullptr;
  QPushButton* open_ = nullptr;
  QPushButton* open_first_ = nullptr;
  QWidget* comparison_ = nullptr;
  QTabBar* modes_ = nullptr;
  QLabel* numbers_ = nullptr;
  QLabel* changes_ = nullptr;
  MadePicture picture_;
  MadePicture baseline_;
  PreviewFrame last_;
  bool drawing_ = false;  ///< the running job makes a picture
};

}  // namespace attn::ui
