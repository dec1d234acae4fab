// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/layout/layout_reader.h"

#include <algorithm>
#include <array>
#include <limits>

namespace attn {
namespace {

constexpr std::string_view kIndexSuffix = "_indices";
constexpr std::array<std::string_view, 7> kTextFirst{"FluxTransformer2DModel",     "Flux2Transformer2DModel",
                                                     "ChromaTransformer2DModel",   "BriaTransformer2DModel",
                                                     "BriaFiboTransformer2DModel", "LongCatImageTransformer2DModel",
                                                     "OvisImageTransformer2DModel"};

bool names_tokens(const DenoiserArgument& argument) noexcept {
  return argument.is_tensor && !argument.is_floating && argument.shape.size() == 1 &&
         std::string_view(argument.name).ends_with(kIndexSuffix);
}

std::string kind_of(std::string_view name) {
  std::string kind(name.substr(0, name.size() - kIndexSuffix.size()));
  for (char& c : kind) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return kind;
}

std::optional<std::vector<std::int64_t>> shape_of(std::span<const DenoiserArgument> arguments, std::string_view name) {
  for (const DenoiserArgument& argument : arguments) {
    if (argument.is_tensor && argument.name == name) return argument.shape;
  }
  return std::nullopt;
}

}  // namespace

std::vector<TokenRun> contiguous_runs(std::vector<std::int64_t> indices) {
  std::sort(indices.begin(), indices.end());
  std::vector<TokenRun> runs;
  for (const std::int64_t index : indices) {
    if (runs.empty() || index != runs.back().end) {
      runs.push_back({index, index + 1});
    } else {
      ++runs.back().end;
    }
  }
  return runs;
}

std::optional<TokenLayout> index_layout(std::span<const DenoiserArgument> arguments,
                                        std::optional<std::int64_t> length) {
  TokenLayout layout;
  layout.source = "indices";
  for (const DenoiserArgument& argument : arguments) {
    if (!names_tokens(argument)) continue;
    const std::string kind = kind_of(argument.name);
    const std::vector<TokenRun> runs = contiguous_runs(argument.values);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const bool conditioning = kind == "video" && i + 1 < runs.size();
      layout.spans.push_back({conditioning ? "cond" : kind, runs[i].start, runs[i].end});
    }
  }
  if (layout.spans.empty()) return std::nullopt;
  std::stable_sort(layout.spans.begin(), layout.spans.end(),
                   [](const TokenSpan& a, const TokenSpan& b) { return a.start < b.start; });
  layout.length = length.value_or(layout.spans.back().end);
  return layout;
}

bool packs_text_first(std::string_view denoiser_class) noexcept {
  return std::find(kTextFirst.begin(), kTextFirst.end(), denoiser_class) != kTextFirst.end();
}

std::vector<std::string_view> text_first_classes() { return {kTextFirst.begin(), kTextFirst.end()}; }

std::optional<TokenLayout> stream_id_layout(std::string_view denoiser_class,
                                            const std::optional<std::vector<std::int64_t>>& txt_ids,
                                            const std::optional<std::vector<std::int64_t>>& img_ids) {
  if (!packs_text_first(denoiser_class) || !txt_ids || !img_ids) return std::nullopt;
  if (txt_ids->size() < 2 || img_ids->size() < 2) return std::nullopt;
  const std::array<Segment, 2> segments{Segment{"text", (*txt_ids)[txt_ids->size() - 2]},
                                        Segment{"image", (*img_ids)[img_ids->size() - 2]}};
  return segment_layout(segments, std::nullopt, "stream-ids");
}

std::optional<TokenLayout> layout_from_arguments(std::string_view denoiser_class,
                                                 std::span<const DenoiserArgument> arguments,
                                                 std::optional<std::int64_t> length) {
  if (std::optional<TokenLayout> layout = index_layout(arguments, length)) return layout;
  return stream_id_layout(denoiser_class, shape_of(arguments, "txt_ids"), shape_of(arguments, "img_ids"));
}

TokenLayout segment_layout(std::span<const Segment> segments, std::optional<std::int64_t> length,
                           std::string_view source) {
  TokenLayout layout;
  layout.source = source;
  std::int64_t at = 0;
  for (const Segment& segment : segments) {
    const std::int64_t room = std::numeric_limits<std::int64_t>::max() - at;
    const std::int64_t count = std::min(segment.count, room);
    if (count <= 0) continue;
    layout.spans.push_back({segment.kind, at, at + count});
    at += count;
  }
  layout.length = length.value_or(at);
  return layout;
}

TokenLayout prefix_layout(std::int64_t length, std::int64_t text_tokens) {
  const std::array<Segment, 2> segments{Segment{"text", text_tokens}, Segment{"image", length - text_tokens}};
  return segment_layout(segments, length, "prefix");
}

}  // namespace attn
