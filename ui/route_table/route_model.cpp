// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/route_table/route_model.h"

#include "ui/format/format.h"

#include <algorithm>
#include <array>

namespace attn::ui {

namespace {

struct ColumnText {
  const char* title;
  const char* tip;
};

constexpr std::array<ColumnText, RouteModel::kColumns> kColumnTexts{{
    {QT_TRANSLATE_NOOP("RouteModel", "Executed"),
     QT_TRANSLATE_NOOP("RouteModel",
                       "The backend that returned the result, by the kernel's own word, and its variant")},
    {QT_TRANSLATE_NOOP("RouteModel", "Requested"),
     QT_TRANSLATE_NOOP(
         "RouteModel",
         "The backend that the settings ask for first. ≠ means that another one served; Explain says why")},
    {QT_TRANSLATE_NOOP("RouteModel", "Role"), QT_TRANSLATE_NOOP("RouteModel", "Text encoder, transformer or VAE")},
    {QT_TRANSLATE_NOOP("RouteModel", "Steps"),
     QT_TRANSLATE_NOOP("RouteModel", "First and last denoising step in which the route was taken")},
    {QT_TRANSLATE_NOOP("RouteModel", "Query"), QT_TRANSLATE_NOOP("RouteModel", "batch × heads × tokens × head_dim")},
    {QT_TRANSLATE_NOOP("RouteModel", "Key"), QT_TRANSLATE_NOOP("RouteModel", "batch × heads × tokens × head_dim")},
    {QT_TRANSLATE_NOOP("RouteModel", "Dtype"), QT_TRANSLATE_NOOP("RouteModel", "The query's element type")},
    {QT_TRANSLATE_NOOP("RouteModel", "Mask"), QT_TRANSLATE_NOOP("RouteModel", "attn_mask and causality")},
    {QT_TRANSLATE_NOOP("RouteModel", "Strides"),
     QT_TRANSLATE_NOOP("RouteModel", "How query, key and value lie in memory")},
    {QT_TRANSLATE_NOOP("RouteModel", "Calls"), QT_TRANSLATE_NOOP("RouteModel", "Calls of this run")},
    {QT_TRANSLATE_NOOP("RouteModel", "Time"),
     QT_TRANSLATE_NOOP("RouteModel",
                       "Time of all its calls. ≈: scaled from the calls that were computed. –: planned only")},
    {QT_TRANSLATE_NOOP("RouteModel", "Share"),
     QT_TRANSLATE_NOOP("RouteModel", "Share of the run's time, or of its calls when nothing was timed")},
}};

/// Cells of these columns change while a run goes on.
bool same_cells(const trace::RouteRow& a, const trace::RouteRow& b) {
  return a.calls == b.calls && a.seconds == b.seconds && a.computed_calls == b.computed_calls &&
         a.first_step == b.first_step && a.last_step == b.last_step && a.density == b.density;
}

qint64 volume(const trace::EventShape& shape) {
  qint64 product = 1;
  for (int i = 0; i < shape.rank; ++i) product *= shape.size[static_cast<std::size_t>(i)];
  return product;
}

QString variant_text(const trace::RouteRow& row) {
  // A backend with one kernel names it after itself.
  QString text = row.variant == row.executed ? QString() : text_of(row.variant);
  if (row.density < 1.0) {
    const QString kept = RouteModel::tr("%1 % kept").arg(qRound(row.density * 100.0));
    text = text.isEmpty() ? kept : text + " · " + kept;
  }
  if (row.id.bypassed) text += (text.isEmpty() ? "" : " · ") + RouteModel::tr("bypassed");
  return text;
}

}  // namespace

double whole_seconds(const trace::RouteRow& row) noexcept {
  if (row.computed_calls == 0) return 0.0;
  return row.seconds * static_cast<double>(row.calls) / static_cast<double>(row.computed_calls);
}

void RouteModel::set_snapshot(const trace::TraceSnapshot& snapshot) {
  const auto& next = snapshot.routes;
  calls_ = snapshot.calls;
  seconds_ = 0.0;
  bool all_timed = !next.empty();
  for (const trace::RouteRow& row : next) {
    seconds_ += whole_seconds(row);
    all_timed = all_timed && row.computed_calls > 0;
  }
  const bool unit_changed = shares_time_ != all_timed;
  shares_time_ = all_timed;

  const auto same_route = [](const trace::RouteRow& a, const trace::RouteRow& b) { return a.id == b.id; };
  const bool grows = next.size() >= rows_.size() && std::equal(rows_.begin(), rows_.end(), next.begin(), same_route);
  if (!grows) {
    beginResetModel();
    rows_ = next;
    endResetModel();
    return;
  }
  const std::size_t before = rows_.size();
  bool any_changed = unit_changed;
  for (std::size_t i = 0; i < before; ++i) {
    any_changed |= !same_cells(rows_[i], next[i]);
    rows_[i] = next[i];
  }
  if (before < next.size()) {
    beginInsertRows({}, static_cast<int>(before), static_cast<int>(next.size()) - 1);
    rows_.insert(rows_.end(), next.begin() + static_cast<std::ptrdiff_t>(before), next.end());
    endInsertRows();
    any_changed = true;  // a share is of the whole
  }
  if (any_changed && before > 0) emit dataChanged(index(0, 0), index(static_cast<int>(before) - 1, kColumns - 1));
}

int RouteModel::find(const trace::RouteIdentity& id) const {
  const auto at = std::find_if(rows_.begin(), rows_.end(), [&](const trace::RouteRow& row) { return row.id == id; });
  return at == rows_.end() ? -1 : static_cast<int>(at - rows_.begin());
}

int RouteModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}
int RouteModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : kColumns; }

