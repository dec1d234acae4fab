// SPDX-License-Identifier: GPL-3.0-or-later
// ComfyUI: launch flags.
#include "core/exchange/format_list.h"
#include "core/exchange/vocabulary.h"
#include "core/policy/words.h"
#include "core/settings/settings.h"

#include <algorithm>
#include <array>

namespace attn::exchange {
namespace {

/// What each flag that chooses attention means here.
struct Flag {
  std::string_view flag;
  std::string_view label;  ///< override; empty: torch's own attention
  std::string_view note;   ///< what is different about it
};
constexpr std::array<Flag, 5> kFlags{{
    {"--use-pytorch-cross-attention", "", ""},
    {"--use-flash-attention", "Flash attention", ""},
    {"--use-sage-attention", "Sage attention", ""},
    {"--use-split-cross-attention", "Dynamic attention", "ComfyUI splits in another way than Dynamic attention does"},
    {"--use-quad-cross-attention", "Dynamic attention",
     "sub-quadratic attention is not Dynamic attention, only nearest"},
}};
constexpr std::string_view kNoXformers = "--disable-xformers";
constexpr std::string_view kSplit = "--use-split-cross-attention";

bool chooses(std::string_view word) {
  return word == kNoXformers ||
         std::any_of(kFlags.begin(), kFlags.end(), [word](const Flag& one) { return one.flag == word; });
}

bool uses_xformers(const ProductionSettings& settings) {
  const std::optional<AskedBackend> asked = asked_backend(settings);
  return asked && asked->dispatcher == "xformers";
}

/// The flag for the settings; empty: none.
std::string chosen_flag(const ProductionSettings& settings, Losses& losses) {
  if (uses_xformers(settings)) {
    losses.said("hf_attention");
    losses.said("attention_backend");
    losses.lose(keys::method, "no flag means Default to ComfyUI; nearest is Default");
    losses.lose(settings.attention.all ? "attention_backend" : "hf_attention",
                "ComfyUI has no flag for xFormers; nearest is no flag, then it serves where it is installed");
    return {};
  }
  const OptionList overrides = settings.values.list(keys::overrides);
  if (!asked_backend(settings) && overrides == OptionList{"Dynamic attention"}) {
    losses.said(keys::method);
    losses.lose(keys::overrides,
                std::string(kFlags[3].note) + "; nearest is " + std::string(kSplit) + ", which is written");
    return std::string(kSplit);
  }
  const std::string flag = single_backend(settings, &Word::flag, losses);
  if (asked_backend(settings) && flag != kFlags.front().flag) {
    losses.lose(settings.attention.all ? "attention_backend" : "hf_attention",
                "ComfyUI has no dispatcher; nearest is " + flag + ", which works as an override does and falls back");
    losses.lose(keys::overrides, "the flag comes back as an override, nearest to what is asked of the dispatcher");
  }
  return flag;
}

}  // namespace

Expected<ExportText> write_flags(const ProductionSettings& settings, const ExportOptions& options) {
  ExportText out;
  Losses losses(settings, "ComfyUI", out);
  const std::string flag = chosen_flag(settings, losses);
  losses.finish();
  // The caller's other flags stay, in their order.
  for (const std::string& line : split_words(options.existing, '\n')) {
    for (const std::string& word : split_words(line, ' ')) {
      if (!chooses(word)) out.text += (out.text.empty() ? "" : " ") + word;
    }
  }
  if (!flag.empty()) {
    out.text += (out.text.empty() ? "" : " ") + flag + " " + std::string(kNoXformers);
    losses.note("--disable-xformers keeps an installed xFormers from taking the place of " + flag);
  }
  out.text += "\n";
  return out;
}

Expected<ImportText> read_flags(std::string_view text, const ProductionSettings& settings, const ExportOptions&) {
  ImportText out;
  const Flag* chosen = nullptr;
  bool no_xformers = false;
  std::vector<std::string> others;
  for (const std::string& line : split_words(text, '\n')) {
    for (const std::string& word : split_words(line, ' ')) {
      no_xformers = no_xformers || word == kNoXformers;
      const auto flag =
          std::find_if(kFlags.begin(), kFlags.end(), [&word](const Flag& one) { return one.flag == word; });
      if (flag == kFlags.end()) {
        if (word.find("attention") != std::string::npos) others.push_back(word);
        continue;
      }
      if (chosen != nullptr && chosen->flag != word) {
        out.problems.push_back(std::string(chosen->flag) + " and " + word + " exclude each other; keep one");
      }
      chosen = &*flag;
    }
  }
  for (const std::string& word : others) out.notes.push_back(word + " is left aside: it is not about the backend");
  if (!out.problems.empty()) return out;
  if (chosen == nullptr) {
    out.notes.emplace_back(no_xformers ? "no backend is chosen: ComfyUI decides by itself, without xFormers"
                                       : "no backend is chosen: ComfyUI takes xFormers where it is installed");
    out.values.emplace_back(std::string(keys::method), std::string("Default"));
    return out;
  }
  if (!chosen->note.empty()) out.notes.push_back(std::string(chosen->flag) + ": " + std::string(chosen->note));
  if (!no_xformers && chosen->label != "Dynamic attention") {
    out.notes.push_back("without --disable-xformers an installed xFormers takes the place of " +
                        std::string(chosen->flag));
  }
  out.values.emplace_back(std::string(keys::overrides),
                          chosen->label.empty() ? OptionList{} : OptionList{std::string(chosen->label)});
  out.values.emplace_back("hf_attention", std::string());
  if (settings.attention.all) {
    out.attention = settings.attention;
    out.attention->all.reset();
  }
  return out;
}

}  // namespace attn::exchange
