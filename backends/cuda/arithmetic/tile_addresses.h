// SPDX-License-Identifier: GPL-3.0-or-later
// Where the 16-byte chunks of a tile lie in shared memory.
#pragma once

#include "backends/cuda/grid/attributes.h"

#include <cstdint>

namespace attn::cuda {

/// Byte of chunk `chunk` of row `row` in a tile whose rows have kRowBytes (64, 128 or a multiple). Chunks change places
/// within 128 bytes so that the same chunk of 8 neighbouring rows, which one ldmatrix reads, lies in 8 sets of banks.
template <int kRowBytes>
[[nodiscard]] ATTN_HD constexpr std::uint32_t chunk_at(int row, int chunk) noexcept {
  static_assert(kRowBytes == 64 || kRowBytes % 128 == 0);
  const int moved = kRowBytes == 64 ? chunk ^ (row / 2 % 4) : chunk ^ (row % 8);
  return static_cast<std::uint32_t>(row * kRowBytes + moved * 16);
}

}  // namespace attn::cuda
