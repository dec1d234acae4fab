// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/dynamic/dynamic.h"

#include "backends/dynamic/diagonal.h"
#include "backends/dynamic/slice_plan.h"
#include "backends/dynamic/slices.h"
#include "backends/simd/call_addresses.h"
#include "backends/simd/exact_kernel.h"

#include <new>

namespace attn {
namespace {

constexpr std::string_view kSliceKey = "dynamic_attention_slice_rate";
constexpr std::string_view kTriggerKey = "dynamic_attention_trigger_rate";
constexpr double kSliceDefault = 0.5;
constexpr double kTriggerDefault = 1.0;
constexpr double kLargestCard = 192.0;  // GiB; the production slider ends at the card's own memory

/// A rate that follows its setting, or stands where it stood.
class Rate {
 public:
  Rate(const PrepareContext& context, std::string_view key, double fallback)
      : fixed_(context.options.real(key, fallback)) {
    if (context.live) cell_ = context.live(key);
  }
  [[nodiscard]] double read() const noexcept { return cell_ ? cell_->load(std::memory_order_relaxed) : fixed_; }

 private:
  std::shared_ptr<const std::atomic<double>> cell_;
  double fixed_;
};

/// What a sliced call is reported as: the slices' own variant where they agree.
std::string_view sliced_name(std::string_view variant) noexcept {
  if (variant == "flash") return "sliced flash";
  if (variant == "memory-efficient") return "sliced memory-efficient";
  if (variant == "math") return "sliced math";
  return "sliced";
}

class DynamicKernel final : public AttentionKernel {
 public:
  DynamicKernel(std::shared_ptr<const AttentionKernel> original, Rate slice, Rate trigger)
      : original_(std::move(original)), slice_(std::move(slice)), trigger_(std::move(trigger)) {}

  [[nodiscard]] KernelResult route(const AttentionCall& call, const BlockSelection* selection) const noexcept override {
    if (selection != nullptr) return {"dynamic", {}, kTakesNoSelection};
    const SlicePlan plan = plan_for(call);
    if (!plan.splits()) return as_dynamic(original_->route(call, nullptr));
    SliceWalk walk(call, plan);
    KernelResult result{"dynamic", "sliced", {}};
    // The first slice may differ from the rest in its mask; from the second on they are alike.
    for (int seen = 0; seen < 2 && walk.next(); ++seen) {
      AttentionCall slice = walk.call();
      if (walk.needs_diagonal()) slice.attn_mask = diagonal_shape(slice);
      note(original_->route(slice, nullptr), seen == 0, result);
    }
    return result;
  }

  [[nodiscard]] KernelResult run(const AttentionCall& call, const BlockSelection* selection) const override {
    if (selection != nullptr) return {"dynamic", {}, kTakesNoSelection};
    const SlicePlan plan = plan_for(call);
    if (!plan.splits()) return as_dynamic(original_->run(call, nullptr));
    KernelResult result{"dynamic", "sliced", refusal(call, nullptr)};
    if (!result.failure.empty()) return result;
    try {
      run_slices(call, plan, result);
    } catch (const std::bad_alloc&) {
      result.failure = kOutOfMemory;
    }
    return result;
  }

  [[nodiscard]] KernelForecast forecast(const AttentionCall& call, const BlockSelection* selection) const override {
    const SlicePlan plan = plan_for(call);
    if (!plan.splits() || selection != nullptr) {
      KernelForecast whole = original_->forecast(call, nullptr);
      whole.would_run = route(call, selection);
      whole.choices.insert(whole.choices.begin(), verdict(call, plan));
      return whole;
    }
    KernelForecast forecast = forecast_slices(call, plan);
    forecast.would_run = route(call, nullptr);
    forecast.choices.insert(forecast.choices.begin(), verdict(call, plan));
    if (plan.split_query && plan.query_size == 1 && call.query_tokens() > 1) {
      forecast.warnings.push_back("slices of a single query row: " + std::to_string(call.query_tokens()) +
                                  " has no larger divisor that fits the slice rate, so this will be very slow");
    }
    return forecast;
  }

 private:
  [[nodiscard]] SlicePlan plan_for(const AttentionCall& call) const noexcept {
    const CallSizes sizes = sizes_of(call);
    return cache_.plan({sizes.batch, sizes.heads, sizes.query_tokens, sizes.key_tokens,
                        static_cast<std::int64_t>(size_of(call.query.dtype)), slice_.read(), trigger_.read()});
  }

