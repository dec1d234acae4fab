// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/call/block_selection.h"
#include "core/context/generation_context.h"
#include "core/registry/backend_spec.h"
#include "core/registry/log.h"

#include <string>
#include <string_view>
#include <vector>

namespace attn {

enum class SparsePattern : std::uint8_t { adaptive, radial };

/// What the stage captured from the settings when the chain was built.
struct SparseOptions {
  bool enabled = false;
  double budget = 0.3;  ///< share of the candidates kept, 0..1; 1 or more: no stage
  std::int64_t min_tokens = 8192;
  std::int64_t schedule_steps = 0;
  double schedule_bump = 0.0;
  bool head_shared = false;
  std::vector<std::string> exclude;  ///< parse_exclusions()
  SparsePattern pattern = SparsePattern::adaptive;
};

/// The stage's answer for one call. `selection` is null when the call stays dense and valid until the next ask.
struct StageDecision {
  const BlockSelection* selection = nullptr;
  std::string_view reason;  ///< why dense: a static string of SparseStage::reasons(), or empty when it covered everything
  double budget = 0.0;
};

/// Chooses a block selection for a call that an entry with the block_mask capability has accepted.
class SelectionStage {
 public:
  SelectionStage() = default;
  SelectionStage(const SelectionStage&) = delete;
  SelectionStage& operator=(const SelectionStage&) = delete;
  virtual ~SelectionStage() = default;
  /// `capabilities` are the serving entry's. The decision is valid until the next call.
  [[nodiscard]] virtual StageDecision decide(const AttentionCall& call, const GenerationContext& context,
                                             Capabilities capabilities) = 0;
};

/// Entries of the exclusion list: split at commas, trimmed, lowercased (Unicode), empty ones gone, repeats kept.
[[nodiscard]] std::vector<std::string> parse_exclusions(std::string_view raw);
/// The first entry that equals one of the model's names (architecture, pipeline, denoiser) without regard to case;
/// empty for none.
[[nodiscard]] std::string matched_exclusion(const std::vector<std::string>& entries, const ModelKey& model);

}  // namespace attn
