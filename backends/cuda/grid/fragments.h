// SPDX-License-Identifier: GPL-3.0-or-later
// Which lane of a warp holds which element of a matrix, as the PTX ISA (section "Matrix multiply-accumulate
// operation") has it for mma.m16n8k32 of bytes, mma.m16n8k16 of 16-bit floats, and ldmatrix. Lanes are counted 0..31;
// four neighbours are a quad.
#pragma once

#include "backends/cuda/grid/attributes.h"

#include <cstdint>

namespace attn::cuda {

inline constexpr int kLanes = 32;
inline constexpr int kMmaRows = 16;      ///< of A and of the sums
inline constexpr int kMmaColumns = 8;    ///< of B and of the sums
inline constexpr int kMmaRowBytes = 32;  ///< of A along the summed dimension, whatever the element
inline constexpr int kRegistersOfA = 4;  ///< of 32 bits, per lane
inline constexpr int kRegistersOfB = 2;
inline constexpr int kSumsPerLane = 4;
inline constexpr int kMatrixRows = 8;  ///< of an ldmatrix
inline constexpr int kMatrixRowBytes = 16;

[[nodiscard]] ATTN_HD constexpr int quad_of(int lane) noexcept { return lane / 4; }
[[nodiscard]] ATTN_HD constexpr int in_quad(int lane) noexcept { return lane % 4; }

/// Row and column of sum `i` (0..3) of a lane, in 16 x 8.
[[nodiscard]] ATTN_HD constexpr int sum_row(int lane, int i) noexcept { return quad_of(lane) + 8 * (i / 2); }
[[nodiscard]] ATTN_HD constexpr int sum_column(int lane, int i) noexcept { return 2 * in_quad(lane) + i % 2; }

/// Row of register `r` (0..3) of A, and the first of the four bytes along the row that it holds.
[[nodiscard]] ATTN_HD constexpr int a_row(int lane, int r) noexcept { return quad_of(lane) + 8 * (r % 2); }
[[nodiscard]] ATTN_HD constexpr int a_byte(int lane, int r) noexcept { return 4 * in_quad(lane) + 16 * (r / 2); }

/// Column of B that a lane holds, and the first of the four bytes down the column in register `r` (0..1).
[[nodiscard]] ATTN_HD constexpr int b_column(int lane) noexcept { return quad_of(lane); }
[[nodiscard]] ATTN_HD constexpr int b_byte(int lane, int r) noexcept { return 4 * in_quad(lane) + 16 * r; }

/// ldmatrix: the row whose four bytes from matrix_byte() on a lane receives.
[[nodiscard]] ATTN_HD constexpr int matrix_row(int lane) noexcept { return quad_of(lane); }
[[nodiscard]] ATTN_HD constexpr int matrix_byte(int lane) noexcept { return 4 * in_quad(lane); }
/// ldmatrix.trans: row and column of 16-bit element `e` (0..1) that a lane receives.
[[nodiscard]] ATTN_HD constexpr int transposed_row(int lane, int e) noexcept { return 2 * in_quad(lane) + e; }
[[nodiscard]] ATTN_HD constexpr int transposed_column(int lane) noexcept { return quad_of(lane); }

/// What one lane brings to a product: its sums, which are added to, and its registers of A and B.
template <class Sum>
struct LaneProduct {
  Sum* sums;
  const std::uint32_t* a;
  const std::uint32_t* b;
};

/// Elements of a product: bytes with int32 sums, binary16 or bfloat16 with fp32 sums.
struct Int8Numbers {
  using Sum = std::int32_t;
};
struct HalfNumbers {
  using Sum = float;
};
struct BfloatNumbers {
  using Sum = float;
};

}  // namespace attn::cuda
