// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/exchange/json_text.h"

#include "core/exchange/json_reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace attn {
namespace {

std::string number_text(double number) {
  std::array<char, 32> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  std::string text(digits.data(), error == std::errc{} ? end : digits.data());
  // A real number stays one for whoever reads it back.
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

/// The strings of an array of strings.
OptionList strings_in(std::string_view array) {
  OptionList list;
  for (std::size_t at = array.find('"'); at != std::string_view::npos; at = array.find('"', at)) {
    std::size_t end = at + 1;
    while (array[end] != '"') end += array[end] == '\\' ? 2 : 1;
    list.push_back(decode_json_string(array.substr(at, end + 1 - at)));
    at = end + 1;
  }
  return list;
}

}  // namespace

/// How a text is laid out.
struct JsonText::Style {
  std::string line_end = "\n";
  bool broken = true;         ///< members stand on lines of their own
  std::string before = "  ";  ///< a member's indent
  std::string colon = ": ";
  bool lists_broken = true;       ///< list elements stand on lines of their own
  std::string deeper = "  ";      ///< what a list's elements are indented by more than their member
  std::string element_gap = " ";  ///< behind the comma of a list on one line

  [[nodiscard]] std::string list(const OptionList& elements, bool on_lines) const;
  [[nodiscard]] std::string value(const OptionValue& value, bool list_on_lines) const;
};

std::string JsonText::Style::list(const OptionList& elements, bool on_lines) const {
  if (elements.empty()) return "[]";
  std::string text = "[";
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (i > 0) text += ',';
    if (on_lines) {
      text += line_end + before + deeper;
    } else if (i > 0) {
      text += element_gap;
    }
    text += json_string(elements[i]);
  }
  if (on_lines) text += line_end + before;
  return text + "]";
}

std::string JsonText::Style::value(const OptionValue& value, bool list_on_lines) const {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return std::to_string(*whole);
  if (const auto* number = std::get_if<double>(&value)) return number_text(*number);
  if (const auto* word = std::get_if<std::string>(&value)) return json_string(*word);
  return list(std::get<OptionList>(value), list_on_lines);
}

std::string_view describe(JsonKind kind) noexcept {
  switch (kind) {
    case JsonKind::boolean:
      return "true or false";
    case JsonKind::integer:
      return "a whole number";
    case JsonKind::real:
      return "a number";
    case JsonKind::string:
      return "a text";
    case JsonKind::strings:
      return "a list of texts";
    case JsonKind::null:
      return "null";
    case JsonKind::not_a_number:
      return "not a number";
    case JsonKind::array:
      return "a list of mixed values";
    case JsonKind::object:
      return "an object";
  }
  return {};
}

Expected<JsonText> JsonText::parse(std::string text) {
  JsonText parsed;
  parsed.text_ = std::move(text);
  if (auto read = JsonReader(parsed).read(); !read) return fail(read.error());
  return parsed;
}

const JsonMember* JsonText::find(std::string_view key) const noexcept {
  const auto at =
      std::find_if(members_.rbegin(), members_.rend(), [key](const JsonMember& member) { return member.key == key; });
  return at == members_.rend() ? nullptr : &*at;
}

std::vector<std::string> JsonText::duplicates() const {
  std::vector<std::string_view> keys;
  keys.reserve(members_.size());
  for (const JsonMember& member : members_) keys.push_back(member.key);
  std::sort(keys.begin(), keys.end());
  std::vector<std::string> repeated;
  for (std::size_t i = 1; i < keys.size(); ++i) {
    if (keys[i] == keys[i - 1] && (repeated.empty() || repeated.back() != keys[i])) repeated.emplace_back(keys[i]);
  }
  return repeated;
}

std::optional<OptionValue> JsonText::value(const JsonMember& member) const {
  const std::string_view bytes = raw(member);
  switch (member.kind) {
    case JsonKind::boolean:
      return OptionValue(bytes == "true");
    case JsonKind::integer: {
      std::int64_t whole = 0;
      std::from_chars(bytes.data(), bytes.data() + bytes.size(), whole);
      return OptionValue(whole);
    }
    case JsonKind::real: {
      double number = 0.0;
      // Beyond what a double holds the number stays unread, as if it were none.
      if (std::from_chars(bytes.data(), bytes.data() + bytes.size(), number).ec != std::errc{}) return std::nullopt;
      return OptionValue(number);
    }
    case JsonKind::string:
      return OptionValue(decode_json_string(bytes));
    case JsonKind::strings:
      return OptionValue(strings_in(bytes));
    case JsonKind::null:
    case JsonKind::not_a_number:
    case JsonKind::array:
    case JsonKind::object:
      return std::nullopt;
  }
  return std::nullopt;
}

