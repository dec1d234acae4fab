// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/sparse/quality.h"

#include "app/jobs/compare/compare.h"
#include "app/jobs/nearest.h"
#include "app/jobs/sparse/threads.h"
#include "core/layout/layout_reader.h"
#include "core/sparse/radial.h"

#include <algorithm>
#include <chrono>

namespace attn::app {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// Why the stage leaves the call dense whatever the budget, asked of the stage itself.
std::string_view stage_reason(AttentionCall call, const PlanEntry& entry, const std::optional<TokenLayout>& layout) {
  call.query.data = nullptr;
  call.key.data = nullptr;
  SparseOptions options;
  options.enabled = true;
  options.min_tokens = 0;
  SparseStage stage(std::move(options));
  GenerationContext context;
  context.begin(PipelineInfo{}, 1);
  context.set_layout(layout);
  return stage.decide(call, context, entry.capabilities).reason;
}

Expected<void> check_served(const AttentionCall& call, const PlanEntry& entry,
                            const std::optional<TokenLayout>& layout) {
  const std::string name(entry.name);
  if (!entry.gate.accepts(CallFacts(call), call)) {
    for (const Verdict& verdict : explain(entry.gate.constraints(), call)) {
      if (!verdict.ok) return fail(name + " declines the call: " + verdict.reason);
    }
  }
  if (const std::string_view reason = stage_reason(call, entry, layout); !reason.empty()) {
    return fail("the sparse stage leaves this call dense: " + std::string(reason));
  }
  if (!call.query.has_data() || !call.key.has_data() || !call.value.has_data()) {
    return fail("measuring needs a query, a key and a value with data");
  }
  if (layout && layout->length != call.query_tokens()) {
    return fail("layout mismatch: the layout declares " + std::to_string(layout->length) + " tokens, the call has " +
                std::to_string(call.query_tokens()));
  }
  return {};
}

HostTensor output_for(const AttentionCall& call) {
  std::vector<std::int64_t> shape(call.query.sizes().begin(), call.query.sizes().end());
  shape.back() = call.value_dim();
  return HostTensor(shape, call.query.dtype, call.query.device);
}

/// Lays the band under the marks; returns how many tiles that keeps.
std::int64_t lay(const LayoutTiles& marks, double band_density, std::vector<std::uint8_t>& keep) {
  const TileGrid& grid = marks.grid();
  const auto columns = static_cast<std::size_t>(grid.key_tiles());
  keep = RadialBand(grid, band_density).keep();
  std::vector<TileMark> row_marks(columns);
  for (std::int64_t row = 0; row < grid.query_tiles(); ++row) {
    marks.mark_row(0, row, row_marks);
    std::uint8_t* const row_keep = keep.data() + static_cast<std::size_t>(row) * columns;
    for (std::size_t j = 0; j < columns; ++j) {
      if (row_marks[j] != TileMark::candidate) row_keep[j] = row_marks[j] == TileMark::dropped ? 0 : 1;
    }
  }
  return std::count(keep.begin(), keep.end(), std::uint8_t{1});
}

/// Of the `edge` tiles that `keep` has and `inner` has not, leaves `wanted`, spread evenly.
void thin(const std::vector<std::uint8_t>& inner, std::int64_t edge, std::int64_t wanted,
          std::vector<std::uint8_t>& keep) {
  std::int64_t met = 0;
  for (std::size_t i = 0; i < keep.size(); ++i) {
    if (keep[i] == inner[i]) continue;
    if ((met + 1) * wanted / edge == met * wanted / edge) keep[i] = 0;
    ++met;
  }
}

}  // namespace

std::string nobody_takes_block_masks(const Registry& registry) {
  std::vector<std::string> able;
  for (auto spec = registry.ascending().rbegin(); spec != registry.ascending().rend(); ++spec) {
    if (spec->capabilities.block_mask) able.push_back(spec->name);
  }
  return "no enabled backend takes a block mask: enable " + joined(able, " or ");
}

Expected<const PlanEntry*> block_mask_entry(const Registry& registry, const Plan& plan, std::string_view backend) {
  for (const PlanEntry& entry : plan.entries()) {
    if (entry.capabilities.block_mask && (backend.empty() || entry.name == backend)) return &entry;
  }
  for (const BackendReport& report : plan.reports()) {
    if (report.name != backend || report.state == BackendState::ready) continue;
    return fail(report.name + " is not in the chain (" + std::string(name_of(report.state)) +
                (report.reason.empty() ? "" : ": " + report.reason) + ")");
  }
  if (backend.empty()) return fail(nobody_takes_block_masks(registry));
  return fail(std::string(backend) + " takes no block mask; " + nobody_takes_block_masks(registry));
}

