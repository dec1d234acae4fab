// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/registry/option.h"
#include "core/tensor/expected.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// What stands as a member's value.
enum class JsonKind : std::uint8_t {
  boolean,
  integer,  ///< fits 64 bits
  real,
  string,
  strings,  ///< an array of strings only; the empty array counts as one
  null,
  not_a_number,  ///< NaN, Infinity, -Infinity: no JSON, but Python writes and reads them
  array,         ///< any other array
  object,
};
/// "true or false", "a whole number", "a text", ...: what a person calls it.
[[nodiscard]] std::string_view describe(JsonKind kind) noexcept;

/// One member of the top-level object: where its bytes are. Offsets count from the start of the text.
struct JsonMember {
  std::string key;  ///< decoded
  JsonKind kind = JsonKind::null;
  std::size_t begin = 0;    ///< the key's opening quote
  std::size_t key_end = 0;  ///< behind the key's closing quote
  std::size_t value_begin = 0;
  std::size_t value_end = 0;
  std::size_t line = 1;  ///< of the value, from 1
};

/// A change to make: a new value, or nothing to take the member away.
struct JsonEdit {
  std::string key;
  std::optional<OptionValue> value;
};

/// The text of one flat JSON object (RFC 8259) that is changed value by value: every byte outside the changed values
/// stays. Values may nest; only top-level members can be changed. A UTF-8 byte order mark is kept.
///
/// A repeated key counts once, with its last value, as Python's json reads it; duplicates() names it.
class JsonText {
 public:
  /// Error: what was expected, with line and column (in characters, both from 1). Text that is not UTF-8 or nests
  /// deeper than 200 levels is refused.
  [[nodiscard]] static Expected<JsonText> parse(std::string text);

  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  /// In the order of the text, repeated keys included.
  [[nodiscard]] const std::vector<JsonMember>& members() const noexcept { return members_; }
  /// The member that counts for `key`; null when there is none.
  [[nodiscard]] const JsonMember* find(std::string_view key) const noexcept;
  [[nodiscard]] std::vector<std::string> duplicates() const;

  /// The bytes of a value.
  [[nodiscard]] std::string_view raw(const JsonMember& member) const noexcept {
    return std::string_view(text_).substr(member.value_begin, member.value_end - member.value_begin);
  }
  /// The value; nullopt for the kinds that no option has: null, not_a_number, array, object.
  [[nodiscard]] std::optional<OptionValue> value(const JsonMember& member) const;

  /// The text with `edits` made, which must name each key at most once. A new member goes to the end. Indent, line
  /// ends, the way lists are broken and the space after a colon follow the text; where it shows none, the form of
  /// Python's json with an indent of two. Taking a repeated key away takes all of it.
  [[nodiscard]] std::string with(const std::vector<JsonEdit>& edits) const;

 private:
  friend class JsonReader;
  struct Style;
  [[nodiscard]] Style style() const;
  [[nodiscard]] std::string without(const std::vector<std::string>& keys) const;
  void append_members(std::string& out, const std::vector<JsonEdit>& added) const;

  std::string text_;
  std::vector<JsonMember> members_;
  std::size_t open_ = 0;   ///< of the object's {
  std::size_t close_ = 0;  ///< of its }
};

/// The JSON text of a string: quotes, and escapes where JSON asks for them; other characters as they are.
[[nodiscard]] std::string json_string(std::string_view text);

}  // namespace attn
