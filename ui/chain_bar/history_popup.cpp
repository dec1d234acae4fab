// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/chain_bar/history_popup.h"

#include "ui/panel/fact_table.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QPushButton>
#include <QScreen>
#include <QVBoxLayout>

namespace attn::ui {

HistoryPopup::HistoryPopup(ChainHistory& history, const Theme& theme, QWidget* parent)
    : QFrame(parent, Qt::Popup), history_(history) {
  setObjectName("chain_history");
  set_look(this, "popup");
  setAccessibleName(tr("Chains since start"));
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(12, 10, 12, 12);
  column->setSpacing(8);
  auto* title = new QLabel(tr("Chains since start, newest first"), this);
  set_look(title, "title");
  table_ = new FactTable(theme, {tr("Since"), tr("Chain"), tr("What changed")}, this);
  table_->setObjectName("chain_history_table");
  table_->setSelectionMode(QAbstractItemView::SingleSelection);
  table_->setFixedHeight(220);
  detail_ = new QLabel(this);
  detail_->setObjectName("chain_history_detail");
  detail_->setWordWrap(true);
  detail_->setMinimumHeight(4 * detail_->fontMetrics().lineSpacing());
  detail_->setAlignment(Qt::AlignTop | Qt::AlignLeft);
  back_ = new QPushButton(tr("Go back to this chain"), this);
  back_->setObjectName("chain_go_back");
  back_->setToolTip(tr("Sets what made this chain, as one step that Undo takes back; results stay"));
  auto* row = new QHBoxLayout;
  row->setSpacing(12);
  row->addWidget(detail_, 1);
  row->addWidget(back_, 0, Qt::AlignTop);
  column->addWidget(title);
  column->addWidget(table_);
  column->addLayout(row);
  setFixedWidth(640);
  connect(table_->selectionModel(), &QItemSelectionModel::selectionChanged, this, &HistoryPopup::show_detail);
  connect(back_, &QPushButton::clicked, this, [this] {
    history_.go_back(chosen());
    close();
  });
  connect(&history_, &ChainHistory::changed, this, &HistoryPopup::refresh);
  refresh();
}

void HistoryPopup::open_under(const QWidget& widget) {
  refresh();
  table_->selectRow(0);
  adjustSize();
  const QRect room = widget.screen()->availableGeometry();
  QPoint at = widget.mapToGlobal(QPoint(widget.width() - width(), widget.height() + 4));
  at.setX(std::clamp(at.x(), room.left(), std::max(room.left(), room.right() - width())));
  move(at);
  show();
  table_->setFocus(Qt::PopupFocusReason);
}

void HistoryPopup::refresh() {
  std::vector<FactRow> rows;
  const std::vector<ChainMoment>& moments = history_.moments();
  for (std::size_t i = moments.size(); i-- > 0;) {
    const bool now = i + 1 == moments.size();
    const QString words = moments[i].words();
    rows.push_back({{moments[i].since.toString("HH:mm:ss") + (now ? tr(", now") : QString()), Ink::dim},
                    {moments[i].chain(), Ink::text, {}, now},
                    {i == 0 ? tr("start") : (words.isEmpty() ? tr("who is available") : words), Ink::dim}});
  }
  table_->set_rows(std::move(rows));
  show_detail();
}

std::size_t HistoryPopup::chosen() const {
  const QModelIndexList rows = table_->selectionModel()->selectedRows();
  const std::size_t newest = history_.moments().size() - 1;
  return rows.isEmpty() ? newest : newest - static_cast<std::size_t>(rows.front().row());
}

void HistoryPopup::show_detail() {
  const std::vector<ChainMoment>& moments = history_.moments();
  const std::size_t at = chosen();
  if (at >= moments.size()) return;
  QStringList lines;
  if (at > 0) {
    const QString moved = chain_change(moments[at - 1].names, moments[at].names);
    lines << (moved.isEmpty() ? tr("The same backends as before.") : tr("Backends: %1").arg(moved));
  } else {
    lines << tr("The chain that the window began with.");
  }
  QStringList wanted;
  for (const SettingChange& change : history_.changes_from_now(at)) wanted << change.words;
  lines << (wanted.isEmpty() ? tr("These are the settings now.") : tr("Going back sets: %1").arg(wanted.join(", ")));
  detail_->setText(lines.join('\n'));
  back_->setEnabled(!wanted.isEmpty());
}

void HistoryPopup::hideEvent(QHideEvent* event) {
  QFrame::hideEvent(event);
  // Not every window system gives the window its keys back by itself.
  if (parentWidget() != nullptr) parentWidget()->window()->activateWindow();
}

void HistoryPopup::keyPressEvent(QKeyEvent* event) {
  const bool enter = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter;
  if (enter && back_->isEnabled()) {
    back_->click();
    return;
  }
  QFrame::keyPressEvent(event);
}

}  // namespace attn::ui
