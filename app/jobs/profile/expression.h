// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/tensor/expected.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace attn::app {

/// A size expression of models.json, in exactly its grammar: numbers (digits, at most one point), names, + - * /,
/// parentheses, ceil(x), floor(x), min(a,b), max(a,b). Real arithmetic; no signs, no exponents.
class Expression {
 public:
  using Names = std::map<std::string, double, std::less<>>;

  /// Error: the place where the text leaves the grammar, and what would be right there.
  [[nodiscard]] static Expected<Expression> parse(std::string_view text);

  /// Error: a name without a value, or a division by zero.
  [[nodiscard]] Expected<double> evaluate(const Names& names) const;

  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  /// Every name in it, once each, in order of appearance.
  [[nodiscard]] const std::vector<std::string>& names() const noexcept { return names_; }

 private:
  friend class ExpressionParser;
  enum class Op : std::uint8_t { number, name, add, subtract, multiply, divide, ceil, floor, min, max };
  struct Step {
    Op op = Op::number;
    double number = 0.0;
    std::size_t name = 0;
  };
  std::string text_;
  std::vector<std::string> names_;
  std::vector<Step> steps_;  ///< postfix
};

}  // namespace attn::app
