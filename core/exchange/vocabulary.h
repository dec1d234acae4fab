// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/exchange/formats.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn::exchange {

/// One way to compute attention, in the words of each system; empty where it has none.
struct Word {
  std::string_view label;       ///< SD.Next's override
  std::string_view dispatcher;  ///< diffusers, and SD.Next's `hf_attention`
  std::string_view alias;       ///< Unsloth's `attention_backend`
  std::string_view flag;        ///< ComfyUI's launch flag
};
[[nodiscard]] std::span<const Word> vocabulary() noexcept;

/// Collects what a format cannot say. Every setting that is not at its default has to be said or lost.
class Losses {
 public:
  Losses(const ProductionSettings& settings, std::string_view title, ExportText& out)
      : settings_(settings), title_(title), out_(out) {}

  void said(std::string_view key) { done_.emplace_back(key); }
  /// "key: why"; the sentence names what comes nearest.
  void lose(std::string_view key, const std::string& why);
  void note(std::string sentence) { out_.notes.push_back(std::move(sentence)); }
  [[nodiscard]] std::string title() const { return std::string(title_); }
  /// Loses whatever is not at its default and was neither said nor lost.
  void finish();

 private:
  const ProductionSettings& settings_;
  std::string_view title_;
  ExportText& out_;
  std::vector<std::string> done_;
};

/// The dispatcher's backend that is asked for: by `attention_backend` (its alias given too), else by `hf_attention`.
struct AskedBackend {
  std::string alias;       ///< empty where only the dispatcher has a name for it
  std::string dispatcher;  ///< "native" for the default attention
};
/// Nullopt when nobody asked.
[[nodiscard]] std::optional<AskedBackend> asked_backend(const ProductionSettings& settings);

/// The one backend that a system with a single choice gets: what is asked of the dispatcher, else the override of
/// highest priority that the system has a word for. `word` picks its word. Everything that this leaves out is lost by
/// name. Empty: nothing is to be said, as the pipeline is left as it was loaded.
[[nodiscard]] std::string single_backend(const ProductionSettings& settings, std::string_view Word::*word,
                                         Losses& losses);

/// The name that comes nearest to a dispatcher's backend among the aliases.
[[nodiscard]] std::string_view nearest_alias(std::string_view dispatcher) noexcept;

}  // namespace attn::exchange
