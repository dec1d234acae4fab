// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/call_list/call_columns.h"

#include "ui/filter/filter_parser.h"
#include "ui/format/change_text.h"
#include "ui/format/format.h"
#include "ui/route_table/route_columns.h"

#include <QCoreApplication>
#include <array>
#include <cmath>

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
    {QT_TRANSLATE_NOOP("CallList", "Then"),
     QT_TRANSLATE_NOOP("CallList",
                       "Who served such calls in the baseline, in this step where it has any there. ≠ means that they "
                       "moved; new: it has no such call"),
     false, false, false, 72, std::nullopt},
    {QT_TRANSLATE_NOOP("CallList", "Δ time"),
     QT_TRANSLATE_NOOP("CallList",
                       "Time of this call less the average of such calls in the baseline, in this step where it has "
                       "any there. ≈: that one is scaled. –: not timed"),
     true, false, false, 108, std::nullopt},
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

QString then_text(const CallAt& at) {
  if (at.changes == nullptr) return {};
  const RouteThen& then = at.changes->then(at.kind, at.call.step);
  if (then.calls == 0) return QCoreApplication::translate("CallList", "new");
  return then.backends.join(", ") + (then.moved ? QStringLiteral(" ≠") : QString());
}

/// How a change of time is written: whole, or brief.
using Written = QString (*)(double then, double now);

QString change_text(const CallAt& at, Written written) {
  if (at.changes == nullptr) return {};
  const RouteThen& then = at.changes->then(at.kind, at.call.step);
  if (!time_change(at.call, then)) return QStringLiteral("–");
  const CallTime each = each_of(then);
  return (each.scaled ? QStringLiteral("≈ ") : QString()) + written(each.seconds, static_cast<double>(at.call.seconds));
}

QString finite_text(const trace::CallRecord& call) {
  QStringList parts;
  if (call.nan_count > 0) parts << count_text(call.nan_count) + " NaN";
  if (call.inf_count > 0) parts << count_text(call.inf_count) + " Inf";
  return parts.isEmpty() ? QStringLiteral("–") : parts.join(", ");
}

}  // namespace

const CallColumnSpec& spec_of(CallColumn column) noexcept { return kColumns[static_cast<std::size_t>(column)]; }

bool is_change(CallColumn column) noexcept { return column == C::backend_then || column == C::time_change; }

std::optional<double> time_change(const trace::CallRecord& call, const RouteThen& then) {
  const CallTime each = each_of(then);
  if (!each.known || !call.timed()) return std::nullopt;
  return static_cast<double>(call.seconds) - each.seconds;
}

int change_tone(const CallAt& at, CallColumn column) {
  // Single calls scatter: what is within a twentieth is no news.
  constexpr double kScatter = 0.05;
  if (column != C::time_change || at.changes == nullptr) return 0;
  const RouteThen& then = at.changes->then(at.kind, at.call.step);
  const auto change = time_change(at.call, then);
  if (!change || std::abs(*change) <= kScatter * each_of(then).seconds) return 0;
  return *change < 0.0 ? -1 : 1;
}

QString brief_text(const CallAt& at, CallColumn column) {
  return column == C::time_change ? change_text(at, brief_change) : QString();
}

QString change_tip(const CallAt& at) {
  if (at.changes == nullptr) return {};
  const auto said = [](const char* text) { return QCoreApplication::translate("CallList", text); };
  const RouteThen& then = at.changes->then(at.kind, at.call.step);
  if (then.calls == 0) return said("The baseline %1 has no such call.").arg(at.changes->name());
  const QString served =
      said("In the baseline %1 such calls went to %2").arg(at.changes->name(), then.backends.join(", "));
  const CallTime each = each_of(then);
  return each.known ? said("%1 and took %2 each.").arg(served, seconds_text(each.seconds)) : served + '.';
}

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
    case C::backend_then:
      return then_text(at);
    case C::time_change:
      return change_text(at, seconds_and_relative);
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
    case C::backend_then:
      return at.changes == nullptr ? QString() : at.changes->then(at.kind, at.call.step).backends.join(' ');
    case C::time_change: {
      const auto change =
          at.changes == nullptr ? std::nullopt : time_change(at.call, at.changes->then(at.kind, at.call.step));
      return change ? QString::number(*change, 'g', 7) : QString();
    }
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
