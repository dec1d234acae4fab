// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/compare/compare.h"

#include "app/jobs/profile/profile_job.h"
#include "app/jobs/tensors/findings.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <utility>

namespace attn::app {
namespace {

using Clock = std::chrono::steady_clock;

/// Relative L1 of a batch element that passes for right, and of one that is called wrong.
constexpr double kRight = 0.05;
constexpr double kWrong = 0.5;

struct ErrorSum {
  double difference = 0.0;
  double reference = 0.0;
  double other = 0.0;
  double dot = 0.0;
  double squares_a = 0.0;
  double squares_b = 0.0;
  double largest = 0.0;
  std::int64_t count = 0;

  void add(double a, double b) {
    const double away = std::abs(b - a);
    difference += away;
    reference += std::abs(a);
    other += std::abs(b);
    dot += a * b;
    squares_a += a * a;
    squares_b += b * b;
    // A comparison that is false for NaN would lose it.
    if (!(away <= largest)) largest = away;
    ++count;
  }
  [[nodiscard]] OutputError error() const {
    OutputError out;
    out.relative_l1 = reference > 0.0 ? difference / reference : other;
    const double norms = std::sqrt(squares_a) * std::sqrt(squares_b);
    out.cosine = norms > 0.0 ? dot / norms : (squares_a == squares_b ? 1.0 : 0.0);
    out.max_abs = largest;
    out.mean_abs = count > 0 ? difference / static_cast<double>(count) : 0.0;
    return out;
  }
};

std::string named(const attn::Route& route) { return std::string(route.executed) + (route.sparse ? "+sparse" : ""); }

/// Runs `call` in `scope` and times it; a short call twice, because its first run also pays for cold memory.
CompareSide serve(JobScope& scope, const AttentionCall& call) {
  constexpr double kShort = 0.05;
  CompareSide side;
  attn::Route route;
  for (int run = 0; run == 0 || (run == 1 && call.has_data() && side.seconds < kShort); ++run) {
    const auto begin = Clock::now();
    route = scope.attention(call);
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    side.seconds = run == 0 ? seconds : std::min(side.seconds, seconds);
  }
  side.backend = named(route);
  side.kernel = std::string(route.variant);
  side.failure = std::string(route.failure);
  return side;
}

void move_to(JobScope& scope, const CallSchedule::Forward& forward, const CallSchedule::Pattern& pattern) {
  if (scope.context().step() != forward.step) scope.context().tick(forward.step);
  if (pattern.layout) scope.context().set_layout(pattern.layout);
}

bool is_plain(const AttentionCall& call) {
  return call.query.is_contiguous() && call.key.is_contiguous() && call.value.is_contiguous();
}

/// What the same values in contiguous tensors give, against what the view gave.
double layout_error(JobScope& scope, CallTensors& plain, const TensorView& from_views) {
  const attn::Route route = scope.attention(plain.call);
  if (!route.failure.empty()) return 0.0;
  std::vector<OutputError> ignored;
  return output_error(plain.call.output, from_views, ignored).max_abs;
}

/// Above the last digit of the dtype for outputs of about 1: a different order of the same additions is allowed.
double layout_tolerance(DType dtype) {
  if (dtype == DType::bfloat16) return 0.05;
  return dtype == DType::float16 ? 0.01 : 1e-4;
}

class Comparison {
 public:
  Comparison(const CallSchedule& schedule, JobScope& a, JobScope& b, const CompareOptions& options)
      : schedule_(schedule), a_(a), b_(b), options_(options) {}

  CompareRow row(std::uint32_t index) {
    const DistinctCall& distinct = schedule_.distinct[index];
    const AttentionCall call = placed(a_.plan().target(), distinct.call);
    CompareRow row;
    row.call = write_call({call, distinct.role, 0, 0, distinct.hidden_keys});
    row.role = distinct.role;
    row.times = distinct.times;
    const RoleScope role_a(a_.context(), distinct.role);
    const RoleScope role_b(b_.context(), distinct.role);
    if (options_.compute) {
      compute(row, options_.tensors ? options_.tensors(call, index)
                                    : generate(call, options_.seed + index, distinct.hidden_keys));
    } else {
      row.a = serve(a_, call);
      row.b = serve(b_, placed(b_.plan().target(), distinct.call));
    }
    row.moved = row.a.backend != row.b.backend || row.a.kernel != row.b.kernel;
    for (const auto& [side, name] : {std::pair{&row.a, "a"}, {&row.b, "b"}}) {
      if (!side->failure.empty()) row.notes.push_back(std::string(name) + " could not serve: " + side->failure);
    }
    return row;
  }

 private:
  [[nodiscard]] AttentionCall placed(const Target& target, AttentionCall call) const {
    return schedule_.devices_stated ? std::move(call) : placed_on(target, std::move(call));
  }

  void compute(CompareRow& row, CallTensors tensors) {
    row.a = serve(a_, tensors.call);
    HostTensor first(tensors.call.output.sizes(), tensors.call.output.dtype);
    std::memcpy(first.memory().data(), tensors.output.data(), first.memory().size());
    // What a left behind must not pass for what b computed.
    std::memset(tensors.output.data(), 0, tensors.output.size());
    tensors.call = placed(b_.plan().target(), tensors.call);
    row.b = serve(b_, tensors.call);
    if (!row.a.failure.empty() || !row.b.failure.empty()) return;
    row.computed = true;
    const ValueCounts counts_a = count_values(first.view());
    const ValueCounts counts_b = count_values(tensors.call.output);
    row.a.nan = counts_a.nan;
    row.a.inf = counts_a.inf;
    row.b.nan = counts_b.nan;
    row.b.inf = counts_b.inf;
    row.error = output_error(first.view(), tensors.call.output, row.batch);
    for (const std::string& verdict : batch_verdicts(row.batch)) row.notes.push_back(verdict);
    for (std::string& finding : findings_of(tensors.call)) row.notes.push_back(std::move(finding));
    if (!is_plain(tensors.call)) check_layout(row, tensors, first.view());
  }

