// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/registry/option.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace attn {
namespace {

std::string shortest(double value) {
  std::array<char, 32> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  return error == std::errc{} ? std::string(digits.data(), end) : std::string("?");
}

std::string join(const std::vector<std::string>& words, std::string_view separator) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += separator;
    text += word;
  }
  return text;
}

tl::unexpected<std::string> refuse(const OptionSpec& spec, std::string_view value) {
  return fail(spec.key + " cannot be \"" + std::string(value) + "\"; it takes " + accepted_values(spec));
}

bool in_range(const OptionSpec& spec, double value) {
  return std::isfinite(value) && value >= spec.minimum && value <= spec.maximum;
}

bool is_choice(const OptionSpec& spec, const std::string& word) {
  return std::find(spec.choices.begin(), spec.choices.end(), word) != spec.choices.end();
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

template <class Number>
bool read_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

std::string_view describe(Applies applies) noexcept {
  switch (applies) {
    case Applies::rebuild:
      return "rebuilds the chain";
    case Applies::live:
      return "takes effect at once, without a rebuild";
    case Applies::gate:
      return "takes effect at the next generation";
    case Applies::model_load:
      return "takes effect when a model loads";
  }
  return {};
}

std::string accepted_values(const OptionSpec& spec) {
  switch (spec.type) {
    case OptionType::boolean:
      return "true or false";
    case OptionType::integer:
      return "a whole number from " + shortest(spec.minimum) + " to " + shortest(spec.maximum);
    case OptionType::real:
      return "a number from " + shortest(spec.minimum) + " to " + shortest(spec.maximum);
    case OptionType::choice:
      return "one of: " + join(spec.choices, ", ");
    case OptionType::choices:
      return "any of: " + join(spec.choices, ", ");
    case OptionType::text:
      return "a text";
  }
  return {};
}

Expected<OptionValue> validate(const OptionSpec& spec, OptionValue value) {
  switch (spec.type) {
    case OptionType::boolean:
      if (!std::holds_alternative<bool>(value)) return refuse(spec, value_text(value));
      return value;
    case OptionType::integer: {
      const auto* number = std::get_if<std::int64_t>(&value);
      if (number == nullptr || !in_range(spec, static_cast<double>(*number))) return refuse(spec, value_text(value));
      return value;
    }
    case OptionType::real: {
      if (const auto* whole = std::get_if<std::int64_t>(&value)) value = static_cast<double>(*whole);
      const auto* number = std::get_if<double>(&value);
      if (number == nullptr || !in_range(spec, *number)) return refuse(spec, value_text(value));
      return value;
    }
    case OptionType::choice: {
      const auto* word = std::get_if<std::string>(&value);
      if (word == nullptr || !is_choice(spec, *word)) return refuse(spec, value_text(value));
      return value;
    }
    case OptionType::choices: {
      const auto* words = std::get_if<OptionList>(&value);
      if (words == nullptr) return refuse(spec, value_text(value));
      for (const std::string& word : *words) {
        if (!is_choice(spec, word)) return refuse(spec, word);
      }
      return value;
    }
    case OptionType::text:
      if (!std::holds_alternative<std::string>(value)) return refuse(spec, value_text(value));
      return value;
  }
  return refuse(spec, value_text(value));
}

Expected<OptionValue> parse_value(const OptionSpec& spec, std::string_view text) {
  const std::string_view word = trimmed(text);
  switch (spec.type) {
    case OptionType::boolean:
      for (const std::string_view yes : {"true", "True", "on", "yes", "1"}) {
        if (word == yes) return OptionValue(true);
      }
      for (const std::string_view no : {"false", "False", "off", "no", "0"}) {
        if (word == no) return OptionValue(false);
      }
      return refuse(spec, text);
    case OptionType::integer: {
      std::int64_t number = 0;
      if (!read_number(word, number)) return refuse(spec, text);
      return validate(spec, number);
    }
    case OptionType::real: {
      double number = 0.0;
      if (!read_number(word, number)) return refuse(spec, text);
      return validate(spec, number);
    }
    case OptionType::choice:
      return validate(spec, std::string(word));
    case OptionType::choices: {
      OptionList words;
      std::string_view rest = word;
      while (!rest.empty()) {
        const std::size_t comma = rest.find(',');
        const std::string_view part = trimmed(rest.substr(0, comma));
        if (!part.empty()) words.emplace_back(part);
        rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
      }
      return validate(spec, std::move(words));
    }
    case OptionType::text:
      return OptionValue(std::string(text));
  }
  return refuse(spec, text);
}

std::string value_text(const OptionValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return std::to_string(*whole);
  if (const auto* number = std::get_if<double>(&value)) return shortest(*number);
  if (const auto* word = std::get_if<std::string>(&value)) return *word;
  return join(std::get<OptionList>(value), ", ");
}

bool same_value(const OptionValue& a, const OptionValue& b) {
  const auto number = [](const OptionValue& value) -> const std::int64_t* { return std::get_if<std::int64_t>(&value); };
  if (number(a) != nullptr && std::holds_alternative<double>(b)) {
    return static_cast<double>(*number(a)) == std::get<double>(b);
  }
  if (number(b) != nullptr && std::holds_alternative<double>(a)) return same_value(b, a);
  if (std::holds_alternative<OptionList>(a) && std::holds_alternative<OptionList>(b)) {
    OptionList left = std::get<OptionList>(a);
    OptionList right = std::get<OptionList>(b);
    std::sort(left.begin(), left.end());
    std::sort(right.begin(), right.end());
    return left == right;
  }
  return a == b;
}

bool OptionValues::boolean(std::string_view key, bool absent) const {
  const OptionValue* value = find(key);
  const auto* flag = value == nullptr ? nullptr : std::get_if<bool>(value);
  return flag == nullptr ? absent : *flag;
}

std::int64_t OptionValues::integer(std::string_view key, std::int64_t absent) const {
  const OptionValue* value = find(key);
  const auto* number = value == nullptr ? nullptr : std::get_if<std::int64_t>(value);
  return number == nullptr ? absent : *number;
}

double OptionValues::real(std::string_view key, double absent) const {
  const OptionValue* value = find(key);
  if (value == nullptr) return absent;
  if (const auto* whole = std::get_if<std::int64_t>(value)) return static_cast<double>(*whole);
  const auto* number = std::get_if<double>(value);
  return number == nullptr ? absent : *number;
}

std::string OptionValues::text(std::string_view key, std::string_view absent) const {
  const OptionValue* value = find(key);
  const auto* word = value == nullptr ? nullptr : std::get_if<std::string>(value);
  return word == nullptr ? std::string(absent) : *word;
}

OptionList OptionValues::list(std::string_view key) const {
  const OptionValue* value = find(key);
  const auto* words = value == nullptr ? nullptr : std::get_if<OptionList>(value);
  return words == nullptr ? OptionList() : *words;
}

}  // namespace attn
