// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/pipeline/routed_calls.h"

#include <algorithm>

namespace attn::app {
namespace {

double seconds(std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

RoutedCalls::RoutedCalls(JobScope& job, const JobEnvironment& environment, CompiledSites* sites, TimeLedger& times,
                         DType dtype, WorkPlan plan)
    : job_(job),
      environment_(environment),
      sites_(sites),
      times_(times),
      device_(job.plan().target().is_cpu() ? Device::cpu() : Device::accel()),
      dtype_(dtype),
      plan_(plan) {}

bool RoutedCalls::serve(Role role, std::size_t site, const AttentionCall& call) {
  if (has_to_end()) return false;
  const auto begin = Clock::now();
  const Route route = sites_ == nullptr ? job_.attention(call) : job_.attention(call, (*sites_)[{role, site}]);
  times_.of(role).attention += seconds(Clock::now() - begin);
  if (!route.failure.empty()) {
    failure_ = std::string(name_of(role)) + " q" + shape_text(call.query.sizes()) + " k" +
               shape_text(call.key.sizes()) + " could not be served: " + std::string(route.failure);
    return false;
  }
  ++calls_done_;
  report();
  return true;
}

bool RoutedCalls::has_to_end() {
  stopped_ = stopped_ || environment_.stop.stop_requested();
  return stopped_ || !failure_.empty();
}

double RoutedCalls::elapsed_seconds() const { return seconds(Clock::now() - begin_); }

std::optional<double> RoutedCalls::seconds_left() const {
  if (work_done_ <= 0.0) return std::nullopt;
  return elapsed_seconds() * std::max(plan_.work / work_done_ - 1.0, 0.0);
}

void RoutedCalls::report(bool now) {
  if (!environment_.progress) return;
  const double elapsed = elapsed_seconds();
  if (!now && elapsed - sent_ < 1.0 / 30.0) return;
  sent_ = elapsed;
  const GenerationContext& context = job_.context();
  environment_.progress({.calls_done = calls_done_,
                         .calls_total = plan_.calls,
                         .role = context.role(),
                         .step = context.step(),
                         .steps = context.steps(),
                         .elapsed_seconds = elapsed,
                         .seconds_left = seconds_left()});
}

}  // namespace attn::app
