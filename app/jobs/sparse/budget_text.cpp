// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/sparse/budget_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <optional>

namespace attn::app {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// Also reads "nan" and "inf", so that the sentence can say what is wrong with them.
std::optional<double> number_in(std::string_view text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

std::string fixed(double value, int decimals) {
  std::array<char, 400> text{};
  const auto [end, error] =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed, decimals);
  return {text.data(), error == std::errc{} ? end : text.data()};
}

/// At most two decimals, none where they are zeros.
std::string percent(double share) {
  std::string text = fixed(share * 100.0, 2);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

/// A system whose number is read as a share kept.
struct Unit {
  std::string_view name;
  double per_unit;  ///< share of the candidates that one of its units is
  bool skipped;     ///< the number is the part skipped
};
constexpr std::array kUnits{Unit{"svg", 1.0, false}, Unit{"vsa", 1.0, true}, Unit{"sla", 0.01, false},
                            Unit{"sglang", 1.0, false}};

}  // namespace

Expected<double> read_budget(std::string_view text) {
  text = trimmed(text);
  const std::string whole(text);
  Unit unit{"", 0.01, false};
  if (const std::size_t equals = text.find('='); equals != std::string_view::npos) {
    const std::string_view name = trimmed(text.substr(0, equals));
    const auto* const known =
        std::find_if(kUnits.begin(), kUnits.end(), [name](const Unit& u) { return u.name == name; });
    if (known == kUnits.end()) {
      return fail("the budget \"" + whole +
                  "\" is in no known unit; there are svg=, vsa=, sla= and sglang=, or percent such as 30");
    }
    unit = *known;
    text = trimmed(text.substr(equals + 1));
  } else if (text.ends_with('%')) {
    text = trimmed(text.substr(0, text.size() - 1));
  }
  const auto number = number_in(text);
  if (!number) return fail("the budget \"" + whole + "\" is no number; write the percent kept, such as 30");
  if (std::isnan(*number))
    return fail("the budget \"" + whole + "\" is not a number; write the percent kept, such as 30");
  const double share = unit.skipped ? 1.0 - *number : *number * unit.per_unit;
  // What a share of 0.9 skipped leaves must be the 0.1 that the other systems write.
  const double kept = std::round(share * 1e12) / 1e12;
  if (!(kept > 0.0) || kept > 1.0) {
    return fail("the budget \"" + whole + "\" keeps " + percent(kept) +
                " % of the candidates; above 0 and at most 100 % would be right");
  }
  return kept;
}

Expected<std::vector<double>> read_budgets(std::string_view text) {
  std::vector<double> budgets;
  for (;;) {
    const std::size_t end = std::min(text.find(','), text.size());
    const auto budget = read_budget(text.substr(0, end));
    if (!budget) return fail(budget.error());
    if (std::find(budgets.begin(), budgets.end(), *budget) != budgets.end()) {
      return fail("the budget " + percent(*budget) + " % is given twice");
    }
    budgets.push_back(*budget);
    if (end == text.size()) return budgets;
    text.remove_prefix(end + 1);
  }
}

std::string budget_text(double kept) { return "keep " + percent(kept) + " % (skip " + percent(1.0 - kept) + " %)"; }

std::string floor_warning(double kept) {
  if (kept >= kKeptFloor) return {};
  return budget_text(kept) + " is below the floor of " + percent(kKeptFloor) +
         " % kept, under which pictures are known to break; the number is what is kept, not what is skipped";
}

std::vector<ForeignBudget> foreign_budgets(double kept) {
  const std::string share = fixed(kept, 2);
  return {{"SD.Next", "sparse_attention_budget", percent(kept)},
          {"ComfyUI", "sla", fixed(kept * 100.0, 1)},
          {"Sparse-VideoGen", "sparsity", share},
          {"VSA", "sparsity", fixed(1.0 - kept, 2)},
          {"SGLang", "list, one per layer", share},
          {"sol-attn", "", "not expressible"}};
}

}  // namespace attn::app
