// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/sparse/sparse_stage.h"

#include "core/layout/layout_reader.h"
#include "core/sparse/radial.h"
#include "core/sparse/schedule.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <utility>

namespace attn {
namespace {

constexpr std::string_view kNotDenoiser = "not the denoiser";
constexpr std::string_view kExcluded = "excluded";
constexpr std::string_view kCausal = "causal";
constexpr std::string_view kMasked = "masked";
constexpr std::string_view kUnsupported = "unsupported tensor";
constexpr std::string_view kCross = "cross attention";
constexpr std::string_view kShort = "below the minimum sequence";
constexpr std::string_view kFullBudget = "budget covers everything";
constexpr std::array kReasons{kNotDenoiser, kExcluded, kCausal, kMasked, kUnsupported, kCross, kShort, kFullBudget};

constexpr std::size_t kGeometriesKept = 8;  ///< a generation has one or two lengths and layouts
constexpr std::size_t kBandsKept = 4;       ///< a schedule has two budgets
constexpr std::size_t kSaidKept = 1024;     ///< after so many lengths or models nothing more is said

/// Whether the selector can read the tensors: on an accelerator, four dims, floats, shapes that belong together.
bool is_supported(const AttentionCall& call) noexcept {
  const TensorView& query = call.query;
  const TensorView& key = call.key;
  const auto is_float = [](DType dtype) { return dtype != DType::int8 && dtype != DType::boolean; };
  if (query.device.is_cpu() || query.rank != 4 || key.rank != 4) return false;
  if (!is_float(query.dtype) || !is_float(key.dtype)) return false;
  return query.size(-4) == key.size(-4) && query.size(-1) == key.size(-1) && key.size(-3) > 0 &&
         query.size(-3) % key.size(-3) == 0;
}

/// As printf's %.*f in the C locale, whatever the program's locale is.
std::string rounded(double value, int decimals) {
  std::array<char, 400> text{};
  const auto [end, error] =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed, decimals);
  return {text.data(), error == std::errc{} ? end : text.data()};
}

bool say_once(std::set<std::int64_t>& said, std::int64_t length) {
  return said.size() < kSaidKept && said.insert(length).second;
}

}  // namespace

std::string percent_text(double share) { return rounded(share * 100.0, 0) + "%"; }

std::span<const std::string_view> SparseStage::reasons() noexcept { return kReasons; }

SparseStage::SparseStage(SparseOptions options, LogSink sink) : options_(std::move(options)), sink_(std::move(sink)) {
  request_.head_shared = options_.head_shared;
}

void SparseStage::say(LogLevel level, std::string text) const {
  if (sink_) sink_({level, "Sparse attention: " + std::move(text)});
}

double SparseStage::budget_at(std::int32_t step, std::int32_t steps) const noexcept {
  return BudgetSchedule{options_.budget, options_.schedule_bump, options_.schedule_steps}.at(step, steps);
}

StageDecision SparseStage::decide(const AttentionCall& call, const GenerationContext& context,
                                  Capabilities capabilities, const AttentionKernel* kernel) {
  const double budget = budget_at(context.step(), context.steps());
  last_marks_ = nullptr;
  last_reason_ = skip_reason(call, context, capabilities, budget);
  if (!last_reason_.empty()) return {nullptr, last_reason_, last_reason_ == kFullBudget ? budget : 0.0};

  Geometry& geometry = geometry_for(context.layout(), call.query_tokens());
  const Expected<bool> selected = options_.pattern == SparsePattern::radial ? lay_band(call, geometry, budget)
                                                                            : select(call, geometry, budget, kernel);
  if (!selected) last_reason_ = kUnsupported;
  if (!selected || !*selected) return {nullptr, last_reason_, budget};
  last_marks_ = geometry.tiles.get();
  return {&selection_, {}, budget};
}

std::string_view SparseStage::skip_reason(const AttentionCall& call, const GenerationContext& context,
                                          Capabilities capabilities, double budget) {
  if (!context.active() || context.role() != Role::transformer) return kNotDenoiser;
  if (is_excluded(context.model())) return kExcluded;
  if (call.is_causal) return kCausal;
  if (call.attn_mask && !capabilities.masked_block) {
    if (!std::exchange(masked_said_, true)) {
      say(LogLevel::trace,
          "this model passes an attention mask and the serving backend cannot combine it with a block selection; "
          "attention stays dense");
    }
    return kMasked;
  }
  if (!is_supported(call)) return kUnsupported;
  const std::int64_t tokens = call.query_tokens();
  if (tokens != call.key_tokens()) return kCross;
  if (tokens < options_.min_tokens) {
    if (say_once(short_said_, tokens)) {
      say(LogLevel::trace, "inactive at tokens=" + std::to_string(tokens) + ", below the minimum sequence of " +
                               std::to_string(options_.min_tokens) + "; attention stays dense");
    }
    return kShort;
  }
  return budget >= 1.0 ? kFullBudget : std::string_view{};
}

