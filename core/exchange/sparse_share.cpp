// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/exchange/sparse_share.h"

#include "core/policy/words.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace attn {
namespace {

constexpr std::array<ShareUnit, 6> kUnits{{
    {"sdnext", "sparse_attention_budget", true, 100.0, false, true},
    {"comfyui", "keep_percent", true, 100.0, false, true},
    {"svg", "sparsity", true, 1.0, false, true},
    {"vsa", "sparsity", false, 1.0, false, true},
    {"sglang", "keep", true, 1.0, true, true},
    {"sol-attn", "tau", true, 1.0, false, false},
}};

std::string number(double value, int decimals) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  return text.data();
}

}  // namespace

std::span<const ShareUnit> share_units() noexcept { return kUnits; }

const ShareUnit* find_share_unit(std::string_view system) noexcept {
  for (const ShareUnit& unit : kUnits) {
    if (unit.system == system) return &unit;
  }
  return nullptr;
}

Expected<std::string> share_text(const ShareUnit& unit, double kept_percent) {
  if (!unit.has_share) {
    return fail(std::string(unit.system) + " chooses by " + std::string(unit.key) +
                ", so a share to keep is not expressible; nearest is sla");
  }
  const double share = (unit.kept ? kept_percent : 100.0 - kept_percent) / 100.0 * unit.whole;
  if (unit.system == "sdnext") return number(share, 0);
  std::string text = number(share, unit.whole == 1.0 ? 2 : 1);
  // A finer share keeps its digits.
  if (std::abs(std::stod(text) - share) > 1e-9) text = number(share, unit.whole == 1.0 ? 4 : 3);
  return unit.list ? "[" + text + "]" : text;
}

Expected<KeptShare> read_share(const ShareUnit& unit, std::string_view text) {
  const std::string where = std::string(unit.system) + " " + std::string(unit.key);
  if (!unit.has_share) return fail(where + " is no share to keep; nearest is sla with a share of your choice");
  std::string_view inner = trimmed(text);
  if (inner.starts_with('[') && inner.ends_with(']')) inner = inner.substr(1, inner.size() - 2);
  std::optional<double> share;
  for (const std::string& word : split_words(inner, ',')) {
    double value = 0.0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc{} || end != word.data() + word.size() || !(value >= 0.0 && value <= unit.whole)) {
      return fail(where + " is " + word + "; it takes a number from 0 to " + number(unit.whole, 0));
    }
    if (share && *share != value) {
      return fail(where + " differs from layer to layer (" + number(*share, 2) + " and " + word +
                  "); one share for all layers can be taken");
    }
    share = value;
  }
  if (!share) return fail(where + " is empty; it takes a number from 0 to " + number(unit.whole, 0));
  const double part = *share / unit.whole * 100.0;
  KeptShare kept{unit.kept ? part : 100.0 - part, {}};
  kept.percent = std::round(kept.percent * 1e6) / 1e6;
  if (kept.percent < kLeastKeptPercent) {
    kept.warning = "keep " + number(kept.percent, 0) + " % (skip " + number(100.0 - kept.percent, 0) + " %): below " +
                   number(kLeastKeptPercent, 0) + " % pictures break";
  }
  return kept;
}

Window window_of(std::int64_t dense_steps, std::int64_t steps) noexcept {
  if (steps <= 0) return {};
  // As the stage does it: never more than half the steps, rounded up.
  const std::int64_t dense = std::min(dense_steps, (steps + 1) / 2);
  const double share = static_cast<double>(dense) / static_cast<double>(steps);
  return {share, std::max(1.0 - share, share)};
}

std::int64_t dense_steps_of(const Window& window, std::int64_t steps, bool& uneven) noexcept {
  const auto whole = static_cast<double>(steps);
  const auto before = static_cast<std::int64_t>(std::llround(window.begin * whole));
  const auto after = static_cast<std::int64_t>(std::llround((1.0 - window.end) * whole));
  uneven = before != after;
  return std::max({before, after, std::int64_t{0}});
}

}  // namespace attn
