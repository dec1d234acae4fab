// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/selftest/step_check.h"

#include "app/jobs/selftest/selftest_calls.h"
#include "backends/cuda/serve/device_kernel.h"
#include "backends/cuda/serve/own_compute.h"
#include "backends/sdnq/sdnq_operands.h"
#include "backends/simd/exact_kernel.h"
#include "core/sparse/selector.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <numeric>
#include <vector>

namespace attn::app {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::array kBudgets{0.6F, 0.2F};
constexpr int kTimes = 5;

std::unique_ptr<cuda::DeviceKernel> kernel_of(const std::shared_ptr<cuda::LocalGpu>& gpu,
                                              std::unique_ptr<cuda::DeviceCompute> compute) {
  cuda::DeviceComputes computes;
  computes.push_back(std::move(compute));
  return std::make_unique<cuda::DeviceKernel>(std::make_shared<ExactKernel>("own", "exact", true), gpu,
                                              std::move(computes), cuda::OnFailure::decline);
}

std::unique_ptr<cuda::DeviceCompute> int8(const cuda::LaunchTable& launches) {
  return cuda::own_int8_compute(launches, [](const AttentionCall& call) { return sdnq_on_gpu({}, call); });
}

/// The calls of the small step with what serves them.
struct SmallStep {
  std::unique_ptr<cuda::DeviceKernel> exact;
  std::unique_ptr<cuda::DeviceKernel> quantised;
  FilledCall sparse{{.name = "sparse", .query_tokens = 500, .key_tokens = 500, .kept = kBudgets[0], .on_device = true}};
  FilledCall causal{{.name = "causal", .is_causal = true}};
  FilledCall dense{{.name = "dense", .head_dim = 128}};

  SmallStep(const std::shared_ptr<cuda::LocalGpu>& gpu, const cuda::LaunchTable& launches)
      : exact(kernel_of(gpu, cuda::own_exact_compute(launches))), quantised(kernel_of(gpu, int8(launches))) {}

  [[nodiscard]] std::vector<StepCall> calls() const {
    return {{quantised.get(), &sparse.call(), sparse.selection()},
            {exact.get(), &causal.call(), nullptr},
            {quantised.get(), &dense.call(), nullptr},
            {exact.get(), &causal.call(), nullptr}};
  }
  [[nodiscard]] std::vector<std::byte> outputs() const {
    std::vector<std::byte> all;
    for (const FilledCall* filled : {&sparse, &causal, &dense}) {
      const auto* data = static_cast<const std::byte*>(filled->call().output.data);
      all.insert(all.end(), data, data + filled->call().output.bytes());
    }
    return all;
  }
  void clear() const {
    for (const FilledCall* filled : {&sparse, &causal, &dense}) {
      std::memset(filled->call().output.data, 0xFF, static_cast<std::size_t>(filled->call().output.bytes()));
    }
  }
};

/// The same calls one by one, with the budget of a step.
Expected<void> one_by_one(const SmallStep& step, float budget) {
  for (const StepCall& call : step.calls()) {
    BlockSelection selection;
    if (call.selection != nullptr) {
      selection = *call.selection;
      selection.budget = static_cast<double>(budget);
    }
    const KernelResult done = call.kernel->run(*call.call, call.selection == nullptr ? nullptr : &selection);
    if (!done.failure.empty()) return fail(std::string(done.failure));
  }
  return {};
}

}  // namespace

Expected<std::int64_t> check_step(const std::shared_ptr<cuda::LocalGpu>& gpu, const cuda::LaunchTable& launches) {
  const SmallStep small(gpu, launches);
  const std::vector<StepCall> calls = small.calls();
  const auto recorded = gpu->recorder->record(calls, kBudgets);
  if (!recorded) return fail(recorded.error());
  std::int64_t different = 0;
  std::vector<double> milliseconds(calls.size());
  for (std::size_t step = 0; step < kBudgets.size(); ++step) {
    small.clear();
    if (auto done = (*recorded)->run(static_cast<std::int32_t>(step), milliseconds); !done) return fail(done.error());
    const std::vector<std::byte> together = small.outputs();
    small.clear();
    if (auto done = one_by_one(small, kBudgets[step]); !done) return fail(done.error());
    const std::vector<std::byte> alone = small.outputs();
    for (std::size_t i = 0; i < alone.size(); i += 2) {  // elements of 16 bits
      different += together[i] == alone[i] && together[i + 1] == alone[i + 1] ? 0 : 1;
    }
  }
  return different;
}

Expected<StepTime> time_step(const std::shared_ptr<cuda::LocalGpu>& gpu, const cuda::LaunchTable& launches,
                             std::size_t calls) {
  const auto kernel = kernel_of(gpu, int8(launches));
  const FilledCall filled(
      {.name = "flux", .heads = 24, .kv_heads = 24, .query_tokens = 4608, .key_tokens = 4608, .head_dim = 128});
  const std::vector<StepCall> step(calls, StepCall{kernel.get(), &filled.call(), nullptr});
  const auto recorded = gpu->recorder->record(step, {});
  if (!recorded) return fail(recorded.error());
  std::vector<double> milliseconds(calls);
  std::vector<StepTime> times;
  for (int i = 0; i <= kTimes; ++i) {  // the first warms up
    const auto begin = Clock::now();
    if (auto done = (*recorded)->run(i, milliseconds); !done) return fail(done.error());
    const double wall = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
    const double kernels = std::accumulate(milliseconds.begin(), milliseconds.end(), 0.0);
    if (i > 0) times.push_back({wall, kernels, flops_of(filled.call()) * static_cast<double>(calls)});
  }
  std::ranges::sort(times, {}, &StepTime::milliseconds);
  return times[times.size() / 2];
}

}  // namespace attn::app
