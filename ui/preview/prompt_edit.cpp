// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/preview/prompt_edit.h"

#include <QAbstractItemView>
#include <QCompleter>
#include <QKeyEvent>
#include <QMimeData>
#include <QScrollBar>
#include <QTextEdit>
#include <algorithm>

namespace attn::ui {

namespace {

constexpr int kLines = 2;

/// What stands between words, as the model reads a prompt.
bool separates(QChar c) { return c.isSpace() || c == ',' || c == '.'; }

}  // namespace

PromptEdit::PromptEdit(const QStringList& words, const Theme& theme, QWidget* parent)
    : QPlainTextEdit(parent), theme_(theme), words_(words.begin(), words.end()) {
  set_look(this, "field");
  document()->setDocumentMargin(6);
  setTabChangesFocus(true);
  setVerticalScrollBarPolicy(Qt::ScrollBarAsNeeded);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  completer_ = new QCompleter(words, this);
  completer_->setWidget(this);
  completer_->setCaseSensitivity(Qt::CaseInsensitive);
  completer_->setMaxVisibleItems(12);
  completer_->popup()->setObjectName("prompt_words");
  set_look(completer_->popup(), "popup");
  setFixedHeight(sizeHint().height());
  connect(completer_, qOverload<const QString&>(&QCompleter::activated), this, &PromptEdit::complete);
  const auto look = [this] {
    mark_unknown();
    emit edited();
  };
  connect(this, &QPlainTextEdit::textChanged, this, look);
  connect(this, &QPlainTextEdit::cursorPositionChanged, this, look);
  connect(&theme_, &Theme::changed, this, &PromptEdit::mark_unknown);
}

QSize PromptEdit::sizeHint() const {
  const int margin = static_cast<int>(document()->documentMargin()) + frameWidth() + 1;
  return {400, kLines * fontMetrics().lineSpacing() + 2 * margin};
}

void PromptEdit::set_prompt(const QString& prompt) {
  if (prompt == this->prompt()) return;
  setPlainText(prompt.simplified());
  moveCursor(QTextCursor::End);
}

QList<std::pair<int, int>> PromptEdit::unknown() const {
  QList<std::pair<int, int>> places;
  if (words_.isEmpty()) return places;
  const QString text = toPlainText();
  for (int at = 0; at < text.size();) {
    int end = at;
    while (end < text.size() && !separates(text[end])) ++end;
    if (end > at && !words_.contains(text.mid(at, end - at).toLower())) places.append({at, end});
    at = end + 1;
  }
  return places;
}

bool PromptEdit::is_begun(int begin, int end) const {
  if (!hasFocus() || textCursor().position() != end) return false;
  const QString begun = toPlainText().mid(begin, end - begin).toLower();
  return std::any_of(words_.begin(), words_.end(), [&](const QString& word) { return word.startsWith(begun); });
}

QString PromptEdit::settled_prompt() const {
  QString text = toPlainText();
  for (const auto& [begin, end] : unknown()) {
    if (is_begun(begin, end)) text.remove(begin, end - begin);
  }
  return text.simplified();
}

void PromptEdit::mark_unknown() {
  QList<QTextEdit::ExtraSelection> marks;
  for (const auto& [begin, end] : unknown()) {
    if (is_begun(begin, end)) continue;
    QTextEdit::ExtraSelection mark;
    mark.cursor = QTextCursor(document());
    mark.cursor.setPosition(begin);
    mark.cursor.setPosition(end, QTextCursor::KeepAnchor);
    mark.format.setUnderlineStyle(QTextCharFormat::WaveUnderline);
    mark.format.setUnderlineColor(theme_[Ink::bad]);
    mark.format.setForeground(theme_[Ink::bad]);
    marks.append(mark);
  }
  setExtraSelections(marks);
}

QTextCursor PromptEdit::word_at_cursor() const {
  QTextCursor cursor = textCursor();
  const QString text = toPlainText();
  int begin = cursor.position();
  while (begin > 0 && !separates(text[begin - 1])) --begin;
  const int end = cursor.position();
  cursor.setPosition(begin);
  cursor.setPosition(end, QTextCursor::KeepAnchor);
  return cursor;
}

void PromptEdit::offer() {
  const QString begun = word_at_cursor().selectedText();
  if (begun.isEmpty()) {
    completer_->popup()->hide();
    return;
  }
  completer_->setCompletionPrefix(begun);
  const int found = completer_->completionCount();
  if (found == 0 || (found == 1 && completer_->currentCompletion() == begun.toLower())) {
    completer_->popup()->hide();
    return;
  }
  completer_->popup()->setCurrentIndex(completer_->completionModel()->index(0, 0));
  // Whole rows: the completer does not count the style's border and padding.
  constexpr int kPadding = 10;
  completer_->popup()->setFixedHeight(
      std::min(found, completer_->maxVisibleItems()) * completer_->popup()->sizeHintForRow(0) + kPadding);
  QRect place = cursorRect();
  place.setWidth(completer_->popup()->sizeHintForColumn(0) + 40);
  completer_->complete(place);
}

void PromptEdit::complete(const QString& word) {
  QTextCursor cursor = word_at_cursor();
  cursor.insertText(word + QLatin1Char(' '));
  setTextCursor(cursor);
  completer_->popup()->hide();
  mark_unknown();
}

void PromptEdit::keyPressEvent(QKeyEvent* event) {
  const bool open = completer_->popup()->isVisible();
  const bool takes = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter || event->key() == Qt::Key_Tab;
  if (open && (takes || event->key() == Qt::Key_Escape)) {
    event->ignore();  // the completer's
    return;
  }
  if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) {
    event->ignore();
    return;
  }
  if (event->key() == Qt::Key_Space && event->modifiers() == Qt::ControlModifier) {
    offer();
    return;
  }
  const QString before = toPlainText();
  QPlainTextEdit::keyPressEvent(event);
  if (toPlainText() == before) {
    completer_->popup()->hide();
  } else {
    offer();
  }
  mark_unknown();
}

void PromptEdit::focusOutEvent(QFocusEvent* event) {
  QPlainTextEdit::focusOutEvent(event);
  if (event->reason() == Qt::PopupFocusReason) return;  // the words on offer
  mark_unknown();
  emit edited();
}

bool PromptEdit::canInsertFromMimeData(const QMimeData* source) const {
  return source->hasText() && !source->hasUrls();
}

void PromptEdit::insertFromMimeData(const QMimeData* source) { insertPlainText(source->text().simplified()); }

}  // namespace attn::ui