BlockSelection radial_selection(const LayoutTiles& marks, std::int64_t kept, double budget) {
  const TileGrid& grid = marks.grid();
  const std::int64_t tiles = grid.query_tiles() * grid.key_tiles();
  BlockSelection selection;
  selection.query_tiles = grid.query_tiles();
  selection.key_tiles = grid.key_tiles();
  selection.block_q = grid.block_q;
  selection.block_kv = grid.block_kv;
  selection.budget = budget;
  const auto density = [tiles](std::int64_t count) {
    return tiles == 0 ? 0.0 : static_cast<double>(count) / static_cast<double>(tiles);
  };
  // A wider band keeps no fewer tiles, so the narrowest one that keeps enough is found by halving.
  std::int64_t narrow = 0;
  std::int64_t wide = tiles;
  while (narrow < wide) {
    const std::int64_t middle = narrow + (wide - narrow) / 2;
    if (lay(marks, density(middle), selection.keep) >= kept) {
      wide = middle;
    } else {
      narrow = middle + 1;
    }
  }
  const std::int64_t widest = lay(marks, density(wide), selection.keep);
  if (widest > kept && wide > 0) {
    std::vector<std::uint8_t> inner;
    const std::int64_t sure = lay(marks, density(wide - 1), inner);
    thin(inner, widest - sure, kept - sure, selection.keep);
  }
  selection.density = density(std::count(selection.keep.begin(), selection.keep.end(), std::uint8_t{1}));
  return selection;
}

std::int64_t QualityProbe::bytes_for(const AttentionCall& call) noexcept {
  const TileGrid grid{call.query_tokens(), call.key_tokens()};
  const std::int64_t keep = call.batch() * call.heads() * grid.query_tiles() * grid.key_tiles();
  const std::int64_t outputs = 2 * call.batch() * call.heads() * call.query_tokens() * call.value_dim() *
                               static_cast<std::int64_t>(size_of(call.query.dtype));
  return TileMass::bytes_for(call, grid) + keep + outputs;
}

Expected<QualityProbe> QualityProbe::make(const AttentionCall& call, const PlanEntry& entry, ProbeOptions options) {
  if (const auto served = check_served(call, entry, options.layout); !served) return fail(served.error());
  QualityProbe probe;
  probe.call_ = call;
  probe.kernel_ = entry.kernel;
  probe.options_ = std::move(options);
  probe.parallel_for_ = on_all_threads();
  probe.dense_ = output_for(call);
  probe.sparse_ = output_for(call);
  const TileGrid grid{call.query_tokens(), call.key_tokens()};
  const auto& layout = probe.options_.layout;
  probe.marks_ = std::make_unique<LayoutTiles>(layout ? *layout : prefix_layout(call.query_tokens()), grid);
  // The first run also starts the kernel's threads and touches its memory; it is not the one that counts.
  if (const auto ran = probe.run(probe.dense_, nullptr); !ran) return fail(ran.error());
  auto mass = TileMass::measure(call, grid, probe.parallel_for_, probe.options_.stop);
  if (!mass) return fail(mass.error());
  probe.mass_ = *std::move(mass);
  return probe;
}

Expected<double> QualityProbe::run(HostTensor& output, const BlockSelection* selection) {
  call_.output = output.view();
  const auto begin = Clock::now();
  const KernelResult result = kernel_->run(call_, selection);
  const double seconds = since(begin);
  if (!result.failure.empty()) return fail(std::string(result.backend) + " failed: " + std::string(result.failure));
  variant_ = result.variant;
  return seconds;
}

Expected<double> QualityProbe::run_dense() { return run(dense_, nullptr); }

Expected<bool> QualityProbe::select(SparsePattern pattern, double budget) {
  if (pattern == SparsePattern::radial) {
    const SelectionTotals totals = selection_totals(*marks_, budget);
    if (totals.covers_all) return false;
    selection_ = radial_selection(*marks_, totals.kept, budget);
    return true;
  }
  SelectorRequest request;
  request.budget = budget;
  request.head_shared = options_.head_shared;
  request.parallel_for = parallel_for_;
  return select_tiles(call_.query, call_.key, *marks_, request, selection_);
}

Expected<SparseQuality> QualityProbe::measure(SparsePattern pattern, double budget) {
  if (!(budget > 0.0 && budget <= 1.0)) {
    return fail("the budget " + std::to_string(budget * 100.0) + " % must be above 0 and at most 100 %");
  }
  SparseQuality quality;
  quality.budget = budget;
  const auto begin = Clock::now();
  const Expected<bool> selected = select(pattern, budget);
  const double select_seconds = since(begin);
  if (!selected) return fail(selected.error());
  if (!*selected) selection_.keep.clear();
  if (*selected && pattern == SparsePattern::adaptive) quality.select_seconds = select_seconds;
  const auto seconds = run(sparse_, *selected ? &selection_ : nullptr);
  if (!seconds) return fail(seconds.error());
  quality.attention_seconds = *seconds;
  quality.dense = !*selected;
  if (quality.dense) return quality;
  quality.density = selection_.density;
  quality.mass_kept = mass_.kept_by(selection_);
  std::vector<OutputError> batch;
  const OutputError error = output_error(dense_.view(), sparse_.view(), batch);
  quality.relative_l1 = error.relative_l1;
  quality.cosine = error.cosine;
  return quality;
}

}  // namespace attn::app
