// SPDX-License-Identifier: GPL-3.0-or-later
// Attnscope's own profile: every setting and every choice, with a version.
#include "core/exchange/format_list.h"
#include "core/exchange/json_text.h"
#include "core/exchange/json_value.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace attn::exchange {
namespace {

constexpr std::string_view kMark = "attnscope";
constexpr int kVersion = 1;

std::string number(double value) {
  std::array<char, 32> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  std::string text(digits.data(), error == std::errc{} ? end : digits.data());
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

std::string value_json(const OptionValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return std::to_string(*whole);
  if (const auto* real = std::get_if<double>(&value)) return number(*real);
  if (const auto* text = std::get_if<std::string>(&value)) return json_string(*text);
  std::string list;
  for (const std::string& word : std::get<OptionList>(value)) list += (list.empty() ? "" : ", ") + json_string(word);
  return "[" + list + "]";
}

/// Members of an object at an indent, as text.
class Members {
 public:
  explicit Members(std::string indent) : indent_(std::move(indent)) {}
  void add(std::string_view key, const std::string& json) {
    text_ += (text_.empty() ? "\n" : ",\n") + indent_ + "  " + json_string(key) + ": " + json;
  }
  [[nodiscard]] std::string text() const { return text_.empty() ? "{}" : "{" + text_ + "\n" + indent_ + "}"; }

 private:
  std::string indent_;
  std::string text_;
};

std::string attention_json(const AttentionChoices& choices) {
  Members attention("  ");
  if (choices.required) attention.add("required", json_string(*choices.required));
  if (choices.all) attention.add("attention_backend", json_string(*choices.all));
  attention.add("default", json_string(choices.standard));
  attention.add("speed", choices.speed_active ? "true" : "false");
  const auto by_role = [&attention](std::string_view key, const auto& map, const auto& json) {
    if (map.empty()) return;
    Members roles("    ");
    for (const auto& [role, value] : map) roles.add(name_of(role), json(value));
    attention.add(key, roles.text());
  };
  by_role("roles", choices.per_role, [](const std::string& name) { return json_string(name); });
  by_role("strict", choices.strict, [](bool strict) { return std::string(strict ? "true" : "false"); });
  by_role("measured", choices.measured, [](const MeasuredChoice& choice) {
    return "{\"backend\": " + json_string(choice.backend) + ", \"gain\": " + number(choice.gain) +
           ", \"noise\": " + number(choice.noise) + "}";
  });
  return attention.text();
}

/// Reads the attention block; what is wrong in it goes to `problems`.
class AttentionReader {
 public:
  AttentionReader(const JsonValue& json, ImportText& out) : json_(json), out_(out) {}

  AttentionChoices read() {
    AttentionChoices choices;
    for (const auto& [key, value] : json_.members()) {
      if (key == "required")
        choices.required = word(key, value);
      else if (key == "attention_backend")
        choices.all = word(key, value);
      else if (key == "default")
        choices.standard = word(key, value);
      else if (key == "speed")
        choices.speed_active = flag(key, value);
      else if (key == "roles" || key == "strict" || key == "measured")
        by_role(key, value, choices);
      else
        out_.notes.push_back("attention " + key + " is not known and left aside");
    }
    if (const auto known = check_choices(choices); out_.problems.empty() && !known) {
      out_.problems.push_back(known.error());
    }
    return choices;
  }

 private:
  void by_role(const std::string& key, const JsonValue& value, AttentionChoices& choices) {
    for (const auto& [name, entry] : value.members()) {
      const auto role = parse_role(name);
      const std::string where = key + " " + name;
      if (!role) out_.problems.push_back("attention " + where + ": there is no such role");
      if (!role) continue;
      if (key == "roles") choices.per_role[*role] = word(where, entry);
      if (key == "strict") choices.strict[*role] = flag(where, entry);
      if (key == "measured") choices.measured[*role] = measured(where, entry);
    }
  }

  MeasuredChoice measured(const std::string& where, const JsonValue& value) {
    MeasuredChoice choice;
    const JsonValue* backend = value.find("backend");
    const JsonValue* gain = value.find("gain");
    const JsonValue* noise = value.find("noise");
    if (backend == nullptr || gain == nullptr || !gain->number() || (noise != nullptr && !noise->number())) {
      out_.problems.push_back("attention " + where + ": a backend with its gain and noise as numbers is needed");
      return choice;
    }
    choice.backend = word(where, *backend);
    choice.gain = *gain->number();
    if (noise != nullptr) choice.noise = *noise->number();
    return choice;
  }

  std::string word(const std::string& key, const JsonValue& value) {
    if (!value.text()) wrong(key, value, "a text");
    return value.text().value_or("");
  }
  bool flag(const std::string& key, const JsonValue& value) {
    if (!value.boolean()) wrong(key, value, "true or false");
    return value.boolean().value_or(false);
  }
  void wrong(const std::string& key, const JsonValue& value, std::string_view right) {
    out_.problems.push_back("attention " + key + " is " + value.raw() + "; it takes " + std::string(right));
  }

  const JsonValue& json_;
  ImportText& out_;
};

std::string quarantine_json(const Quarantine& quarantine) {
  std::string list;
  for (const Quarantined& one : quarantine) {
    list += (list.empty() ? "\n    {" : ",\n    {");
    list += "\"backend\": " + json_string(one.backend) + ", \"platform\": " + json_string(one.platform);
    list += ", \"capability\": " + (one.capability ? std::to_string(*one.capability) : std::string("null"));
    if (!one.gfx.empty()) list += ", \"gfx\": " + json_string(one.gfx);
    list += ", \"cosine\": " + number(one.cosine) + ", \"threshold\": " + number(one.threshold) + "}";
  }
  return "[" + list + "\n  ]";
}

void read_quarantine(const JsonValue& list, ImportText& out) {
  for (const JsonValue& item : list.items()) {
    const auto text_of = [&item](std::string_view key) {
      const JsonValue* value = item.find(key);
      return value == nullptr ? std::nullopt : value->text();
    };
    const auto number_of = [&item](std::string_view key) {
      const JsonValue* value = item.find(key);
      return value == nullptr ? std::nullopt : value->number();
    };
    if (!text_of("backend") || !text_of("platform") || !number_of("cosine") || !number_of("threshold")) {
      out.problems.push_back("quarantine: backend, platform, cosine and threshold are needed in " + item.raw());
      continue;
    }
    Quarantined one{*text_of("backend"),         *text_of("platform"), std::nullopt,
                    text_of("gfx").value_or(""), *number_of("cosine"), *number_of("threshold")};
    if (number_of("capability")) one.capability = static_cast<int>(*number_of("capability"));
    out.quarantine.push_back(std::move(one));
  }
}

/// A value as the option's type; nullopt where it is of another kind.
std::optional<OptionValue> value_of(OptionType type, const JsonValue& json) {
  if (type == OptionType::boolean) return json.boolean() ? std::optional<OptionValue>(*json.boolean()) : std::nullopt;
  if (type == OptionType::choice || type == OptionType::text) {
    return json.text() ? std::optional<OptionValue>(*json.text()) : std::nullopt;
  }
  if (type == OptionType::choices) {
    if (!json.is(JsonValue::Type::array)) return std::nullopt;
    OptionList list;
    for (const JsonValue& item : json.items()) {
      if (!item.text()) return std::nullopt;
      list.push_back(*item.text());
    }
    return list;
  }
  const std::optional<double> number = json.number();
  if (!number) return std::nullopt;
  constexpr double kExact = 9007199254740992.0;
  const bool whole =
      *number >= -kExact && *number <= kExact && *number == static_cast<double>(static_cast<std::int64_t>(*number));
  if (type == OptionType::integer && whole) return static_cast<std::int64_t>(*number);
  return *number;
}

void read_settings(const JsonValue& values, const std::vector<OptionSpec>& specs, ImportText& out) {
  for (const OptionSpec& spec : specs) {
    const JsonValue* stored = values.find(spec.key);
    if (stored == nullptr) {
      out.absent.emplace_back(spec.key, spec.fallback);
      continue;
    }
    std::optional<OptionValue> value = value_of(spec.type, *stored);
    if (!value) {
      out.problems.push_back(spec.key + " is " + stored->raw() + "; it takes " + accepted_values(spec));
      continue;
    }
    Expected<OptionValue> valid = validate(spec, *std::move(value));
    if (valid) out.values.emplace_back(spec.key, *std::move(valid));
    if (!valid) out.problems.push_back(valid.error());
  }
  for (const auto& [key, value] : values.members()) {
    const bool known =
        std::any_of(specs.begin(), specs.end(), [&key](const OptionSpec& spec) { return spec.key == key; });
    if (!known) out.notes.push_back(key + " is no setting here and left aside");
  }
}

}  // namespace

Expected<ExportText> write_profile(const ProductionSettings& settings, const ExportOptions& options) {
  ExportText out;
  Members all("");
  all.add(kMark, json_string("profile"));
  all.add("version", std::to_string(kVersion));
  if (!options.target.empty()) all.add("target", json_string(options.target));
  Members values("  ");
  for (const OptionSpec& spec : settings.specs) {
    if (const OptionValue* value = settings.values.find(spec.key)) values.add(spec.key, value_json(*value));
  }
  all.add("settings", values.text());
  all.add("attention", attention_json(settings.attention));
  if (!settings.quarantine.empty()) all.add("quarantine", quarantine_json(settings.quarantine));
  out.text = all.text() + "\n";
  return out;
}

Expected<ImportText> read_profile(std::string_view text, const ProductionSettings& settings, const ExportOptions&) {
  const Expected<JsonValue> json = JsonValue::parse(std::string(text));
  if (!json) return fail(json.error());
  ImportText out;
  const JsonValue* mark = json->find(kMark);
  const JsonValue* version = json->find("version");
  if (mark == nullptr || mark->text() != "profile") {
    return fail("this is no profile of Attnscope: \"attnscope\": \"profile\" is missing");
  }
  if (version == nullptr || !version->number() || *version->number() < 1.0) {
    return fail("the profile's version is missing; this program reads version 1");
  }
  if (*version->number() > kVersion) {
    return fail("the profile is of version " + version->raw() +
                "; this program reads version 1, a newer one is needed");
  }
  if (const JsonValue* target = json->find("target")) out.target = target->text().value_or("");
  if (const JsonValue* values = json->find("settings"); values != nullptr && values->is(JsonValue::Type::object)) {
    read_settings(*values, settings.specs, out);
  }
  if (const JsonValue* attention = json->find("attention")) out.attention = AttentionReader(*attention, out).read();
  if (const JsonValue* list = json->find("quarantine")) read_quarantine(*list, out);
  for (const auto& [key, value] : json->members()) {
    if (key != kMark && key != "version" && key != "target" && key != "settings" && key != "attention" &&
        key != "quarantine" && key != "name" && key != "about") {  // a preset's own two
      out.notes.push_back(key + " is not known and left aside");
    }
  }
  if (!out.problems.empty()) {
    out.values.clear();
    out.attention.reset();
    out.quarantine.clear();
  }
  return out;
}

}  // namespace attn::exchange
