// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/exchange/formats.h"

#include <string>
#include <string_view>
#include <vector>

namespace attn::app {

/// One setting of a stored text: what it holds, what counts, and what would by itself.
struct StoredValue {
  std::string key;
  std::string stored;     ///< the value's own bytes
  std::string effective;  ///< what a server starts with
  std::string fallback;
  std::string problem;  ///< names the key and what would be right; empty when the value holds

  /// "sparse_attention_budget: stored -1, used default 30".
  [[nodiscard]] std::string sentence() const;
};

/// Every setting that the text names, in the order of the specs, each judged by itself. Understood are the JSON
/// formats that keep settings under their keys: SD.Next's and the profile; for another text the list is empty. Error:
/// the text is no JSON object (with line and column).
[[nodiscard]] Expected<std::vector<StoredValue>> stored_values(const ExchangeFormat& format, std::string_view text,
                                                               const ProductionSettings& settings,
                                                               const ExportOptions& options);

/// A stored text with defaults in the place of what does not hold.
struct EffectiveSettings {
  ImportText holds;
  std::vector<StoredValue> wrong;
};
/// Error: what is wrong beside single values, so that nothing of the text can be used.
[[nodiscard]] Expected<EffectiveSettings> effective_settings(const ExchangeFormat& format, std::string_view text,
                                                             const ProductionSettings& settings,
                                                             const ExportOptions& options);

}  // namespace attn::app
