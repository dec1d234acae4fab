// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/levers/variants.h"

#include "app/jobs/nearest.h"
#include "app/jobs/sparse/threads.h"
#include "core/policy/dispatcher_backend.h"

#include <fnmatch.h>
#include <algorithm>
#include <array>
#include <charconv>

namespace attn::app {
namespace {

constexpr std::string_view kDispatcherKey = "hf_attention";

constexpr std::array<std::pair<LeverGroup, std::string_view>, 9> kGroups{{{LeverGroup::baseline, "baseline"},
                                                                          {LeverGroup::backend, "backend"},
                                                                          {LeverGroup::chain, "chain"},
                                                                          {LeverGroup::dispatcher, "dispatcher"},
                                                                          {LeverGroup::kernels, "kernels"},
                                                                          {LeverGroup::sparse, "sparse"},
                                                                          {LeverGroup::compiled, "compiled"},
                                                                          {LeverGroup::option, "option"},
                                                                          {LeverGroup::as_set, "as-set"}}};

/// Percent kept, and percent points more in that many steps at both ends.
struct SparseLever {
  std::int64_t budget = 30;
  std::int64_t bump = 0;
  std::int64_t steps = 0;
};
constexpr std::array<SparseLever, 5> kSparse{{{50, 0, 0}, {30, 0, 0}, {15, 0, 0}, {30, 30, 2}, {15, 35, 3}}};

const OptionSpec* spec_of(const std::vector<OptionSpec>& specs, std::string_view key) {
  const auto found =
      std::find_if(specs.begin(), specs.end(), [key](const OptionSpec& spec) { return spec.key == key; });
  return found == specs.end() ? nullptr : &*found;
}

std::string sparse_key(std::string_view name) { return std::string(keys::sparse_prefix) + std::string(name); }

class VariantList {
 public:
  VariantList(const Engine& as_set, bool can_compile, const OptionList& backends)
      : registry_(as_set.registry()), specs_(as_set.specs()), values_(as_set.values()), can_compile_(can_compile) {
    OptionList named = values_.list(keys::overrides);
    if (same_value(named, spec_of(specs_, keys::overrides)->fallback)) named.clear();
    if (!backends.empty()) named = backends;
    for (const std::string& label : registry_.labels()) {
      const bool wanted = named.empty() || std::find(named.begin(), named.end(), label) != named.end();
      if (const BackendSpec* spec = wanted ? registry_.by_label(label) : nullptr) backends_.push_back(spec);
    }
  }

  std::vector<LeverVariant> make() {
    add({.name = "baseline", .what = "plain sdpa, dense: the exact result that the others are compared with"});
    for (const BackendSpec* spec : backends_) {
      add({.name = "backend:" + spec->name,
           .group = LeverGroup::backend,
           .what = spec->label + " alone",
           .settings = {overrides({spec->label})}});
    }
    add_chains();
    add_dispatchers();
    add_kernels();
    add_sparse();
    if (can_compile_) add_compiled();
    add_options();
    add_as_set();
    return std::move(variants_);
  }

 private:
  static std::pair<std::string, OptionValue> overrides(OptionList labels) {
    return {std::string(keys::overrides), std::move(labels)};
  }
  void add(LeverVariant variant) { variants_.push_back(std::move(variant)); }

  [[nodiscard]] OptionList labels(const BackendSpec* without = nullptr) const {
    OptionList all;
    for (const BackendSpec* spec : backends_) {
      if (spec != without) all.push_back(spec->label);
    }
    return all;
  }

  void add_chains() {
    if (backends_.size() < 2) return;
    add({.name = "chain",
         .group = LeverGroup::chain,
         .what = "all " + std::to_string(backends_.size()) + " backends, by priority",
         .settings = {overrides(labels())}});
    if (backends_.size() < 3) return;
    for (const BackendSpec* spec : backends_) {
      add({.name = "chain-without:" + spec->name,
           .group = LeverGroup::chain,
           .what = "all backends but " + spec->label,
           .settings = {overrides(labels(spec))}});
    }
  }

  void add_dispatchers() {
    std::vector<std::string_view> met;
    for (const AttentionAlias& alias : attention_aliases()) {
      if (alias.backend.empty() || std::find(met.begin(), met.end(), alias.backend) != met.end()) continue;
      met.push_back(alias.backend);
      add({.name = "dispatcher:" + std::string(alias.alias),
           .group = LeverGroup::dispatcher,
           .what = "the denoiser's attention by " + std::string(alias.backend) + ", in front of the router",
           .attention = std::string(alias.alias)});
    }
  }

