// SPDX-License-Identifier: GPL-3.0-or-later
// What decides which tiles are kept: the rules of core/sparse, as the device computes them.
#pragma once

#include "backends/cuda/arithmetic/numbers.h"

namespace attn::cuda {

/// core's TileMark, by number.
enum class Mark : std::uint8_t { candidate = 0, diagonal = 1, pinned = 2, dropped = 3 };

/// keep_count(): how many of `candidates` tiles a budget keeps, in fp32.
[[nodiscard]] ATTN_HD int kept_of(int candidates, float budget) {
  const float share = product(static_cast<float>(candidates), budget);
  if (!(share > 0.0F)) return 0;
  const float count = ::ceilf(share);
  return count >= static_cast<float>(candidates) ? candidates : static_cast<int>(count);
}

/// A score as a number that rises with it: -0 counts as 0, what is no number is below all others.
[[nodiscard]] ATTN_HD std::uint32_t rank_of(float score) {
  const std::uint32_t bits = bits_as<std::uint32_t>(sum(score, 0.0F));
  const std::uint32_t ascending = (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
  return score == score ? ascending : 0U;
}

/// Whether ranges of whole tiles overlap.
[[nodiscard]] ATTN_HD bool on_diagonal(int row, int column, int block_q, int block_kv) {
  const std::int64_t first = static_cast<std::int64_t>(row) * block_q;
  const std::int64_t key = static_cast<std::int64_t>(column) * block_kv;
  return key < first + block_q && first < key + block_kv;
}

}  // namespace attn::cuda
