// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/tensor/expected.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attn {

/// A JSON value with everything below it, for texts that nest. Members keep their order; of a repeated key the last
/// one counts.
class JsonValue {
 public:
  enum class Type : std::uint8_t { null, boolean, number, string, array, object };

  /// Error: what was expected, with line and column, as JsonText says it. The text is one object.
  [[nodiscard]] static Expected<JsonValue> parse(const std::string& text);

  [[nodiscard]] Type type() const noexcept { return type_; }
  [[nodiscard]] bool is(Type type) const noexcept { return type_ == type; }
  /// The member of an object; null when there is none, or when this is no object.
  [[nodiscard]] const JsonValue* find(std::string_view key) const noexcept;
  [[nodiscard]] const std::vector<std::pair<std::string, JsonValue>>& members() const noexcept { return members_; }
  [[nodiscard]] const std::vector<JsonValue>& items() const noexcept { return items_; }

  [[nodiscard]] std::optional<std::string> text() const;
  [[nodiscard]] std::optional<bool> boolean() const;
  [[nodiscard]] std::optional<double> number() const;
  /// The value's own bytes.
  [[nodiscard]] const std::string& raw() const noexcept { return raw_; }
  /// "a text", "a number", "null", ... for a sentence.
  [[nodiscard]] std::string_view kind() const noexcept;

 private:
  friend class JsonTreeReader;
  Type type_ = Type::null;
  std::string raw_;
  std::vector<std::pair<std::string, JsonValue>> members_;
  std::vector<JsonValue> items_;
};

}  // namespace attn
