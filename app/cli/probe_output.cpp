// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/probe_output.h"

#include "app/jobs/nearest.h"
#include "app/jobs/tensors/generated.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <set>

namespace attn::cli {
namespace {

std::string fixed(double value, int decimals) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  return text.data();
}

/// "sage, sdpa": who served the calls, most calls first.
std::string served_text(const app::LeverRow& row) {
  std::vector<std::pair<std::string, std::int64_t>> served;
  for (const app::LeverRoute& route : row.measure.routes) {
    const auto known =
        std::find_if(served.begin(), served.end(), [&route](const auto& one) { return one.first == route.backend; });
    if (known == served.end()) {
      served.emplace_back(route.backend, route.calls);
    } else {
      known->second += route.calls;
    }
  }
  std::stable_sort(served.begin(), served.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> names;
  for (const auto& [name, calls] : served) names.push_back(name);
  return app::joined(names);
}

void print_measured(const app::LeverResult& result) {
  const auto front = app::pareto_front(result);
  std::vector<std::string> headings{"variant", "time", "speed", "noise", "memory", "host memory"};
  if (result.header.draws) headings.insert(headings.end(), {"PSNR", "SSIM"});
  headings.insert(headings.end(), {"relative L1", "cosine", "best", "served by"});
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    const app::LeverRow& row = result.rows[i];
    if (row.state != app::LeverState::measured) continue;
    std::vector<std::string> cells{row.variant.name,
                                   seconds_text(row.seconds()),
                                   fixed(1.0 / std::max(row.relative_time(), 1e-9), 2) + "x",
                                   fixed(100.0 * result.noise(row), 1) + " %",
                                   app::bytes_text(row.measure.memory_bytes),
                                   row.measure.host_bytes ? app::bytes_text(*row.measure.host_bytes) : "?"};
    if (result.header.draws) {
      const auto& picture = row.measure.picture;
      cells.push_back(!picture ? "" : std::isinf(picture->psnr) ? "equal" : fixed(picture->psnr, 1) + " dB");
      cells.push_back(picture ? fixed(picture->ssim, 4) : "");
    }
    cells.push_back(number_text(row.worst_relative_l1()));
    cells.push_back(fixed(row.worst_cosine(), 6));
    cells.emplace_back(std::find(front.begin(), front.end(), i) != front.end() ? "*" : "");
    cells.push_back(served_text(row));
    rows.push_back(std::move(cells));
  }
  print_table(headings, rows,
              result.header.draws ? std::vector<std::size_t>{1, 2, 3, 4, 5, 6, 7, 8, 9}
                                  : std::vector<std::size_t>{1, 2, 3, 4, 5, 6, 7});
}

void print_others(const app::LeverResult& result) {
  std::vector<std::vector<std::string>> rows;
  for (const app::LeverRow& row : result.rows) {
    if (row.state == app::LeverState::measured) continue;
    rows.push_back({row.variant.name, std::string(name_of(row.state)), row.reason});
  }
  if (!rows.empty()) {
    std::cout << "\n";
    print_table({"not measured", "state", "reason"}, rows);
  }
  std::set<std::string> notes;
  for (const app::LeverRow& row : result.rows) notes.insert(row.notes.begin(), row.notes.end());
  for (const std::string& note : notes) std::cout << "\nchains are " << note;
  if (!notes.empty()) std::cout << "\n";
}

void print_roles(const app::LeverResult& result) {
  std::vector<std::vector<std::string>> rows;
  for (const app::LeverRow& row : result.rows) {
    for (const app::LeverRole& role : row.roles()) {
      rows.push_back({row.variant.name, std::string(name_of(role.role)), std::to_string(role.calls),
                      seconds_text(role.seconds), seconds_text(role.baseline_seconds), number_text(role.relative_l1),
                      fixed(role.cosine, 6)});
    }
  }
  std::cout << "\n";
  print_table({"variant", "role", "calls", "attention", "exact", "relative L1", "cosine"}, rows, {2, 3, 4, 5, 6});
}

bool is_sparse(const app::LeverRow& row) {
  return row.state == app::LeverState::measured && row.variant.group == app::LeverGroup::sparse;
}

}  // namespace

void print_levers(const app::LeverResult& result, bool roles) {
  const app::LeverHeader& header = result.header;
  std::cout << header.job << "\ntarget " << header.target << ", measured on " << header.machine << ": "
            << (header.draws ? "whole generations" : "attention alone, of each kind of call one, times its calls")
            << ", median of " << header.repeat << " in turns with exact attention\n\n";
  print_measured(result);
  if (roles) print_roles(result);
  print_others(result);
  if (!header.draws && std::any_of(result.rows.begin(), result.rows.end(), is_sparse)) {
    std::cout
        << "\nThe values are independent normals, in which a sparse selection finds nothing to leave out: its "
           "errors are far\nabove those of a model's own values (`attnctl probe shapes`, `attnctl sparse sweep`).\n";
  }
  for (const std::string& difference : result.mixed) std::cout << "\nmixed: " << difference;
  std::cout << "\nspeed is against exact attention measured beside it; less than the noise away from 1.00x it says "
               "nothing.\nmemory: tensors and kernel of the largest call on the target; host memory: what this process "
               "took; * nobody is\nfaster without a larger error.\n"
            << std::flush;
}

void print_variants(const std::vector<app::LeverVariant>& variants) {
  std::vector<std::vector<std::string>> rows;
  for (const app::LeverVariant& variant : variants) {
    std::string settings;
    for (const auto& [key, value] : variant.settings) {
      settings += (settings.empty() ? "" : "; ") + key + "=" + value_text(value);
    }
    if (variant.attention) settings += (settings.empty() ? "" : "; ") + ("attention_backend=" + *variant.attention);
    rows.push_back({variant.name, variant.what, settings});
  }
  print_table({"variant", "what", "settings"}, rows);
}

Json variants_json(const std::vector<app::LeverVariant>& variants) {
  Json json = Json::array();
  for (const app::LeverVariant& variant : variants) {
    Json settings = Json::object();
    for (const auto& [key, value] : variant.settings) {
      settings[key] = std::visit([](const auto& held) { return Json(held); }, value);
    }
    json.push_back({{"name", variant.name},
                    {"group", std::string(name_of(variant.group))},
                    {"what", variant.what},
                    {"settings", std::move(settings)},
                    {"attention_backend", variant.attention ? Json(*variant.attention) : Json(nullptr)},
                    {"compiled", variant.compiled}});
  }
  return json;
}

}  // namespace attn::cli
