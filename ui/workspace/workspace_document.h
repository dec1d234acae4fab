// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/workspace/window_state.h"
#include "ui/workspace/workspace_service.h"

#include <QTimer>
#include <string>

class QSettings;

namespace attn::ui {

class NoticeBanner;

/// The workspace of a window as a document: opened, saved, kept every few seconds beside the person's file, offered
/// again after a crash. Speaks in the banner, never in a box. GUI thread.
class WorkspaceDocument final : public QObject {
  Q_OBJECT

 public:
  static constexpr int kAutosaveInterval = 2000;  ///< milliseconds; what a crash can cost
  static constexpr int kMostRecent = 8;

  /// `settings` keeps the list of recent files; null: it ends with the window.
  WorkspaceDocument(WindowState& state, WorkspaceService& service, NoticeBanner& banner, QSettings* settings);

  /// Takes up the workspace of the last window unless `fresh`, offers what a crash left, and begins to keep.
  void start(bool fresh);
  /// The window is closed as it should be.
  void finish();

  void open(const QString& path);
  void save();
  void ask_save_as();
  void save_as(const QString& path);
  /// The person's own file; empty: none yet.
  [[nodiscard]] const QString& path() const noexcept { return path_; }
  /// Settings, target, workload or filter differ from that file.
  [[nodiscard]] bool is_modified() const { return !path_.isEmpty() && content_ != saved_content_; }

  /// Files opened or saved last, of any kind, the newest first.
  [[nodiscard]] const QStringList& recent() const noexcept { return recent_; }
  void add_recent(const QString& path);
  void forget_recent();

  /// Keeps the workspace now if it changed. Returns the milliseconds that the window was held up.
  double autosave_now();

 signals:
  void recent_changed();
  /// A workspace was put into the window.
  void restored();

 private:
  void offer_left_behind();
  void restore_left_behind(const QString& text);
  /// Puts a text into the window; says what is wrong with it. `run_again` makes a planned run anew.
  bool put(const QString& text, const QString& whence, bool run_again);
  void take_read(const FileText& read);
  void take_written(const FileWritten& written);
  void write(const QString& path, bool over_others);
  void show_title();

  WindowState& state_;
  WorkspaceService& service_;
  NoticeBanner& banner_;
  QSettings* settings_;
  QTimer timer_;
  QString path_;
  QString opening_;      ///< asked to be read
  QString comparing_;    ///< asked to be read only to know what is in the person's file
  QString saving_;       ///< being written
  std::string content_;  ///< as it was last looked at
  std::string saving_content_;
  std::string saved_content_;  ///< of the person's file
  std::string kept_;           ///< the text that was autosaved last
  QStringList recent_;
  bool finished_ = false;
};

}  // namespace attn::ui
