// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/layout/token_layout.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// A keyword argument of a denoiser's forward, as a hook before it sees it.
struct DenoiserArgument {
  std::string name;
  bool is_tensor = true;  ///< lists and None are passed too, and tell nothing
  bool is_floating = false;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> values;  ///< flat; needed for index tensors only, truth values as 0 and 1
};

/// `count` tokens of one kind.
struct Segment {
  std::string kind;
  std::int64_t count = 0;

  friend bool operator==(const Segment&, const Segment&) = default;
};

/// Sorts the indices and returns the runs of neighbours; a repeated index starts a new run.
[[nodiscard]] std::vector<TokenRun> contiguous_runs(std::vector<std::int64_t> indices);

/// Reads 1d integer tensors whose names end in `_indices`; the kind is the lowercased rest. Of the runs of one video
/// tensor all but the last are conditioning frames and become "cond". Spans are sorted by start; the length is the
/// one given, else the end of the last span. nullopt when no argument names a token. Source "indices".
[[nodiscard]] std::optional<TokenLayout> index_layout(std::span<const DenoiserArgument> arguments,
                                                      std::optional<std::int64_t> length = std::nullopt);

/// Whether the denoiser class is one that was verified to pack its text tokens before its image tokens.
[[nodiscard]] bool packs_text_first(std::string_view denoiser_class) noexcept;
[[nodiscard]] std::vector<std::string_view> text_first_classes();

/// Text then image, from the shapes (..., tokens, axes) of the two position id tensors of a class that
/// packs_text_first(). nullopt for another class, an absent shape or one of fewer than two dims. Source "stream-ids".
[[nodiscard]] std::optional<TokenLayout> stream_id_layout(std::string_view denoiser_class,
                                                          const std::optional<std::vector<std::int64_t>>& txt_ids,
                                                          const std::optional<std::vector<std::int64_t>>& img_ids);

/// What a hook publishes: index tensors where there are any, else the stream ids `txt_ids` and `img_ids`.
[[nodiscard]] std::optional<TokenLayout> layout_from_arguments(std::string_view denoiser_class,
                                                               std::span<const DenoiserArgument> arguments,
                                                               std::optional<std::int64_t> length = std::nullopt);

/// Segments one behind the other; those without tokens are skipped. The length is the one given, else the sum.
[[nodiscard]] TokenLayout segment_layout(std::span<const Segment> segments,
                                         std::optional<std::int64_t> length = std::nullopt,
                                         std::string_view source = "segments");

/// The layout of a sequence about which nothing is known but a leading run of text. Source "prefix".
[[nodiscard]] TokenLayout prefix_layout(std::int64_t length, std::int64_t text_tokens = 0);

/// A mask of live tokens as segments: `kind` where a value is not zero, else `pad_kind`.
template <class T>
[[nodiscard]] std::vector<Segment> live_segments(std::span<const T> live, std::string_view kind = "text",
                                                 std::string_view pad_kind = "pad") {
  std::vector<Segment> segments;
  bool last = false;
  for (const T& value : live) {
    const bool is_live = value != T{};
    if (segments.empty() || is_live != last) segments.push_back({std::string(is_live ? kind : pad_kind), 0});
    ++segments.back().count;
    last = is_live;
  }
  return segments;
}

}  // namespace attn
