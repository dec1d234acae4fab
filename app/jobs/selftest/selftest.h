// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/tensor/expected.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace attn::app {

/// Where a self test's kernels run.
enum class SelftestDevice : std::uint8_t {
  cuda,  ///< a GPU of this machine
  host,  ///< the kernels' source, block by block, on the host: what can be known without a GPU
};

/// One kernel on one call.
struct SelftestRow {
  std::string kernel;  ///< "cuDNN", "own exact kernel", "own int8 kernel (sdnq)", ...
  std::string call;    ///< "causal, odd lengths"
  enum class State : std::uint8_t { ok, wrong, refused, failed };
  State state = State::ok;
  std::string reason;         ///< of refused and failed
  double error = 0.0;         ///< relative L1 distance to attention in float64; of a picture, mean
                              ///< squared, of 0..1; of a selection, tiles that differ
  double bound = 0.0;         ///< the largest that is right
  double milliseconds = 0.0;  ///< median of the device's own times; 0 in a check
  double tflops = 0.0;
  double gigabytes = 0.0;  ///< a second: query, key, value and output, each once
};
/// "ok", "wrong", "refused", "failed".
[[nodiscard]] std::string_view name_of(SelftestRow::State state) noexcept;

struct SelftestReport {
  std::string device;
  std::string driver;  ///< the machine's state in a sentence
  std::vector<SelftestRow> checks;
  std::vector<SelftestRow> times;  ///< empty on the host: its times mean nothing
  /// No row is wrong or failed. A refusal is no fault: it has its reason.
  [[nodiscard]] bool passed() const;
};

/// What to test.
struct SelftestRequest {
  SelftestDevice device = SelftestDevice::cuda;
  int index = 0;                                     ///< of the GPU
  bool times = true;                                 ///< also measure, on a GPU
  std::function<void(const SelftestRow&)> announce;  ///< gets each row as it is done; may be empty
};

/// Runs every kernel on small calls against attention in float64, then, on a GPU, on the shapes of `./dev bench
/// kernels` for times. Sized for under 5 minutes on one H200 and under one on the host. Error: why there is no GPU to
/// test. No GPU was at hand when this was written.
[[nodiscard]] Expected<SelftestReport> run_selftest(const SelftestRequest& request);

}  // namespace attn::app
