// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// A run of tokens of one kind: [start, end).
struct TokenSpan {
  std::string kind;  ///< "text", "image", "video", "cond", "pad", ...; compared with regard to case
  std::int64_t start = 0;
  std::int64_t end = 0;

  friend bool operator==(const TokenSpan&, const TokenSpan&) = default;
};

/// What each token of a packed sequence is. `source` says how it was learned ("stream-ids", "segments", ...).
///
/// Spans may overlap, leave gaps or run past `length`: a token outside every span is of no kind, a token in several
/// is of all of them, and what lies outside the sequence is ignored. layout_faults() names all of this.
struct TokenLayout {
  std::string source;
  std::int64_t length = 0;
  std::vector<TokenSpan> spans;

  friend bool operator==(const TokenLayout&, const TokenLayout&) = default;
};

/// [start, end) in tokens.
struct TokenRun {
  std::int64_t start = 0;
  std::int64_t end = 0;

  friend bool operator==(const TokenRun&, const TokenRun&) = default;
};

/// Kinds whose tiles may be left out: image and video.
[[nodiscard]] bool is_sparsifiable(std::string_view kind) noexcept;
/// The kind that nobody needs to attend to: pad.
[[nodiscard]] bool is_dropped(std::string_view kind) noexcept;
[[nodiscard]] std::vector<std::string_view> sparsifiable_kinds();
[[nodiscard]] std::vector<std::string_view> dropped_kinds();

/// The layout's kinds in order of first appearance. Views into `layout`.
[[nodiscard]] std::vector<std::string_view> kinds_of(const TokenLayout& layout);
/// Sum of the lengths of the sparsifiable spans, as published: not cut to the layout's length.
[[nodiscard]] std::int64_t sparsifiable_tokens(const TokenLayout& layout) noexcept;

/// The tokens below `tokens` that some span with a kind that `wanted` accepts covers: sorted runs that do not touch.
[[nodiscard]] std::vector<TokenRun> covered_runs(const TokenLayout& layout, bool (*wanted)(std::string_view) noexcept,
                                                 std::int64_t tokens);

/// One sentence for each thing a person should know: spans that are inverted, overlap, leave gaps or run past the
/// length, and a length that is not `tokens` (when given). Empty: the spans tile the sequence.
[[nodiscard]] std::vector<std::string> layout_faults(const TokenLayout& layout,
                                                     std::optional<std::int64_t> tokens = std::nullopt);

}  // namespace attn
