// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/compare/comparison_text.h"

#include "ui/format/change_text.h"
#include "ui/format/csv.h"
#include "ui/format/format.h"

#include <QCoreApplication>
#include <algorithm>
#include <cmath>

namespace attn::ui {

namespace {

const QString kNone = QStringLiteral("–");

QString said(const char* text) { return QCoreApplication::translate("Compare", text); }

QString chain_text(const std::vector<QString>& names) { return QStringList(names.begin(), names.end()).join(" › "); }

/// Rows under headings, in columns of spaces.
QString table(const QStringList& headings, const std::vector<QStringList>& rows) {
  std::vector<qsizetype> widths;
  for (const QString& heading : headings) widths.push_back(heading.size());
  for (const QStringList& row : rows) {
    for (qsizetype i = 0; i < row.size(); ++i) {
      widths[static_cast<std::size_t>(i)] = std::max(widths[static_cast<std::size_t>(i)], row[i].size());
    }
  }
  const auto line = [&](const QStringList& cells) {
    QString text = QStringLiteral("  ");
    for (qsizetype i = 0; i < cells.size(); ++i) {
      text += i + 1 < cells.size() ? cells[i].leftJustified(widths[static_cast<std::size_t>(i)] + 2) : cells[i];
    }
    return text + '\n';
  };
  QString text = line(headings);
  for (const QStringList& row : rows) text += line(row);
  return text;
}

QStringList part_cells(const PartChange& part) {
  return {part.name,
          time_text(part.then, part.calls_then),
          time_text(part.now, part.calls_now),
          time_change_text(part),
          count_text(part.calls_then),
          count_text(part.calls_now)};
}

QString plain(const CallTime& time, std::int64_t calls) {
  return time.known && calls > 0 ? QString::number(time.seconds, 'g', 9) : QString();
}

}  // namespace

QString time_text(const CallTime& time, std::int64_t calls) {
  if (calls == 0 || !time.known) return kNone;
  return (time.scaled ? QStringLiteral("≈ ") : QString()) + seconds_text(time.seconds);
}

QString time_change_text(const CallTime& then, std::int64_t calls_then, const CallTime& now, std::int64_t calls_now) {
  if (calls_then == 0 || calls_now == 0 || !then.known || !now.known) return kNone;
  return (then.scaled || now.scaled ? QStringLiteral("≈ ") : QString()) +
         seconds_and_relative(then.seconds, now.seconds);
}

QString time_change_text(const PartChange& part) {
  return time_change_text(part.then, part.calls_then, part.now, part.calls_now);
}

QString picture_text(const PictureComparison& comparison) {
  if (!comparison.problem.isEmpty()) return comparison.problem;
  if (std::isinf(comparison.psnr)) return said("equal, bit for bit");
  return said("PSNR %1 dB, SSIM %2, largest difference of a channel %3 of 255")
      .arg(QString::number(comparison.psnr, 'f', 1), QString::number(comparison.ssim, 'f', 4),
           QString::number(comparison.largest));
}

QString report_text(const RunComparison& comparison, const std::optional<PictureComparison>& picture) {
  QString text = said("Baseline  %1\n").arg(comparison.then_title) + said("Run       %1\n").arg(comparison.now_title);
  if (!comparison.part.isEmpty()) text += comparison.part + '\n';
  text += '\n' + comparison.sentence() + '\n';
  text += said("\nChain\n  then  %1\n  now   %2\n")
              .arg(chain_text(comparison.chain_then), chain_text(comparison.chain_now));
  std::vector<QStringList> rows;
  for (const SettingChange& change : comparison.settings) rows.push_back({change.label, change.before, change.after});
  if (!rows.empty()) text += said("\nSettings\n") + table({said("setting"), said("then"), said("now")}, rows);
  rows.clear();
  for (const MovedCalls& one : comparison.moved) {
    rows.push_back({text_of(name_of(one.role)), one.call, one.from, one.to, count_text(one.calls),
                    time_text(one.then, one.calls), time_text(one.now, one.calls),
                    time_change_text(one.then, one.calls, one.now, one.calls)});
  }
  if (!rows.empty()) {
    text += said("\nMoved calls\n") + table({said("role"), said("call"), said("from"), said("to"), said("calls"),
                                             said("then"), said("now"), said("change")},
                                            rows);
  }
  const QStringList parts{said("part"),   said("then"),       said("now"),
                          said("change"), said("calls then"), said("calls now")};
  rows = {part_cells(comparison.total)};
  for (const PartChange& role : comparison.roles) rows.push_back(part_cells(role));
  text += said("\nTime by role\n") + table(parts, rows);
  rows.clear();
  for (const PartChange& step : comparison.steps) rows.push_back(part_cells(step));
  if (!rows.empty()) text += said("\nTime by step\n") + table(parts, rows);
  if (const QString reason = untimed_reason(comparison.total); !reason.isEmpty()) text += '\n' + reason + '\n';
  if (picture) text += said("\nPicture\n  %1\n").arg(picture_text(*picture));
  return text;
}

QString report_csv(const RunComparison& comparison, const std::optional<PictureComparison>& picture) {
  QString text;
  const auto line = [&](const QStringList& cells) { text += csv_line(cells); };
  line({"table", "name", "call", "then", "now", "calls_then", "calls_now", "seconds_then", "seconds_now"});
  line({"run", "title", {}, comparison.then_title, comparison.now_title, {}, {}, {}, {}});
  line({"chain", "chain", {}, chain_text(comparison.chain_then), chain_text(comparison.chain_now), {}, {}, {}, {}});
  for (const SettingChange& change : comparison.settings) {
    line(
        {"setting", change.key.isEmpty() ? change.label : change.key, {}, change.before, change.after, {}, {}, {}, {}});
  }
  for (const MovedCalls& one : comparison.moved) {
    line({"moved", text_of(name_of(one.role)), one.call, one.from, one.to, QString::number(one.calls),
          QString::number(one.calls), plain(one.then, one.calls), plain(one.now, one.calls)});
  }
  const auto part = [&](const char* kind, const PartChange& change) {
    line({kind,
          change.name,
          {},
          {},
          {},
          QString::number(change.calls_then),
          QString::number(change.calls_now),
          plain(change.then, change.calls_then),
          plain(change.now, change.calls_now)});
  };
  part("total", comparison.total);
  for (const PartChange& role : comparison.roles) part("role", role);
  for (const PartChange& step : comparison.steps) part("step", step);
  if (picture && picture->problem.isEmpty()) {
    line({"picture", "psnr_db", {}, {}, QString::number(picture->psnr, 'g', 6), {}, {}, {}, {}});
    line({"picture", "ssim", {}, {}, QString::number(picture->ssim, 'g', 6), {}, {}, {}, {}});
  }
  return text;
}

}  // namespace attn::ui
