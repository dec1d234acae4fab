// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <string>
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
struct TokenLayout {
  std::string source;
  std::int64_t length = 0;
  std::vector<TokenSpan> spans;

  friend bool operator==(const TokenLayout&, const TokenLayout&) = default;
};

}  // namespace attn
