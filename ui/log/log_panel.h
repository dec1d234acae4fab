// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/log/log_feed.h"
#include "ui/theme/theme.h"

#include <QPlainTextEdit>
#include <deque>

namespace attn::ui {

/// A bounded text of log lines that follows the newest unless it was scrolled away.
class LogView final : public QPlainTextEdit {
  Q_OBJECT

 public:
  LogView(const Theme& theme, const QString& name, QWidget* parent = nullptr);
  void append(const std::vector<LogLine>& lines);
  [[nodiscard]] bool follows() const;

 signals:
  void follow_changed(bool follows);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void write(const LogLine& line, QTextCursor& cursor);
  void rewrite();

  static constexpr int kBound = 5000;
  const Theme& theme_;
  bool following_ = true;      ///< as the last scroll left it; a resize keeps it
  std::deque<LogLine> lines_;  ///< kept to be written again in another theme's colours
};

/// The trace log and, apart, what needs attention.
class LogPanel final : public QWidget {
  Q_OBJECT

 public:
  LogPanel(LogFeed& feed, const Theme& theme, QWidget* parent = nullptr);
  [[nodiscard]] LogView* all() noexcept { return all_; }
  [[nodiscard]] LogView* problems() noexcept { return problems_; }
  void show_problems(bool problems);

 signals:
  void problem_count_changed(int count);
  void follow_changed(bool follows);

 private:
  void take();

  LogFeed& feed_;
  LogView* all_;
  LogView* problems_;
  int problem_count_ = 0;
};

}  // namespace attn::ui
