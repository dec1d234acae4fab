// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/levers/levers_model.h"

#include "ui/format/format.h"

#include <array>
#include <cmath>

namespace attn::ui {

namespace {

using State = LeverFact::State;

constexpr QChar kTimes(0x00D7);
constexpr QChar kPlusMinus(0x00B1);

QString decimals(double value, int count) { return QString::number(value, 'f', count); }

QString decibels(double value) {
  return std::isinf(value) ? LeversModel::tr("equal") : decimals(value, 1) + QStringLiteral(" dB");
}

QString small(double value) { return value == 0.0 ? QStringLiteral("0") : QString::number(value, 'g', 3); }

}  // namespace

QString outcome_of(const LeverFact& row) {
  switch (row.state) {
    case State::running:
      return LeversModel::tr("measuring …");
    case State::skipped:
      return LeversModel::tr("skipped: %1").arg(row.reason);
    case State::failed:
      return LeversModel::tr("failed: %1").arg(row.reason);
    case State::waiting:
    case State::measured:
      break;
  }
  return {};
}

QString role_lines(const LeverFact& row) {
  QStringList lines;
  for (const LeverRoleFact& role : row.roles) {
    lines << LeversModel::tr("%1: %2, %3 (baseline %4), relative L1 %5, cosine %6")
                 .arg(role.role, counted(role.calls, LeversModel::tr("call")), seconds_text(role.seconds),
                      seconds_text(role.baseline_seconds), small(role.relative_l1), decimals(role.cosine, 5));
  }
  return lines.join('\n');
}

LeversModel::LeversModel(const Theme& theme, QObject* parent) : QAbstractTableModel(parent), theme_(theme) {
  connect(&theme_, &Theme::changed, this, [this] {
    if (!rows_.empty()) emit dataChanged(index(0, 0), index(rowCount() - 1, kColumns - 1), {Qt::ForegroundRole});
  });
}

void LeversModel::set_rows(const std::vector<LeverFact>& rows) {
  bool same = rows.size() == rows_.size();
  for (std::size_t i = 0; same && i < rows.size(); ++i) same = rows[i].name == rows_[i].name;
  if (!same) {
    beginResetModel();
    rows_ = rows;
    endResetModel();
    emit ticks_changed();
    return;
  }
  rows_ = rows;
  if (!rows_.empty()) emit dataChanged(index(0, 0), index(rowCount() - 1, kColumns - 1));
}

int LeversModel::row_of(const QString& name) const {
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (rows_[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

bool LeversModel::is_ticked(const LeverFact& row) const { return ticks_.value(row.name, row.by_default); }

QStringList LeversModel::ticked() const {
  QStringList names;
  for (const LeverFact& row : rows_) {
    if (is_ticked(row)) names << row.name;
  }
  return names;
}

void LeversModel::tick(const QString& group, bool on) {
  for (const LeverFact& row : rows_) {
    if (group.isEmpty() || row.group == group) ticks_[row.name] = on;
  }
  if (!rows_.empty()) emit dataChanged(index(0, variant), index(rowCount() - 1, variant), {Qt::CheckStateRole});
  emit ticks_changed();
}

int LeversModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

int LeversModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : kColumns; }

Qt::ItemFlags LeversModel::flags(const QModelIndex& index) const {
  Qt::ItemFlags flags = QAbstractTableModel::flags(index);
  if (index.column() == variant) flags |= Qt::ItemIsUserCheckable;
  return flags;
}

QString LeversModel::figure(const LeverFact& row, int column) const {
  switch (column) {
    case seconds:
      return seconds_text(row.seconds) + QStringLiteral(" %1 %2 %").arg(kPlusMinus).arg(row.noise * 100.0, 0, 'f', 0);
    case speedup:
      return decimals(row.relative_time > 0.0 ? 1.0 / row.relative_time : 0.0, 2) + kTimes;
    case memory:
      return bytes_text(row.memory_bytes);
    case psnr:
      return row.psnr ? decibels(*row.psnr) : QString();
    case ssim:
      return row.ssim ? decimals(*row.ssim, 4) : QString();
    case relative_l1:
      return small(row.relative_l1);
    case cosine:
      return decimals(row.cosine, 5);
    default:
      return {};
  }
}

QVariant LeversModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const LeverFact& row = rows_[static_cast<std::size_t>(index.row())];
  const int column = index.column();
  switch (role) {
    case Qt::DisplayRole:
      if (column == variant) return row.name;
      if (row.state == State::measured) return figure(row, column);
      return column == seconds ? outcome_of(row) : QString();
    case Qt::CheckStateRole:
      return column == variant ? QVariant(is_ticked(row) ? Qt::Checked : Qt::Unchecked) : QVariant();
    case Qt::TextAlignmentRole:
      return QVariant::fromValue((column == variant || row.state != State::measured ? Qt::AlignLeft : Qt::AlignRight) |
                                 Qt::AlignVCenter);
    case Qt::ToolTipRole:
      if (column == variant)
        return row.on_front ? tr("%1\nNo other is faster without a larger error").arg(row.what) : row.what;
      return row.state == State::measured ? role_lines(row) : outcome_of(row);
    case Qt::ForegroundRole: {
      if (row.state == State::failed) return theme_[Ink::bad];
      if (row.state == State::running) return theme_[Ink::accent];
      if (column == variant && row.on_front) return theme_[Ink::accent];
      if (column == speedup && row.relative_time < 1.0 - row.noise) return theme_[Ink::ok];
      return theme_[row.state != State::measured && column != variant ? Ink::dim : Ink::text];
    }
    default:
      return {};
  }
}

bool LeversModel::setData(const QModelIndex& index, const QVariant& value, int role) {
  if (!index.isValid() || index.column() != variant || role != Qt::CheckStateRole) return false;
  const LeverFact& row = rows_[static_cast<std::size_t>(index.row())];
  ticks_[row.name] = value.toInt() == Qt::Checked;
  emit dataChanged(index, index, {Qt::CheckStateRole});
  emit ticks_changed();
  return true;
}

QVariant LeversModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (role == Qt::TextAlignmentRole) {
    return QVariant::fromValue((section == variant ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
  }
  if (role == Qt::ToolTipRole) {
    switch (section) {
      case seconds:
        return tr("Seconds of one generation, the median, and what two measurements may differ by");
      case speedup:
        return tr("How many times faster than exact attention, each measured next to the other");
      case memory:
        return tr("What the largest call takes on the target, tensors and kernel");
      case relative_l1:
        return tr("The worst call's sum of absolute differences over the sum of the exact result's absolute values");
      case cosine:
        return tr("The worst call's cosine to the exact result");
      default:
        return {};
    }
  }
  if (role != Qt::DisplayRole) return {};
  static const std::array<const char*, kColumns> kNames{
      QT_TR_NOOP("Variant"), QT_TR_NOOP("Time"), QT_TR_NOOP("Speed-up"), QT_TR_NOOP("Memory"),
      QT_TR_NOOP("PSNR"),    QT_TR_NOOP("SSIM"), QT_TR_NOOP("Rel. L1"),  QT_TR_NOOP("Cosine")};
  return tr(kNames[static_cast<std::size_t>(section)]);
}

}  // namespace attn::ui
