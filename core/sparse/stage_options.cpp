// SPDX-License-Identifier: GPL-3.0-or-later
// From settings to a stage, with what is logged on the way.
#include "core/sparse/sparse_stage.h"

#include <charconv>
#include <cmath>
#include <utility>

namespace attn {
namespace {

constexpr std::string_view kPrefix = "sparse_attention_";
constexpr double kDefaultPercent = 30.0;
constexpr double kDefaultMinTokens = 8192.0;

std::optional<double> spelled_number(std::string_view text) {
  text = trim_text(text);
  if (text.starts_with('+')) text.remove_prefix(1);
  double number = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return number;
}

/// A finite number, from a number, a truth value or a text that spells one.
std::optional<double> number_in(const OptionValue& value) {
  std::optional<double> number;
  if (const auto* flag = std::get_if<bool>(&value)) number = *flag ? 1.0 : 0.0;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) number = static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&value)) number = *real;
  if (const auto* text = std::get_if<std::string>(&value)) number = spelled_number(*text);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

class Reader {
 public:
  explicit Reader(const OptionValues& values) : values_(values) {}

  [[nodiscard]] const OptionValue* find(std::string_view name) const {
    return values_.find(std::string(kPrefix) + std::string(name));
  }
  [[nodiscard]] double number(std::string_view name, double absent) {
    const OptionValue* value = find(name);
    if (value == nullptr) return absent;
    const std::optional<double> number = number_in(*value);
    readable_ = readable_ && number.has_value();
    return number.value_or(absent);
  }
  [[nodiscard]] std::int64_t whole(std::string_view name, double absent) {
    constexpr double kMost = 0x1p62;
    const double value = number(name, absent);
    return static_cast<std::int64_t>(value < -kMost ? -kMost : value > kMost ? kMost : value);
  }
  [[nodiscard]] bool flag(std::string_view name) const {
    const OptionValue* value = find(name);
    if (value == nullptr) return false;
    if (const auto* text = std::get_if<std::string>(value); text != nullptr && lower_text(trim_text(*text)) == "true") {
      return true;
    }
    return number_in(*value).value_or(0.0) != 0.0;
  }
  [[nodiscard]] std::vector<std::string> exclusions() const {
    const OptionValue* value = find("exclude");
    std::vector<std::string> entries;
    if (value == nullptr) return entries;
    if (const auto* text = std::get_if<std::string>(value)) return parse_exclusions(*text);
    if (const auto* list = std::get_if<OptionList>(value)) {
      for (const std::string& text : *list) {
        for (std::string& entry : parse_exclusions(text)) entries.push_back(std::move(entry));
      }
    }
    return entries;
  }
  /// Whether every number asked for could be read.
  [[nodiscard]] bool readable() const noexcept { return readable_; }

 private:
  const OptionValues& values_;
  bool readable_ = true;
};

std::string quoted_list(std::span<const std::string> labels) {
  std::string text = "[";
  for (const std::string& label : labels) text += (text.size() > 1 ? ", '" : "'") + label + "'";
  return text + "]";
}

}  // namespace

SparseOptions sparse_options_from(const OptionValues& values) {
  Reader reader(values);
  SparseOptions options;
  options.budget = reader.number("budget", kDefaultPercent) / 100.0;
  options.min_tokens = reader.whole("min_tokens", kDefaultMinTokens);
  options.schedule_steps = reader.whole("schedule_steps", 0.0);
  options.schedule_bump = reader.number("schedule_bump", 0.0) / 100.0;
  options.head_shared = reader.flag("head_shared");
  options.exclude = reader.exclusions();
  options.enabled = reader.flag("enabled") && reader.readable();
  return options;
}

std::unique_ptr<SparseStage> make_stage(const OptionValues& values, std::span<const std::string_view> capable,
                                        std::span<const std::string> compatible, LogSink sink) {
  SparseOptions options = sparse_options_from(values);
  if (!options.enabled) return nullptr;
  const auto say = [&sink](LogLevel level, std::string text) {
    if (sink) sink({level, "Sparse attention: " + std::move(text)});
  };
  if (capable.empty()) {
    say(LogLevel::warning, "enabled but no active backend consumes a block mask, enable one of " +
                               quoted_list(compatible) + " in sdp overrides; attention stays dense");
    return nullptr;
  }
  if (!options.ask_for_stage()) return nullptr;
  say(LogLevel::info, "backend=" + std::string(capable.front()) + " budget=" + percent_text(options.budget) + " gate=" +
                          std::to_string(options.min_tokens) + " schedule=" + std::to_string(options.schedule_steps) +
                          "x+" + percent_text(options.schedule_bump));
  return std::make_unique<SparseStage>(std::move(options), std::move(sink));
}

}  // namespace attn
