// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/commands/command_palette.h"

#include "ui/commands/command_delegate.h"

#include <QAccessible>
#include <QApplication>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QSettings>
#include <QVBoxLayout>
#include <algorithm>

namespace attn::ui {

namespace {

constexpr int kWidth = 640;
constexpr int kMostRows = 12;

}  // namespace

CommandPalette::CommandPalette(CommandRegistry& commands, const Theme& theme, QWidget* window)
    : QFrame(window), commands_(commands), model_(commands) {
  setObjectName("command_palette");
  set_look(this, "overlay");
  setAccessibleName(tr("Command palette"));
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(8, 8, 8, 6);
  column->setSpacing(6);
  line_ = new QLineEdit(this);
  line_->setObjectName("command_line");
  line_->setAccessibleName(tr("Command"));
  line_->setPlaceholderText(tr("Type a few letters of a command"));
  QAction* glass = line_->addAction(theme.icon("search"), QLineEdit::LeadingPosition);
  connect(&theme, &Theme::changed, glass, [&theme, glass] { glass->setIcon(theme.icon("search")); });
  list_ = new QListView(this);
  list_->setObjectName("command_list");
  list_->setAccessibleName(tr("Commands"));
  set_look(list_, "plain");
  list_->setModel(&model_);
  list_->setItemDelegate(new CommandDelegate(theme, list_));
  list_->setUniformItemSizes(true);
  list_->setFocusPolicy(Qt::NoFocus);
  list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  list_->setFrameShape(QFrame::NoFrame);
  none_ = new QLabel(tr("No command has these letters in this order."), this);
  none_->setAlignment(Qt::AlignCenter);
  none_->setFixedHeight(CommandDelegate::kHeight * 2);
  set_look(none_, "dim");
  hint_ = new QLabel(tr("↑ ↓ choose · Enter starts · Esc closes"), this);
  hint_->setContentsMargins(4, 0, 4, 0);
  set_look(hint_, "small");
  column->addWidget(line_);
  column->addWidget(list_);
  column->addWidget(none_);
  column->addWidget(hint_);
  line_->installEventFilter(this);
  window->installEventFilter(this);
  connect(line_, &QLineEdit::textEdited, this, &CommandPalette::look);
  connect(list_, &QListView::clicked, this, &CommandPalette::start);
  connect(list_->selectionModel(), &QItemSelectionModel::currentChanged, this, &CommandPalette::describe);
  connect(&commands_, &CommandRegistry::ran, this, &CommandPalette::note);
  hide();
}

void CommandPalette::open() {
  if (isVisible()) return;
  focused_before_ = window()->focusWidget();
  line_->clear();
  look();
  show();
  raise();
  line_->setFocus(Qt::ShortcutFocusReason);
  describe();
}

void CommandPalette::close() {
  if (!isVisible()) return;
  const bool held = line_->hasFocus();
  hide();
  if (held && focused_before_ != nullptr) focused_before_->setFocus(Qt::OtherFocusReason);
}

void CommandPalette::look() {
  model_.set_pattern(line_->text(), recent_);
  const int rows = model_.rowCount();
  list_->setVisible(rows > 0);
  none_->setVisible(rows == 0);
  if (rows > 0) list_->setCurrentIndex(model_.index(0));
  describe();
  place();
}

void CommandPalette::place() {
  // As high as what was found, so that nothing below is covered for nothing; the upper edge stays where it is.
  const int width = std::min(kWidth, parentWidget()->width() - 40);
  const int room = std::max(3, (parentWidget()->height() - 200) / CommandDelegate::kHeight);
  const int rows = std::min({model_.rowCount(), kMostRows, room});
  list_->setFixedHeight(std::max(1, rows) * CommandDelegate::kHeight);
  setFixedWidth(width);
  layout()->activate();
  adjustSize();
  QFrame::move((parentWidget()->width() - width) / 2, std::min(72, parentWidget()->height() / 10));
}

void CommandPalette::move(int rows) {
  const int count = model_.rowCount();
  if (count == 0) return;
  const int at = list_->currentIndex().row() + rows;
  // One step goes round the end; a page stops there.
  const int to = std::abs(rows) == 1 ? (at + count) % count : std::clamp(at, 0, count - 1);
  list_->setCurrentIndex(model_.index(to));
}

void CommandPalette::start() {
  const QModelIndex index = list_->currentIndex();
  if (!index.isValid() || !index.data(CommandModel::enabled_role).toBool()) return;
  const QString id = index.data(CommandModel::id_role).toString();
  close();
  commands_.run(id);
}

void CommandPalette::describe() {
  const QModelIndex index = list_->currentIndex();
  const QString text = index.isValid() && model_.rowCount() > 0
                           ? tr("%1; %2 of %3")
                                 .arg(index.data(Qt::AccessibleTextRole).toString())
                                 .arg(index.row() + 1)
                                 .arg(model_.rowCount())
                           : none_->text();
  if (text == line_->accessibleDescription()) return;
  line_->setAccessibleDescription(text);
  // The focus stays in the line, so a screen reader is told what the list shows as chosen.
  QAccessibleEvent said(line_, QAccessible::DescriptionChanged);
  QAccessible::updateAccessibility(&said);
}

void CommandPalette::note(const QString& id) {
  if (id == QLatin1String("help.palette")) return;
  recent_.removeAll(id);
  recent_.prepend(id);
  while (recent_.size() > kMostRecent) recent_.removeLast();
}

bool CommandPalette::eventFilter(QObject* watched, QEvent* event) {
  if (watched == parentWidget() && event->type() == QEvent::Resize && isVisible()) place();
  if (watched != line_) return QFrame::eventFilter(watched, event);
  if (event->type() == QEvent::FocusOut) {
    const auto reason = static_cast<QFocusEvent*>(event)->reason();
    if (reason != Qt::ActiveWindowFocusReason && reason != Qt::PopupFocusReason) hide();
    return false;
  }
  if (event->type() != QEvent::KeyPress && event->type() != QEvent::ShortcutOverride) return false;
  const auto* key = static_cast<QKeyEvent*>(event);
  const bool press = event->type() == QEvent::KeyPress;
  switch (key->key()) {
    case Qt::Key_Up:
    case Qt::Key_Down:
      if (press) move(key->key() == Qt::Key_Up ? -1 : 1);
      break;
    case Qt::Key_PageUp:
    case Qt::Key_PageDown:
      if (press) move(key->key() == Qt::Key_PageUp ? -kMostRows : kMostRows);
      break;
    case Qt::Key_Return:
    case Qt::Key_Enter:
      if (press) start();
      break;
    case Qt::Key_Escape:
      if (press) close();
      break;
    case Qt::Key_Tab:
    case Qt::Key_Backtab:
      break;  // there is nowhere else to go
    default:
      return false;
  }
  event->accept();
  return true;
}

void CommandPalette::save(QSettings& settings) const { settings.setValue("commands/recent", recent_); }

void CommandPalette::restore(const QSettings& settings) { recent_ = settings.value("commands/recent").toStringList(); }

}  // namespace attn::ui
