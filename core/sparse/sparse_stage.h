// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/call/block_selection.h"
#include "core/context/generation_context.h"
#include "core/registry/backend_spec.h"
#include "core/registry/kernel.h"
#include "core/registry/log.h"
#include "core/sparse/exclusions.h"
#include "core/sparse/selector.h"
#include "core/sparse/tile_geometry.h"

#include <list>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

enum class SparsePattern : std::uint8_t { adaptive, radial };

/// What the stage captured from the settings when the chain was built.
struct SparseOptions {
  bool enabled = false;
  double budget = 0.3;  ///< share of the candidates kept, 0..1; 1 or more: no stage; 0 or less: none of them
  std::int64_t min_tokens = 8192;
  std::int64_t schedule_steps = 0;
  double schedule_bump = 0.0;
  bool head_shared = false;
  std::vector<std::string> exclude;  ///< parse_exclusions()
  SparsePattern pattern = SparsePattern::adaptive;

  /// Whether a stage is built for these options: enabled, with a budget below 1.
  [[nodiscard]] bool ask_for_stage() const noexcept { return enabled && budget < 1.0; }
};

/// Reads the `sparse_attention_*` settings: percent become shares, texts are read as what they spell. A setting that
/// is absent takes its default (30 %, 8192 tokens, no schedule, per head, nobody excluded); one that cannot be read
/// as a number leaves the stage disabled.
[[nodiscard]] SparseOptions sparse_options_from(const OptionValues& values);

/// A share as whole percent, half to even, as the log prints it: "30%".
[[nodiscard]] std::string percent_text(double share);

/// The stage's answer for one call. `selection` is null when the call stays dense and valid until the next ask.
struct StageDecision {
  const BlockSelection* selection = nullptr;
  std::string_view
      reason;           ///< why dense: a static string of SparseStage::reasons(), or empty when it covered everything
  double budget = 0.0;  ///< of the step; 0 when an earlier gate than the budget's kept the call dense

  /// Of a dense call, for people: `reason`, or that it would have been selected whole.
  [[nodiscard]] std::string_view why_dense() const noexcept {
    return reason.empty() ? std::string_view("the selection covered everything") : reason;
  }
};

/// Chooses a block selection for a call that an entry with the block_mask capability has accepted.
class SelectionStage {
 public:
  SelectionStage() = default;
  SelectionStage(const SelectionStage&) = delete;
  SelectionStage& operator=(const SelectionStage&) = delete;
  virtual ~SelectionStage() = default;
  /// `capabilities` are the serving entry's, `kernel` is its kernel, which may want to choose the tiles itself; null:
  /// it does not. The decision is valid until the next call.
  [[nodiscard]] virtual StageDecision decide(const AttentionCall& call, const GenerationContext& context,
                                             Capabilities capabilities, const AttentionKernel* kernel) = 0;
  /// The share of the candidates that `step` of `steps` keeps.
  [[nodiscard]] virtual double budget_at(std::int32_t step, std::int32_t steps) const noexcept = 0;
};

/// The block-sparse stage over the chain. One job thread uses it; it lives as long as the chain it was built for.
class SparseStage final : public SelectionStage {
 public:
  /// `sink` may be empty. It receives info lines, and trace lines that a production log holds only while routes are
  /// traced. Each is said once: about a length, a model or the stage.
  explicit SparseStage(SparseOptions options, LogSink sink = {});

  /// Gates in the order of reasons(), then the selection. A call without data, and one whose kernel chooses for itself,
  /// gets a selection with geometry, budget, density and rule and no tiles. Without a layout of the call's length the
  /// whole sequence counts as image.
  [[nodiscard]] StageDecision decide(const AttentionCall& call, const GenerationContext& context,
                                     Capabilities capabilities, const AttentionKernel* kernel = nullptr) override;

  [[nodiscard]] double budget_at(std::int32_t step, std::int32_t steps) const noexcept override;

  /// Why the last call stayed dense; empty when it was selected, when the selection would have covered everything, or
  /// before the first call.
  [[nodiscard]] std::string_view last_skip_reason() const noexcept { return last_reason_; }
  /// Every reason for which a call stays dense, in the order in which they are tested.
  [[nodiscard]] static std::span<const std::string_view> reasons() noexcept;

  [[nodiscard]] const SparseOptions& options() const noexcept { return options_; }
  /// Threads for the selection; the result does not depend on it.
  void set_parallel_for(ParallelFor parallel_for) { request_.parallel_for = std::move(parallel_for); }

  /// The marks that the last selected call was decided with, for showing pins and drops; null when it stayed dense.
  /// Valid until the next decision.
  [[nodiscard]] const TileMarks* last_marks() const noexcept { return last_marks_; }

 private:
  /// Geometry that holds for every call of one length and layout.
  struct Geometry {
    std::int64_t tokens = 0;
    bool fallback = false;         ///< no layout of this length was published
    std::vector<TokenSpan> spans;  ///< of the published layout
    std::shared_ptr<const LayoutTiles> tiles;
    /// Tiles of the static pattern for a budget; a schedule has two.
    struct Band {
      double budget = 0.0;
      double density = 0.0;
      std::vector<std::uint8_t> keep;
    };
    std::vector<Band> bands;
  };

  [[nodiscard]] std::string_view skip_reason(const AttentionCall& call, const GenerationContext& context,
                                             Capabilities capabilities, double budget);
  [[nodiscard]] bool is_excluded(const std::optional<ModelKey>& model);
  [[nodiscard]] Geometry& geometry_for(const std::optional<TokenLayout>& published, std::int64_t tokens);
  [[nodiscard]] Expected<bool> select(const AttentionCall& call, const Geometry& geometry, double budget,
                                      const AttentionKernel* kernel);
  [[nodiscard]] bool lay_band(const AttentionCall& call, Geometry& geometry, double budget);
  [[nodiscard]] const Geometry::Band& band_for(Geometry& geometry, const SelectionTotals& totals, double budget);
  void say(LogLevel level, std::string text) const;

  SparseOptions options_;
  LogSink sink_;
  SelectorRequest request_;
  BlockSelection selection_;
  std::string_view last_reason_;
  const TileMarks* last_marks_ = nullptr;
  std::list<Geometry> geometries_;  ///< most recent first, a handful

  std::optional<ModelKey> resolved_model_;
  bool resolved_ = false;
  bool excluded_ = false;
  std::vector<ModelKey> excluded_said_;
  std::set<std::int64_t> fallback_said_;
  std::set<std::int64_t> short_said_;
  bool masked_said_ = false;
};

/// Builds the stage that the settings ask for, or returns null, and logs what the systems mirrored log: a warning when
/// sparse attention is on and nothing in the chain takes a block mask, an info line when the stage is built.
/// `capable` are the names of the chain's entries that take one, in the chain's order; `compatible` the labels of all
/// backends that could, for the warning.
[[nodiscard]] std::unique_ptr<SparseStage> make_stage(const OptionValues& values,
                                                      std::span<const std::string_view> capable,
                                                      std::span<const std::string> compatible, LogSink sink);

}  // namespace attn
