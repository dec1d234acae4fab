// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/tune/combine.h"

#include "app/jobs/nearest.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace attn::app {
namespace {

/// Sets of more backends than this are not all tried.
constexpr std::size_t kMostBackends = 8;

/// What one call costs in all its runs.
struct Cost {
  double seconds = 0.0;
  double exact_seconds = 0.0;
  double cosine = 1.0;
  bool known = false;
};

/// What a call costs in a row, where `backend` (empty: anybody) executed all of it, densely or not.
Cost cost_of(const LeverRow* row, const LeverCall& call, const std::string& backend) {
  Cost cost;
  if (row == nullptr) return cost;
  for (const LeverRoute& route : row->measure.routes) {
    if (route.call != call.text) continue;
    if (!backend.empty() && route.backend != backend && route.backend != backend + "+sparse") return {};
    cost.seconds += route.seconds * static_cast<double>(route.calls);
    cost.exact_seconds += route.baseline_seconds * static_cast<double>(route.calls);
    cost.cosine = std::min(cost.cosine, route.not_finite > 0 ? 0.0 : route.cosine);
    cost.known = true;
  }
  return cost;
}

/// One setting of the sparse stage that is tried.
struct SparseChoice {
  std::string name;  ///< "30+30x2"; empty: dense
  SettingList settings;
};

std::vector<SparseChoice> sparse_choices(const TuneSpace& space) {
  std::vector<SparseChoice> choices{{}};
  for (const LeverVariant& variant : space.variants) {
    if (variant.group != LeverGroup::sparse) continue;
    const std::string name = variant.name.substr(variant.name.rfind(':') + 1);
    const bool known =
        std::any_of(choices.begin(), choices.end(), [&name](const auto& one) { return one.name == name; });
    if (known) continue;
    SparseChoice choice{name, {}};
    for (const auto& setting : variant.settings) {
      if (setting.first.starts_with(keys::sparse_prefix)) choice.settings.push_back(setting);
    }
    choices.push_back(std::move(choice));
  }
  return choices;
}

class Combiner {
 public:
  Combiner(const LeverJob& job, const Engine& as_set, const TuneRequest& request, const TuneSpace& space,
           const LeverResult& table)
      : as_set_(as_set), request_(request), space_(space), table_(table), calls_(job.calls(as_set.target())) {
    for (const LeverVariant& variant : space.variants) {
      const std::string name = variant.name.substr(variant.name.find(':') + 1);
      const BackendSpec* spec = variant.group == LeverGroup::backend ? as_set.registry().by_name(name) : nullptr;
      const LeverRow* row = spec == nullptr ? nullptr : table.find(variant.name);
      const bool serves = row != nullptr && row->same_as != "baseline" && figures_of(table, variant.name) != nullptr;
      if (serves) backends_.push_back(spec);
    }
  }

  std::vector<Combination> make() {
    if (request_.fixed.contains(keys::overrides) || backends_.empty()) return {};
    if (backends_.size() > kMostBackends) backends_.resize(kMostBackends);
    const std::vector<SparseChoice> sparse = sparse_choices(space_);
    for (std::size_t set = 0; set < std::size_t{1} << backends_.size(); ++set) {
      OptionList labels;
      for (std::size_t i = 0; i < backends_.size(); ++i) {
        if ((set >> i & 1U) != 0) labels.push_back(backends_[i]->label);
      }
      const std::vector<std::string> servers = servers_of(labels);
      if (servers.empty()) continue;
      for (const SparseChoice& choice : sparse) {
        add(labels, servers, choice, nullptr);
        for (const LeverVariant& variant : space_.variants) {
          if (variant.attention) add(labels, servers, choice, &variant);
        }
      }
    }
    std::stable_sort(found_.begin(), found_.end(),
                     [](const auto& a, const auto& b) { return a.relative_time < b.relative_time; });
    return std::move(found_);
  }