bool SparseStage::is_excluded(const std::optional<ModelKey>& model) {
  if (options_.exclude.empty() || !model) return false;
  if (resolved_ && resolved_model_ == model) return excluded_;
  const std::string entry = matched_exclusion(options_.exclude, *model);
  resolved_model_ = model;
  resolved_ = true;
  excluded_ = !entry.empty();
  const bool said = std::find(excluded_said_.begin(), excluded_said_.end(), *model) != excluded_said_.end();
  if (excluded_ && !said && excluded_said_.size() < kSaidKept) {
    excluded_said_.push_back(*model);
    say(LogLevel::trace, "\"" + entry + "\" is on the exclusion list; attention stays dense");
  }
  return excluded_;
}

SparseStage::Geometry& SparseStage::geometry_for(const std::optional<TokenLayout>& published, std::int64_t tokens) {
  const bool fallback = !published || published->length != tokens;
  if (fallback && say_once(fallback_said_, tokens)) {
    const std::string why = !published ? "none published"
                                       : "published length " + std::to_string(published->length) + " does not match " +
                                             std::to_string(tokens);
    say(LogLevel::info,
        "no token layout (" + why + "), sparsifying the whole sequence at tokens=" + std::to_string(tokens));
  }
  const auto known = std::find_if(geometries_.begin(), geometries_.end(), [&](const Geometry& geometry) {
    return geometry.tokens == tokens && geometry.fallback == fallback &&
           (fallback || geometry.spans == published->spans);
  });
  if (known != geometries_.end()) {
    geometries_.splice(geometries_.begin(), geometries_, known);
    return geometries_.front();
  }
  if (geometries_.size() == kGeometriesKept) geometries_.pop_back();
  const TileGrid grid{tokens, tokens};
  geometries_.push_front({tokens,
                          fallback,
                          fallback ? std::vector<TokenSpan>{} : published->spans,
                          std::make_shared<const LayoutTiles>(fallback ? prefix_layout(tokens) : *published, grid),
                          {}});
  return geometries_.front();
}

Expected<bool> SparseStage::select(const AttentionCall& call, const Geometry& geometry, double budget,
                                   const AttentionKernel* kernel) {
  request_.budget = budget;
  selection_.rule = {geometry.tiles, request_.head_shared};
  if (kernel != nullptr && call.has_data()) {
    TensorView query = call.query;
    TensorView key = call.key;
    query.data = key.data = nullptr;
    Expected<bool> planned = select_tiles(query, key, *geometry.tiles, request_, selection_);
    if (!planned || !*planned || kernel->chooses_tiles(call, selection_)) return planned;
  }
  return select_tiles(call.query, call.key, *geometry.tiles, request_, selection_);
}

const SparseStage::Geometry::Band& SparseStage::band_for(Geometry& geometry, const SelectionTotals& totals,
                                                         double budget) {
  for (const Geometry::Band& band : geometry.bands) {
    if (band.budget == budget) return band;
  }
  const TileGrid& grid = geometry.tiles->grid();
  const auto columns = static_cast<std::size_t>(grid.key_tiles());
  // What is pinned is pinned in both patterns; the band gets the rest of what the selector would keep.
  const double free_share = static_cast<double>(totals.kept - totals.pinned) / static_cast<double>(totals.tiles);
  Geometry::Band band{budget, 0.0, RadialBand(grid, free_share).keep()};
  std::vector<TileMark> marks(columns);
  for (std::int64_t row = 0; row < grid.query_tiles(); ++row) {
    geometry.tiles->mark_row(0, row, marks);
    std::uint8_t* const keep = band.keep.data() + static_cast<std::size_t>(row) * columns;
    for (std::size_t j = 0; j < columns; ++j) {
      if (marks[j] != TileMark::candidate) keep[j] = marks[j] == TileMark::dropped ? 0 : 1;
    }
  }
  const auto kept = std::count(band.keep.begin(), band.keep.end(), std::uint8_t{1});
  band.density = static_cast<double>(kept) / static_cast<double>(totals.tiles);
  say(LogLevel::info, "static radial pattern density=" + rounded(band.density, 3) + " against selector " +
                          rounded(totals.density(), 3) + " at budget=" + percent_text(budget));
  if (geometry.bands.size() == kBandsKept) geometry.bands.erase(geometry.bands.begin());
  return geometry.bands.emplace_back(std::move(band));
}

bool SparseStage::lay_band(const AttentionCall& call, Geometry& geometry, double budget) {
  const SelectionTotals totals = selection_totals(*geometry.tiles, budget);
  if (totals.covers_all) return false;
  const Geometry::Band& band = band_for(geometry, totals, budget);
  const TileGrid& grid = geometry.tiles->grid();
  selection_.rule = {};
  selection_.batch = 1;
  selection_.heads = 1;
  selection_.query_tiles = grid.query_tiles();
  selection_.key_tiles = grid.key_tiles();
  selection_.block_q = grid.block_q;
  selection_.block_kv = grid.block_kv;
  selection_.budget = budget;
  selection_.density = band.density;
  selection_.keep.clear();
  if (call.query.has_data() && call.key.has_data()) selection_.keep = band.keep;
  return true;
}

}  // namespace attn
