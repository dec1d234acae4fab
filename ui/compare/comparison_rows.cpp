// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/compare/comparison_rows.h"

#include "ui/compare/comparison_text.h"
#include "ui/format/change_text.h"
#include "ui/format/format.h"

#include <QCoreApplication>
#include <cmath>

namespace attn::ui {

namespace {

QString said(const char* text) { return QCoreApplication::translate("Compare", text); }

/// A number and its unit stay in one line.
QString unbroken(QString text) { return text.replace(' ', QChar::Nbsp); }

Fact number(const QString& text, Ink ink = Ink::text) { return {text, ink, {}, false, true}; }

/// Less time is better; a change that is no more than a hair is neither.
Ink ink_of(double then, double now) {
  constexpr double kHair = 0.005;
  if (then <= 0.0 || std::abs(now / then - 1.0) < kHair) return Ink::dim;
  return now < then ? Ink::ok : Ink::bad;
}

Ink ink_of(const PartChange& part) { return part.timed() ? ink_of(part.then.seconds, part.now.seconds) : Ink::dim; }

/// Calls that a condition holds for.
template <class Which>
qint64 calls_where(const ArchivedRun& run, Which which) {
  qint64 calls = 0;
  for (const trace::RouteRow& row : run.trace.routes) calls += which(row) ? row.calls : 0;
  return calls;
}

FactRow counts(const QString& name, qint64 then, qint64 now) {
  return {{name}, number(count_text(then)), number(count_text(now)), number(count_change(then, now), Ink::dim)};
}

}  // namespace

QStringList total_headings() { return {said("Whole run"), said("Then"), said("Now"), said("Change")}; }

std::vector<FactRow> total_rows(const RunComparison& comparison, const ArchivedRun& then, const ArchivedRun& now,
                                const std::optional<PictureComparison>& picture) {
  std::vector<FactRow> rows;
  const PartChange& total = comparison.total;
  rows.push_back({{said("Time of attention")},
                  number(time_text(total.then, total.calls_then)),
                  number(time_text(total.now, total.calls_now)),
                  number(time_change_text(total), ink_of(total))});
  const auto is_whole = [](const ArchivedRun& run) {
    return run.finished() && (run.request.picture || computes_all(run.request.work));
  };
  if (is_whole(then) && is_whole(now)) {
    rows.push_back(
        {{said("Time of the run")},
         number(seconds_text(then.end.seconds)),
         number(seconds_text(now.end.seconds)),
         number(seconds_and_relative(then.end.seconds, now.end.seconds), ink_of(then.end.seconds, now.end.seconds))});
  }
  rows.push_back(counts(said("Calls"), then.trace.calls, now.trace.calls));
  const auto sparse = [](const trace::RouteRow& row) { return row.id.backend.find('+') != std::string::npos; };
  const auto bad = [](const trace::RouteRow& row) { return row.first_bad_step >= 0; };
  rows.push_back(counts(said("Calls that fell back"), calls_where(then, is_fallback), calls_where(now, is_fallback)));
  const qint64 sparse_then = calls_where(then, sparse);
  const qint64 sparse_now = calls_where(now, sparse);
  if (sparse_then + sparse_now > 0) rows.push_back(counts(said("Sparse calls"), sparse_then, sparse_now));
  const qint64 bad_then = calls_where(then, bad);
  const qint64 bad_now = calls_where(now, bad);
  if (bad_then + bad_now > 0) rows.push_back(counts(said("Calls of routes with NaN or Inf"), bad_then, bad_now));
  if (!picture) return rows;
  if (!picture->problem.isEmpty()) {
    rows.push_back({{said("Picture")}, {}, {}, {picture->problem, Ink::dim, {}, false, true}});
  } else if (std::isinf(picture->psnr)) {
    rows.push_back({{said("Picture")}, {}, {}, number(said("equal, bit for bit"))});
  } else {
    rows.push_back({{said("Picture: PSNR")}, {}, {}, number(QStringLiteral("%1 dB").arg(picture->psnr, 0, 'f', 1))});
    rows.push_back({{said("Picture: SSIM")}, {}, {}, number(QString::number(picture->ssim, 'f', 4))});
  }
  return rows;
}

std::vector<FactRow> setting_rows(const RunComparison& comparison) {
  std::vector<FactRow> rows;
  for (const SettingChange& change : comparison.settings) {
    rows.push_back({{change.label, Ink::text, change.key}, {change.before, Ink::dim}, {change.after}});
  }
  if (rows.empty()) rows.push_back({{said("Nothing was set differently."), Ink::dim}});
  return rows;
}

QStringList moved_headings() {
  return {said("Call"), said("From → to"), said("Calls"), said("Then"), said("Now"), said("Change")};
}

std::vector<FactRow> moved_rows(const RunComparison& comparison) {
  std::vector<FactRow> rows;
  for (const MovedCalls& one : comparison.moved) {
    const bool timed = one.then.known && one.now.known;
    const QString change =
        timed ? relative_change(one.then.seconds, one.now.seconds) : time_change_text(one.then, 0, one.now, 0);
    rows.push_back({{text_of(name_of(one.role)) + '\n' + one.call},
                    {one.from + QStringLiteral(" → ") + one.to},
                    number(count_text(one.calls)),
                    number(unbroken(time_text(one.then, one.calls))),
                    number(unbroken(time_text(one.now, one.calls))),
                    {unbroken(change), timed ? ink_of(one.then.seconds, one.now.seconds) : Ink::dim,
                     time_change_text(one.then, one.calls, one.now, one.calls), false, true}});
  }
  if (rows.empty()) {
    rows.push_back({{said("No call moved."), Ink::dim}});
  }
  return rows;
}

QStringList part_headings() {
  return {said("Part"), said("Then"), said("Now"), said("Change"), said("Calls then"), said("Calls now")};
}

std::vector<FactRow> part_rows(const RunComparison& comparison) {
  std::vector<FactRow> rows;
  const auto add = [&](const PartChange& part, bool strong) {
    rows.push_back({{part.step < 0 ? part.name : QStringLiteral("   ") + part.name, Ink::text, {}, strong},
                    number(unbroken(time_text(part.then, part.calls_then))),
                    number(unbroken(time_text(part.now, part.calls_now))),
                    number(unbroken(time_change_text(part)), ink_of(part)),
                    number(count_text(part.calls_then), Ink::dim),
                    number(count_text(part.calls_now), Ink::dim)});
  };
  add(comparison.total, true);
  for (const PartChange& role : comparison.roles) {
    add(role, true);
    if (role.role != Role::transformer) continue;
    for (const PartChange& step : comparison.steps) add(step, false);
  }
  return rows;
}

}  // namespace attn::ui
