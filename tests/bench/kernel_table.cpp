// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernel_table.h"

#include <algorithm>
#include <cstdio>

namespace attn::bench {
namespace {

double median(std::vector<double> values) {
  if (values.empty()) return 0.0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

void KernelTable::ReportRuns(const std::vector<Run>& runs) {
  for (const Run& run : runs) {
    if (run.run_type != Run::RT_Iteration || run.error_occurred) continue;
    Row& row = rows_[run.run_name.function_name];
    row.seconds.push_back(run.real_accumulated_time / static_cast<double>(run.iterations));
    const auto counter = [&](const char* name) {
      const auto at = run.counters.find(name);
      return at == run.counters.end() ? 0.0 : static_cast<double>(at->second.value);
    };
    row.flops = counter("FLOP");
    row.peak = counter("peak");
    row.error = counter("error");
  }
}

void KernelTable::print(const std::vector<std::string>& names, const std::map<std::string, std::string>& against) {
  for (const std::string& name : names) {
    const auto at = rows_.find(name);
    if (at == rows_.end()) continue;
    const Row& row = at->second;
    const auto unit = against.find(name);
    const std::string& base = unit == against.end() ? names.front() : unit->second;
    const double time = median(row.seconds), rate = row.flops / time;
    std::printf("%-44s %9.2f ms %7.1f GFLOP/s %6.1f %%", name.c_str(), 1e3 * time, 1e-9 * rate,
                100.0 * rate / row.peak);
    if (rows_.contains(base))
      std::printf("  %6.3f of %-10s", time / median(rows_[base].seconds),
                  base.substr(base.find('/') + 1, base.rfind('/') - base.find('/') - 1).c_str());
    if (row.error > 0.0) std::printf("  error %.1e", row.error);
    std::printf("\n");
  }
  std::fflush(stdout);
  rows_.clear();
}

}  // namespace attn::bench
