// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/sparse/tile_mass.h"
#include "core/call/attention_call.h"
#include "core/layout/token_layout.h"
#include "core/router/plan.h"
#include "core/sparse/sparse_stage.h"
#include "core/tensor/host_buffer.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string_view>

namespace attn::app {

/// The plan's entry that consumes block selections: the one of that name, or the first for an empty name.
/// Error: no entry takes a block mask, with the backends that would; or this one does not.
[[nodiscard]] Expected<const PlanEntry*> block_mask_entry(const Registry& registry, const Plan& plan,
                                                          std::string_view backend = {});

/// "no enabled backend takes a block mask: enable sdnq or flex".
[[nodiscard]] std::string nobody_takes_block_masks(const Registry& registry);

/// What one selection kept of a call, what it cost and how far its result is from the dense one.
struct SparseQuality {
  double budget = 1.0;          ///< share of the candidates that was asked for
  double density = 1.0;         ///< share of all tiles that was computed
  double relative_l1 = 0.0;     ///< sum |sparse - dense| / sum |dense|
  double cosine = 1.0;          ///< of the two results
  double mass_kept = 1.0;       ///< share of the attention probabilities on kept pairs, averaged over rows and heads
  double select_seconds = 0.0;  ///< choosing the tiles; 0 for the static pattern, which is laid once per geometry
  double attention_seconds = 0.0;
  bool dense = false;  ///< the budget covers everything, so the call stays dense

  [[nodiscard]] double seconds() const noexcept { return select_seconds + attention_seconds; }
};

/// How to measure.
struct ProbeOptions {
  std::optional<TokenLayout> layout;  ///< absent: the whole sequence is image
  bool head_shared = false;
  std::stop_token stop;
};

/// One call measured densely and with selections through one kernel, on the same tensors. The dense result comes from
/// the same kernel, so a quantised one's own error is not counted as the sparsity's. Memory beyond the call's tensors
/// is bytes_for(). Not thread safe; uses all threads. The call's tensors and the plan's registry must outlive it.
class QualityProbe {
 public:
  /// Computes the dense result and the attention mass. Error: the kernel or the sparse stage would not take the call
  /// (the sentence says which check), tensors without data, or a layout of another length.
  [[nodiscard]] static Expected<QualityProbe> make(const AttentionCall& call, const PlanEntry& entry,
                                                   ProbeOptions options);
  [[nodiscard]] static std::int64_t bytes_for(const AttentionCall& call) noexcept;

  /// Seconds of one more dense run.
  [[nodiscard]] Expected<double> run_dense();
  /// Selects and computes with a share of the candidates above 0. The radial pattern is radial_selection() with
  /// as many tiles as the adaptive selection keeps.
  [[nodiscard]] Expected<SparseQuality> measure(SparsePattern pattern, double budget);

  /// Of the last measure(); has no tiles when that stayed dense.
  [[nodiscard]] const BlockSelection& selection() const noexcept { return selection_; }
  [[nodiscard]] const TileMass& mass() const noexcept { return mass_; }
  [[nodiscard]] const LayoutTiles& marks() const noexcept { return *marks_; }
  [[nodiscard]] const TensorView& dense_output() const noexcept { return dense_.view(); }
  [[nodiscard]] const TensorView& sparse_output() const noexcept { return sparse_.view(); }
  /// "int8", "flex": the kernel's own word for what it ran.
  [[nodiscard]] std::string_view variant() const noexcept { return variant_; }

 private:
  QualityProbe() = default;
  [[nodiscard]] Expected<double> run(HostTensor& output, const BlockSelection* selection);
  [[nodiscard]] Expected<bool> select(SparsePattern pattern, double budget);

  AttentionCall call_;
  std::shared_ptr<const AttentionKernel> kernel_;
  ProbeOptions options_;
  ParallelFor parallel_for_;
  std::unique_ptr<LayoutTiles> marks_;
  TileMass mass_;
  HostTensor dense_;
  HostTensor sparse_;
  BlockSelection selection_;
  std::string_view variant_;
};

/// The static control at the same density, for all heads: the pins, drops and diagonal of `marks` and the band around
/// the diagonal, as wide as `kept` tiles in all allow. Of the tiles at the band's edge, which lie equally far out, as
/// many stay as there is room for, spread evenly over the rows.
[[nodiscard]] BlockSelection radial_selection(const LayoutTiles& marks, std::int64_t kept, double budget);

}  // namespace attn::app
