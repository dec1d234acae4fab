// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/route_table/route_changes.h"

#include "ui/format/change_text.h"
#include "ui/format/format.h"

#include <QCoreApplication>
#include <cmath>

namespace attn::ui {

namespace {

using C = RouteColumns;

const QString kNone = QStringLiteral("–");

QString said(const char* text) { return QCoreApplication::translate("RouteTable", text); }

CallTime time_now(const trace::RouteRow& row) {
  return {whole_seconds(row), row.computed_calls > 0, row.computed_calls < row.calls};
}

/// A change of time that can be told: both sides are known.
bool timed(const RouteChange& change) {
  return change.then.calls > 0 && change.then.time.known && change.now.computed_calls > 0;
}

std::optional<double> share_then(const RouteChange& change) {
  const bool in_seconds = change.baseline.index.time().known && change.baseline.index.count() > 0;
  if (change.then.calls == 0 || in_seconds != change.totals.in_seconds) return std::nullopt;
  const double whole =
      in_seconds ? change.baseline.index.time().seconds : static_cast<double>(change.baseline.index.count());
  const double part = in_seconds ? change.then.time.seconds : static_cast<double>(change.then.calls);
  return whole > 0.0 ? std::optional(part / whole) : std::nullopt;
}

}  // namespace

BaselineRoutes::BaselineRoutes(const trace::TraceSnapshot& run, QString written_name)
    : index(run), name(std::move(written_name)) {}

bool is_change(RouteColumn column) noexcept {
  return column == C::backend_then || column == C::time_change || column == C::calls_change ||
         column == C::share_change;
}

QString brief_text(const RouteChange& change, RouteColumn column) {
  if (column != C::time_change || !timed(change)) return {};
  const CallTime now = time_now(change.now);
  return (now.scaled || change.then.time.scaled ? QStringLiteral("≈ ") : QString()) +
         brief_change(change.then.time.seconds, now.seconds);
}

QString change_text(const RouteChange& change, RouteColumn column, bool group) {
  const bool is_new = change.then.calls == 0;
  switch (column) {
    case C::backend_then:
      if (group) return {};
      if (is_new) return said("new");
      return change.then.backends.join(", ") + (change.then.moved ? QStringLiteral(" ≠") : QString());
    case C::time_change: {
      if (!timed(change)) return kNone;
      const CallTime now = time_now(change.now);
      return (now.scaled || change.then.time.scaled ? QStringLiteral("≈ ") : QString()) +
             seconds_and_relative(change.then.time.seconds, now.seconds);
    }
    case C::calls_change:
      return count_change(change.then.calls, change.now.calls);
    case C::share_change: {
      const auto then = share_then(change);
      return then ? ui::share_change(*then, share_of(change.now, change.totals)) : kNone;
    }
    default:
      return {};
  }
}

QVariant change_value(const RouteChange& change, RouteColumn column) {
  switch (column) {
    case C::backend_then:
      return change.then.backends.join(' ');
    case C::time_change:
      return timed(change) ? QVariant(whole_seconds(change.now) - change.then.time.seconds) : QVariant();
    case C::calls_change:
      return static_cast<qint64>(change.now.calls - change.then.calls);
    case C::share_change: {
      const auto then = share_then(change);
      return then ? QVariant(share_of(change.now, change.totals) - *then) : QVariant();
    }
    default:
      return {};
  }
}

int change_tone(const RouteChange& change, RouteColumn column) {
  // Two measurements of the same thing differ by a hair.
  constexpr double kHair = 0.005;
  if (column != C::time_change || !timed(change) || change.then.time.seconds <= 0.0) return 0;
  const double ratio = whole_seconds(change.now) / change.then.time.seconds;
  return ratio < 1.0 - kHair ? -1 : (ratio > 1.0 + kHair ? 1 : 0);
}

QString change_tip(const RouteChange& change) {
  if (change.then.calls == 0) return said("The baseline %1 has no such call.").arg(change.baseline.name);
  const QString calls = counted(change.then.calls, said("call"));
  return said("In the baseline %1, %2 of this kind went to %3.")
      .arg(change.baseline.name, calls, change.then.backends.join(", "));
}

RunAgainst::RunAgainst(const RouteMatch& match, const CallIndex& baseline, const CallIndex& run)
    : then(baseline.time()), now(run.time()) {
  for (const RouteFlow& flow : match.flows()) {
    if (flow.then == RouteFlow::kNone) {
      fresh += flow.calls_now;
    } else if (flow.now == RouteFlow::kNone) {
      gone += flow.calls_then;
    } else if (run.backend(flow.now) != baseline.backend(flow.then)) {
      moved += flow.calls_now;
    }
  }
}

QString RunAgainst::sentence() const {
  QStringList parts{moved == 0 ? said("nothing moved") : said("%1 moved").arg(counted(moved, said("call")))};
  if (fresh > 0) parts << said("%1 new").arg(count_text(fresh));
  if (gone > 0) parts << said("%1 gone").arg(count_text(gone));
  const bool timed = then.known && now.known && then.seconds > 0.0;
  if (timed && fresh == 0 && gone == 0) {
    parts << (then.scaled || now.scaled ? QStringLiteral("≈ ") : QString()) +
                 seconds_and_relative(then.seconds, now.seconds);
  }
  return parts.join(", ");
}

}  // namespace attn::ui
