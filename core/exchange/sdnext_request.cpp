// SPDX-License-Identifier: GPL-3.0-or-later
// SD.Next through the common interface: config.json and the body of an options request.
#include "core/exchange/format_list.h"
#include "core/exchange/json_text.h"
#include "core/exchange/sdnext_forms.h"
#include "core/exchange/vocabulary.h"
#include "core/settings/settings.h"

#include <algorithm>

namespace attn::exchange {
namespace {

constexpr std::string_view kDispatcher = "hf_attention";

/// The values with what is asked of `attention_backend` as SD.Next says it.
OptionValues with_dispatcher(const ProductionSettings& settings, ExportText& out) {
  OptionValues values = settings.values;
  Losses losses(settings, "SD.Next", out);
  const std::optional<AskedBackend> asked = asked_backend(settings);
  if (settings.attention.all && asked && asked->dispatcher != values.text(kDispatcher)) {
    values.put(std::string(kDispatcher), asked->dispatcher);
    losses.note("attention_backend " + asked->alias + " is written as hf_attention " + asked->dispatcher +
                ", which counts when a model loads");
  }
  if (settings.attention.speed_active) {
    losses.lose("speed_mode", "SD.Next has no speed profile; nearest is hf_attention _native_cudnn on NVIDIA cards");
  }
  for (const auto& [role, name] : settings.attention.per_role) {
    losses.lose("attention_backend", "SD.Next has no choice per role; " + std::string(name_of(role)) + "=" + name +
                                         " is left out, nearest is hf_attention for the denoiser");
  }
  if (!settings.attention.strict.empty()) {
    losses.lose("strict", "SD.Next falls back with a warning in its log; nearest is to read it");
  }
  return values;
}

/// One key of the request; nullopt where the form has none.
std::optional<OptionValue> requested(const ProductionSettings& settings, const OptionValues& values,
                                     const OptionSpec& spec, SdNextForm form, ExportResult& result) {
  const bool selector = form == SdNextForm::selector;
  if (selector && spec.key == keys::overrides) return std::nullopt;
  if (!selector && spec.key == sdnext::kExclude) return std::nullopt;
  if (!selector || spec.key != keys::method) return sdnext::stored(form, spec, *values.find(spec.key), result);
  const auto overrides = std::find_if(settings.specs.begin(), settings.specs.end(),
                                      [](const OptionSpec& one) { return one.key == keys::overrides; });
  return sdnext::selector_method(values.list(keys::overrides), values.text(keys::method), overrides->choices,
                                 &result.losses);
}

/// The list that stands there by default matters only where sparse attention works.
bool loses_exclusions(const ProductionSettings& settings, const OptionValues& values) {
  for (const OptionSpec& spec : settings.specs) {
    if (spec.key != sdnext::kExclude || values.text(spec.key).empty()) continue;
    return values.boolean("sparse_attention_enabled") || !same_value(values.text(spec.key), spec.fallback);
  }
  return false;
}

void append(std::vector<std::string>& to, std::vector<std::string> from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

ImportText taken(ImportResult read) {
  ImportText out;
  out.values = std::move(read.values);
  out.absent = std::move(read.absent);
  out.notes = std::move(read.notes);
  out.problems = std::move(read.problems);
  out.form = read.form;
  return out;
}

}  // namespace

Expected<ExportText> write_sdnext(const ProductionSettings& settings, const ExportOptions& options) {
  ExportText out;
  const OptionValues values = with_dispatcher(settings, out);
  Expected<ExportResult> result = export_config(options.existing, settings.specs, values, options.form);
  if (!result) return fail(result.error());
  out.text = std::move(result->text);
  out.form = result->form;
  out.changes = std::move(result->changes);
  append(out.losses, std::move(result->losses));
  append(out.notes, std::move(result->notes));
  return out;
}

Expected<ImportText> read_sdnext(std::string_view text, const ProductionSettings& settings,
                                 const ExportOptions& options) {
  Expected<ImportResult> read = import_config(text, settings.specs, options.form);
  if (!read) return fail(read.error());
  return taken(*std::move(read));
}

Expected<ExportText> write_sdnext_request(const ProductionSettings& settings, const ExportOptions& options) {
  ExportText out;
  const OptionValues values = with_dispatcher(settings, out);
  const bool blank = options.existing.find_first_not_of(" \t\r\n") == std::string::npos;
  const Expected<JsonText> before = JsonText::parse(blank ? "{}\n" : options.existing);
  if (!before) return fail(before.error());
  ExportResult result;
  result.form = options.form.value_or(blank ? SdNextForm::selector : sdnext::form_of(*before));
  out.form = result.form;
  std::vector<JsonEdit> edits;
  for (const OptionSpec& spec : settings.specs) {
    std::optional<OptionValue> value;
    if (values.find(spec.key) != nullptr) value = requested(settings, values, spec, result.form, result);
    const JsonMember* member = before->find(spec.key);
    const bool same =
        member != nullptr && value && before->value(*member) && same_value(*before->value(*member), *value);
    if (same || (member == nullptr && !value)) continue;
    edits.push_back({spec.key, std::move(value)});
  }
  if (result.form == SdNextForm::overrides && loses_exclusions(settings, values)) {
    result.losses.push_back(std::string(sdnext::kExclude) +
                            ": the overrides form has no exclusion list; nearest is to switch sparse attention off "
                            "for those models");
  }
  out.text = before->with(edits);
  append(out.losses, std::move(result.losses));
  append(out.notes, std::move(result.notes));
  return out;
}

Expected<ImportText> read_sdnext_request(std::string_view text, const ProductionSettings& settings,
                                         const ExportOptions& options) {
  Expected<ImportResult> read = import_config(text, settings.specs, options.form);
  if (!read) return fail(read.error());
  ImportText out = taken(*std::move(read));
  out.absent.clear();  // a request leaves what it does not name alone
  return out;
}

}  // namespace attn::exchange
