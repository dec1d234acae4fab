// SPDX-License-Identifier: GPL-3.0-or-later
// Systems whose sparse attention is a few numbers: Sparse-VideoGen, Video Sparse Attention, SGLang.
#include "core/exchange/format_list.h"
#include "core/exchange/sparse_share.h"
#include "core/exchange/vocabulary.h"
#include "core/policy/words.h"
#include "core/settings/settings.h"

#include <charconv>
#include <cmath>
#include <cstdio>

namespace attn::exchange {
namespace {

constexpr std::string_view kEnabled = "sparse_attention_enabled";
constexpr std::string_view kBudget = "sparse_attention_budget";
constexpr std::string_view kSteps = "sparse_attention_schedule_steps";

struct System {
  std::string_view unit;
  std::string_view title;
  std::string_view first_steps;   ///< share of the first steps that are dense; empty: it has none
  std::string_view first_layers;  ///< share of the first layers that are dense, which there is nothing for here
};
constexpr System kSvg{"svg", "Sparse-VideoGen", "first_times", "first_layers"};
constexpr System kVsa{"vsa", "Video Sparse Attention", {}, {}};
constexpr System kSglang{"sglang", "SGLang", {}, {}};

std::string fraction(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

Expected<ExportText> write(const System& system, const ProductionSettings& settings, const ExportOptions& options) {
  ExportText out;
  Losses losses(settings, system.title, out);
  const ShareUnit& unit = *find_share_unit(system.unit);
  const bool enabled = settings.values.boolean(kEnabled);
  losses.said(kEnabled);
  losses.said(kBudget);
  const double kept = enabled ? static_cast<double>(settings.values.integer(kBudget)) : 100.0;
  const std::string everything = std::string(system.title) + " has no switch; nearest to off is to keep everything";
  if (!enabled && settings.values.integer(kBudget) != 30) losses.lose(kBudget, everything);
  if (enabled && kept >= 100.0) {
    losses.lose(kEnabled, everything);
    losses.lose(kBudget, everything);
  }
  const Expected<std::string> share = share_text(unit, kept);
  if (!share) return fail(share.error());
  out.text = std::string(unit.key) + "=" + *share + "\n";
  const std::int64_t dense = settings.values.integer(kSteps);
  if (!system.first_steps.empty() && dense > 0) {
    losses.said(kSteps);
    if (options.steps > 0) {
      out.text += std::string(system.first_steps) + "=" + fraction(window_of(dense, options.steps).begin) + "\n";
      losses.lose(kSteps, std::string(system.title) + " has dense steps at the beginning only; nearest is " +
                              std::to_string(dense) + " of " + std::to_string(options.steps) + " there");
    } else {
      losses.lose(kSteps,
                  std::string(system.title) + " takes a share of the steps; say how many there are, nearest is none");
    }
  }
  losses.finish();
  return out;
}

std::optional<double> number_in(const std::string& word) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return error == std::errc{} && end == word.data() + word.size() ? std::optional(value) : std::nullopt;
}

/// Words of "key=value" however they are separated; a list in brackets may hold blanks.
std::vector<std::pair<std::string, std::string>> pairs_in(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> pairs;
  std::string flat;
  int depth = 0;
  for (const char c : text) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    const bool gap = c == '\n' || c == '\r' || c == '\t' || c == ' ' || (c == ',' && depth == 0);
    if (!gap) flat += c;
    if (gap && depth == 0) flat += '\n';
  }
  for (const std::string& word : split_words(flat, '\n')) {
    const std::size_t equals = std::min(word.find('='), word.size());
    std::string key = word.substr(0, equals);
    while (key.starts_with('-')) key.erase(0, 1);
    pairs.emplace_back(key, equals < word.size() ? word.substr(equals + 1) : std::string());
  }
  return pairs;
}

Expected<ImportText> read(const System& system, std::string_view text, const ProductionSettings& settings,
                          const ExportOptions& options) {
  ImportText out;
  const ShareUnit& unit = *find_share_unit(system.unit);
  bool found = false;
  const auto put = [&](std::string_view key, OptionValue value) {
    for (const OptionSpec& spec : settings.specs) {
      if (spec.key != key) continue;
      Expected<OptionValue> valid = validate(spec, std::move(value));
      if (valid) out.values.emplace_back(spec.key, *std::move(valid));
      if (!valid) out.problems.push_back(valid.error());
    }
  };
  for (const auto& [key, value] : pairs_in(text)) {
    if (key == unit.key) {
      const Expected<KeptShare> share = read_share(unit, value);
      if (!share) {
        out.problems.push_back(share.error());
        continue;
      }
      found = true;
      const auto percent = static_cast<std::int64_t>(std::llround(share->percent));
      if (std::abs(static_cast<double>(percent) - share->percent) > 1e-6) {
        out.notes.push_back("keep " + fraction(share->percent) + " % is taken as " + std::to_string(percent) + " %");
      }
      if (!share->warning.empty()) out.notes.push_back("warning: " + share->warning);
      put(kEnabled, percent < 100);
      if (percent < 100) put(kBudget, percent);
    } else if (!system.first_steps.empty() && key == system.first_steps && options.steps > 0) {
      const std::optional<double> share = number_in(value);
      if (!share || *share < 0.0 || *share > 1.0) {
        out.problems.push_back(key + " is " + value + "; it takes a number from 0 to 1");
        continue;
      }
      put(kSteps, static_cast<std::int64_t>(std::llround(*share * static_cast<double>(options.steps))));
      out.notes.push_back(key + " " + value + ": dense steps stand at both ends here");
    } else {
      out.notes.push_back(key + " is left aside" +
                          (key == system.first_layers  ? ": layers are not told apart here"
                           : key == system.first_steps ? ": say how many steps there are"
                                                       : ": it is not known"));
    }
  }
  if (!found && out.problems.empty()) {
    out.problems.push_back("there is no " + std::string(unit.key) + "=NUMBER in the text");
  }
  if (!out.problems.empty()) out.values.clear();
  return out;
}

}  // namespace

Expected<ExportText> write_svg(const ProductionSettings& settings, const ExportOptions& options) {
  return write(kSvg, settings, options);
}
Expected<ImportText> read_svg(std::string_view text, const ProductionSettings& settings, const ExportOptions& options) {
  return read(kSvg, text, settings, options);
}
Expected<ExportText> write_vsa(const ProductionSettings& settings, const ExportOptions& options) {
  return write(kVsa, settings, options);
}
Expected<ImportText> read_vsa(std::string_view text, const ProductionSettings& settings, const ExportOptions& options) {
  return read(kVsa, text, settings, options);
}
Expected<ExportText> write_sglang(const ProductionSettings& settings, const ExportOptions& options) {
  return write(kSglang, settings, options);
}
Expected<ImportText> read_sglang(std::string_view text, const ProductionSettings& settings,
                                 const ExportOptions& options) {
  return read(kSglang, text, settings, options);
}

}  // namespace attn::exchange
