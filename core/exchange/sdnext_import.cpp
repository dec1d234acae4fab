// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/exchange/sdnext_config.h"
#include "core/exchange/sdnext_forms.h"
#include "core/settings/settings.h"

#include <string>
#include <utility>
#include <vector>

namespace attn {
namespace {

bool may_be(OptionType type, JsonKind kind) {
  switch (type) {
    case OptionType::boolean:
      return kind == JsonKind::boolean;
    case OptionType::integer:
    case OptionType::real:
      return kind == JsonKind::integer || kind == JsonKind::real;
    case OptionType::choice:
    case OptionType::text:
      return kind == JsonKind::string;
    case OptionType::choices:
      return kind == JsonKind::strings;
  }
  return false;
}

/// Reads one text into a result.
class Importer {
 public:
  Importer(const JsonText& text, const std::vector<OptionSpec>& specs, ImportResult& result)
      : text_(text), specs_(specs), result_(result) {}

  void read() {
    for (const OptionSpec& spec : specs_) {
      if (selector() && spec.key == keys::overrides) {
        read_selector(spec);
      } else if (selector() && spec.key == keys::method) {
        continue;  // read together with the overrides
      } else if (!selector() && spec.key == sdnext::kExclude) {
        ignore(spec.key, "the overrides form has no exclusion list");
      } else {
        read_plain(spec);
      }
    }
    if (selector()) ignore(keys::overrides, "the selector form does not read it");
    if (result_.values.empty() && result_.problems.empty()) {
      result_.notes.emplace_back("the file holds no attention setting");
    }
    if (!result_.problems.empty()) result_.values.clear();
  }

 private:
  [[nodiscard]] bool selector() const { return result_.form == SdNextForm::selector; }

  void read_plain(const OptionSpec& spec) {
    const JsonMember* member = text_.find(spec.key);
    if (member == nullptr) {
      result_.absent.emplace_back(spec.key, spec.fallback);
      return;
    }
    std::optional<OptionValue> present = text_.value(*member);
    if (!present || !may_be(spec.type, member->kind)) {
      refuse(*member, accepted_values(spec));
      return;
    }
    Expected<OptionValue> valid =
        validate(spec, sdnext::understood(result_.form, spec, std::move(*present), &result_.notes));
    if (valid) {
      result_.values.emplace_back(spec.key, std::move(*valid));
    } else {
      result_.problems.push_back(place(*member) + valid.error());
    }
  }

  void read_selector(const OptionSpec& overrides) {
    const OptionSpec* method = spec_of(keys::method);
    const JsonMember* member = text_.find(keys::method);
    if (member == nullptr) {
      result_.absent.emplace_back(overrides.key, overrides.fallback);
      if (method != nullptr) result_.absent.emplace_back(method->key, method->fallback);
      return;
    }
    const std::vector<std::string> plain = method == nullptr ? std::vector<std::string>() : method->choices;
    const std::optional<OptionValue> present = text_.value(*member);
    const auto* chosen = present ? std::get_if<std::string>(&*present) : nullptr;
    const std::string label(chosen == nullptr ? std::string_view() : sdnext::override_label(*chosen));
    if (chosen != nullptr && has(plain, *chosen)) {
      take(overrides, OptionList{}, *chosen);
    } else if (has(overrides.choices, label)) {
      if (label != *chosen) result_.notes.push_back(member->key + ": " + *chosen + " is the override " + label);
      take(overrides, OptionList{label}, "Scaled-Dot-Product");
    } else {
      refuse(*member, "one of: " + methods(plain, overrides));
    }
  }

  void take(const OptionSpec& overrides, OptionList labels, std::string method) {
    result_.values.emplace_back(overrides.key, std::move(labels));
    if (spec_of(keys::method) != nullptr) result_.values.emplace_back(std::string(keys::method), std::move(method));
  }

  void ignore(std::string_view key, std::string_view why) {
    const JsonMember* member = text_.find(key);
    if (member != nullptr) result_.notes.push_back(place(*member) + member->key + " is ignored: " + std::string(why));
  }

  void refuse(const JsonMember& member, const std::string& right) {
    constexpr std::size_t kShown = 60;
    std::string raw(text_.raw(member));
    if (raw.size() > kShown) raw = raw.substr(0, kShown) + "...";
    const std::string what = member.kind == JsonKind::null || member.kind == JsonKind::not_a_number
                                 ? raw
                                 : std::string(describe(member.kind)) + ", " + raw;
    result_.problems.push_back(place(member) + member.key + " is " + what + "; it takes " + right);
  }

  static bool has(const std::vector<std::string>& words, std::string_view word) {
    for (const std::string& one : words) {
      if (one == word) return true;
    }
    return false;
  }

  static std::string methods(std::vector<std::string> plain, const OptionSpec& overrides) {
    for (const std::string& label : overrides.choices) {
      if (!sdnext::selector_label(label).empty()) plain.emplace_back(sdnext::selector_label(label));
    }
    std::string text;
    for (const std::string& name : plain) text += (text.empty() ? "" : ", ") + name;
    return text;
  }

  static std::string place(const JsonMember& member) { return "line " + std::to_string(member.line) + ": "; }

  [[nodiscard]] const OptionSpec* spec_of(std::string_view key) const {
    for (const OptionSpec& spec : specs_) {
      if (spec.key == key) return &spec;
    }
    return nullptr;
  }

  const JsonText& text_;
  const std::vector<OptionSpec>& specs_;
  ImportResult& result_;
};

}  // namespace

Expected<ImportResult> import_config(std::string_view text, const std::vector<OptionSpec>& specs,
                                     std::optional<SdNextForm> form) {
  const Expected<JsonText> read = JsonText::parse(std::string(text));
  if (!read) return fail(read.error());
  ImportResult result;
  result.form = form.value_or(sdnext::form_of(*read));
  for (const std::string& key : read->duplicates()) {
    result.notes.push_back(key + " stands more than once; its last value counts");
  }
  Importer(*read, specs, result).read();
  return result;
}

}  // namespace attn
