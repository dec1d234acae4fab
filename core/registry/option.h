// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/tensor/expected.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace attn {

using OptionList = std::vector<std::string>;
using OptionValue = std::variant<bool, std::int64_t, double, std::string, OptionList>;

enum class OptionType : std::uint8_t {
  boolean,
  integer,  ///< range and step apply
  real,     ///< range and step apply; accepts a whole number too
  choice,   ///< one of `choices`
  choices,  ///< any subset of `choices`; order carries no meaning
  text,
};

/// When a change of an option takes effect.
enum class Applies : std::uint8_t {
  rebuild,     ///< captured when the chain is built: a change rebuilds it
  live,        ///< read on every call: at once, without a rebuild
  gate,        ///< looked at when the next generation starts
  model_load,  ///< looked at when a model loads
};

/// "rebuilds the chain", "at once", "at the next generation", "when a model loads".
[[nodiscard]] std::string_view describe(Applies applies) noexcept;

/// One option, declared once: forms, storage, command line, documentation and tests derive from it.
struct OptionSpec {
  std::string key{};    ///< the production systems' own key
  std::string label{};  ///< as their settings page shows it
  OptionType type = OptionType::text;
  OptionValue fallback{};  ///< the default
  double minimum = 0.0;
  double maximum = 0.0;
  /// When over 0: the maximum is this many times the target's memory in GiB (at least 4), `maximum` where the
  /// memory is unknown.
  double maximum_per_memory = 0.0;
  double step = 1.0;
  std::vector<std::string> choices{};
  std::string unit{};     ///< "GiB", "%", "tokens"; empty when it has none
  std::string help{};     ///< what it does and what it costs, in a sentence or two
  std::string section{};  ///< heading it stands under, such as "SDNQ attention"
  Applies applies = Applies::rebuild;
};

/// What an option takes, as the end of a sentence: "a whole number from 5 to 100", "one of: Default, Enabled,
/// Disabled".
[[nodiscard]] std::string accepted_values(const OptionSpec& spec);

/// Checks type, range and choice. A whole number is taken for a real option. The error names the key, the value
/// and what would be right.
[[nodiscard]] Expected<OptionValue> validate(const OptionSpec& spec, OptionValue value);

/// Reads the text that a person types ("true", "30", "a,b") as a value of the option's type, validated.
[[nodiscard]] Expected<OptionValue> parse_value(const OptionSpec& spec, std::string_view text);

/// The text that parse_value reads back.
[[nodiscard]] std::string value_text(const OptionValue& value);

/// Equal as the production system compares: the order of a list does not matter, 1 equals 1.0.
[[nodiscard]] bool same_value(const OptionValue& a, const OptionValue& b);

/// The values of every option at one moment.
class OptionValues {
 public:
  void put(std::string key, OptionValue value) { values_[std::move(key)] = std::move(value); }
  [[nodiscard]] const OptionValue* find(std::string_view key) const {
    const auto at = values_.find(key);
    return at == values_.end() ? nullptr : &at->second;
  }

  /// The value as its type, or `absent` when there is none or it has another type.
  [[nodiscard]] bool boolean(std::string_view key, bool absent = false) const;
  [[nodiscard]] std::int64_t integer(std::string_view key, std::int64_t absent = 0) const;
  [[nodiscard]] double real(std::string_view key, double absent = 0.0) const;
  [[nodiscard]] std::string text(std::string_view key, std::string_view absent = {}) const;
  [[nodiscard]] OptionList list(std::string_view key) const;

  [[nodiscard]] const std::map<std::string, OptionValue, std::less<>>& all() const noexcept { return values_; }

 private:
  std::map<std::string, OptionValue, std::less<>> values_;
};

}  // namespace attn
