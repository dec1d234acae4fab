// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/policy/precedence.h"

#include "core/policy/dispatcher_backend.h"
#include "core/policy/words.h"

#include <algorithm>
#include <cstdio>

namespace attn {
namespace {

bool contains_role(Role role) {
  return std::find(kChoiceRoles.begin(), kChoiceRoles.end(), role) != kChoiceRoles.end();
}

/// A wish and who has it.
struct Wish {
  ChoiceLevel level = ChoiceLevel::standard;
  std::string name;
  std::string note{};  ///< what a lower level had to say
};

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g %%", share * 100.0);
  return text;
}

Wish first_wish(const AttentionChoices& choices, Role role) {
  if (choices.required && role == Role::transformer) return {ChoiceLevel::required_by_model, *choices.required};
  if (const auto own = choices.per_role.find(role); own != choices.per_role.end()) {
    return {ChoiceLevel::explicit_for_role, own->second};
  }
  if (choices.all && lowered(trimmed(*choices.all)) != kAutoRequest) {
    return {ChoiceLevel::explicit_for_all, *choices.all};
  }
  if (!trimmed(choices.dispatcher).empty()) return {ChoiceLevel::explicit_for_all, choices.dispatcher};
  Wish wish{ChoiceLevel::standard, choices.standard};
  const auto measured = choices.measured.find(role);
  if (measured == choices.measured.end()) return wish;
  const MeasuredChoice& found = measured->second;
  if (found.gain > found.noise) return {ChoiceLevel::measured, found.backend};
  wish.note = "the measured gain of " + found.backend + ", " + percent(found.gain) + ", is not above the noise of " +
              percent(found.noise);
  return wish;
}

Selection select_any(const std::string& name, const Target& target, bool speed_active) {
  const Expected<std::string> alias = normalise_attention_request(name);
  return alias ? select_attention(*alias, target, speed_active) : select_dispatcher_name(name, target);
}

/// What is meant for the denoiser leaves other roles where they are.
void leave_alone(AttentionDecision& decision) {
  const std::string name = decision.selection.requested;
  const std::string role(name_of(decision.role));
  Selection& selection = decision.selection;
  const bool could = selection.backend && role_takes(decision.role, *selection.backend);
  selection.backend.reset();
  const bool own = decision.level == ChoiceLevel::explicit_for_role;
  selection.state = own ? SelectionState::rejected : SelectionState::standard;
  selection.reason = own     ? role + " calls torch's attention, which cannot be replaced by " + name
                     : could ? name + " is set on the denoiser only, " + role + " keeps torch's attention"
                             : name + " is not supported by " + role + ", which calls torch's attention";
}

}  // namespace

std::string_view name_of(ChoiceLevel level) noexcept {
  switch (level) {
    case ChoiceLevel::required_by_model:
      return "required by the model";
    case ChoiceLevel::explicit_for_role:
      return "explicit per role";
    case ChoiceLevel::explicit_for_all:
      return "explicit for all";
    case ChoiceLevel::measured:
      return "measured";
    case ChoiceLevel::standard:
      return "default";
  }
  return "default";
}

bool operator==(const AttentionChoices& a, const AttentionChoices& b) {
  const auto same_measured = [](const auto& x, const auto& y) {
    return x.first == y.first && x.second.backend == y.second.backend && x.second.gain == y.second.gain &&
           x.second.noise == y.second.noise;
  };
  return a.required == b.required && a.per_role == b.per_role && a.all == b.all && a.dispatcher == b.dispatcher &&
         a.standard == b.standard && a.strict == b.strict && a.speed_active == b.speed_active &&
         std::equal(a.measured.begin(), a.measured.end(), b.measured.begin(), b.measured.end(), same_measured);
}

bool role_takes(Role role, std::string_view backend) {
  if (role == Role::transformer || backend.empty()) return true;
  const DispatcherBackend* known = find_dispatcher_backend(backend);
  return known != nullptr && known->through_torch;
}

