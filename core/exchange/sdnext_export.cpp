// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/exchange/sdnext_config.h"
#include "core/exchange/sdnext_forms.h"
#include "core/settings/settings.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace attn {
namespace {

/// Gathers the edits for one export.
class Exporter {
 public:
  Exporter(const JsonText& text, const std::vector<OptionSpec>& specs, const OptionValues& values, ExportResult& result)
      : text_(text), specs_(specs), values_(values), result_(result) {}

  std::vector<JsonEdit> edits() {
    for (const OptionSpec& spec : specs_) {
      if (values_.find(spec.key) != nullptr) edit(spec);
    }
    leave_other_form();
    return std::move(edits_);
  }

 private:
  [[nodiscard]] bool selector() const { return result_.form == SdNextForm::selector; }

  void edit(const OptionSpec& spec) {
    if (selector() && spec.key == keys::overrides) {
      edit_selector(spec);
    } else if (selector() && spec.key == keys::method) {
      return;  // said together with the overrides
    } else if (!selector() && spec.key == sdnext::kExclude) {
      tell_exclusions(spec);
    } else {
      edit_plain(spec);
    }
  }

  void edit_plain(const OptionSpec& spec) {
    const OptionValue& wanted = *values_.find(spec.key);
    OptionValue written = sdnext::stored(result_.form, spec, wanted, result_);
    const JsonMember* member = text_.find(spec.key);
    if (member == nullptr) {
      if (!same_value(wanted, spec.fallback)) put(spec.key, std::move(written));
      return;
    }
    const std::optional<OptionValue> present = text_.value(*member);
    // Compared as understood on both sides: a wish that the form cannot store is not written again and again.
    if (present && same_value(sdnext::understood(result_.form, spec, *present, nullptr),
                              sdnext::understood(result_.form, spec, written, nullptr))) {
      return;
    }
    const auto* names = present ? std::get_if<OptionList>(&*present) : nullptr;
    if (spec.key == keys::kernels && names != nullptr && sdnext::has_old_kernel_names(*names)) {
      written = sdnext::old_kernel_names(std::get<OptionList>(std::move(written)));
    }
    put(spec.key, std::move(written));
  }

  void edit_selector(const OptionSpec& overrides) {
    const auto method_spec =
        std::find_if(specs_.begin(), specs_.end(), [](const OptionSpec& spec) { return spec.key == keys::method; });
    const std::string plain = "Scaled-Dot-Product";
    const auto* fallback = method_spec == specs_.end() ? nullptr : std::get_if<std::string>(&method_spec->fallback);
    const std::string wanted = sdnext::selector_method(values_.list(keys::overrides), values_.text(keys::method, plain),
                                                       overrides.choices, &result_.losses);
    const std::string meant_by_absence = sdnext::selector_method(
        std::get<OptionList>(overrides.fallback), fallback == nullptr ? plain : *fallback, overrides.choices, nullptr);
    const JsonMember* member = text_.find(keys::method);
    if (member == nullptr ? wanted != meant_by_absence : text_.value(*member) != OptionValue(wanted)) {
      put(std::string(keys::method), wanted);
    }
  }

  void tell_exclusions(const OptionSpec& spec) {
    const std::string names = values_.text(spec.key);
    const bool sparse = values_.boolean(std::string(keys::sparse_prefix) + "enabled");
    if (names.empty() || (!sparse && same_value(names, spec.fallback))) return;
    result_.losses.push_back(spec.key + ": the overrides form has no exclusion list; \"" + names +
                             "\" is not written and those models are made sparse like any other");
  }

  /// Takes away what only the form that the text had before knows: a newer server warns about it, and it would make
  /// the text's form unclear.
  void leave_other_form() {
    const SdNextForm before = sdnext::form_of(text_);
    if (before == result_.form) return;
    const std::string_view gone = selector() ? keys::overrides : sdnext::kExclude;
    if (text_.find(gone) != nullptr) edits_.push_back({std::string(gone), std::nullopt});
  }

  void put(std::string key, OptionValue value) { edits_.push_back({std::move(key), std::move(value)}); }

  const JsonText& text_;
  const std::vector<OptionSpec>& specs_;
  const OptionValues& values_;
  ExportResult& result_;
  std::vector<JsonEdit> edits_;
};

Expected<JsonText> parsed(std::string_view text) {
  constexpr std::string_view kNothing = "{}\n";
  const bool empty = text.find_first_not_of(" \t\r\n") == std::string_view::npos;
  return JsonText::parse(std::string(empty ? kNothing : text));
}

/// In the selector form a few values mean something else, so a text that says any of them has to show its form.
std::optional<JsonEdit> form_marker(const JsonText& text, const std::vector<OptionSpec>& specs,
                                    const OptionValues& values) {
  if (sdnext::form_of(text) == SdNextForm::selector) return std::nullopt;
  if (text.find(keys::method) == nullptr && text.find(sdnext::kMinTokens) == nullptr) return std::nullopt;
  for (const OptionSpec& spec : specs) {
    if (spec.key == sdnext::kExclude && values.find(spec.key) != nullptr) {
      return JsonEdit{spec.key, *values.find(spec.key)};
    }
  }
  return std::nullopt;
}

std::string raw_text(const JsonText& text, std::string_view key) {
  const JsonMember* member = text.find(key);
  return member == nullptr ? std::string() : std::string(text.raw(*member));
}

}  // namespace

Expected<ExportResult> export_config(std::string_view existing, const std::vector<OptionSpec>& specs,
                                     const OptionValues& values, std::optional<SdNextForm> form) {
  const Expected<JsonText> before = parsed(existing);
  if (!before) return fail(before.error());
  ExportResult result;
  result.form = form.value_or(sdnext::form_of(*before));
  for (const std::string& key : before->duplicates()) {
    result.notes.push_back(key + " stands more than once; its last value counts and is the one changed");
  }
  if (const auto stood = import_config(existing.empty() ? "{}" : existing, specs, result.form)) {
    for (const std::string& problem : stood->problems) {
      result.notes.push_back("a value that does not hold is replaced: " + problem);
    }
  }
  std::vector<JsonEdit> edits = Exporter(*before, specs, values, result).edits();
  Expected<JsonText> after = JsonText::parse(before->with(edits));
  if (!after) return fail(after.error());
  if (result.form == SdNextForm::selector) {
    if (std::optional<JsonEdit> marker = form_marker(*after, specs, values)) {
      result.notes.push_back(marker->key + " is written because it shows that the file is in the selector form");
      after = JsonText::parse(after->with({*marker}));
      if (!after) return fail(after.error());
      edits.push_back(std::move(*marker));
    }
  }
  for (const JsonEdit& edit : edits) {
    result.changes.push_back({edit.key, raw_text(*before, edit.key), raw_text(*after, edit.key)});
  }
  result.text = after->text();
  return result;
}

std::string_view name_of(SdNextForm form) noexcept { return form == SdNextForm::selector ? "selector" : "overrides"; }

std::optional<SdNextForm> parse_sdnext_form(std::string_view text) noexcept {
  for (const SdNextForm form : {SdNextForm::overrides, SdNextForm::selector}) {
    if (text == name_of(form)) return form;
  }
  return std::nullopt;
}

Expected<SdNextForm> detect_sdnext_form(std::string_view text) {
  return parsed(text).map([](const JsonText& read) { return sdnext::form_of(read); });
}

}  // namespace attn
