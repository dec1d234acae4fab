// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/policy/math_probe.h"

#include <algorithm>
#include <exception>

namespace attn {

bool KernelProbe::answered() const noexcept {
  return std::any_of(rows.begin(), rows.end(), [](const Row& row) { return row.runs == Support::supported; });
}

Support KernelProbe::math_only() const noexcept {
  if (!answered()) return Support::unknown;
  for (const Row& row : rows) {
    const bool is_math = row.kernel == "math";
    if ((row.runs == Support::supported) != is_math) return Support::not_supported;
  }
  return Support::supported;
}

KernelProbe probe_kernels(DType dtype, const TinyCall& call) {
  KernelProbe probe;
  if (!call) return probe;
  for (const std::string_view kernel : kSdpaKernels) {
    std::string why;
    try {
      const Expected<void> ran = call(kernel, dtype);
      if (!ran) why = ran.error().empty() ? "it said no" : ran.error();
    } catch (const std::exception& thrown) {
      why = thrown.what();
    } catch (...) {
      why = "something unknown was thrown";
    }
    probe.rows.push_back({kernel, why.empty() ? Support::supported : Support::not_supported, std::move(why)});
  }
  if (!probe.answered()) probe.rows.clear();
  return probe;
}

const KernelProbe& KernelProbes::of(std::string_view device, std::optional<DType> dtype, const TinyCall& call) {
  const DType tried = dtype.value_or(DType::float16);
  const std::pair key(std::string(device.substr(0, device.find(':'))), tried);
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  last_ = probe_kernels(tried, call);
  if (!last_.answered()) return last_;
  return known_.emplace(key, last_).first->second;
}

std::optional<LogLine> math_only_warning(const KernelProbe& probe, bool backend_engaged, bool device_known) {
  if (backend_engaged || !device_known || probe.math_only() != Support::supported) return std::nullopt;
  return LogLine{LogLevel::warning,
                 "diffusion.attention.math_only: only the math kernel runs here; its memory grows with the square of "
                 "the tokens"};
}

std::int64_t math_score_bytes(std::int64_t batch, std::int64_t heads, std::int64_t query_tokens,
                              std::int64_t key_tokens) noexcept {
  constexpr std::int64_t kScoreBytes = 4;
  return batch * heads * query_tokens * key_tokens * kScoreBytes;
}

}  // namespace attn
