// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/sparse/skip_reasons.h"

#include "ui/format/format.h"

#include <QCoreApplication>
#include <algorithm>

namespace attn::ui {

namespace {

QString said(const char* text) { return QCoreApplication::translate("SkipReasons", text); }

void sort_by_calls(std::vector<trace::StageSkip>& skips) {
  std::stable_sort(skips.begin(), skips.end(), [](const auto& a, const auto& b) { return a.calls > b.calls; });
}

/// Of the calls that were left dense for this reason, the longest.
std::int64_t longest(const trace::TraceSnapshot& run, std::string_view reason) {
  std::int64_t tokens = 0;
  for (const trace::RouteRow& row : run.routes) {
    for (const trace::StageSkip& skip : row.stage_skips) {
      if (skip.reason != reason || row.id.query.rank < 2) continue;
      tokens = std::max<std::int64_t>(tokens, row.id.query.size[row.id.query.rank - 2U]);
    }
  }
  return tokens;
}

}  // namespace

QString remedy_for(std::string_view reason, std::int64_t tokens) {
  if (reason == "below the minimum sequence") {
    return said("set the minimum sequence to %1 or less").arg(count_text(tokens));
  }
  if (reason == "excluded") return said("take the model off the excluded ones");
  if (reason == "masked") return said("let Flex serve: it combines a mask with a block selection");
  if (reason == "budget covers everything" || reason == "the selection covered everything") {
    return said("lower the budget");
  }
  if (reason == "unsupported tensor") return said("choose a target with an accelerator");
  return {};
}

QStringList skip_lines(const trace::RouteRow& route) {
  std::vector<trace::StageSkip> skips = route.stage_skips;
  sort_by_calls(skips);
  QStringList lines;
  for (const trace::StageSkip& skip : skips) {
    lines << said("%1 of %2 stayed dense: %3")
                 .arg(count_text(skip.calls), counted(route.calls, said("call")), text_of(skip.reason));
  }
  return lines;
}

std::vector<trace::StageSkip> skips_of(const trace::TraceSnapshot& run) {
  std::vector<trace::StageSkip> all;
  for (const trace::RouteRow& row : run.routes) {
    for (const trace::StageSkip& skip : row.stage_skips) {
      const auto at = std::find_if(all.begin(), all.end(), [&](const auto& s) { return s.reason == skip.reason; });
      if (at == all.end()) {
        all.push_back(skip);
      } else {
        at->calls += skip.calls;
      }
    }
  }
  sort_by_calls(all);
  return all;
}

QString dense_reason(const trace::TraceSnapshot& run) {
  const std::vector<trace::StageSkip> skips = skips_of(run);
  if (skips.empty()) return {};
  QStringList parts;
  QString remedy;
  for (const trace::StageSkip& skip : skips) {
    parts << said("%1 (%2)").arg(text_of(skip.reason), counted(skip.calls, said("call")));
    if (remedy.isEmpty()) remedy = remedy_for(skip.reason, longest(run, skip.reason));
  }
  const QString text = parts.join(", ");
  return remedy.isEmpty() ? text : said("%1. To change that, %2").arg(text, remedy);
}

}  // namespace attn::ui
