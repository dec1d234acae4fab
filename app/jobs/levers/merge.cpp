// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/levers/results_file.h"
#include "core/exchange/diff.h"

#include <algorithm>
#include <utility>

namespace attn::app {
namespace {

/// "sdp_overrides: [..] against [..]": the first line that two profiles differ in.
std::string first_difference(const std::string& a, const std::string& b) {
  std::string removed;
  for (const DiffLine& line : diff_lines(a, b, 0)) {
    const std::size_t begin = std::min(line.text.find_first_not_of(' '), line.text.size());
    if (line.kind == DiffLine::Kind::removed && removed.empty()) removed = line.text.substr(begin);
    if (line.kind == DiffLine::Kind::added) return removed + " against " + line.text.substr(begin);
  }
  return removed;
}

/// Puts a row over one of the same variant that was not measured.
void take(LeverResult& into, const LeverRow& row) {
  const auto same = std::find_if(into.rows.begin(), into.rows.end(),
                                 [&row](const LeverRow& one) { return one.variant.name == row.variant.name; });
  if (same == into.rows.end()) {
    into.rows.push_back(row);
  } else if (same->state != LeverState::measured && row.state == LeverState::measured) {
    *same = row;
  }
}

/// What keeps two tables apart, with the names that they have.
std::vector<std::string> differences_of(const LeverResult& a, const LeverResult& b) {
  std::vector<std::string> differences = header_differences(a.header, b.header);
  const LeverRow* first = a.baseline();
  const LeverRow* second = b.baseline();
  const bool both = first != nullptr && second != nullptr && first->state == LeverState::measured &&
                    second->state == LeverState::measured;
  if (differences.empty() && both && first->measure.baseline_hash != second->measure.baseline_hash) {
    differences.emplace_back("exact attention gave other bits: they are of another model or program");
  }
  return differences;
}

}  // namespace

std::vector<std::string> header_differences(const LeverHeader& a, const LeverHeader& b) {
  std::vector<std::string> differences;
  const auto compare = [&differences](const std::string& what, const std::string& x, const std::string& y) {
    if (x != y) differences.push_back(what + ": " + x + " against " + y);
  };
  compare("the program's version differs", a.version, b.version);
  compare("the job differs", a.job, b.job);
  if (a.job == b.job && a.identity != b.identity) {
    differences.push_back("the job differs: " + a.job + " with other calls, prompt, seed or threads");
  }
  compare("the target differs", a.target, b.target);
  if (a.target == b.target && a.settings != b.settings) {
    differences.push_back("the settings differ: " + first_difference(a.settings, b.settings));
  }
  compare("the machine differs", a.machine, b.machine);
  compare("the repetitions differ", std::to_string(a.repeat), std::to_string(b.repeat));
  return differences;
}

Expected<LeverResult> merge_levers(const std::vector<LeverResult>& parts, const std::vector<std::string>& names,
                                   bool mixed) {
  if (parts.empty()) return fail("there is no table to merge");
  LeverResult all;
  all.header = parts.front().header;
  all.outcome = JobOutcome::finished;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string pair = names[i] + " does not belong to " + names.front() + ": ";
    for (const std::string& difference : differences_of(parts.front(), parts[i])) {
      if (!mixed) return fail(pair + difference);
      all.mixed.push_back(pair + difference);
    }
    all.mixed.insert(all.mixed.end(), parts[i].mixed.begin(), parts[i].mixed.end());
    for (const std::string& name : parts[i].variants) {
      if (std::find(all.variants.begin(), all.variants.end(), name) == all.variants.end()) all.variants.push_back(name);
    }
    for (const LeverRow& row : parts[i].rows) take(all, row);
  }
  const auto place = [](const std::vector<std::string>& order, const std::string& name) {
    return std::find(order.begin(), order.end(), name) - order.begin();
  };
  std::stable_sort(all.rows.begin(), all.rows.end(), [&](const LeverRow& a, const LeverRow& b) {
    return place(all.variants, a.variant.name) < place(all.variants, b.variant.name);
  });
  if (all.missing() > 0) all.outcome = JobOutcome::stopped;
  return all;
}

}  // namespace attn::app
