// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/filter/filter_line.h"

#include "ui/filter/choice_delegate.h"
#include "ui/panel/elided_label.h"

#include <QAbstractItemView>
#include <QApplication>
#include <QCompleter>
#include <QInputMethodEvent>
#include <QKeyEvent>
#include <QLineEdit>
#include <QStandardItemModel>
#include <QTextCharFormat>
#include <QVBoxLayout>

namespace attn::ui {

namespace {

constexpr std::chrono::milliseconds kRest{150};

QInputMethodEvent::Attribute format_at(qsizetype at, qsizetype length, int cursor, const QTextCharFormat& format) {
  return {QInputMethodEvent::TextFormat, static_cast<int>(at) - cursor, static_cast<int>(length), format};
}

}  // namespace

FilterLine::FilterLine(const QString& name, const QString& placeholder, const Theme& theme, QWidget* parent)
    : QWidget(parent), theme_(theme) {
  field_ = new QLineEdit(this);
  field_->setObjectName(name);
  field_->setPlaceholderText(placeholder);
  field_->setAccessibleName(placeholder);
  field_->setClearButtonEnabled(true);
  field_->installEventFilter(this);
  message_ = new ElidedLabel(this);
  message_->setObjectName(name + "_error");
  message_->setContentsMargins(2, 3, 2, 0);
  set_look(message_, "bad");
  message_->hide();
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(field_);
  column->addWidget(message_);
  setFocusProxy(field_);

  choices_ = new QStandardItemModel(0, 1, this);
  completer_ = new QCompleter(choices_, this);
  completer_->setCompletionMode(QCompleter::UnfilteredPopupCompletion);
  completer_->setWidget(field_);
  completer_->setMaxVisibleItems(12);
  completer_->popup()->setObjectName(name + "_choices");
  completer_->popup()->setAccessibleName(tr("Completions"));
  completer_->popup()->setItemDelegate(new ChoiceDelegate(theme, completer_->popup()));
  set_look(completer_->popup(), "popup");
  connect(completer_, qOverload<const QModelIndex&>(&QCompleter::activated), this, &FilterLine::take_choice);

  rest_.setSingleShot(true);
  rest_.setInterval(kRest);
  connect(&rest_, &QTimer::timeout, this, &FilterLine::apply);
  connect(field_, &QLineEdit::textChanged, this, [this](const QString& text) {
    show_formats(parse_filter(text));
    rest_.start();
  });
  connect(field_, &QLineEdit::textEdited, this, &FilterLine::offer);
  connect(&theme_, &Theme::changed, this, [this] { show_formats(parse_filter(line())); });
}

QString FilterLine::line() const { return field_->text(); }

void FilterLine::set_line(const QString& line) {
  field_->setText(line);
  apply();
}

void FilterLine::add_term(const QString& term, bool exclude) {
  const QString open = parse_filter(line()).error || line().trimmed().isEmpty() ? QString() : line().trimmed() + ' ';
  const bool several = term.contains(QStringLiteral(" OR "));
  const QString whole = several ? '(' + term + ')' : term;
  // What stands beside an OR would belong to its last part only.
  const QString before =
      open.contains(QStringLiteral(" OR ")) || open.contains('|') ? '(' + open.trimmed() + ") " : open;
  set_line(before + (exclude ? '-' + whole : whole));
}

void FilterLine::focus() {
  field_->setFocus(Qt::ShortcutFocusReason);
  field_->selectAll();
}

QWidget* FilterLine::take_message() {
  layout()->removeWidget(message_);
  return message_;
}

void FilterLine::apply() {
  rest_.stop();
  ParsedFilter parsed = parse_filter(line());
  error_ = parsed.error;
  message_->setVisible(error_.has_value());
  message_->setText(error_ ? error_->sentence : QString());
  field_->setAccessibleDescription(message_->text());
  show_formats(parsed);
  if (error_) return;
  filter_ = std::move(parsed.filter);
  emit filter_changed(filter_);
}

void FilterLine::show_formats(const ParsedFilter& parsed) {
  // A line edit has no formats of its own; those of an input method are laid over its text.
  QList<QInputMethodEvent::Attribute> formats;
  const int cursor = field_->cursorPosition();
  QTextCharFormat field;
  field.setForeground(theme_[Ink::accent]);
  for (const FilterMark& mark : parsed.marks) formats << format_at(mark.at, mark.length, cursor, field);
  if (parsed.error) {
    QTextCharFormat wrong;
    wrong.setForeground(theme_[Ink::bad]);
    wrong.setUnderlineStyle(QTextCharFormat::WaveUnderline);
    wrong.setUnderlineColor(theme_[Ink::bad]);
    formats << format_at(parsed.error->at, parsed.error->length, cursor, wrong);
  }
  QInputMethodEvent event(QString(), formats);
  QCoreApplication::sendEvent(field_, &event);
}

void FilterLine::offer() {
  completion_ = complete_filter(line(), field_->cursorPosition(),
                                [this](FilterField field) { return values_ ? values_(field) : QStringList(); });
  const bool nothing_typed = completion_.length == 0 && completion_.at == 0;
  choices_->clear();
  for (const FilterCompletion::Choice& choice : completion_.choices) {
    auto* item = new QStandardItem(choice.text);
    item->setData(choice.help, ChoiceDelegate::kHelpRole);
    choices_->appendRow(item);
  }
  if (choices_->rowCount() == 0 || nothing_typed || !field_->hasFocus()) {
    completer_->popup()->hide();
    return;
  }
  const QRect cursor = field_->inputMethodQuery(Qt::ImCursorRectangle).toRect();
  const int width = completer_->popup()->sizeHintForColumn(0) + 28;
  completer_->complete(QRect(cursor.left(), 0, std::clamp(width, 120, 520), field_->height()));
}

void FilterLine::take_choice(const QModelIndex& choice) {
  const QString text = choice.data().toString();
  QString whole = line();
  whole.replace(completion_.at, completion_.length, text);
  const bool field = text.endsWith(':') || text.endsWith('>');
  const qsizetype cursor = completion_.at + text.size();
  if (!field && cursor == whole.size()) whole += ' ';
  field_->setText(whole);
  field_->setCursorPosition(static_cast<int>(field ? cursor : std::min(cursor + 1, whole.size())));
  if (field) offer();
}

bool FilterLine::eventFilter(QObject* watched, QEvent* event) {
  if (watched == field_ && event->type() == QEvent::KeyPress) {
    const auto* key = static_cast<QKeyEvent*>(event);
    if (key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter) {
      apply();
      emit confirmed(key->modifiers().testFlag(Qt::ShiftModifier));
      return true;
    }
    if (key->key() == Qt::Key_Down || (key->key() == Qt::Key_Space && key->modifiers() == Qt::ControlModifier)) {
      offer();
      return true;
    }
    if (key->key() == Qt::Key_Escape && !line().isEmpty()) {
      set_line(QString());
      return true;
    }
  }
  return QWidget::eventFilter(watched, event);
}

}  // namespace attn::ui
