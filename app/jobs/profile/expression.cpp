// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/profile/expression.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace attn::app {
namespace {

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
bool is_name_start(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name(char c) noexcept { return is_name_start(c) || is_digit(c); }

}  // namespace

/// Recursive descent over the text; writes postfix steps.
class ExpressionParser {
 public:
  explicit ExpressionParser(std::string_view text) : text_(text) { result_.text_ = std::string(text); }

  Expected<Expression> run() {
    sum();
    skip();
    if (error_.empty() && at_ < text_.size()) refuse("an operator");
    if (!error_.empty()) return fail(std::move(error_));
    return std::move(result_);
  }

 private:
  using Op = Expression::Op;
  static constexpr int kDeepest = 64;

  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void refuse(std::string_view wanted) {
    if (!error_.empty()) return;
    error_ = "expression \"" + result_.text_ + "\": ";
    error_ +=
        at_ < text_.size() ? "'" + std::string(1, text_[at_]) + "' at position " + std::to_string(at_ + 1) : "the end";
    error_ += " where " + std::string(wanted) + " is needed";
  }
  void emit(Op op) { result_.steps_.push_back({op, 0.0, 0}); }

  void sum() {
    product();
    while (error_.empty()) {
      if (take('+')) {
        product();
        emit(Op::add);
      } else if (take('-')) {
        product();
        emit(Op::subtract);
      } else {
        return;
      }
    }
  }

  void product() {
    factor();
    while (error_.empty()) {
      if (take('*')) {
        factor();
        emit(Op::multiply);
      } else if (take('/')) {
        factor();
        emit(Op::divide);
      } else {
        return;
      }
    }
  }

  void factor() {
    if (++depth_ > kDeepest) refuse("an expression of at most 64 nested parentheses");
    if (!error_.empty()) return;
    skip();
    if (take('(')) {
      sum();
      if (!take(')')) refuse("')'");
    } else if (at_ < text_.size() && is_digit(text_[at_])) {
      number();
    } else if (at_ < text_.size() && is_name_start(text_[at_])) {
      name();
    } else {
      refuse("a number, a name or '('");
    }
    --depth_;
  }

  void number() {
    std::size_t end = at_;
    while (end < text_.size() && is_digit(text_[end])) ++end;
    if (end < text_.size() && text_[end] == '.') {
      const std::size_t point = end++;
      while (end < text_.size() && is_digit(text_[end])) ++end;
      if (end == point + 1) {
        at_ = end;
        return refuse("a digit");
      }
    }
    double value = 0.0;
    std::from_chars(text_.data() + at_, text_.data() + end, value, std::chars_format::fixed);
    at_ = end;
    if (at_ < text_.size() && is_name_start(text_[at_])) return refuse("an operator");
    result_.steps_.push_back({Op::number, value, 0});
  }

  void name() {
    std::size_t end = at_;
    while (end < text_.size() && is_name(text_[end])) ++end;
    const std::string word(text_.substr(at_, end - at_));
    const std::size_t start = at_;
    at_ = end;
    if (!take('(')) {
      auto found = std::find(result_.names_.begin(), result_.names_.end(), word);
      const auto index = static_cast<std::size_t>(found - result_.names_.begin());
      if (found == result_.names_.end()) result_.names_.push_back(word);
      result_.steps_.push_back({Op::name, 0.0, index});
      return;
    }
    const bool pair = word == "min" || word == "max";
    if (!pair && word != "ceil" && word != "floor") {
      at_ = start;
      return refuse("one of the functions ceil, floor, min, max");
    }
    sum();
    if (pair) {
      if (!take(',')) return refuse("','");
      sum();
    }
    if (!take(')')) return refuse("')'");
    emit(word == "ceil" ? Op::ceil : word == "floor" ? Op::floor : word == "min" ? Op::min : Op::max);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::string error_;
  Expression result_;
};

Expected<Expression> Expression::parse(std::string_view text) { return ExpressionParser(text).run(); }

Expected<double> Expression::evaluate(const Names& names) const {
  std::vector<double> stack;
  const auto pop = [&stack] {
    const double top = stack.back();
    stack.pop_back();
    return top;
  };
  for (const Step& step : steps_) {
    if (step.op == Op::number) {
      stack.push_back(step.number);
      continue;
    }
    if (step.op == Op::name) {
      const auto found = names.find(names_[step.name]);
      if (found == names.end()) {
        return fail("expression \"" + text_ + "\": the name " + names_[step.name] + " has no value");
      }
      stack.push_back(found->second);
      continue;
    }
    const double right = pop();
    if (step.op == Op::ceil || step.op == Op::floor) {
      stack.push_back(step.op == Op::ceil ? std::ceil(right) : std::floor(right));
      continue;
    }
    const double left = pop();
    switch (step.op) {
      case Op::add:
        stack.push_back(left + right);
        break;
      case Op::subtract:
        stack.push_back(left - right);
        break;
      case Op::multiply:
        stack.push_back(left * right);
        break;
      case Op::min:
        stack.push_back(std::min(left, right));
        break;
      case Op::max:
        stack.push_back(std::max(left, right));
        break;
      default:
        if (right == 0.0) return fail("expression \"" + text_ + "\" divides by zero for these inputs");
        stack.push_back(left / right);
        break;
    }
  }
  return stack.back();
}

}  // namespace attn::app
