// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/sparse/sweep_model.h"

#include "ui/format/format.h"
#include "ui/sparse/schedule_plot.h"

namespace attn::ui {

void SweepModel::set_points(const std::vector<SweepPoint>& adaptive, const std::vector<SweepPoint>& radial) {
  std::vector<Row> rows;
  for (const SweepPoint& point : adaptive) {
    rows.push_back({point, false});
    for (const SweepPoint& control : radial) {
      if (control.budget == point.budget) rows.push_back({control, true});
    }
  }
  if (rows == rows_) return;
  beginResetModel();
  rows_ = std::move(rows);
  endResetModel();
}

int SweepModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}
int SweepModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : kColumns; }

QVariant SweepModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const Row& row = rows_[static_cast<std::size_t>(index.row())];
  const SweepPoint& point = row.point;
  if (role == Qt::TextAlignmentRole) {
    return QVariant::fromValue((index.column() == pattern ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
  }
  if (role == Qt::UserRole) return row.radial;
  if (role != Qt::DisplayRole) return {};
  switch (index.column()) {
    case keep:
      return percent_of(point.budget);
    case pattern:
      return row.radial ? tr("radial") : tr("adaptive");
    case density:
      return QString::number(point.density, 'f', 3);
    case relative_l1:
      return QString::number(point.relative_l1, 'f', 4);
    case cosine:
      return QString::number(point.cosine, 'f', 5);
    case mass_kept:
      return share_text(point.mass_kept);
    case seconds:
      return seconds_text(point.seconds);
    case speedup:
      return QString::number(point.speedup, 'f', 2) + QChar(0x00D7);
    default:
      return {};
  }
}

QVariant SweepModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (role == Qt::TextAlignmentRole) {
    return QVariant::fromValue((section == pattern ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
  }
  if (role == Qt::ToolTipRole) {
    switch (section) {
      case keep:
        return tr("The budget: share of the candidates that each query tile keeps");
      case pattern:
        return tr("Adaptive: the stage's selection. Radial: a fixed band around the diagonal of the same density.");
      case density:
        return tr("Share of all tiles that is computed");
      case relative_l1:
        return tr("Sum of absolute differences to the dense result, over the sum of its absolute values");
      case mass_kept:
        return tr("Share of the attention probabilities that lies in kept tiles");
      case seconds:
        return tr("Choosing the tiles and computing them, on this host");
      case speedup:
        return tr("Dense seconds over these seconds");
      default:
        return {};
    }
  }
  if (role != Qt::DisplayRole) return {};
  static const std::array<const char*, kColumns> kNames{
      QT_TR_NOOP("Keep"),   QT_TR_NOOP("Pattern"),   QT_TR_NOOP("Density"), QT_TR_NOOP("Rel. L1"),
      QT_TR_NOOP("Cosine"), QT_TR_NOOP("Mass kept"), QT_TR_NOOP("Time"),    QT_TR_NOOP("Speed-up")};
  return tr(kNames[static_cast<std::size_t>(section)]);
}

}  // namespace attn::ui