 private:
  /// Who would execute each call; empty when some call has nobody.
  [[nodiscard]] std::vector<std::string> servers_of(const OptionList& labels) const {
    const LeverVariant variant{
        .name = "route",
        .group = LeverGroup::chain,
        .settings = {{std::string(keys::overrides), labels}, {std::string(keys::sparse_prefix) + "enabled", false}}};
    const auto engine = lever_engine(as_set_, variant);
    std::vector<std::string> servers;
    if (!engine) return servers;
    for (const LeverCall& call : calls_) {
      servers.push_back((*engine)->explain(call.call, call.role, 0).executed);
      if (servers.back().empty()) return {};
    }
    return servers;
  }

  [[nodiscard]] Cost cost_in(const LeverCall& call, const std::string& server, const SparseChoice& sparse,
                             const LeverVariant* dispatched) const {
    // The dispatcher stands before the chain; what it declines goes through the chain, which its own row had none of.
    if (dispatched != nullptr && call.role == Role::transformer) {
      return cost_of(figures_of(table_, dispatched->name), call, {});
    }
    const BackendSpec* spec = as_set_.registry().by_name(server);
    if (spec == nullptr) return cost_of(table_.baseline(), call, {});
    if (!sparse.name.empty() && spec->capabilities.block_mask) {
      const Cost cost = cost_of(figures_of(table_, "sparse:" + server + ":" + sparse.name), call, server);
      if (cost.known) return cost;
    }
    return cost_of(figures_of(table_, "backend:" + server), call, server);
  }

  void add(const OptionList& labels, const std::vector<std::string>& servers, const SparseChoice& sparse,
           const LeverVariant* dispatched) {
    Cost all;
    std::string key = dispatched == nullptr ? std::string() : dispatched->name;
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      const Cost cost = cost_in(calls_[i], servers[i], sparse, dispatched);
      if (!cost.known) return;
      all.seconds += cost.seconds;
      all.exact_seconds += cost.exact_seconds;
      all.cosine = std::min(all.cosine, cost.cosine);
      key += "|" + servers[i];
    }
    key += "|" + sparse.name;
    if (all.exact_seconds <= 0.0 || all.cosine < request_.limits.min_cosine || !met_.insert(key).second) return;
    SettingList wanted{{std::string(keys::overrides), labels}};
    wanted.insert(wanted.end(), sparse.settings.begin(), sparse.settings.end());
    auto settings = whole_settings(as_set_, request_, wanted);
    if (!settings) return;
    std::vector<std::string> words;
    for (const BackendSpec* spec : backends_) {
      if (std::find(labels.begin(), labels.end(), spec->label) != labels.end()) words.push_back(spec->name);
    }
    if (!sparse.name.empty()) words.push_back("sparse " + sparse.name);
    if (dispatched != nullptr) words.push_back("dispatcher " + *dispatched->attention);
    Combination combination;
    combination.variant = {.name = "route:" + (words.empty() ? std::string("plain") : joined(words, "+")),
                           .group = LeverGroup::chain,
                           .what = "put together out of routes that were measured alone",
                           .settings = *std::move(settings),
                           .attention = dispatched == nullptr ? std::nullopt : dispatched->attention};
    combination.relative_time = all.seconds / all.exact_seconds;
    combination.worst_cosine = all.cosine;
    found_.push_back(std::move(combination));
  }

  const Engine& as_set_;
  const TuneRequest& request_;
  const TuneSpace& space_;
  const LeverResult& table_;
  std::vector<LeverCall> calls_;
  std::vector<const BackendSpec*> backends_;  ///< that were measured alone
  std::set<std::string> met_;
  std::vector<Combination> found_;
};

}  // namespace

std::vector<Combination> combine_routes(const LeverJob& job, const Engine& as_set, const TuneRequest& request,
                                        const TuneSpace& space, const LeverResult& table) {
  return Combiner(job, as_set, request, space, table).make();
}

}  // namespace attn::app
