// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/exchange/vocabulary.h"

#include "core/exchange/sdnext_forms.h"
#include "core/policy/dispatcher_backend.h"
#include "core/policy/words.h"
#include "core/settings/settings.h"

#include <algorithm>
#include <array>

namespace attn::exchange {
namespace {

constexpr std::array<Word, 11> kWords{{
    {"", "native", "native", "--use-pytorch-cross-attention"},
    {"", "_native_cudnn", "cudnn", ""},
    {"Flash attention", "flash", "flash", "--use-flash-attention"},
    {"", "_flash_3_hub", "flash3", ""},
    {"", "flash_4_hub", "flash4", ""},
    {"Sage attention", "sage", "sage", "--use-sage-attention"},
    {"SDNQ attention", "", "", ""},
    {"", "xformers", "xformers", ""},
    {"Flex attention", "flex", "", ""},
    {"Dynamic attention", "", "", ""},
    {"Triton Flash attention", "aiter_fa2_hub", "aiter", ""},
}};

struct Nearest {
  std::string_view prefix;
  std::string_view what;
};
constexpr std::array<Nearest, 6> kNearest{{
    {"sdnq_attention_", "what the backend does by itself"},
    {"sparse_attention_", "dense attention"},
    {"dynamic_attention_", "attention in one piece, by torch's memory-efficient kernel"},
    {"sdp_options", "torch's own choice among all its kernels"},
    {"attention_slicing", "no slicing"},
    {"hf_attention", "native"},
}};

std::string_view nearest_to(std::string_view key) {
  for (const Nearest& one : kNearest) {
    if (key.starts_with(one.prefix)) return one.what;
  }
  return "its default";
}

const Word* word_of(std::string_view Word::*member, std::string_view text) {
  for (const Word& word : kWords) {
    if (!text.empty() && word.*member == text) return &word;
  }
  return nullptr;
}

/// What stands closest to an override in a system without it.
std::string_view nearest_label(std::string_view label) {
  if (label == "SDNQ attention") return "Sage attention, which has INT8 scores as well";
  return "torch's own attention";
}

std::string from_overrides(const ProductionSettings& settings, std::string_view Word::*member, Losses& losses) {
  const OptionList chosen = settings.values.list(keys::overrides);
  const auto spec = std::find_if(settings.specs.begin(), settings.specs.end(),
                                 [](const OptionSpec& one) { return one.key == keys::overrides; });
  const std::string key(keys::overrides);
  losses.said(keys::overrides);
  losses.said(keys::method);
  const Word* written = nullptr;
  std::vector<std::string> left_out;
  for (const std::string& label : spec == settings.specs.end() ? chosen : spec->choices) {
    if (std::find(chosen.begin(), chosen.end(), label) == chosen.end()) continue;
    const Word* word = word_of(&Word::label, label);
    if (word == nullptr || (word->*member).empty()) {
      losses.lose(key, losses.title() + " has no " + label + "; nearest is " + std::string(nearest_label(label)));
    } else if (written == nullptr) {
      written = word;
    } else {
      left_out.push_back(label);
    }
  }
  if (!left_out.empty()) {
    losses.lose(key, losses.title() + " takes one backend; " + std::string(written->label) +
                         ", first by priority, is written and " + sdnext::listed(left_out) + " left out");
  }
  if (written != nullptr) {
    if (settings.values.text(keys::method) == "Default") {
      losses.lose(keys::method, losses.title() + " has no word for Default; nearest is the backend that is written");
    }
    // ComfyUI's flags fall back for single calls, as an override does.
    if (member != &Word::flag) {
      losses.lose(key, losses.title() + " has no router; " + std::string(written->*member) + " stands for " +
                           std::string(written->label) + " and serves every call by itself, or fails");
    }
    return std::string(written->*member);
  }
  if (settings.values.text(keys::method) == "Default") return {};
  return std::string(kWords.front().*member);
}

}  // namespace

std::span<const Word> vocabulary() noexcept { return kWords; }

void Losses::lose(std::string_view key, const std::string& why) {
  said(key);
  out_.losses.push_back(std::string(key) + ": " + why);
}

void Losses::finish() {
  for (const OptionSpec& spec : settings_.specs) {
    const OptionValue* value = settings_.values.find(spec.key);
    if (value == nullptr || same_value(*value, spec.fallback)) continue;
    if (std::find(done_.begin(), done_.end(), spec.key) != done_.end()) continue;
    const std::string wanted = value_text(*value);
    lose(spec.key, title() + " cannot say " + (wanted.empty() ? "nothing" : wanted) + "; nearest is " +
                       std::string(nearest_to(spec.key)));
  }
  const AttentionChoices& choices = settings_.attention;
  const auto told = [this](std::string_view key) { return std::find(done_.begin(), done_.end(), key) != done_.end(); };
  if (choices.speed_active && !told("speed_mode")) {
    lose("speed_mode", title() + " has no speed profile; nearest is to ask for cudnn by name on NVIDIA cards");
  }
  const bool by_name = choices.all && lowered(trimmed(*choices.all)) != kAutoRequest;
  if (by_name && asked_backend(settings_) && !told("attention_backend")) {
    lose("attention_backend", title() + " cannot say " + *choices.all + "; nearest is what the system does by itself");
  }
  for (const auto& [role, name] : choices.per_role) {
    lose("attention_backend", title() + " has no choice per role; " + std::string(name_of(role)) + "=" + name +
                                  " is left out, nearest is one backend for the denoiser");
  }
  if (!choices.strict.empty()) {
    lose("strict", title() + " falls back in silence; nearest is to check there what is engaged");
  }
}

std::optional<AskedBackend> asked_backend(const ProductionSettings& settings) {
  if (settings.attention.all) {
    const Expected<std::string> alias = normalise_attention_request(*settings.attention.all);
    const AttentionAlias* known = alias && *alias != kAutoRequest ? find_attention_alias(*alias) : nullptr;
    if (known != nullptr) {
      const Word* word = word_of(&Word::alias, known->alias);
      // Where the dispatcher has renamed a backend, the vocabulary has today's name.
      const std::string_view name = known->backend.empty() ? kNativeBackend
                                    : word != nullptr      ? word->dispatcher
                                                           : known->backend;
      return AskedBackend{std::string(known->alias), std::string(name)};
    }
  }
  const std::string name = lowered(trimmed(settings.values.text("hf_attention")));
  if (name.empty()) return std::nullopt;
  const Word* word = word_of(&Word::dispatcher, name);
  return AskedBackend{word == nullptr ? std::string() : std::string(word->alias), name};
}

std::string single_backend(const ProductionSettings& settings, std::string_view Word::*word, Losses& losses) {
  const std::optional<AskedBackend> asked = asked_backend(settings);
  if (!asked) return from_overrides(settings, word, losses);
  losses.said("hf_attention");
  losses.said("attention_backend");
  if (word == &Word::dispatcher) return asked->dispatcher;
  if (word == &Word::alias && !asked->alias.empty()) return asked->alias;
  const Word* known = word_of(&Word::dispatcher, asked->dispatcher);
  if (known != nullptr && !(known->*word).empty()) return std::string(known->*word);
  const std::string key = settings.attention.all ? "attention_backend" : "hf_attention";
  if (word == &Word::alias) {
    const std::string nearest(nearest_alias(asked->dispatcher));
    losses.lose(key,
                losses.title() + " has no " + asked->dispatcher + "; nearest is " + nearest + ", which is written");
    return nearest;
  }
  losses.lose(key, losses.title() + " has no " + asked->dispatcher +
                       "; nearest is torch's own attention, which is "
                       "written");
  return std::string(kWords.front().*word);
}

std::string_view nearest_alias(std::string_view dispatcher) noexcept {
  for (const auto& [part, alias] :
       {std::pair{"sage", "sage"}, std::pair{"flash_4", "flash4"}, std::pair{"flash_3", "flash3"},
        std::pair{"flash_varlen_3", "flash3"}, std::pair{"aiter", "aiter"}, std::pair{"cudnn", "cudnn"},
        std::pair{"_native", "native"}, std::pair{"flash", "flash"}}) {
    if (dispatcher.find(part) != std::string_view::npos) return alias;
  }
  return "native";
}

}  // namespace attn::exchange
