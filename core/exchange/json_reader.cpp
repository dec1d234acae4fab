// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/exchange/json_reader.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <optional>

namespace attn {
namespace {

constexpr std::size_t kDeepest = 200;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

bool is_continuation(char c) noexcept { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

/// Bytes of the well-formed UTF-8 character at the front (Unicode 15, table 3-7); 0 when it is none.
std::size_t utf8_length(std::string_view text) noexcept {
  const auto byte = [text](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto tail = [byte](std::size_t i) { return byte(i) >= 0x80U && byte(i) <= 0xBFU; };
  const unsigned first = byte(0);
  if (first < 0x80U) return 1;
  if (first >= 0xC2U && first <= 0xDFU) return tail(1) ? 2 : 0;
  if (first >= 0xE0U && first <= 0xEFU) {
    const unsigned lowest = first == 0xE0U ? 0xA0U : 0x80U;
    const unsigned highest = first == 0xEDU ? 0x9FU : 0xBFU;
    return byte(1) >= lowest && byte(1) <= highest && tail(2) ? 3 : 0;
  }
  if (first >= 0xF0U && first <= 0xF4U) {
    const unsigned lowest = first == 0xF0U ? 0x90U : 0x80U;
    const unsigned highest = first == 0xF4U ? 0x8FU : 0xBFU;
    return byte(1) >= lowest && byte(1) <= highest && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

std::optional<std::uint32_t> hex4(std::string_view text) noexcept {
  std::uint32_t code = 0;
  if (text.size() < 4) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + 4, code, 16);
  if (error != std::errc{} || end != text.data() + 4) return std::nullopt;
  return code;
}

void append_utf8(std::string& out, std::uint32_t code) {
  const auto put = [&out](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0U | (code >> 6));
    put(0x80U | (code & 0x3FU));
  } else if (code < 0x10000) {
    put(0xE0U | (code >> 12));
    put(0x80U | ((code >> 6) & 0x3FU));
    put(0x80U | (code & 0x3FU));
  } else {
    put(0xF0U | (code >> 18));
    put(0x80U | ((code >> 12) & 0x3FU));
    put(0x80U | ((code >> 6) & 0x3FU));
    put(0x80U | (code & 0x3FU));
  }
}

bool is_high_surrogate(std::uint32_t code) noexcept { return code >= 0xD800 && code <= 0xDBFF; }
bool is_low_surrogate(std::uint32_t code) noexcept { return code >= 0xDC00 && code <= 0xDFFF; }

/// The code of a \u escape at text[at] (the backslash); moves `at` behind it and behind a second half.
std::uint32_t take_code(std::string_view text, std::size_t& at) {
  constexpr std::uint32_t kReplacement = 0xFFFD;
  const std::uint32_t code = hex4(text.substr(at + 2)).value_or(kReplacement);
  at += 6;
  if (is_low_surrogate(code)) return kReplacement;
  if (!is_high_surrogate(code)) return code;
  if (text.substr(at, 2) != "\\u") return kReplacement;
  const std::uint32_t low = hex4(text.substr(at + 2)).value_or(0);
  if (!is_low_surrogate(low)) return kReplacement;
  at += 6;
  return 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
}

std::string shown(std::string_view text) {
  const std::size_t length = utf8_length(text);
  const auto first = static_cast<unsigned char>(text.front());
  if (length == 0 || first < 0x20) {
    constexpr std::string_view kHex = "0123456789ABCDEF";
    return std::string("byte 0x") + kHex[first >> 4] + kHex[first & 15U];
  }
  return "'" + std::string(text.substr(0, length)) + "'";
}

}  // namespace

Expected<void> JsonReader::read() {
  if (text_.starts_with(kByteOrderMark)) at_ = line_start_ = kByteOrderMark.size();
  skip_blanks();
  if (at_end()) return fail("the text is empty; expected a JSON object, which begins with '{'");
  into_.open_ = at_;
  if (!expect('{', "'{', the start of a JSON object") || !members()) return fail(error_);
  skip_blanks();
  if (!at_end()) {
    wrong("the end of the text behind the object");
    return fail(error_);
  }
  return {};
}

bool JsonReader::members() {
  skip_blanks();
  if (next() != '}') {
    while (true) {
      if (!member()) return false;
      skip_blanks();
      if (next() == '}') break;
      if (!expect(',', "',' or '}' behind a value")) return false;
      skip_blanks();
      if (next() == '}') return wrong("another member behind ','");
    }
  }
  into_.close_ = at_++;
  return true;
}

bool JsonReader::member() {
  JsonMember found;
  found.begin = at_;
  if (next() != '"') return wrong("a key in double quotes");
  if (!string()) return false;
  found.key_end = at_;
  found.key = decode_json_string(text_.substr(found.begin, at_ - found.begin));
  skip_blanks();
  if (!expect(':', "':' behind a key")) return false;
  skip_blanks();
  found.value_begin = at_;
  found.line = line_;
  if (!value(found.kind)) return false;
  found.value_end = at_;
  into_.members_.push_back(std::move(found));
  return true;
}

bool JsonReader::value(JsonKind& kind) { return next() == '{' || next() == '[' ? nested(kind) : scalar(kind); }

// Walks a nested value with a stack of its own, so that no input can exhaust the program's.
bool JsonReader::nested(JsonKind& kind) {
  const bool is_array = next() == '[';
  bool strings_only = is_array;
  std::vector<char> closers;  // what ends each level that is open
  while (true) {
    if (next() == '{' || next() == '[') {
      if (closers.size() == kDeepest) return wrong("values nested no deeper than 200 levels");
      strings_only = strings_only && closers.empty();
      closers.push_back(next() == '{' ? '}' : ']');
      ++at_;
      skip_blanks();
      if (next() != closers.back()) {
        if (!key_in(closers.back())) return false;
        continue;
      }
    } else {
      JsonKind inner{};
      if (!scalar(inner)) return false;
      strings_only = strings_only && inner == JsonKind::string;
      skip_blanks();
    }
    while (next() == closers.back()) {
      ++at_;
      closers.pop_back();
      if (closers.empty()) {
        kind = !is_array ? JsonKind::object : strings_only ? JsonKind::strings : JsonKind::array;
        return true;
      }
      skip_blanks();
    }
    const bool in_object = closers.back() == '}';
    if (!expect(',', in_object ? "',' or '}' behind a value" : "',' or ']' behind a value")) return false;
    skip_blanks();
    if (!key_in(closers.back())) return false;
  }
}

bool JsonReader::key_in(char closer) {
  if (closer != '}') return true;
  if (next() != '"') return wrong("a key in double quotes");
  if (!string()) return false;
  skip_blanks();
  if (!expect(':', "':' behind a key")) return false;
  skip_blanks();
  return true;
}

bool JsonReader::scalar(JsonKind& kind) {
  switch (next()) {
    case '"':
      kind = JsonKind::string;
      return string();
    case 't':
      kind = JsonKind::boolean;
      return word("true");
    case 'f':
      kind = JsonKind::boolean;
      return word("false");
    case 'n':
      kind = JsonKind::null;
      return word("null");
    case 'N':
      kind = JsonKind::not_a_number;
      return word("NaN");
    case 'I':
      kind = JsonKind::not_a_number;
      return word("Infinity");
    default:
      return number(kind);
  }
}

bool JsonReader::string() {
  ++at_;  // the opening quote
  while (true) {
    if (at_end()) return wrong("'\"', the end of a text");
    if (next() == '"') {
      ++at_;
      return true;
    }
    if (next() == '\\' ? !escape() : !character()) return false;
  }
}

bool JsonReader::escape() {
  constexpr std::string_view kSimple = "\"\\/bfnrt";
  ++at_;
  if (next() == 'u') return unicode_escape();
  if (at_end() || kSimple.find(next()) == std::string_view::npos)
    return wrong("an escape such as \\n, \\\" or \\u00e9");
  ++at_;
  return true;
}

bool JsonReader::unicode_escape() {
  ++at_;
  for (int i = 0; i < 4; ++i, ++at_) {
    const char c = next();
    if (!is_digit(c) && !(c >= 'a' && c <= 'f') && !(c >= 'A' && c <= 'F'))
      return wrong("four hexadecimal digits behind \\u");
  }
  return true;
}

bool JsonReader::character() {
  if (static_cast<unsigned char>(next()) < 0x20)
    return wrong("'\"' at the end of a text; control characters are escaped");
  const std::size_t length = utf8_length(text_.substr(at_));
  if (length == 0) return wrong("text in UTF-8");
  at_ += length;
  return true;
}

bool JsonReader::digits() {
  if (!is_digit(next())) return false;
  while (is_digit(next())) ++at_;
  return true;
}

bool JsonReader::number(JsonKind& kind) {
  const std::size_t begin = at_;
  if (next() == '-') ++at_;
  if (at_ > begin && next() == 'I') {
    kind = JsonKind::not_a_number;
    return word("Infinity");
  }
  const bool leading_zero = next() == '0';
  const std::size_t first_digit = at_;
  if (!digits()) return wrong(at_ > begin ? "a digit behind '-'" : "a value");
  if (leading_zero && at_ - first_digit > 1) {
    at_ = first_digit + 1;
    return wrong("no digit behind a leading zero");
  }
  bool whole = true;
  if (next() == '.') {
    ++at_;
    whole = false;
    if (!digits()) return wrong("a digit behind '.'");
  }
  if (next() == 'e' || next() == 'E') {
    ++at_;
    whole = false;
    if (next() == '+' || next() == '-') ++at_;
    if (!digits()) return wrong("a digit in the exponent");
  }
  std::int64_t fits = 0;
  whole = whole && std::from_chars(text_.data() + begin, text_.data() + at_, fits).ec == std::errc{};
  kind = whole ? JsonKind::integer : JsonKind::real;
  return true;
}

bool JsonReader::word(std::string_view name) {
  if (!text_.substr(at_).starts_with(name)) return wrong("a value");
  at_ += name.size();
  return true;
}

bool JsonReader::expect(char c, std::string_view what) {
  if (next() != c || at_end()) return wrong(what);
  ++at_;
  return true;
}

bool JsonReader::wrong(std::string_view expected) {
  std::size_t column = 1;
  for (const char c : text_.substr(line_start_, at_ - line_start_)) column += is_continuation(c) ? 0 : 1;
  error_ = "line " + std::to_string(line_) + ", column " + std::to_string(column) + ": expected " +
           std::string(expected) + ", found " + (at_end() ? "the end of the text" : shown(text_.substr(at_)));
  return false;
}

void JsonReader::skip_blanks() noexcept {
  for (; !at_end(); ++at_) {
    const char c = text_[at_];
    if (c == '\n') {
      ++line_;
      line_start_ = at_ + 1;
    } else if (c != ' ' && c != '\t' && c != '\r') {
      return;
    }
  }
}

std::string decode_json_string(std::string_view quoted) {
  const std::string_view inside = quoted.substr(1, quoted.size() - 2);
  std::string text;
  text.reserve(inside.size());
  for (std::size_t at = 0; at < inside.size();) {
    if (inside[at] != '\\') {
      text += inside[at++];
      continue;
    }
    const char letter = inside[at + 1];
    if (letter == 'u') {
      append_utf8(text, take_code(inside, at));
      continue;
    }
    constexpr std::string_view kLetters = "bfnrt";
    constexpr std::string_view kMeant = "\b\f\n\r\t";
    const std::size_t known = kLetters.find(letter);
    text += known == std::string_view::npos ? letter : kMeant[known];
    at += 2;
  }
  return text;
}

}  // namespace attn
