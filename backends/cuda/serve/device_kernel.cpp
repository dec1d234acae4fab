// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cuda/serve/device_kernel.h"

#include "core/sparse/selector.h"

#include <algorithm>
#include <new>
#include <set>

namespace attn::cuda {
namespace {

constexpr std::string_view kFailed = "the GPU failed";
constexpr std::string_view kMath = "math";

}  // namespace

std::string_view kept_sentence(const std::string& sentence) {
  constexpr std::size_t kMost = 256;
  static std::mutex mutex;
  static std::set<std::string> kept;  // nodes never move
  const std::lock_guard lock(mutex);
  if (const auto found = kept.find(sentence); found != kept.end()) return *found;
  if (kept.size() >= kMost) return kFailed;
  return *kept.insert(sentence).first;
}

const DeviceCompute* DeviceKernel::compute_for(const AttentionCall& call, const BlockSelection* selection) const {
  // torch's math kernel holds the whole score matrix; no kernel here does, and what is reported is what ran.
  if (host_->route(call, selection).variant == kMath) return nullptr;
  for (const auto& compute : computes_) {
    if (compute->refusal(call, selection).empty()) return compute.get();
  }
  return nullptr;
}

bool DeviceKernel::chooses_tiles(const AttentionCall& call, const BlockSelection& selection) const {
  const DeviceCompute* compute = call.output.elements() == 0 ? nullptr : compute_for(call, &selection);
  return compute != nullptr && compute->chooses_tiles(call, selection);
}

Expected<const DeviceCompute*> DeviceKernel::compute_of(const AttentionCall& call,
                                                        const BlockSelection* selection) const {
  if (call.output.elements() == 0) return fail("a call is empty");
  if (const DeviceCompute* compute = compute_for(call, selection)) return compute;
  const KernelForecast forecast = DeviceKernel::forecast(call, selection);
  const auto refusal =
      std::ranges::find_if(forecast.choices, [](const Verdict& choice) { return !choice.reason.empty(); });
  return fail("the host computes a call" + (refusal == forecast.choices.end()
                                                ? std::string()
                                                : ": " + std::string(refusal->check) + " " + refusal->reason));
}

KernelResult DeviceKernel::run_on_host(const AttentionCall& call, const BlockSelection* selection) const {
  if (selection == nullptr || selection->has_tiles() || !call.has_data()) return host_->run(call, selection);
  BlockSelection chosen = *selection;  // the GPU was to choose
  if (auto tiles = choose_planned_tiles(call, {}, chosen); !tiles) {
    KernelResult result = host_->route(call, selection);
    result.failure = kept_sentence(tiles.error());
    return result;
  }
  return host_->run(call, &chosen);
}

KernelResult DeviceKernel::run(const AttentionCall& call, const BlockSelection* selection) const {
  KernelResult result = host_->route(call, selection);
  if (!result.failure.empty()) return result;
  const DeviceCompute* compute = call.output.elements() == 0 ? nullptr : compute_for(call, selection);
  if (compute == nullptr) return run_on_host(call, selection);
  std::string error;
  try {
    const std::lock_guard lock(gpu_->mutex);
    const auto done = compute_on(*gpu_, *compute, call, selection);
    if (done) {
      result.device_ns = static_cast<std::int64_t>(gpu_->milliseconds * 1e6);
      return result;
    }
    error = done.error();
  } catch (const std::bad_alloc&) {
    error = "the host ran out of memory";
  }
  const std::string_view sentence = kept_sentence(std::string(compute->name()) + ": " + error);
  if (on_failure_ == OnFailure::decline) {
    result.failure = sentence;
    return result;
  }
  result = run_on_host(call, selection);
  result.fell_back = sentence;
  return result;
}

KernelForecast DeviceKernel::forecast(const AttentionCall& call, const BlockSelection* selection) const {
  KernelForecast forecast = host_->forecast(call, selection);
  bool served = false;
  const bool math = forecast.would_run.variant == kMath;
  for (const auto& compute : computes_) {
    const std::optional<std::string> known =
        math ? "does not hold the score matrix, as math does" : compute->known_refusal(call, selection);
    std::string refusal = known.value_or("");
    const bool takes = refusal.empty();
    forecast.choices.push_back({compute->name(), "a call that it takes on " + gpu_->info.name,
                                !takes   ? "declines"
                                : served ? "not needed"
                                : known  ? "serves"
                                         : "is asked by the first such call",
                                takes, std::move(refusal)});
    served = served || takes;
  }
  if (!served)
    forecast.warnings.push_back("computed by the host: no kernel on " + gpu_->info.name + " takes this call");
  return forecast;
}

}  // namespace attn::cuda
