// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/compare/route_match.h"

#include "ui/format/format.h"

#include <algorithm>

namespace attn::ui {

namespace {

CallTime times(const CallTime& each, std::int64_t calls) {
  return {each.seconds * static_cast<double>(calls), each.known, each.scaled};
}

}  // namespace

CallTime each_of(const trace::RouteRow& route, const trace::RouteStep& step) {
  if (step.calls > 0 && step.computed_calls == step.calls) {
    return {step.seconds / static_cast<double>(step.calls), true, false};
  }
  if (route.computed_calls == 0) return {0.0, false, false};
  return {route.seconds / static_cast<double>(route.computed_calls), true, true};
}

void CallTime::add(const CallTime& other) {
  seconds += other.seconds;
  known = known && other.known;
  scaled = scaled || other.scaled;
}

CallIndex::CallIndex(const trace::TraceSnapshot& run) {
  std::vector<CallKey> keys;
  for (const trace::RouteRow& route : run.routes) {
    keys.push_back(call_key(route));
    backends_.push_back(route.id.backend);
  }
  for (const trace::RouteStep& step : run.steps) {
    const CallTime each = each_of(run.routes[step.route], step);
    calls_[keys[step.route]][step.step].push_back({step.route, step.calls, each});
    count_ += step.calls;
    time_.add(times(each, step.calls));
  }
}

RouteMatch::RouteMatch(const CallIndex& baseline, const CallIndex& run) : baseline_(&baseline), run_(&run) {
  for (const auto& [key, after] : run.calls()) {
    const auto before = baseline.calls().find(key);
    match_kind(before == baseline.calls().end() ? nullptr : &before->second, &after);
  }
  for (const auto& [key, before] : baseline.calls()) {
    if (run.calls().find(key) == run.calls().end()) match_kind(&before, nullptr);
  }
  baseline_ = run_ = nullptr;
  flow_at_.clear();
}

void RouteMatch::match_kind(const CallIndex::Steps* before, const CallIndex::Steps* after) {
  Parts left_before;
  Parts left_after;
  const CallIndex::Steps none;
  CallIndex::Steps then = before != nullptr ? *before : none;
  for (const auto& [step, parts] : after != nullptr ? *after : none) {
    Parts now = parts;
    Parts& was = then[step];
    for (const bool same : {true, false}) match(was, now, same, step);
    left_after.insert(left_after.end(), now.begin(), now.end());
  }
  for (const auto& [step, parts] : then) left_before.insert(left_before.end(), parts.begin(), parts.end());
  // Runs of another number of steps have their VAE at another step.
  for (const bool same : {true, false}) match(left_before, left_after, same, std::nullopt);
  for (const CallIndex::Part& part : left_after) {
    if (part.calls > 0) add(part.route, RouteFlow::kNone, part.calls, part.each, {}, std::nullopt);
  }
  for (const CallIndex::Part& part : left_before) {
    if (part.calls == 0) continue;
    std::size_t owner = RouteFlow::kNone;
    if (after != nullptr) {
      for (const auto& [step, parts] : *after) {
        for (const CallIndex::Part& now : parts) {
          const bool same = run_->backend(now.route) == baseline_->backend(part.route);
          if (owner == RouteFlow::kNone || same) owner = now.route;
        }
      }
    }
    add(owner, part.route, 0, {}, {}, std::nullopt);
    RouteFlow& gone = flows_[flow_at_.at({owner, part.route})];
    gone.calls_then += part.calls;
    gone.time_then.add(times(part.each, part.calls));
    if (owner != RouteFlow::kNone) note(routes_[owner], owner, part.route, part.calls, times(part.each, part.calls));
  }
}

void RouteMatch::match(Parts& before, Parts& after, bool same_backend, std::optional<std::int32_t> step) {
  for (CallIndex::Part& now : after) {
    for (CallIndex::Part& was : before) {
      if (same_backend && run_->backend(now.route) != baseline_->backend(was.route)) continue;
      const std::int64_t calls = std::min(now.calls, was.calls);
      if (calls == 0) continue;
      add(now.route, was.route, calls, now.each, was.each, step);
      now.calls -= calls;
      was.calls -= calls;
    }
  }
}

void RouteMatch::add(std::size_t now, std::size_t then, std::int64_t calls, const CallTime& now_each,
                     const CallTime& then_each, std::optional<std::int32_t> step) {
  const auto [at, is_new] = flow_at_.emplace(std::pair(now, then), flows_.size());
  if (is_new) {
    flows_.push_back({});
    flows_.back().now = now;
    flows_.back().then = then;
  }
  RouteFlow& flow = flows_[at->second];
  if (now != RouteFlow::kNone) {
    flow.calls_now += calls;
    flow.time_now.add(times(now_each, calls));
  }
  if (then == RouteFlow::kNone) return;
  flow.calls_then += calls;
  flow.time_then.add(times(then_each, calls));
  if (now == RouteFlow::kNone || calls == 0) return;
  note(routes_[now], now, then, calls, times(then_each, calls));
  if (step) note(steps_[{now, *step}], now, then, calls, times(then_each, calls));
}

void RouteMatch::note(RouteThen& of, std::size_t now, std::size_t then, std::int64_t calls, const CallTime& time) {
  of.calls += calls;
  of.time.add(time);
  const QString backend = text_of(baseline_->backend(then));
  if (!of.backends.contains(backend)) of.backends << backend;
  if (run_->backend(now) != baseline_->backend(then)) of.moved = true;
}

const RouteThen& RouteMatch::then(std::size_t route) const {
  static const RouteThen kNew;
  const auto at = routes_.find(route);
  return at == routes_.end() ? kNew : at->second;
}

const RouteThen& RouteMatch::then(std::size_t route, std::int32_t step) const {
  static const RouteThen kNew;
  const auto at = steps_.find({route, step});
  return at == steps_.end() ? kNew : at->second;
}

}  // namespace attn::ui