double RouteModel::share_of(const trace::RouteRow& row) const {
  if (shares_time_) return seconds_ > 0.0 ? whole_seconds(row) / seconds_ : 0.0;
  return calls_ > 0 ? static_cast<double>(row.calls) / static_cast<double>(calls_) : 0.0;
}

QString RouteModel::text(const trace::RouteRow& row, int column) const {
  switch (column) {
    case executed: {
      const QString variant = variant_text(row);
      return variant.isEmpty() ? text_of(row.id.backend) : text_of(row.id.backend) + ' ' + variant;
    }
    case requested:
      return text_of(row.requested) + (row.requested == row.executed ? QString() : QStringLiteral(" ≠"));
    case role:
      return row.id.role == Role::none ? QStringLiteral("–") : text_of(name_of(row.id.role));
    case steps:
      return steps_text(row.first_step, row.last_step);
    case query:
      return shape_text(row.id.query);
    case key:
      return shape_text(row.id.key);
    case dtype:
      return text_of(short_name_of(row.id.dtype));
    case mask:
      return mask_text(row);
    case strides:
      return strides_text(row);
    case calls:
      return count_text(row.calls);
    case time:
      if (row.computed_calls == 0) return QStringLiteral("–");
      return (row.computed_calls < row.calls ? QStringLiteral("≈ ") : QString()) + seconds_text(whole_seconds(row));
    case share:
      return share_text(share_of(row));
    default:
      return {};
  }
}

QVariant RouteModel::sort_key(const trace::RouteRow& row, int column) const {
  switch (column) {
    case steps:
      return row.first_step;
    case query:
      return volume(row.id.query);
    case key:
      return volume(row.id.key);
    case calls:
      return static_cast<qint64>(row.calls);
    case time:
      return whole_seconds(row);
    case share:
      return share_of(row);
    default:
      return text(row, column);
  }
}

QVariant RouteModel::data(const QModelIndex& index, int role_asked) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const trace::RouteRow& row_asked = row(index.row());
  const int column = index.column();
  switch (role_asked) {
    case Qt::DisplayRole:
      return text(row_asked, column);
    case Qt::TextAlignmentRole:
      return QVariant::fromValue((column == calls || column == time ? Qt::AlignRight : Qt::AlignLeft) |
                                 Qt::AlignVCenter);
    case Qt::ToolTipRole:
      return column == requested && row_asked.requested != row_asked.executed
                 ? tr("Asked for %1, served by %2. Select the row to see why.")
                       .arg(text_of(row_asked.requested), text_of(row_asked.executed))
                 : QVariant();
    case sort_role:
      return sort_key(row_asked, column);
    case backend_role:
      return text_of(row_asked.id.backend);
    case variant_role:
      return variant_text(row_asked);
    case differs_role:
      return row_asked.requested != row_asked.executed;
    case share_role:
      return share_of(row_asked);
    default:
      return {};
  }
}

QVariant RouteModel::headerData(int section, Qt::Orientation orientation, int role_asked) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= kColumns) return {};
  const ColumnText& texts = kColumnTexts[static_cast<std::size_t>(section)];
  switch (role_asked) {
    case Qt::DisplayRole:
      return tr(texts.title);
    case Qt::ToolTipRole:
      return tr(texts.tip);
    case Qt::TextAlignmentRole:
      return QVariant::fromValue((section == calls || section == time ? Qt::AlignRight : Qt::AlignLeft) |
                                 Qt::AlignVCenter);
    default:
      return {};
  }
}

}  // namespace attn::ui
