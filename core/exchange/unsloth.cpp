// SPDX-License-Identifier: GPL-3.0-or-later
// Unsloth Studio: the body of a load request.
#include "core/exchange/format_list.h"
#include "core/exchange/json_text.h"
#include "core/exchange/json_value.h"
#include "core/exchange/vocabulary.h"
#include "core/settings/settings.h"

#include <algorithm>
#include <array>

namespace attn::exchange {
namespace {

constexpr std::string_view kBackend = "attention_backend";
constexpr std::string_view kSpeed = "speed_mode";
constexpr std::string_view kModel = "model_path";
constexpr std::array<std::string_view, 4> kSpeeds{"off", "eager", "default", "max"};

void put(const JsonText& text, std::vector<JsonEdit>& edits, std::string_view key, const std::string& value) {
  const JsonMember* member = text.find(key);
  if (member != nullptr && text.value(*member) == OptionValue(value)) return;
  edits.push_back({std::string(key), value});
}

std::string present_text(const JsonText& text, std::string_view key) {
  const JsonMember* member = text.find(key);
  const std::optional<OptionValue> value = member == nullptr ? std::nullopt : text.value(*member);
  const auto* word = value ? std::get_if<std::string>(&*value) : nullptr;
  return word == nullptr ? std::string() : *word;
}

}  // namespace

Expected<ExportText> write_unsloth(const ProductionSettings& settings, const ExportOptions& options) {
  const bool blank = options.existing.find_first_not_of(" \t\r\n") == std::string::npos;
  const Expected<JsonText> before = JsonText::parse(blank ? "{}\n" : options.existing);
  if (!before) return fail(before.error());
  ExportText out;
  Losses losses(settings, "Unsloth", out);
  // Nobody asked by name: with a speed profile auto decides, and where there is no chain there is nothing else to say.
  const bool no_chain = settings.values.list(keys::overrides).empty();
  const bool left_to_auto =
      !asked_backend(settings) && (settings.attention.speed_active || (settings.attention.all && no_chain));
  std::string backend = left_to_auto ? std::string(kAutoRequest) : single_backend(settings, &Word::alias, losses);
  if (backend.empty()) {
    losses.lose(keys::method, "Unsloth has no word for Default; nearest is auto without a speed profile");
    backend = kAutoRequest;
  }
  losses.said("speed_mode");
  if (backend == "aiter") {
    losses.note("newer versions of diffusers call aiter aiter_fa2_hub; there the alias falls back to the default");
  }
  losses.finish();

  std::vector<JsonEdit> edits;
  if (!options.model_path.empty()) put(*before, edits, kModel, options.model_path);
  if (options.model_path.empty() && before->find(kModel) == nullptr) {
    losses.note("model_path is left for you to fill in: a load request needs it");
  }
  put(*before, edits, kBackend, backend);
  // A speed profile of the caller's stays when it is one already.
  const std::string speed = present_text(*before, kSpeed);
  const bool active = !speed.empty() && speed != kSpeeds.front();
  if (speed.empty() || active != settings.attention.speed_active) {
    put(*before, edits, kSpeed, settings.attention.speed_active ? "default" : "off");
  }
  out.text = before->with(edits);
  return out;
}

Expected<ImportText> read_unsloth(std::string_view text, const ProductionSettings& settings, const ExportOptions&) {
  const Expected<JsonValue> json = JsonValue::parse(std::string(text));
  if (!json) return fail(json.error());
  ImportText out;
  AttentionChoices choices = settings.attention;
  choices.all = std::string(kAutoRequest);
  if (const JsonValue* backend = json->find(kBackend); backend != nullptr && !backend->is(JsonValue::Type::null)) {
    const std::optional<std::string> word = backend->text();
    const Expected<std::string> alias = normalise_attention_request(word ? std::optional(*word) : std::nullopt);
    if (!word) {
      out.problems.push_back("attention_backend is " + std::string(backend->kind()) + "; it takes a text such as sage");
    } else if (word->find_first_not_of(" \t") == std::string::npos) {
      out.problems.emplace_back("attention_backend is an empty text, which a load request may not have; write auto");
    } else if (!alias) {
      out.problems.push_back(alias.error());
    } else {
      if (*alias != *word) out.notes.push_back("attention_backend: \"" + *word + "\" is understood as " + *alias);
      choices.all = *alias;
    }
  }
  if (const JsonValue* speed = json->find(kSpeed); speed != nullptr && !speed->is(JsonValue::Type::null)) {
    const std::string word = speed->text().value_or("");
    const bool known = std::find(kSpeeds.begin(), kSpeeds.end(), word) != kSpeeds.end();
    if (!known) out.problems.push_back("speed_mode is " + speed->raw() + "; it takes off, eager, default or max");
    choices.speed_active = known && word != kSpeeds.front();
    if (word == "eager" || word == "max") {
      out.notes.push_back("speed_mode " + word + ": a speed profile is active; which one makes no difference here");
    }
  }
  if (out.problems.empty()) out.attention = std::move(choices);
  return out;
}

}  // namespace attn::exchange
