// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/exchange/stored_settings.h"

#include "core/exchange/json_text.h"

#include <algorithm>
#include <optional>

namespace attn::app {
namespace {

/// The flat object that holds the settings, and what stands around it.
struct Holder {
  std::string before;
  JsonText object;
  std::string after;

  [[nodiscard]] std::string with(const std::vector<JsonEdit>& edits) const {
    return before + object.with(edits) + after;
  }
};

/// Nullopt: the format keeps no settings under their keys.
Expected<std::optional<Holder>> holder_in(const ExchangeFormat& format, std::string_view text) {
  auto whole = JsonText::parse(std::string(text));
  if (!whole) return fail(whole.error());
  if (format.uses.form) return std::optional(Holder{{}, *std::move(whole), {}});
  const JsonMember* settings = whole->find("settings");
  if (whole->find("attnscope") == nullptr || settings == nullptr || settings->kind != JsonKind::object) {
    return std::nullopt;
  }
  auto inner = JsonText::parse(std::string(whole->raw(*settings)));
  if (!inner) return fail(inner.error());
  return std::optional(Holder{whole->text().substr(0, settings->value_begin), *std::move(inner),
                              whole->text().substr(settings->value_end)});
}

/// The text with no other setting than `key` and those that tell SD.Next's form.
std::string alone(const Holder& holder, const std::vector<OptionSpec>& specs, std::string_view key) {
  std::vector<JsonEdit> others;
  for (const OptionSpec& other : specs) {
    const bool form_key = other.key == "cross_attention_optimization" || other.key == "sparse_attention_exclude";
    if (other.key != key && !form_key && holder.object.find(other.key) != nullptr) others.push_back({other.key, {}});
  }
  return holder.with(others);
}

ExportOptions with_form(const ExchangeFormat& format, std::string_view text, ExportOptions options) {
  if (format.uses.form && !options.form) options.form = detect_sdnext_form(text).value_or(SdNextForm::overrides);
  return options;
}

}  // namespace

std::string StoredValue::sentence() const {
  return key + ": stored " + stored + ", used " + (effective == fallback ? "default " : "") +
         (effective.empty() ? "\"\"" : effective);
}

Expected<std::vector<StoredValue>> stored_values(const ExchangeFormat& format, std::string_view text,
                                                 const ProductionSettings& settings, const ExportOptions& options) {
  const auto holder = holder_in(format, text);
  if (!holder) return fail(holder.error());
  std::vector<StoredValue> values;
  if (!*holder) return values;
  const ExportOptions as_whole = with_form(format, text, options);
  for (const OptionSpec& spec : settings.specs) {
    const JsonMember* member = (*holder)->object.find(spec.key);
    if (member == nullptr) continue;
    const std::string fallback = value_text(spec.fallback);
    StoredValue value{spec.key, std::string((*holder)->object.raw(*member)), fallback, fallback, {}};
    const auto read = format.read(alone(**holder, settings.specs, spec.key), settings, as_whole);
    for (const std::string& problem : read ? read->problems : std::vector<std::string>{read.error()}) {
      // A problem begins with its key, or with the line that it stands in.
      const std::size_t at = problem.find(spec.key);
      if (at != std::string::npos && at < 16) value.problem = problem.substr(at);
    }
    if (value.problem.empty() && read) {
      for (const auto& [key, held] : read->values) {
        if (key == spec.key) value.effective = value_text(held);
      }
    }
    values.push_back(std::move(value));
  }
  return values;
}

Expected<EffectiveSettings> effective_settings(const ExchangeFormat& format, std::string_view text,
                                               const ProductionSettings& settings, const ExportOptions& options) {
  EffectiveSettings out;
  const ExportOptions as_whole = with_form(format, text, options);
  auto read = format.read(text, settings, as_whole);
  if (!read) return fail(read.error());
  if (!read->problems.empty()) {
    auto stored = stored_values(format, text, settings, options);
    const auto holder = holder_in(format, text);
    if (!stored || !holder || !*holder) return fail(read->problems.front());
    std::vector<JsonEdit> without;
    for (StoredValue& value : *stored) {
      if (value.problem.empty()) continue;
      without.push_back({value.key, {}});
      out.wrong.push_back(std::move(value));
    }
    read = format.read((*holder)->with(without), settings, as_whole);
    if (!read) return fail(read.error());
    if (!read->problems.empty()) return fail(read->problems.front());
  }
  out.holds = *std::move(read);
  return out;
}

}  // namespace attn::app
