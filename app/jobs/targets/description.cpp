// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/targets/description.h"

#include "app/jobs/nearest.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <set>
#include <utility>
#include <vector>

namespace attn::app {
namespace {

constexpr std::array<std::string_view, 8> kPlatforms = {"cuda",     "rocm",     "zluda", "ipex",
                                                        "openvino", "directml", "mps",   "cpu"};
constexpr std::string_view kExample = "platform=cuda,sm=86,memory=24GiB";

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t";
  const auto first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

bool is_gfx(std::string_view text) {
  constexpr std::string_view kPrefix = "gfx";
  return text.starts_with(kPrefix) && text.size() >= 6 && text.size() <= 8 &&
         std::ranges::all_of(text.substr(kPrefix.size()), [](unsigned char c) { return std::isxdigit(c) != 0; });
}

std::string in_target(std::string_view what) { return "target: " + std::string(what); }

/// Puts one pair into the target; a sentence where it does not fit.
std::optional<std::string> apply(Target& target, std::string_view key, std::string_view value) {
  const std::string pair = std::string(key) + "=" + std::string(value);
  const bool unknown = value == "unknown";
  if (key == "platform") {
    if (auto error = platform_error(value)) return error;
    target.platform = value;
  } else if (key == "sm") {
    target.capability = unknown ? std::nullopt : parse_capability(value);
    if (!unknown && !target.capability)
      return in_target(pair + " is no compute capability; write sm=86, sm=8.6 or sm=unknown");
  } else if (key == "gfx") {
    const std::string gfx = lower(value);
    if (!unknown && !is_gfx(gfx)) return in_target(pair + " is no AMD architecture; write gfx=gfx1100 or gfx=unknown");
    target.gfx = unknown ? "" : gfx;
  } else if (key == "memory") {
    target.memory_bytes = unknown ? std::nullopt : parse_memory(value);
    if (!unknown && !target.memory_bytes) {
      return in_target(
          pair +
          " is no amount of memory; write a positive number with a unit, such as memory=24GiB, or memory=unknown");
    }
  } else if (key == "name") {
    target.name = value;
  } else {
    return in_target("there is no key \"" + std::string(key) +
                     "\"; the keys are platform, sm, gfx, memory and name, as in " + std::string(kExample));
  }
  return std::nullopt;
}

/// "cuda, sm_86, 24 GiB".
std::string label_of(const Target& target) {
  std::string label = target.platform;
  if (target.capability) label += ", sm_" + std::to_string(*target.capability);
  if (!target.gfx.empty()) label += ", " + target.gfx;
  if (target.memory_bytes) label += ", " + memory_text(*target.memory_bytes);
  return label;
}

}  // namespace

std::optional<std::string> platform_error(std::string_view platform) {
  if (std::ranges::find(kPlatforms, platform) != kPlatforms.end()) return std::nullopt;
  const std::vector<std::string> names(kPlatforms.begin(), kPlatforms.end());
  return in_target("there is no platform \"" + std::string(platform) + "\"; it is one of " + joined(names));
}

std::optional<int> parse_capability(std::string_view text) {
  const std::string all = lower(text);
  std::string_view digits = all;
  if (digits.starts_with("sm")) digits.remove_prefix(digits.starts_with("sm_") ? 3 : 2);
  const auto dot = digits.find('.');
  std::string plain(digits);
  if (dot != std::string_view::npos) {
    if (dot == 0 || digits.size() != dot + 2) return std::nullopt;  // the minor version is one digit
    plain.erase(dot, 1);
  }
  if (plain.size() < 2 || plain.size() > 3 || plain.front() == '0') return std::nullopt;
  int value = 0;
  const auto [end, error] = std::from_chars(plain.data(), plain.data() + plain.size(), value);
  if (error != std::errc{} || end != plain.data() + plain.size() || value < 10) return std::nullopt;
  return value;
}

std::optional<std::int64_t> parse_memory(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 6> kUnits = {
      {{"mib", 0x1p20}, {"gib", 0x1p30}, {"tib", 0x1p40}, {"mb", 1e6}, {"gb", 1e9}, {"tb", 1e12}}};
  constexpr double kMost = 0x1p53;  // where a double stops counting whole bytes
  double number = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc{}) return std::nullopt;
  const std::string unit = lower(trimmed(text.substr(static_cast<std::size_t>(end - text.data()))));
  for (const auto& [name, size] : kUnits) {
    const double bytes = std::round(number * size);
    if (unit == name)
      return bytes >= 1.0 && bytes <= kMost ? std::optional(static_cast<std::int64_t>(bytes)) : std::nullopt;
  }
  return std::nullopt;
}

std::string memory_text(std::int64_t bytes) {
  const double value = static_cast<double>(bytes);
  const bool small = value < 0x1p30;
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%.1f", value / (small ? 0x1p20 : 0x1p30));
  std::string number(text.data());
  if (number.ends_with(".0")) number.resize(number.size() - 2);
  return number + (small ? " MiB" : " GiB");
}

Expected<Target> parse_target_description(std::string_view text) {
  Target target;
  std::set<std::string, std::less<>> seen;
  for (std::string_view rest = text;;) {
    const auto comma = rest.find(',');
    const std::string_view pair = trimmed(rest.substr(0, comma));
    const auto equals = pair.find('=');
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view{} : trimmed(pair.substr(equals + 1));
    if (value.empty()) {
      return fail(in_target("\"" + std::string(pair) + "\" is no key=value pair; write " + std::string(kExample)));
    }
    std::string key = lower(trimmed(pair.substr(0, equals)));
    if (key == "capability") key = "sm";
    if (!seen.insert(key).second) return fail(in_target("\"" + key + "\" is given twice"));
    if (auto error = apply(target, key, value)) return fail(std::move(*error));
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (target.platform.empty()) return fail(in_target("a description needs a platform; write " + std::string(kExample)));
  const bool takes_sm = target.platform == "cuda" || target.platform == "zluda";
  const bool takes_gfx = target.platform == "rocm" || target.platform == "zluda";
  if (seen.contains("sm") && !takes_sm)
    return fail(in_target("sm belongs to cuda and zluda, not to " + target.platform));
  if (seen.contains("gfx") && !takes_gfx)
    return fail(in_target("gfx belongs to rocm and zluda, not to " + target.platform));
  target.label = target.name.empty() ? label_of(target) : target.name;
  if (target.name.empty()) target.name = trimmed(text);
  target.present = target.is_cpu();
  return target;
}

}  // namespace attn::app
