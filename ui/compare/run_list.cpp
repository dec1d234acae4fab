// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/compare/run_list.h"

#include "ui/format/format.h"

#include <algorithm>

namespace attn::ui {

RunListModel::RunListModel(const RunArchive& archive, const Theme& theme, QObject* parent)
    : QAbstractTableModel(parent), archive_(archive), theme_(theme) {
  rows_.assign(archive_.runs().rbegin(), archive_.runs().rend());
  connect(&archive_, &RunArchive::changed, this, &RunListModel::take);
  const auto repaint = [this] {
    if (!rows_.empty()) emit dataChanged(index(0, 0), index(rowCount() - 1, kColumns - 1));
  };
  connect(&archive_, &RunArchive::baseline_changed, this, repaint);
  connect(&theme_, &Theme::changed, this, repaint);
}

void RunListModel::take() {
  const std::vector<RunValue> next(archive_.runs().rbegin(), archive_.runs().rend());
  const auto kept = [&](const RunValue& one) { return std::find(next.begin(), next.end(), one) != next.end(); };
  for (int row = rowCount() - 1; row >= 0; --row) {
    if (kept(rows_[static_cast<std::size_t>(row)])) continue;
    beginRemoveRows({}, row, row);
    rows_.erase(rows_.begin() + row);
    endRemoveRows();
  }
  const int added = static_cast<int>(next.size() - rows_.size());
  if (added <= 0) return;
  beginInsertRows({}, 0, added - 1);
  rows_ = next;
  endInsertRows();
}

int RunListModel::number_at(int row) const {
  return row < 0 || row >= rowCount() ? 0 : rows_[static_cast<std::size_t>(row)]->number;
}

int RunListModel::row_of(int number) const {
  const auto at = std::find_if(rows_.begin(), rows_.end(), [&](const RunValue& one) { return one->number == number; });
  return at == rows_.end() ? -1 : static_cast<int>(at - rows_.begin());
}

int RunListModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

int RunListModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : kColumns; }

QVariant RunListModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const RunValue& one = rows_[static_cast<std::size_t>(index.row())];
  const bool is_baseline = one == archive_.baseline();
  switch (role) {
    case Qt::DisplayRole:
      switch (index.column()) {
        case run:
          return QStringLiteral("#%1").arg(one->number) + (is_baseline ? tr(" baseline") : QString());
        case model:
          return one->model;
        case chain:
          return one->chain_names();
        case outcome:
          return one->outcome();
        case ended:
          return one->ended.toString("HH:mm:ss");
        default:
          return {};
      }
    case Qt::ToolTipRole: {
      const QString machine =
          text_of(one->settings.target.label.empty() ? one->settings.target.name : one->settings.target.label);
      return one->title() + '\n' + tr("on %1, %2").arg(machine, counted(one->trace.calls, tr("call")));
    }
    case Qt::ForegroundRole:
      if (index.column() == outcome && !one->finished()) {
        return theme_[one->end.outcome == RunEnd::Outcome::failed ? Ink::bad : Ink::pending];
      }
      return index.column() == ended ? QVariant(theme_[Ink::dim]) : QVariant();
    case Qt::FontRole: {
      QFont font = theme_.text_font();
      if (is_baseline) font.setWeight(QFont::DemiBold);
      return font;
    }
    case Qt::AccessibleTextRole:
      return one->title() + (is_baseline ? tr(", the baseline") : QString());
    default:
      return {};
  }
}

QVariant RunListModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= kColumns) return {};
  if (role == Qt::TextAlignmentRole) return QVariant::fromValue(Qt::AlignLeft | Qt::AlignVCenter);
  if (role != Qt::DisplayRole) return {};
  const QString titles[] = {tr("Run"), tr("Model"), tr("Chain"), tr("Result"), tr("Ended")};
  return titles[section];
}

}  // namespace attn::ui