AttentionDecision decide_attention(const AttentionChoices& choices, Role role, const Target& target) {
  const Wish wish = first_wish(choices, role);
  AttentionDecision decision;
  decision.role = role;
  decision.level = wish.level;
  decision.selection = select_any(wish.name, target, choices.speed_active);
  const bool own = wish.level == ChoiceLevel::explicit_for_role;
  const Selection& selection = decision.selection;
  const bool fits = !selection.backend || (own && role_takes(role, *selection.backend));
  const bool meant = own || selection.state != SelectionState::rejected;
  // What is meant for the denoiser says nothing about the other roles, whatever became of it.
  if (role != Role::transformer && !(fits && meant)) leave_alone(decision);
  const auto strict = choices.strict.find(role);
  decision.strict = strict != choices.strict.end() ? strict->second : is_explicit(wish.level);
  decision.reason = std::string(name_of(wish.level)) + ": " + decision.selection.reason;
  if (!wish.note.empty()) decision.reason += "; " + wish.note;
  return decision;
}

Expected<void> check_choices(const AttentionChoices& choices) {
  std::vector<std::string> names;
  if (choices.required) names.push_back(*choices.required);
  for (const auto& [role, name] : choices.per_role) names.push_back(name);
  for (const auto& [role, measured] : choices.measured) names.push_back(measured.backend);
  names.push_back(choices.standard);
  for (const std::string& name : names) {
    const Expected<std::string> alias = normalise_attention_request(name);
    if (!alias && find_dispatcher_backend(name) == nullptr) return fail(alias.error());
  }
  if (!choices.all) return {};
  const Expected<std::string> alias = normalise_attention_request(*choices.all);
  return alias ? Expected<void>() : fail(alias.error());
}

Expected<void> read_attention_request(std::string_view text, AttentionChoices& choices) {
  AttentionChoices read = choices;
  read.all.reset();
  read.per_role.clear();
  if (trimmed(text).empty()) read.all = std::string(kAutoRequest);
  for (const std::string& part : split_words(text, ',')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos) {
      if (read.all) {
        return fail("attention_backend " + std::string(trimmed(text)) + ": " + *read.all + " and " + part +
                    " cannot both be for all; write ROLE=" + part + " with te, transformer or vae");
      }
      read.all = part;
      continue;
    }
    const auto role = parse_role(trimmed(std::string_view(part).substr(0, equals)));
    if (!role || !contains_role(*role)) {
      return fail("attention_backend " + part + ": write ROLE=BACKEND with te, transformer or vae");
    }
    const std::string name = lowered(trimmed(std::string_view(part).substr(equals + 1)));
    if (!read.per_role.emplace(*role, name).second) {
      return fail("attention_backend " + part + ": " + std::string(name_of(*role)) + " is given twice");
    }
  }
  if (auto known = check_choices(read); !known) return known;
  if (read.all) read.all = *normalise_attention_request(*read.all);
  choices = std::move(read);
  return {};
}

Expected<void> read_strictness(std::string_view text, AttentionChoices& choices) {
  std::map<Role, bool> strict = choices.strict;
  for (const std::string& part : split_words(text, ',')) {
    const std::string word = lowered(part);
    if (word == "all" || word == "none") {
      for (const Role role : kChoiceRoles) strict[role] = word == "all";
      continue;
    }
    const std::size_t equals = std::min(word.find('='), word.size());
    const auto role = parse_role(trimmed(std::string_view(word).substr(0, equals)));
    const std::string value(equals == word.size() ? "on" : trimmed(std::string_view(word).substr(equals + 1)));
    if (!role || !contains_role(*role) || (value != "on" && value != "off")) {
      return fail("strict " + part + ": write all, none, or ROLE=on or ROLE=off with te, transformer or vae");
    }
    strict[*role] = value == "on";
  }
  choices.strict = std::move(strict);
  return {};
}

}  // namespace attn