  void check_layout(CompareRow& row, const CallTensors& tensors, const TensorView& output_a) {
    CallTensors plain = contiguous_copy(tensors);
    row.a.layout_error = layout_error(a_, plain, output_a);
    row.b.layout_error = layout_error(b_, plain, tensors.call.output);
    for (const auto& [side, name] : {std::pair{&row.a, "a"}, {&row.b, "b"}}) {
      if (side->layout_error <= layout_tolerance(tensors.call.output.dtype)) continue;
      row.notes.push_back("layout-dependent result in " + std::string(name) + ": " + side->backend +
                          " differs by up to " + std::to_string(side->layout_error) +
                          " from the same values in contiguous tensors");
    }
  }

  const CallSchedule& schedule_;
  JobScope& a_;
  JobScope& b_;
  const CompareOptions& options_;
};

Expected<void> check_fits(const CallSchedule& schedule, const Engine& a, const Engine& b) {
  const std::int64_t available = available_memory();
  for (const DistinctCall& distinct : schedule.distinct) {
    if (distinct.times == 0) continue;
    const AttentionCall call = schedule.devices_stated ? distinct.call : placed_on(a.target(), distinct.call);
    const std::int64_t kernel =
        std::max(a.explain(call, distinct.role, 0).memory_bytes, b.explain(call, distinct.role, 0).memory_bytes);
    const std::int64_t twice = is_plain(call) ? call.query.bytes() : tensor_bytes(call) + call.query.bytes();
    if (auto fits = check_memory(call, kernel + twice, available); !fits) return fits;
  }
  return {};
}

}  // namespace

OutputError output_error(const TensorView& a, const TensorView& b, std::vector<OutputError>& batch) {
  std::int64_t elements = 1;
  for (int dim = 1; dim <= 3; ++dim) elements *= a.size(-dim);
  const std::int64_t batches = elements == 0 ? 0 : a.elements() / elements;
  ErrorSum all;
  batch.clear();
  for (std::int64_t i = 0; i < batches; ++i) {
    ErrorSum one;
    for (std::int64_t at = i * elements; at < (i + 1) * elements; ++at) {
      const auto x = static_cast<double>(load_element(a, at));
      const auto y = static_cast<double>(load_element(b, at));
      one.add(x, y);
      all.add(x, y);
    }
    batch.push_back(one.error());
  }
  return all.error();
}

std::vector<std::string> batch_verdicts(const std::vector<OutputError>& batch) {
  std::vector<std::string> verdicts;
  const bool any_right = std::any_of(batch.begin(), batch.end(), [](const auto& e) { return e.relative_l1 < kRight; });
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (any_right && !(batch[i].relative_l1 <= kWrong)) {
      verdicts.push_back("batch element " + std::to_string(i) + " wrong");
    }
  }
  return verdicts;
}

Expected<CompareResult> compare_chains(const CallSchedule& schedule, Engine& a, Engine& b,
                                       const CompareOptions& options) {
  if (options.compute) {
    if (auto fits = check_fits(schedule, a, b); !fits) return fail(fits.error());
  }
  Pipe pipe_a{schedule.pipeline, {}};
  Pipe pipe_b{schedule.pipeline, {}};
  auto scope_a = a.begin_job(pipe_a, schedule.steps, nullptr, false);
  if (!scope_a) return fail(scope_a.error());
  auto scope_b = b.begin_job(pipe_b, schedule.steps, nullptr, false);
  if (!scope_b) return fail(scope_b.error());

  CompareResult result;
  result.chain_a = scope_a->plan().chain();
  result.chain_b = scope_b->plan().chain();
  double flops_total = 0.0;
  for (const DistinctCall& distinct : schedule.distinct)
    flops_total += distinct.times > 0 ? flops_of(distinct.call) : 0.0;
  double flops_done = 0.0;
  const auto begin = Clock::now();
  Comparison comparison(schedule, *scope_a, *scope_b, options);
  std::vector<bool> met(schedule.distinct.size(), false);
  for (const CallSchedule::Forward& forward : schedule.forwards) {
    const CallSchedule::Pattern& pattern = schedule.patterns[forward.pattern];
    move_to(*scope_a, forward, pattern);
    move_to(*scope_b, forward, pattern);
    for (const std::uint32_t index : pattern.calls) {
      if (met[index]) continue;
      if (options.stop.stop_requested()) {
        result.outcome = JobOutcome::stopped;
        return result;
      }
      met[index] = true;
      result.rows.push_back(comparison.row(index));
      flops_done += flops_of(schedule.distinct[index].call);
      if (!options.progress || !options.compute) continue;
      const double elapsed = std::chrono::duration<double>(Clock::now() - begin).count();
      options.progress({static_cast<std::int64_t>(result.rows.size()),
                        static_cast<std::int64_t>(schedule.distinct.size()), forward.role, forward.step,
                        static_cast<std::int32_t>(schedule.steps), elapsed,
                        elapsed * (flops_total / flops_done - 1.0)});
    }
  }
  return result;
}

}  // namespace attn::app
