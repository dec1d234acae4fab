// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/route_table/route_columns.h"

#include "ui/filter/filter_parser.h"
#include "ui/format/format.h"

#include <QCoreApplication>
#include <array>

namespace attn::ui {

namespace {

using C = RouteColumns;
using F = FilterField;

constexpr std::array<RouteColumnSpec, kRouteColumnCount> kColumns{{
    {QT_TRANSLATE_NOOP("RouteTable", "Executed"),
     QT_TRANSLATE_NOOP("RouteTable",
                       "The backend that returned the result, by the kernel's own word, and its variant. A "
                       "ring: bypassed, a dispatcher served it and the chain was not asked"),
     false, true, 140, F::backend},
    {QT_TRANSLATE_NOOP("RouteTable", "Kernel"),
     QT_TRANSLATE_NOOP("RouteTable", "The kernel's own word for its variant"), false, false, 90, F::kernel},
    {QT_TRANSLATE_NOOP("RouteTable", "Requested"),
     QT_TRANSLATE_NOOP(
         "RouteTable",
         "The backend that the settings ask for first. ≠ means that another one served; Explain says why"),
     false, true, 80, F::requested},
    {QT_TRANSLATE_NOOP("RouteTable", "Selected"),
     QT_TRANSLATE_NOOP("RouteTable", "The backend whose checks all held; its kernel may still hand the call on"), false,
     false, 80, F::selected},
    {QT_TRANSLATE_NOOP("RouteTable", "Role"), QT_TRANSLATE_NOOP("RouteTable", "Text encoder, transformer or VAE"),
     false, true, 92, F::role},
    {QT_TRANSLATE_NOOP("RouteTable", "Steps"),
     QT_TRANSLATE_NOOP("RouteTable", "First and last denoising step in which the route was taken"), false, true, 50,
     F::step},
    {QT_TRANSLATE_NOOP("RouteTable", "Query"), QT_TRANSLATE_NOOP("RouteTable", "batch × heads × tokens × head_dim"),
     false, true, 106, F::query},
    {QT_TRANSLATE_NOOP("RouteTable", "Key"), QT_TRANSLATE_NOOP("RouteTable", "batch × heads × tokens × head_dim"),
     false, true, 106, F::key},
    {QT_TRANSLATE_NOOP("RouteTable", "Value"), QT_TRANSLATE_NOOP("RouteTable", "batch × heads × tokens × head_dim"),
     false, false, 106, std::nullopt},
    {QT_TRANSLATE_NOOP("RouteTable", "Dtype"),
     QT_TRANSLATE_NOOP("RouteTable", "Element type; of query, key and value where they differ"), false, true, 52,
     F::dtype},
    {QT_TRANSLATE_NOOP("RouteTable", "Mask"),
     QT_TRANSLATE_NOOP("RouteTable",
                       "What attn_mask says where its contents were seen (all true, key padding, causal mask, "
                       "arbitrary), else its type; and causal for is_causal"),
     false, true, 54, F::mask},
    {QT_TRANSLATE_NOOP("RouteTable", "Strides"),
     QT_TRANSLATE_NOOP("RouteTable", "How query, key and value lie in memory"), false, true, 80, F::strides},
    {QT_TRANSLATE_NOOP("RouteTable", "Calls"), QT_TRANSLATE_NOOP("RouteTable", "Calls of this run"), true, true, 50,
     F::calls},
    {QT_TRANSLATE_NOOP("RouteTable", "Time"),
     QT_TRANSLATE_NOOP("RouteTable",
                       "Time of all its calls. ≈: scaled from the calls that were computed. –: planned only"),
     true, true, 66, F::time},
    {QT_TRANSLATE_NOOP("RouteTable", "Share"),
     QT_TRANSLATE_NOOP("RouteTable", "Share of the run's time, or of its calls when nothing was timed"), false, true,
     70, F::share},
    {QT_TRANSLATE_NOOP("RouteTable", "Error"),
     QT_TRANSLATE_NOOP("RouteTable",
                       "Relative L1 difference from exact attention on the same tensors. –: nobody measured it"),
     true, false, 62, F::error},
    {QT_TRANSLATE_NOOP("RouteTable", "Kept"),
     QT_TRANSLATE_NOOP("RouteTable", "Share of the tiles that the last sparse call computed"), true, false, 56,
     F::kept},
    {QT_TRANSLATE_NOOP("RouteTable", "NaN, Inf"),
     QT_TRANSLATE_NOOP("RouteTable", "Elements of the outputs that are no finite numbers, and the first step with one"),
     true, false, 80, F::nan},
    {QT_TRANSLATE_NOOP("RouteTable", "Then"),
     QT_TRANSLATE_NOOP("RouteTable",
                       "Who served these calls in the baseline. ≠ means that they moved; new: it has no such call"),
     false, false, 72, std::nullopt},
    {QT_TRANSLATE_NOOP("RouteTable", "Δ time"),
     QT_TRANSLATE_NOOP(
         "RouteTable",
         "Time now less time in the baseline, for the same calls. ≈: one of them is scaled. –: not timed"),
     true, false, 108, std::nullopt},
    {QT_TRANSLATE_NOOP("RouteTable", "Δ calls"),
     QT_TRANSLATE_NOOP("RouteTable", "Calls now less calls in the baseline"), true, false, 54, std::nullopt},
    {QT_TRANSLATE_NOOP("RouteTable", "Δ share"),
     QT_TRANSLATE_NOOP("RouteTable", "Share now less share in the baseline, in percentage points"), true, false, 66,
     std::nullopt},
}};

qint64 volume(const trace::EventShape& shape) {
  qint64 product = 1;
  for (int i = 0; i < shape.rank; ++i) product *= shape.size[static_cast<std::size_t>(i)];
  return product;
}

QString role_text(const trace::RouteRow& row) {
  return row.id.role == Role::none ? QStringLiteral("–") : text_of(name_of(row.id.role));
}

QString finite_text(const trace::RouteRow& row) {
  QStringList parts;
  if (row.nan_count > 0) parts << count_text(row.nan_count) + " NaN";
  if (row.inf_count > 0) parts << count_text(row.inf_count) + " Inf";
  if (parts.isEmpty()) return QStringLiteral("–");
  return parts.join(", ") + QCoreApplication::translate("RouteTable", " from step %1").arg(row.first_bad_step);
}

QString error_text(const trace::RouteRow& row) {
  if (!row.error) return QStringLiteral("–");
  return *row.error == 0.0 ? QCoreApplication::translate("RouteTable", "exact") : QString::number(*row.error, 'g', 3);
}

}  // namespace

const RouteColumnSpec& spec_of(RouteColumn column) noexcept { return kColumns[static_cast<std::size_t>(column)]; }

double whole_seconds(const trace::RouteRow& row) noexcept {
  if (row.computed_calls == 0) return 0.0;
  return row.seconds * static_cast<double>(row.calls) / static_cast<double>(row.computed_calls);
}

double share_of(const trace::RouteRow& row, const RouteTotals& totals) noexcept {
  if (totals.in_seconds) return totals.seconds > 0.0 ? whole_seconds(row) / totals.seconds : 0.0;
  return totals.calls > 0 ? static_cast<double>(row.calls) / static_cast<double>(totals.calls) : 0.0;
}

QString variant_text(const trace::RouteRow& row) {
  // What a dispatcher serves is told apart by that first; its kernel has a column of its own.
  if (row.id.bypassed) return QCoreApplication::translate("RouteTable", "bypassed");
  // A backend with one kernel names it after itself.
  QString text = row.variant == row.executed ? QString() : text_of(row.variant);
  if (row.density < 1.0) {
    const QString kept = QCoreApplication::translate("RouteTable", "%1 % kept").arg(qRound(row.density * 100.0));
    text = text.isEmpty() ? kept : text + " · " + kept;
  }
  return text;
}

QString cell_text(const trace::RouteRow& row, RouteColumn column, const RouteTotals& totals) {
  switch (column) {
    case C::executed: {
      const QString variant = variant_text(row);
      return variant.isEmpty() ? text_of(row.id.backend) : text_of(row.id.backend) + ' ' + variant;
    }
    case C::kernel:
      return text_of(row.variant);
    case C::requested:
      return text_of(row.requested) + (is_fallback(row) ? QStringLiteral(" ≠") : QString());
    case C::selected:
      return text_of(row.selected);
    case C::role:
      return role_text(row);
    case C::steps:
      return steps_text(row.first_step, row.last_step);
    case C::query:
      return shape_text(row.id.query);
    case C::key:
      return shape_text(row.id.key);
    case C::value:
      return shape_text(row.value);
    case C::dtype:
      return dtype_text(row);
    case C::mask:
      return mask_text(row);
    case C::strides:
      return strides_text(row);
    case C::calls:
      return count_text(row.calls);
    case C::time:
      if (row.computed_calls == 0) return QStringLiteral("–");
      return (row.computed_calls < row.calls ? QStringLiteral("≈ ") : QString()) + seconds_text(whole_seconds(row));
    case C::share:
      return share_text(share_of(row, totals));
    case C::error:
      return error_text(row);
    case C::kept:
      return row.density < 1.0 ? share_text(row.density) : QStringLiteral("–");
    case C::finite:
      return finite_text(row);
    case C::backend_then:
    case C::time_change:
    case C::calls_change:
    case C::share_change:
    case C::kColumns:
      break;
  }
  return {};
}

QVariant cell_value(const trace::RouteRow& row, RouteColumn column, const RouteTotals& totals) {
  switch (column) {
    case C::requested:
      return text_of(row.requested);
    case C::role:
      return text_of(name_of(row.id.role));
    case C::steps:
      return row.first_step;
    case C::query:
      return volume(row.id.query);
    case C::key:
      return volume(row.id.key);
    case C::value:
      return volume(row.value);
    case C::calls:
      return static_cast<qint64>(row.calls);
    case C::time:
      return row.computed_calls == 0 ? QVariant() : whole_seconds(row);
    case C::share:
      return share_of(row, totals);
    case C::error:
      return row.error ? QVariant(*row.error) : QVariant();
    case C::kept:
      return row.density;
    case C::finite:
      return static_cast<qint64>(row.nan_count + row.inf_count);
    default:
      return cell_text(row, column, totals);
  }
}

QString cell_filter(const trace::RouteRow& row, RouteColumn column) {
  const RouteTotals none;
  const auto tokens = [](const trace::EventShape& shape) {
    return QString::number(shape.rank >= 2 ? shape.size[shape.rank - 2U] : 1);
  };
  switch (column) {
    case C::executed:
      return written_term(F::backend, text_of(row.id.backend));
    case C::kernel:
    case C::selected:
    case C::dtype:
    case C::mask:
    case C::strides:
      return written_term(*spec_of(column).field, cell_text(row, column, none));
    case C::requested:
      return written_term(F::requested, text_of(row.requested));
    case C::role:
      return written_term(F::role, text_of(name_of(row.id.role)));
    case C::steps:
      return row.first_step == row.last_step
                 ? written_term(F::step, QString::number(row.first_step))
                 : written_term(F::step, QStringLiteral("%1..%2").arg(row.first_step).arg(row.last_step));
    case C::query:
      return written_term(F::query, tokens(row.id.query));
    case C::key:
      return written_term(F::key, tokens(row.id.key));
    case C::calls:
      return QStringLiteral("calls>=%1").arg(row.calls);
    case C::time:
      return row.computed_calls == 0 ? QString() : QStringLiteral("time>=%1s").arg(whole_seconds(row), 0, 'g', 3);
    case C::finite:
      return row.nan_count + row.inf_count > 0 ? QStringLiteral("nan>0 OR inf>0") : QString();
    case C::kept:
      return row.density < 1.0 ? QStringLiteral("sparse:yes") : QStringLiteral("sparse:no");
    case C::error:
      return row.error ? QStringLiteral("error>=%1").arg(*row.error, 0, 'g', 3) : QString();
    case C::value:
    case C::share:
    case C::backend_then:
    case C::time_change:
    case C::calls_change:
    case C::share_change:
    case C::kColumns:
      break;
  }
  return {};
}

}  // namespace attn::ui