  void add_kernels() {
    const OptionSpec& spec = *spec_of(specs_, keys::kernels);
    for (const std::string& kernel : spec.choices) {
      add({.name = "kernels:" + kernel,
           .group = LeverGroup::kernels,
           .what = "of sdpa's kernels only " + kernel,
           .settings = {{spec.key, OptionList{kernel}}}});
    }
    if (spec.choices.size() < 3) return;
    for (const std::string& kernel : spec.choices) {
      OptionList others = spec.choices;
      std::erase(others, kernel);
      add({.name = "kernels-without:" + kernel,
           .group = LeverGroup::kernels,
           .what = "sdpa's kernels without " + kernel,
           .settings = {{spec.key, std::move(others)}}});
    }
  }

  void add_sparse() {
    const OptionSpec& tokens = *spec_of(specs_, sparse_key("min_tokens"));
    const OptionValue& stated = *values_.find(tokens.key);
    for (const BackendSpec* spec : backends_) {
      if (!spec->capabilities.block_mask) continue;
      for (const SparseLever& lever : kSparse) {
        const std::string budget = std::to_string(lever.budget);
        LeverVariant variant{.name = "sparse:" + spec->name + ":" + budget,
                             .group = LeverGroup::sparse,
                             .what = spec->label + " on " + budget + " % of the key tiles",
                             .settings = {overrides({spec->label}),
                                          {sparse_key("enabled"), true},
                                          {sparse_key("budget"), lever.budget},
                                          {sparse_key("schedule_steps"), lever.steps}}};
        if (lever.steps > 0) {
          variant.name += "+" + std::to_string(lever.bump) + "x" + std::to_string(lever.steps);
          variant.what += ", " + std::to_string(lever.bump) + " points more in the first and last " +
                          std::to_string(lever.steps) + " steps";
          variant.settings.emplace_back(sparse_key("schedule_bump"), lever.bump);
        }
        // What nobody set must not keep the lever from short sequences; what somebody set stays.
        if (same_value(stated, tokens.fallback)) variant.settings.emplace_back(tokens.key, std::int64_t{0});
        add(std::move(variant));
      }
    }
  }

  void add_compiled() {
    add({.name = "compiled",
         .group = LeverGroup::compiled,
         .what = "plain sdpa, routes chosen once per call site",
         .compiled = true});
    if (backends_.size() < 2) return;
    add({.name = "compiled:chain",
         .group = LeverGroup::compiled,
         .what = "all backends, routes chosen once per call site",
         .settings = {overrides(labels())},
         .compiled = true});
  }

  void add_options() {
    for (const BackendSpec* backend : backends_) {
      for (const OptionSpec& spec : backend->options) {
        std::vector<OptionValue> others;
        if (spec.type == OptionType::boolean) others = {true, false};
        if (spec.type == OptionType::choice) others.assign(spec.choices.begin(), spec.choices.end());
        for (OptionValue& value : others) {
          const OptionValue* now = values_.find(spec.key);
          if (now == nullptr || same_value(*now, value)) continue;
          const std::string change = spec.key + "=" + value_text(value);
          add({.name = "option:" + backend->name + ":" + change,
               .group = LeverGroup::option,
               .what = backend->label + " alone with " + change,
               .settings = {overrides({backend->label}), {spec.key, std::move(value)}}});
        }
      }
    }
  }

  void add_as_set() {
    LeverVariant variant{.name = "as-set", .group = LeverGroup::as_set, .what = "the settings as they are given"};
    for (const auto& [key, value] : baseline_settings(specs_)) {
      const OptionValue& given = *values_.find(key);
      if (!same_value(given, value)) variant.settings.emplace_back(key, given);
    }
    add(std::move(variant));
  }

