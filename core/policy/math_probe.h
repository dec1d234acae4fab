// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/policy/attention_request.h"
#include "core/registry/log.h"
#include "core/tensor/dtype.h"
#include "core/tensor/expected.h"

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attn {

/// torch's attention kernels, in the order in which they are probed.
inline constexpr std::array<std::string_view, 4> kSdpaKernels{"flash", "memory-efficient", "cudnn", "math"};

/// What a tiny call through each kernel showed.
struct KernelProbe {
  struct Row {
    std::string_view kernel;
    Support runs = Support::unknown;  ///< unknown: nobody could try
    std::string reason;               ///< why not, in the kernel's own words
  };
  std::vector<Row> rows;  ///< empty: the probe itself could not run

  [[nodiscard]] bool answered() const noexcept;
  /// Supported: math ran and none of the others did. Unknown where nothing was answered.
  [[nodiscard]] Support math_only() const noexcept;
};

/// Runs a call of shape (1, 2, 8, 64) through one kernel. Error: the kernel's sentence. It may throw.
using TinyCall = std::function<Expected<void>(std::string_view kernel, DType dtype)>;

/// Tries each kernel once. A kernel that fails or throws does not run; when not even math does, the probe says
/// nothing: something other than the kernels is wrong.
[[nodiscard]] KernelProbe probe_kernels(DType dtype, const TinyCall& call);

/// Probes and remembers: per device type and dtype, and only when the probe answered. Not thread safe.
class KernelProbes {
 public:
  /// `device` is "cuda" or "cuda:1": the number does not matter. Without a dtype fp16 is tried.
  const KernelProbe& of(std::string_view device, std::optional<DType> dtype, const TinyCall& call);

 private:
  std::map<std::pair<std::string, DType>, KernelProbe> known_;
  KernelProbe last_;
};

/// The warning for a model that is about to run on the default attention: one line, or none.
[[nodiscard]] std::optional<LogLine> math_only_warning(const KernelProbe& probe, bool backend_engaged,
                                                       bool device_known);

/// Bytes of the score matrix that the math kernel holds: B * H * Sq * Sk * 4, in fp32.
[[nodiscard]] std::int64_t math_score_bytes(std::int64_t batch, std::int64_t heads, std::int64_t query_tokens,
                                            std::int64_t key_tokens) noexcept;

}  // namespace attn
