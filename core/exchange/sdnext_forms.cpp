// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/exchange/sdnext_forms.h"

#include "core/settings/settings.h"

#include <algorithm>
#include <array>
#include <utility>

namespace attn::sdnext {
namespace {

struct Pair {
  std::string_view one;
  std::string_view other;
};

/// Every backend that SD.Next has: label among the overrides, label in the selector.
constexpr std::array kBackends{
    Pair{"SDNQ attention", "SDNQ attention"},   Pair{"Sage attention", "Sage attention"},
    Pair{"Flash attention", "Flash attention"}, Pair{"Triton Flash attention", "Triton AMD Flash attention"},
    Pair{"Flex attention", "Flex attention"},   Pair{"Dynamic attention", "Dynamic attention"},
};

/// Kernel flags: the name, and the one that older versions wrote and newer ones still read.
constexpr std::array kKernels{
    Pair{"Flash", "Flash attention"},
    Pair{"Memory", "Memory attention"},
    Pair{"Math", "Math attention"},
};

constexpr std::int64_t kAutomaticTokens = 8192;

bool contains(const std::vector<std::string>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

void say(std::vector<std::string>* where, std::string sentence) {
  if (where != nullptr) where->push_back(std::move(sentence));
}

OptionList understood_kernels(OptionList names, std::vector<std::string>* notes) {
  for (std::string& name : names) {
    for (const auto& [now, before] : kKernels) {
      if (name != before) continue;
      say(notes, std::string(keys::kernels) + ": " + name + " is the old spelling of " + std::string(now));
      name = now;
    }
  }
  return names;
}

OptionList understood_overrides(OptionList labels, std::vector<std::string>* notes) {
  for (std::string& label : labels) {
    const std::string_view known = override_label(label);
    if (known.empty() || known == label) continue;
    say(notes, std::string(keys::overrides) + ": " + label + " is the newer name of " + std::string(known));
    label = known;
  }
  return labels;
}

OptionValue understood_tokens(std::int64_t tokens, std::vector<std::string>* notes) {
  if (tokens == 0) {
    say(notes, std::string(kMinTokens) + ": 0 means 8192 in the overrides form, so 8192 is taken");
    return kAutomaticTokens;
  }
  if (tokens == 1) {
    say(notes, std::string(kMinTokens) + ": 1 means every sequence, so 0 is taken");
    return std::int64_t{0};
  }
  return tokens;
}

OptionList without_unknown(const OptionSpec& spec, const OptionList& words, const std::vector<std::string_view>& known,
                           ExportResult& result) {
  OptionList kept;
  for (const std::string& word : words) {
    if (std::find(known.begin(), known.end(), word) != known.end()) {
      kept.push_back(word);
    } else {
      result.losses.push_back(spec.key + ": SD.Next has no " + word + "; the others are written without it");
    }
  }
  return kept;
}

std::vector<std::string_view> firsts(const auto& pairs) {
  std::vector<std::string_view> all;
  for (const Pair& pair : pairs) all.push_back(pair.one);
  return all;
}

}  // namespace

std::string listed(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " and " : ", ";
    text += words[i];
  }
  return text;
}

SdNextForm form_of(const JsonText& text) {
  if (text.find(kExclude) != nullptr) return SdNextForm::selector;
  const JsonMember* method = text.find(keys::method);
  if (method == nullptr || method->kind != JsonKind::string) return SdNextForm::overrides;
  const std::string label = std::get<std::string>(text.value(*method).value());
  return override_label(label).empty() ? SdNextForm::overrides : SdNextForm::selector;
}

std::string_view selector_label(std::string_view label) noexcept {
  for (const Pair& backend : kBackends) {
    if (backend.one == label) return backend.other;
  }
  return {};
}

std::string_view override_label(std::string_view label) noexcept {
  for (const Pair& backend : kBackends) {
    if (backend.other == label) return backend.one;
  }
  return {};
}

std::string selector_method(const OptionList& overrides, const std::string& method,
                            const std::vector<std::string>& by_priority, std::vector<std::string>* losses) {
  std::string kept;
  std::vector<std::string> dropped;
  for (const std::string& label : by_priority) {
    if (!contains(overrides, label)) continue;
    const std::string_view known = selector_label(label);
    if (known.empty()) {
      say(losses, std::string(keys::overrides) + ": SD.Next has no " + label + "; it is left out");
    } else if (kept.empty()) {
      kept = known;
    } else {
      dropped.push_back(label);
    }
  }
  if (kept.empty()) return method;
  if (!dropped.empty()) {
    say(losses, std::string(keys::overrides) + ": the selector form takes one backend; " + kept +
                    ", first by priority, is written and " + listed(dropped) + (dropped.size() > 1 ? " are" : " is") +
                    " left out");
  }
  if (method == "Default") {
    say(losses, std::string(keys::method) + ": Default cannot stand beside a backend in the selector form; " + kept +
                    " is written");
  }
  return kept;
}

OptionValue understood(SdNextForm form, const OptionSpec& spec, OptionValue stored, std::vector<std::string>* notes) {
  if (auto* words = std::get_if<OptionList>(&stored)) {
    if (spec.key == keys::kernels) return understood_kernels(std::move(*words), notes);
    if (spec.key == keys::overrides) return understood_overrides(std::move(*words), notes);
  }
  if (auto* number = std::get_if<double>(&stored); number != nullptr && spec.type == OptionType::integer) {
    // The mirrored systems take 30.0 for 30.
    constexpr double kExact = 9007199254740992.0;
    if (*number >= -kExact && *number <= kExact && *number == static_cast<double>(static_cast<std::int64_t>(*number))) {
      stored = static_cast<std::int64_t>(*number);
    }
  }
  const auto* whole = std::get_if<std::int64_t>(&stored);
  if (whole != nullptr && spec.key == kMinTokens && form == SdNextForm::overrides) {
    return understood_tokens(*whole, notes);
  }
  return stored;
}

OptionValue stored(SdNextForm form, const OptionSpec& spec, OptionValue value, ExportResult& result) {
  if (const auto* words = std::get_if<OptionList>(&value)) {
    if (spec.key == keys::kernels) return without_unknown(spec, *words, firsts(kKernels), result);
    if (spec.key == keys::overrides) return without_unknown(spec, *words, firsts(kBackends), result);
  }
  const auto* tokens = std::get_if<std::int64_t>(&value);
  if (tokens != nullptr && *tokens == 0 && spec.key == kMinTokens && form == SdNextForm::overrides) {
    result.notes.push_back(std::string(kMinTokens) +
                           ": 0 means 8192 in the overrides form; 1 says every sequence, as 0 does here");
    return std::int64_t{1};
  }
  return value;
}

OptionList old_kernel_names(OptionList names) {
  for (std::string& name : names) {
    for (const auto& [now, before] : kKernels) {
      if (name == now) name = before;
    }
  }
  return names;
}

bool has_old_kernel_names(const OptionList& names) {
  return std::any_of(kKernels.begin(), kKernels.end(),
                     [&names](const Pair& kernel) { return contains(names, kernel.other); });
}

}  // namespace attn::sdnext