  [[nodiscard]] static KernelResult as_dynamic(KernelResult result) noexcept {
    result.backend = "dynamic";
    return result;
  }

  /// Takes one slice's answer into the answer of the whole.
  static void note(const KernelResult& slice, bool first, KernelResult& whole) noexcept {
    const std::string_view name = sliced_name(slice.variant);
    whole.variant = first || whole.variant == name ? name : std::string_view("sliced");
    if (whole.failure.empty()) whole.failure = slice.failure;
  }

  void run_slices(const AttentionCall& call, const SlicePlan& plan, KernelResult& result) const {
    SliceWalk walk(call, plan);
    Diagonal diagonal(call);
    bool first = true;
    while (walk.next()) {
      AttentionCall slice = walk.call();
      if (walk.needs_diagonal()) slice.attn_mask = diagonal.mask(slice, walk.first_query());
      note(original_->run(slice, nullptr), first, result);
      if (!result.failure.empty()) return;
      first = false;
    }
  }

  /// The largest need among the first slices: they run one after the other.
  [[nodiscard]] KernelForecast forecast_slices(const AttentionCall& call, const SlicePlan& plan) const {
    SliceWalk walk(call, plan);
    KernelForecast largest;
    for (int seen = 0; seen < 2 && walk.next(); ++seen) {
      AttentionCall slice = walk.call();
      std::int64_t mask_bytes = 0;
      if (walk.needs_diagonal()) {
        mask_bytes = slice.attn_mask ? diagonal_shape(slice).bytes() : call.query_tokens() + call.key_tokens();
        slice.attn_mask = diagonal_shape(slice);
      }
      KernelForecast forecast = original_->forecast(slice, nullptr);
      forecast.memory_bytes += mask_bytes;
      if (seen == 0 || forecast.memory_bytes > largest.memory_bytes) largest = std::move(forecast);
    }
    return largest;
  }

  [[nodiscard]] Verdict verdict(const AttentionCall& call, const SlicePlan& plan) const {
    const CallSizes sizes = sizes_of(call);
    const double gibibytes = static_cast<double>(sizes.batch * sizes.heads * sizes.query_tokens * sizes.key_tokens) *
                             static_cast<double>(size_of(call.query.dtype)) / 1073741824.0;
    Verdict verdict{
        "slices", "scores below " + value_text(trigger_.read()) + " GiB", value_text(gibibytes) + " GiB", true, {}};
    if (plan.splits()) {
      verdict.reason = "cut into slices of " + std::to_string(plan.batch_size) + " batch, " +
                       std::to_string(plan.head_size) + " heads, " + std::to_string(plan.query_size) + " query tokens";
    }
    return verdict;
  }

  std::shared_ptr<const AttentionKernel> original_;
  Rate slice_;
  Rate trigger_;
  SlicePlanCache cache_;
};

OptionSpec rate_option(std::string_view key, std::string_view label, double fallback, double per_memory,
                       std::string_view help) {
  OptionSpec option;
  option.key = key;
  option.label = label;
  option.type = OptionType::real;
  option.fallback = fallback;
  option.minimum = 0.01;
  option.maximum = per_memory * kLargestCard;
  option.maximum_per_memory = per_memory;
  option.step = 0.01;
  option.unit = "GiB";
  option.section = "Dynamic attention";
  option.help = help;
  option.applies = Applies::live;
  return option;
}

Expected<PreparedBackend> prepare(const PrepareContext& context) {
  if (!context.original) return fail("has no original attention to slice for");
  return PreparedBackend{std::make_shared<DynamicKernel>(context.original, Rate(context, kSliceKey, kSliceDefault),
                                                         Rate(context, kTriggerKey, kTriggerDefault)),
                         std::nullopt, "Torch attention: type=\"Dynamic attention\""};
}

}  // namespace

BackendSpec dynamic_backend() {
  BackendSpec spec;
  spec.name = "dynamic";
  spec.label = "Dynamic attention";
  spec.priority = 10;
  spec.terminal = true;
  spec.options = {
      rate_option(kSliceKey, "Dynamic Attention slicing rate", kSliceDefault, 1.0,
                  "Scores that one slice may take. Smaller slices need less memory and take longer."),
      rate_option(kTriggerKey, "Dynamic Attention trigger rate", kTriggerDefault, 2.0,
                  "Calls whose scores stay below this are not split at all."),
  };
  spec.help = "Cuts large calls into slices for the original attention, so that they fit in memory. Takes every call.";
  spec.prepare = prepare;
  return spec;
}

}  // namespace attn
