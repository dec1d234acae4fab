// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/call_list/call_columns.h"

#include "ui/filter/filter_parser.h"
#include "ui/format/format.h"
#include "ui/route_table/route_columns.h"

#include <QCoreApplication>
#include <array>

namespace attn::ui {

namespace {

using C = CallColumn;
using F = FilterField;

constexpr std::array<CallColumnSpec, kCallColumnCount> kColumns{{
    {QT_TRANSLATE_NOOP("CallList", "#"), QT_TRANSLATE_NOOP("CallList", "The call's place in the run, from 0"), true,
     true, false, 64, std::nullopt},
    {QT_TRANSLATE_NOOP("CallList", "Begin"),
     QT_TRANSLATE_NOOP("CallList", "When it began, after the first timed call. –: planned only"), true, true, false, 74,
     std::nullopt},
    {QT_TRANSLATE_NOOP("CallList", "Role"), QT_TRANSLATE_NOOP("CallList", "Text encoder, transformer or VAE"), false,
     true, true, 92, F::role},
    {QT_TRANSLATE_NOOP("CallList", "Step"), QT_TRANSLATE_NOOP("CallList", "The denoising step that was about to run"),
     true, true, false, 48, F::step},
    {QT_TRANSLATE_NOOP("CallList", "Executed"),
     QT_TRANSLATE_NOOP("CallList",
                       "The backend that returned the result, by the kernel's own word, and its variant. A "
                       "ring: bypassed, a dispatcher served it and the chain was not asked"),
     false, true, true, 166, F::backend},
    {QT_TRANSLATE_NOOP("CallList", "Requested"),
     QT_TRANSLATE_NOOP("CallList", "The backend that the settings ask for first. ≠ means that another one served"),
     false, true, true, 80, F::requested},
    {QT_TRANSLATE_NOOP("CallList", "Selected"),
     QT_TRANSLATE_NOOP("CallList", "The backend whose checks all held; its kernel may still hand the call on"), false,
     false, true, 80, F::selected},
    {QT_TRANSLATE_NOOP("CallList", "Query"), QT_TRANSLATE_NOOP("CallList", "batch × heads × tokens × head_dim"), false,
     true, true, 106, F::query},
    {QT_TRANSLATE_NOOP("CallList", "Key"), QT_TRANSLATE_NOOP("CallList", "batch × heads × tokens × head_dim"), false,
     true, true, 106, F::key},
    {QT_TRANSLATE_NOOP("CallList", "Value"), QT_TRANSLATE_NOOP("CallList", "batch × heads × tokens × head_dim"), false,
     false, true, 106, std::nullopt},
    {QT_TRANSLATE_NOOP("CallList", "Dtype"),
     QT_TRANSLATE_NOOP("CallList", "Element type; of query, key and value where they differ"), false, true, true, 52,
     F::dtype},
    {QT_TRANSLATE_NOOP("CallList", "Mask"), QT_TRANSLATE_NOOP("CallList", "What attn_mask says, and causality"), false,
     true, true, 54, F::mask},
    {QT_TRANSLATE_NOOP("CallList", "Strides"), QT_TRANSLATE_NOOP("CallList", "How query, key and value lie in memory"),
     false, false, true, 80, F::strides},
    {QT_TRANSLATE_NOOP("CallList", "Time"), QT_TRANSLATE_NOOP("CallList", "Of this call. –: planned only"), true, true,
     false, 66, F::time},
    {QT_TRANSLATE_NOOP("CallList", "Kept"), QT_TRANSLATE_NOOP("CallList", "Share of the tiles that were computed"),
     true, true, false, 56, F::kept},
    {QT_TRANSLATE_NOOP("CallList", "NaN, Inf"),
     QT_TRANSLATE_NOOP("CallList", "Elements of the output that are no finite numbers"), true, false, false, 80,
     F::nan},
    {QT_TRANSLATE_NOOP("CallList", "Left dense because"),
     QT_TRANSLATE_NOOP("CallList", "Why the sparse stage, which was asked, selected nothing"), false, false, true, 150,
     std::nullopt},
}};

/// The route's column that shows the same of a kind.
std::optional<RouteColumn> route_column(C column) {
  switch (column) {
    case C::role:
      return RouteColumn::role;
    case C::executed:
      return RouteColumn::executed;
    case C::requested:
      return RouteColumn::requested;
    case C::selected:
      return RouteColumn::selected;
    case C::query:
      return RouteColumn::query;
    case C::key:
      return RouteColumn::key;
    case C::value:
      return RouteColumn::value;
    case C::dtype:
      return RouteColumn::dtype;
    case C::mask:
      return RouteColumn::mask;
    case C::strides:
      return RouteColumn::strides;
    default:
      return std::nullopt;
  }
}

QString begin_text(const trace::CallRecord& call) {
  if (!call.timed()) return QStringLiteral("–");
  return QStringLiteral("%1 s").arg(static_cast<double>(call.begin_ns) * 1e-9, 0, 'f', 4);
}

QString finite_text(const trace::CallRecord& call) {
  QStringList parts;
  if (call.nan_count > 0) parts << count_text(call.nan_count) + " NaN";
  if (call.inf_count > 0) parts << count_text(call.inf_count) + " Inf";
  return parts.isEmpty() ? QStringLiteral("–") : parts.join(", ");
}

}  // namespace

const CallColumnSpec& spec_of(CallColumn column) noexcept { return kColumns[static_cast<std::size_t>(column)]; }

QString cell_text(const CallAt& at, CallColumn column) {
  if (const auto same = route_column(column)) return cell_text(at.kind.route, *same, {});
  switch (column) {
    case C::number:
      return count_text(static_cast<qint64>(at.index));
    case C::begin:
      return begin_text(at.call);
    case C::step:
      return QString::number(at.call.step);
    case C::time:
      return at.call.timed() ? seconds_text(static_cast<double>(at.call.seconds)) : QStringLiteral("–");
    case C::kept:
      return at.call.density < 1.0F ? share_text(static_cast<double>(at.call.density)) : QStringLiteral("–");
    case C::finite:
      return finite_text(at.call);
    case C::reason:
      return text_of(at.kind.stage_reason);
    default:
      return {};
  }
}

QString plain_text(const CallAt& at, CallColumn column) {
  switch (column) {
    case C::number:
      return QString::number(at.index);
    case C::begin:
      return at.call.timed() ? QString::number(static_cast<double>(at.call.begin_ns) * 1e-9, 'f', 9) : QString();
    case C::time:
      return at.call.timed() ? QString::number(static_cast<double>(at.call.seconds), 'g', 7) : QString();
    case C::kept:
      return QString::number(static_cast<double>(at.call.density), 'g', 4);
    case C::finite:
      return QString::number(static_cast<qint64>(at.call.nan_count) + at.call.inf_count);
    case C::requested:
      return text_of(at.kind.route.requested);
    default:
      return cell_text(at, column).replace(QChar(0x00D7), 'x');
  }
}

QString cell_filter(const CallAt& at, CallColumn column) {
  if (const auto same = route_column(column)) return cell_filter(at.kind.route, *same);
  switch (column) {
    case C::step:
      return written_term(F::step, QString::number(at.call.step));
    case C::time:
      return at.call.timed() ? QStringLiteral("time>=%1s").arg(static_cast<double>(at.call.seconds), 0, 'g', 3)
                             : QString();
    case C::kept:
      return at.call.density < 1.0F ? QStringLiteral("sparse:yes") : QStringLiteral("sparse:no");
    case C::finite:
      return at.call.nan_count + at.call.inf_count > 0 ? QStringLiteral("nan>0 OR inf>0") : QString();
    case C::reason:
      return at.kind.stage_reason.empty() ? QString() : '"' + text_of(at.kind.stage_reason) + '"';
    default:
      return {};
  }
}

QString kind_words(const trace::CallKind& kind) {
  const trace::CallRecord none;
  QStringList words;
  for (int column = 0; column < kCallColumnCount; ++column) {
    const auto as = static_cast<CallColumn>(column);
    if (spec_of(as).of_kind) words << cell_text({0, none, kind}, as);
  }
  return words.join('\n');
}

}  // namespace attn::ui