JsonText::Style JsonText::style() const {
  Style style;
  const std::size_t line = text_.find('\n');
  if (line != std::string::npos && line > 0 && text_[line - 1] == '\r') style.line_end = "\r\n";
  if (members_.empty()) return style;
  const std::string_view all(text_);
  const std::string_view lead = all.substr(open_ + 1, members_.front().begin - open_ - 1);
  const std::size_t lead_line = lead.rfind('\n');
  style.broken = lead_line != std::string_view::npos;
  style.before = style.broken ? lead.substr(lead_line + 1) : std::string_view();
  style.deeper = style.broken ? style.before : "  ";
  const JsonMember& last = members_.back();
  style.colon = all.substr(last.key_end, last.value_begin - last.key_end);
  style.lists_broken = style.broken;
  for (const JsonMember& member : members_) {
    const std::string_view bytes = raw(member);
    if (member.kind != JsonKind::strings || bytes.find('"') == std::string_view::npos) continue;
    const std::string_view gap = bytes.substr(1, bytes.find('"') - 1);
    style.lists_broken = gap.find('\n') != std::string_view::npos;
    if (style.lists_broken) {
      const std::string_view indent = gap.substr(gap.rfind('\n') + 1);
      if (indent.starts_with(style.before)) style.deeper = indent.substr(style.before.size());
    }
    break;
  }
  if (!style.broken) style.element_gap = style.colon.ends_with(' ') ? " " : "";
  return style;
}

std::string JsonText::with(const std::vector<JsonEdit>& edits) const {
  std::vector<std::string> removed;
  std::vector<JsonEdit> added;
  std::vector<std::pair<const JsonMember*, const OptionValue*>> replaced;
  for (const JsonEdit& edit : edits) {
    const JsonMember* member = find(edit.key);
    if (edit.value && member != nullptr) {
      replaced.emplace_back(member, &*edit.value);
    } else if (edit.value) {
      added.push_back(edit);
    } else if (member != nullptr) {
      removed.push_back(edit.key);
    }
  }
  std::sort(replaced.begin(), replaced.end());  // by place: members stand in one array in the order of the text
  const Style look = style();
  std::string out;
  out.reserve(text_.size() + 256);
  std::size_t at = 0;
  for (const auto& [member, value] : replaced) {
    out.append(text_, at, member->value_begin - at);
    const bool was_list = member->kind == JsonKind::strings && raw(*member).find('"') != std::string_view::npos;
    const bool on_lines = was_list ? raw(*member).find('\n') != std::string_view::npos : look.lists_broken;
    out += look.value(*value, on_lines);
    at = member->value_end;
  }
  if (!added.empty()) {
    const std::size_t end = members_.empty() ? open_ + 1 : members_.back().value_end;
    out.append(text_, at, end - at);
    append_members(out, added);
    at = end;
    // An empty object's own blanks give way to the line on which it now closes.
    if (members_.empty()) {
      out += look.line_end;
      at = close_;
    }
  }
  out.append(text_, at);
  if (removed.empty()) return out;
  const auto again = parse(std::move(out));
  return again->without(removed);
}

void JsonText::append_members(std::string& out, const std::vector<JsonEdit>& added) const {
  const Style look = style();
  bool first = members_.empty();
  for (const JsonEdit& edit : added) {
    if (!first) out += ',';
    if (look.broken) {
      out += look.line_end + look.before;
    } else if (!first && look.colon.ends_with(' ')) {
      out += ' ';
    }
    out += json_string(edit.key) + look.colon + look.value(*edit.value, look.lists_broken);
    first = false;
  }
}

std::string JsonText::without(const std::vector<std::string>& keys) const {
  const auto goes = [&keys](const JsonMember& member) {
    return std::find(keys.begin(), keys.end(), member.key) != keys.end();
  };
  // A member goes with the comma behind it; those at the end go with the comma of the last one that stays.
  std::string out;
  std::size_t at = 0;
  const JsonMember* last_kept = nullptr;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (!goes(members_[i])) {
      last_kept = &members_[i];
      continue;
    }
    const bool all_behind_go = std::all_of(members_.begin() + static_cast<std::ptrdiff_t>(i), members_.end(), goes);
    if (!all_behind_go) {
      out.append(text_, at, members_[i].begin - at);
      at = members_[i + 1].begin;
      continue;
    }
    const std::size_t end = last_kept != nullptr ? last_kept->value_end : open_ + 1;
    if (at < end) out.append(text_, at, end - at);
    at = last_kept != nullptr ? members_.back().value_end : close_;
    break;
  }
  out.append(text_, at);
  return out;
}

std::string json_string(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else if (byte < 0x20) {
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15U];
    } else {
      out += c;
    }
  }
  return out + "\"";
}

}  // namespace attn
