// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <benchmark/benchmark.h>

#include <map>
#include <string>
#include <vector>

namespace attn::bench {

/// Google Benchmark's runs as one table: a line per variant with the median time, GFLOP/s, percent of the fp32
/// multiply-add peak, its time against the variant that it is compared with, and its error against float64.
class KernelTable final : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override;
  /// Prints what was reported since the last call, in the order of `names`, and forgets it. `against[name]` is the
  /// variant whose time is the unit; the first name where there is none.
  void print(const std::vector<std::string>& names, const std::map<std::string, std::string>& against);

 private:
  struct Row {
    std::vector<double> seconds;
    double flops = 0.0, peak = 0.0, error = 0.0;
  };
  std::map<std::string, Row> rows_;
};

}  // namespace attn::bench
