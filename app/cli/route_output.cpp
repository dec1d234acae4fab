// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/route_output.h"

#include "app/cli/attention_options.h"

#include <iostream>

namespace attn::cli {
namespace {

std::vector<std::int64_t> sizes_of(const trace::EventShape& shape) {
  return {shape.size.begin(), shape.size.begin() + shape.rank};
}

std::string shape_of(const trace::EventShape& shape) {
  const auto sizes = sizes_of(shape);
  return shape_text(sizes);
}

std::string_view mask_name(trace::MaskKind mask) {
  switch (mask) {
    case trace::MaskKind::none:
      return "none";
    case trace::MaskKind::boolean:
      return "bool";
    case trace::MaskKind::additive:
      return "float";
  }
  return "none";
}

constexpr std::string_view kMultiplied =
    "one call of each route was measured; seconds are that measurement times the route's calls";

}  // namespace

double total_seconds(const trace::RouteRow& row) {
  if (row.computed_calls == 0) return 0.0;
  return row.seconds / static_cast<double>(row.computed_calls) * static_cast<double>(row.calls);
}

Json route_json(const JobReport& report, const trace::TraceSnapshot& snapshot) {
  Json json;
  json["job"] = report.title;
  json["chain"] = report.chain;
  json["target"] = report.target;
  json["emulated"] = report.emulated;
  json["outcome"] = report.outcome;
  if (!report.error.empty()) json["error"] = report.error;
  json["calls"] = snapshot.calls;
  json["routes"] = Json::array();
  double total = 0.0;
  for (const trace::RouteRow& row : snapshot.routes) {
    Json route;
    route["backend"] = row.id.backend;
    route["kernel"] = row.variant;
    route["role"] = std::string(name_of(row.id.role));
    route["first_step"] = row.first_step;
    route["q"] = sizes_of(row.id.query);
    route["k"] = sizes_of(row.id.key);
    route["dtype"] = std::string(name_of(row.id.dtype));
    route["mask"] = std::string(mask_name(row.mask));
    route["contiguous"] = row.id.contiguous;
    route["calls"] = row.calls;
    if (report.computed && row.computed_calls > 0) {
      total += total_seconds(row);
      route["seconds"] = total_seconds(row);
      route["measured_calls"] = row.computed_calls;
      route["measured_seconds"] = row.seconds;
    }
    route["v"] = sizes_of(row.value);
    route["requested"] = row.requested;
    route["selected"] = row.selected;
    route["executed"] = row.executed;
    route["bypassed"] = row.id.bypassed;
    route["last_step"] = row.last_step;
    route["causal"] = row.causal;
    route["gqa"] = row.gqa;
    route["density"] = row.density;
    route["dtypes"] = {{"q", std::string(name_of(row.id.dtype))},
                       {"k", std::string(name_of(row.key_dtype))},
                       {"v", std::string(name_of(row.value_dtype))}};
    route["layouts"] = {{"q", std::string(attn::name_of(row.query_layout))},
                        {"k", std::string(attn::name_of(row.key_layout))},
                        {"v", std::string(attn::name_of(row.value_layout))}};
    for (const trace::StageSkip& one : row.fall_backs) {
      route["fall_backs"].push_back({{"reason", one.reason}, {"calls", one.calls}});
    }
    json["routes"].push_back(std::move(route));
  }
  json["dropped_events"] = snapshot.dropped;
  json["attention"] = Json::array();
  for (const auto& [role, dispatch] : report.attention) {
    Json decision{{"role", std::string(name_of(role))}};
    decision.update(attention_json(dispatch));
    json["attention"].push_back(std::move(decision));
  }
  if (report.math) {
    json["math_only"] = {{"call", report.math->call},
                         {"calls", report.math->calls},
                         {"memory_bytes", report.math->bytes},
                         {"over", report.math->over()}};
    json["math_only"]["limit_bytes"] = report.math->limit ? Json(*report.math->limit) : Json(nullptr);
  }
  if (!report.repeats.empty()) json["repeat"] = Json::array();
  for (const app::RepeatRow& row : report.repeats) {
    json["repeat"].push_back({{"call", row.call},
                              {"role", std::string(name_of(row.role))},
                              {"backend", row.backend},
                              {"kernel", row.kernel},
                              {"runs", row.runs},
                              {"identical", row.identical},
                              {"max_ulp", row.max_ulp},
                              {"deterministic", row.deterministic()},
                              {"verdict", row.verdict()}});
  }
  if (report.sparse.on) {
    json["sparse"] = {
        {"served", report.sparse.served}, {"calls", report.sparse.calls}, {"reason", report.sparse.reason}};
  }
  if (report.computed) {
    json["seconds"] = total;
    json["elapsed_seconds"] = report.elapsed_seconds;
    if (report.measured_once) json["seconds_are"] = std::string(kMultiplied);
  }
  return json;
}

void print_routes(const JobReport& report, const trace::TraceSnapshot& snapshot) {
  std::cout << report.title << "\nchain " << report.chain << " on " << report.target
            << (report.emulated ? ", emulated on this host" : "") << "\n";
  for (const auto& [role, dispatch] : report.attention) {
    const std::string text = attention_text(dispatch);
    if (!text.empty()) std::cout << "dispatcher, " << name_of(role) << ": " << text << "\n";
  }
  std::cout << "\n";
  std::vector<std::string> headings{"backend", "kernel", "role", "step",       "q",
                                    "k",       "dtype",  "mask", "contiguous", "calls"};
  if (report.computed) headings.emplace_back("time");
  std::vector<std::vector<std::string>> rows;
  double total = 0.0;
  for (const trace::RouteRow& row : snapshot.routes) {
    rows.push_back({row.id.backend + (row.id.bypassed ? " (bypassed)" : ""), row.variant,
                    std::string(name_of(row.id.role)), std::to_string(row.first_step), shape_of(row.id.query),
                    shape_of(row.id.key), std::string(name_of(row.id.dtype)), std::string(mask_name(row.mask)),
                    row.id.contiguous ? "yes" : "no", std::to_string(row.calls)});
    if (!report.computed) continue;
    total += total_seconds(row);
    rows.back().push_back(row.computed_calls > 0 ? seconds_text(total_seconds(row)) : "");
  }
  print_table(headings, rows, {3, 9, 10});
  for (const trace::RouteRow& row : snapshot.routes) {
    for (const trace::StageSkip& one : row.fall_backs) {
      std::cout << "fell back to " << row.id.backend << ", " << one.calls << (one.calls == 1 ? " call: " : " calls: ")
                << one.reason << "\n";
    }
  }
  std::cout << "\n"
            << snapshot.calls << (snapshot.calls == 1 ? " call, " : " calls, ") << snapshot.routes.size()
            << (snapshot.routes.size() == 1 ? " route" : " routes");
  if (report.computed) std::cout << ", " << seconds_text(total) << " in attention on this host";
  if (snapshot.dropped > 0) std::cout << ", " << snapshot.dropped << " events dropped";
  if (report.outcome != "finished") std::cout << ", " << report.outcome;
  std::cout << "\n";
  for (const app::RepeatRow& row : report.repeats) {
    std::cout << "repeat: " << row.backend << " " << row.verdict() << ": " << row.call << "\n";
  }
  if (report.measured_once) std::cout << "(" << kMultiplied << ")\n";
  if (report.sparse.on) std::cout << report.sparse.text() << "\n";
  std::cout << std::flush;
}

}  // namespace attn::cli
