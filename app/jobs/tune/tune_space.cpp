// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/tune/tune_space.h"

#include "app/jobs/nearest.h"
#include "app/jobs/sparse/threads.h"

#include <algorithm>
#include <utility>

namespace attn::app {
namespace {

constexpr std::string_view kDispatcherKey = "hf_attention";
/// A trial has no gain yet; it has to be in force all the same.
constexpr double kTrialGain = 1.0;

bool is_fixed(const TuneRequest& request, std::string_view key) { return request.fixed.contains(key); }

/// The choices as they are, where `hf_attention` may be changed without that key's choice.
AttentionChoices choices_of(const Engine& as_set, const TuneRequest& request) {
  AttentionChoices choices = as_set.attention();
  if (!is_fixed(request, kDispatcherKey)) choices.dispatcher.clear();
  return choices;
}

bool is_chosen(const Engine& as_set, const TuneRequest& request, Role role) {
  return is_explicit(decide_attention(choices_of(as_set, request), role, as_set.target()).level);
}

/// A variant of a probe as tuning may try it; nullopt: somebody's choice is in the way.
std::optional<LeverVariant> allowed(const Engine& as_set, const TuneRequest& request, LeverVariant variant) {
  // A dispatcher's backend would stand before a chain that somebody chose.
  const bool chosen = is_fixed(request, keys::overrides) || is_chosen(as_set, request, Role::transformer);
  if (variant.attention && chosen) return std::nullopt;
  if (variant.group == LeverGroup::sparse && is_fixed(request, keys::overrides)) {
    // The chain is somebody's; the stage over it may still be switched on where its backend is in the chain.
    const OptionList given = as_set.values().list(keys::overrides);
    for (auto& [key, value] : variant.settings) {
      if (key != keys::overrides) continue;
      const OptionList& wanted = std::get<OptionList>(value);
      if (std::find(given.begin(), given.end(), wanted.front()) == given.end()) return std::nullopt;
      value = given;
    }
  }
  auto settings = whole_settings(as_set, request, variant.settings);
  if (!settings) return std::nullopt;
  variant.settings = *std::move(settings);
  return variant;
}

std::vector<std::string> kept_choices(const Engine& as_set, const TuneRequest& request) {
  std::vector<std::string> kept;
  for (const Role role : kChoiceRoles) {
    const AttentionDecision decision = decide_attention(choices_of(as_set, request), role, as_set.target());
    if (!is_explicit(decision.level) || (role != Role::transformer && !decision.selection.backend)) continue;
    kept.push_back("attention backend of the " + std::string(name_of(role)) + " stays " + decision.selection.requested +
                   ": " + std::string(name_of(decision.level)));
  }
  const OptionValues values = as_set.values();
  for (const OptionSpec& spec : as_set.specs()) {
    const SettingList moved = baseline_settings(as_set.specs());
    const bool lever =
        spec.key.starts_with(keys::sparse_prefix) ||
        std::any_of(moved.begin(), moved.end(), [&spec](const auto& one) { return one.first == spec.key; });
    if (!lever || spec.key == kDispatcherKey || !is_fixed(request, spec.key)) continue;
    const std::string value = value_text(*values.find(spec.key));
    kept.push_back(spec.key + " stays " + (value.empty() ? "empty" : value) + ": " +
                   std::string(name_of(ChoiceLevel::explicit_for_all)));
  }
  return kept;
}

Expected<void> check_backends(const Registry& registry, const OptionList& labels) {
  for (const std::string& label : labels) {
    if (registry.by_label(label) == nullptr) {
      return fail("there is no override backend " + quotable(label) + nearest_hint(label, registry.labels(), ""));
    }
  }
  return {};
}

}  // namespace

std::optional<SettingList> whole_settings(const Engine& as_set, const TuneRequest& request, const SettingList& wanted) {
  const OptionValues given = as_set.values();
  SettingList whole;
  for (auto& [key, value] : baseline_settings(as_set.specs())) {
    whole.emplace_back(key, is_fixed(request, key) ? *given.find(key) : std::move(value));
  }
  for (const auto& [key, value] : wanted) {
    if (is_fixed(request, key) && !same_value(*given.find(key), value)) return std::nullopt;
    const auto known =
        std::find_if(whole.begin(), whole.end(), [&key = key](const auto& one) { return one.first == key; });
    if (known == whole.end()) {
      whole.emplace_back(key, value);
    } else {
      known->second = value;
    }
  }
  return whole;
}

Expected<TuneSpace> tune_space(const Engine& as_set, const TuneRequest& request) {
  if (auto known = check_backends(as_set.registry(), request.backends); !known) return fail(known.error());
  OptionList backends = request.backends;
  if (backends.empty()) backends = as_set.registry().labels();
  const std::vector<LeverVariant> all = lever_variants(as_set, false, backends);
  auto wanted = narrow_variants(all, request.globs);
  if (!wanted) return fail(wanted.error());
  TuneSpace space;
  space.variants.push_back(all.front());
  space.variants.push_back(
      {.name = "as-set", .group = LeverGroup::as_set, .what = "the default: the settings as given"});
  LeverVariant plain{.name = "plain", .group = LeverGroup::backend, .what = "plain sdpa, dense"};
  if (auto possible = allowed(as_set, request, plain)) space.variants.push_back(*std::move(possible));
  for (LeverVariant& variant : *wanted) {
    if (variant.group == LeverGroup::baseline || variant.group == LeverGroup::as_set) continue;
    if (auto possible = allowed(as_set, request, std::move(variant))) space.variants.push_back(*std::move(possible));
  }
  space.kept = kept_choices(as_set, request);
  return space;
}

Expected<std::unique_ptr<Engine>> tuned_engine(const Engine& as_set, const LeverVariant& variant) {
  if (variant.group == LeverGroup::baseline) return lever_engine(as_set, variant);
  auto engine = std::make_unique<Engine>(as_set.registry(), as_set.target(), LogSink{}, on_all_threads());
  SettingList changes;
  const OptionValues given = as_set.values();
  for (const auto& [key, value] : given.all()) changes.emplace_back(key, value);
  changes.insert(changes.end(), variant.settings.begin(), variant.settings.end());
  if (auto set = engine->set_all(changes); !set) return fail(variant.name + ": " + set.error());
  engine->set_quarantine(as_set.quarantine());
  const TuneChange change = change_of(as_set, variant, kTrialGain, 0.0);
  if (auto set = engine->set_attention(change.attention_after); !set) return fail(variant.name + ": " + set.error());
  return engine;
}

TuneChange change_of(const Engine& as_set, const LeverVariant& variant, double gain, double noise) {
  TuneChange change;
  const OptionValues given = as_set.values();
  for (const auto& [key, value] : variant.settings) {
    const OptionValue& before = *given.find(key);
    if (same_value(before, value)) continue;
    change.before.emplace_back(key, before);
    change.after.emplace_back(key, value);
  }
  change.attention_before = as_set.attention();
  change.attention_before.dispatcher.clear();
  change.attention_after = change.attention_before;
  if (variant.group == LeverGroup::as_set) return change;
  change.attention_after.measured.erase(Role::transformer);
  if (variant.attention) change.attention_after.measured[Role::transformer] = {*variant.attention, gain, noise};
  return change;
}

const LeverRow* figures_of(const LeverResult& table, std::string_view name) {
  const LeverRow* row = table.find(name);
  if (row != nullptr && row->state == LeverState::skipped && !row->same_as.empty()) row = table.find(row->same_as);
  return row != nullptr && row->state == LeverState::measured ? row : nullptr;
}

ChoiceLevel deciding_level(const Engine& as_set, const TuneRequest& request, Role role, bool changed) {
  const AttentionDecision decision = decide_attention(choices_of(as_set, request), role, as_set.target());
  if (is_explicit(decision.level) && decision.selection.backend) return decision.level;
  if (is_fixed(request, keys::overrides)) return ChoiceLevel::explicit_for_all;
  if (changed) return ChoiceLevel::measured;
  return is_explicit(decision.level) ? decision.level : ChoiceLevel::standard;
}

}  // namespace attn::app
