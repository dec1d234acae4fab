// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/log/log_panel.h"

#include "ui/format/format.h"

#include <QPainter>
#include <QScrollBar>
#include <QStackedLayout>
#include <QTextBlock>

namespace attn::ui {

LogView::LogView(const Theme& theme, const QString& name, QWidget* parent) : QPlainTextEdit(parent), theme_(theme) {
  setReadOnly(true);
  setUndoRedoEnabled(false);
  setMaximumBlockCount(kBound);
  setLineWrapMode(QPlainTextEdit::NoWrap);
  setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  setAccessibleName(name);
  document()->setDocumentMargin(8);
  setFont(theme.fixed_font());
  document()->setDefaultFont(theme.fixed_font());
  connect(&theme_, &Theme::changed, this, &LogView::rewrite);
  connect(verticalScrollBar(), &QScrollBar::valueChanged, this, [this] {
    following_ = follows();
    emit follow_changed(following_);
  });
}

bool LogView::follows() const { return verticalScrollBar()->value() >= verticalScrollBar()->maximum(); }

void LogView::append(const std::vector<LogLine>& lines) {
  if (lines.empty()) return;
  const bool following = following_;
  const int held = verticalScrollBar()->value();
  const int blocks_before = blockCount();
  QTextCursor cursor(document());
  cursor.beginEditBlock();
  for (const LogLine& line : lines) {
    write(line, cursor);
    lines_.push_back(line);
    if (lines_.size() > kBound) lines_.pop_front();
  }
  cursor.endEditBlock();
  if (following) {
    verticalScrollBar()->setValue(verticalScrollBar()->maximum());
  } else {
    // Lines that fell out at the top would move the text under the reader's eyes.
    const int fallen = blocks_before + static_cast<int>(lines.size()) - blockCount();
    verticalScrollBar()->setValue(std::max(0, held - std::max(0, fallen)));
  }
}

void LogView::write(const LogLine& line, QTextCursor& cursor) {
  cursor.movePosition(QTextCursor::End);
  QTextCharFormat format;
  format.setForeground(theme_[line.level == LogLevel::error     ? Ink::bad
                              : line.level == LogLevel::warning ? Ink::pending
                                                                : Ink::text]);
  if (!document()->isEmpty()) cursor.insertBlock();
  cursor.insertText(text_of(line.text), format);
}

void LogView::rewrite() {
  const int held = verticalScrollBar()->value();
  const bool following = follows();
  clear();
  QTextCursor cursor(document());
  cursor.beginEditBlock();
  for (const LogLine& line : lines_) write(line, cursor);
  cursor.endEditBlock();
  verticalScrollBar()->setValue(following ? verticalScrollBar()->maximum() : held);
}

void LogView::resizeEvent(QResizeEvent* event) {
  const bool following = following_;
  QPlainTextEdit::resizeEvent(event);
  if (following) verticalScrollBar()->setValue(verticalScrollBar()->maximum());
  following_ = following;
}

void LogView::paintEvent(QPaintEvent* event) {
  QPlainTextEdit::paintEvent(event);
  if (!lines_.empty()) return;
  QPainter painter(viewport());
  painter.setFont(theme_.text_font());
  painter.setPen(theme_[Ink::dim]);
  painter.drawText(viewport()->rect(), Qt::AlignCenter, accessibleDescription());
}

LogPanel::LogPanel(LogFeed& feed, const Theme& theme, QWidget* parent) : QWidget(parent), feed_(feed) {
  setObjectName("log_panel");
  set_look(this, "panel");
  auto* stack = new QStackedLayout(this);
  all_ = new LogView(theme, tr("Trace log"), this);
  all_->setAccessibleDescription(tr("Rebuilds of the chain and first sightings of routes are written here."));
  problems_ = new LogView(theme, tr("Problems"), this);
  problems_->setAccessibleDescription(tr("No warning and no error so far."));
  stack->addWidget(all_);
  stack->addWidget(problems_);
  connect(&feed_, &LogFeed::arrived, this, &LogPanel::take);
  connect(all_, &LogView::follow_changed, this, &LogPanel::follow_changed);
  take();
}

void LogPanel::take() {
  constexpr std::size_t kAtOnce = 64;  // what fits a frame beside its painting
  const std::vector<LogLine> lines = feed_.take(kAtOnce);
  std::vector<LogLine> bad;
  for (const LogLine& line : lines) {
    if (line.level == LogLevel::warning || line.level == LogLevel::error) bad.push_back(line);
  }
  all_->append(lines);
  problems_->append(bad);
  if (bad.empty()) return;
  problem_count_ += static_cast<int>(bad.size());
  emit problem_count_changed(problem_count_);
}

void LogPanel::show_problems(bool problems) {
  static_cast<QStackedLayout*>(layout())->setCurrentIndex(problems ? 1 : 0);
}

}  // namespace attn::ui