  const Registry& registry_;
  std::vector<OptionSpec> specs_;
  OptionValues values_;
  bool can_compile_;
  std::vector<const BackendSpec*> backends_;  ///< in the order in which people read a chain
  std::vector<LeverVariant> variants_;
};

bool matches(const LeverVariant& variant, const std::string& glob, bool is_name) {
  if (is_name) return variant.name == glob;
  if (const auto group = parse_lever_group(glob)) return variant.group == *group;
  return fnmatch(glob.c_str(), variant.name.c_str(), 0) == 0;
}

}  // namespace

SettingList baseline_settings(const std::vector<OptionSpec>& specs) {
  return {{std::string(keys::overrides), OptionList{}},
          {std::string(keys::kernels), spec_of(specs, keys::kernels)->fallback},
          {sparse_key("enabled"), false},
          {std::string(kDispatcherKey), std::string()}};
}

std::string_view name_of(LeverGroup group) noexcept {
  const auto* const found =
      std::find_if(kGroups.begin(), kGroups.end(), [group](const auto& entry) { return entry.first == group; });
  return found->second;
}

std::optional<LeverGroup> parse_lever_group(std::string_view text) noexcept {
  const auto* const found =
      std::find_if(kGroups.begin(), kGroups.end(), [text](const auto& entry) { return entry.second == text; });
  if (found == kGroups.end()) return std::nullopt;
  return found->first;
}

std::vector<LeverVariant> lever_variants(const Engine& as_set, bool can_compile, const OptionList& backends) {
  return VariantList(as_set, can_compile, backends).make();
}

Expected<std::vector<LeverVariant>> narrow_variants(const std::vector<LeverVariant>& all,
                                                    const std::vector<std::string>& globs) {
  std::vector<bool> wanted(all.size(), false);
  std::vector<std::string> names;
  for (const LeverVariant& variant : all) names.push_back(variant.name);
  for (std::size_t i = 0; i < all.size(); ++i) {
    wanted[i] = all[i].group == LeverGroup::baseline || (globs.empty() && all[i].group != LeverGroup::option);
  }
  for (const std::string& glob : globs) {
    const bool is_name = std::find(names.begin(), names.end(), glob) != names.end();
    bool any = false;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!matches(all[i], glob, is_name)) continue;
      wanted[i] = any = true;
    }
    if (!any) {
      return fail("no variant is called " + quotable(glob) +
                  nearest_hint(glob, names, "; `attnctl probe JOB --list` names them all"));
    }
  }
  std::vector<LeverVariant> kept;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (wanted[i]) kept.push_back(all[i]);
  }
  return kept;
}

Expected<LeverShard> read_shard(std::string_view text) {
  LeverShard shard;
  const auto read = [](std::string_view digits, int& number) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return error == std::errc{} && end == digits.data() + digits.size();
  };
  const std::size_t slash = text.find('/');
  const bool good = slash != std::string_view::npos && read(text.substr(0, slash), shard.index) &&
                    read(text.substr(slash + 1), shard.count) && shard.index >= 1 && shard.index <= shard.count;
  if (good) return shard;
  return fail("shard " + quotable(text) + ": write which of how many, such as 2/8; they count from 1");
}

std::vector<LeverVariant> shard_of(const std::vector<LeverVariant>& all, LeverShard shard) {
  std::vector<LeverVariant> part;
  int turn = 0;
  for (const LeverVariant& variant : all) {
    if (variant.group == LeverGroup::baseline) {
      part.push_back(variant);
    } else if (turn++ % shard.count == shard.index - 1) {
      part.push_back(variant);
    }
  }
  return part;
}

Expected<std::unique_ptr<Engine>> lever_engine(const Engine& as_set, const LeverVariant& variant) {
  auto engine = std::make_unique<Engine>(as_set.registry(), as_set.target(), LogSink{}, on_all_threads());
  SettingList changes;
  const OptionValues given = as_set.values();
  for (const auto& [key, value] : given.all()) changes.emplace_back(key, value);
  for (auto& [key, value] : baseline_settings(as_set.specs())) changes.emplace_back(key, std::move(value));
  changes.insert(changes.end(), variant.settings.begin(), variant.settings.end());
  if (auto set = engine->set_all(changes); !set) return fail(variant.name + ": " + set.error());
  engine->set_quarantine(as_set.quarantine());
  AttentionChoices choices;
  if (variant.group == LeverGroup::as_set) choices = as_set.attention();
  if (variant.attention) choices.all = *variant.attention;
  if (auto set = engine->set_attention(std::move(choices)); !set) return fail(variant.name + ": " + set.error());
  return engine;
}

}  // namespace attn::app
