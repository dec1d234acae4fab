// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/exchange/json_value.h"

#include "core/exchange/json_reader.h"
#include "core/exchange/json_text.h"

#include <charconv>

namespace attn {

/// Builds the tree of a text that JsonText has found to be valid, so nothing is checked again.
class JsonTreeReader {
 public:
  explicit JsonTreeReader(std::string_view text) : text_(text) {}

  JsonValue value() {
    skip_blanks();
    const std::size_t begin = at_;
    JsonValue out;
    switch (next()) {
      case '{':
        out.type_ = JsonValue::Type::object;
        members(out);
        break;
      case '[':
        out.type_ = JsonValue::Type::array;
        items(out);
        break;
      case '"':
        out.type_ = JsonValue::Type::string;
        skip_string();
        break;
      case 't':
      case 'f':
        out.type_ = JsonValue::Type::boolean;
        skip_word();
        break;
      case 'n':
        skip_word();
        break;
      default:
        out.type_ = JsonValue::Type::number;
        skip_word();
    }
    out.raw_ = text_.substr(begin, at_ - begin);
    return out;
  }

 private:
  void members(JsonValue& out) {
    ++at_;
    for (skip_blanks(); next() != '}'; skip_blanks()) {
      if (next() == ',') {
        ++at_;
        skip_blanks();
      }
      const std::size_t begin = at_;
      skip_string();
      std::string key = decode_json_string(text_.substr(begin, at_ - begin));
      skip_blanks();
      ++at_;  // the colon
      out.members_.emplace_back(std::move(key), value());
    }
    ++at_;
  }

  void items(JsonValue& out) {
    ++at_;
    for (skip_blanks(); next() != ']'; skip_blanks()) {
      if (next() == ',') ++at_;
      out.items_.push_back(value());
    }
    ++at_;
  }

  void skip_string() {
    for (++at_; next() != '"'; ++at_) {
      if (next() == '\\') ++at_;
    }
    ++at_;
  }
  void skip_word() { at_ = std::min(text_.find_first_of(",]} \t\r\n", at_), text_.size()); }
  void skip_blanks() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }
  [[nodiscard]] char next() const { return at_ < text_.size() ? text_[at_] : '}'; }

  std::string_view text_;
  std::size_t at_ = 0;
};

Expected<JsonValue> JsonValue::parse(const std::string& text) {
  const Expected<JsonText> valid = JsonText::parse(text);
  if (!valid) return fail(valid.error());
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  const std::string_view plain(text);
  return JsonTreeReader(plain.substr(plain.starts_with(kMark) ? kMark.size() : 0)).value();
}

const JsonValue* JsonValue::find(std::string_view key) const noexcept {
  for (auto member = members_.rbegin(); member != members_.rend(); ++member) {
    if (member->first == key) return &member->second;
  }
  return nullptr;
}

std::optional<std::string> JsonValue::text() const {
  return type_ == Type::string ? std::optional(decode_json_string(raw_)) : std::nullopt;
}

std::optional<bool> JsonValue::boolean() const {
  return type_ == Type::boolean ? std::optional(raw_ == "true") : std::nullopt;
}

std::optional<double> JsonValue::number() const {
  if (type_ != Type::number) return std::nullopt;
  double value = 0.0;
  const auto [end, error] = std::from_chars(raw_.data(), raw_.data() + raw_.size(), value);
  return error == std::errc{} && end == raw_.data() + raw_.size() ? std::optional(value) : std::nullopt;
}

std::string_view JsonValue::kind() const noexcept {
  switch (type_) {
    case Type::null:
      return "null";
    case Type::boolean:
      return "true or false";
    case Type::number:
      return "a number";
    case Type::string:
      return "a text";
    case Type::array:
      return "a list";
    case Type::object:
      return "an object";
  }
  return "null";
}

}  // namespace attn
