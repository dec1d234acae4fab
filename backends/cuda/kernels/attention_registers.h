// SPDX-License-Identifier: GPL-3.0-or-later
// What a thread of the attention kernel holds in registers.
#pragma once

#include "backends/cuda/grid/attributes.h"

#include <cstdint>

namespace attn::cuda {

/// Sums of products of 16 by 8: scores, or channels of the output.
template <class Number, int kRowTiles, int kColumns>
struct ProductSums {
  Number of[kRowTiles][kColumns][4];
};

/// Operands A, of `kSteps` products along the summed dimension.
template <int kRowTiles, int kSteps>
struct RowOperands {
  std::uint32_t of[kRowTiles][kSteps][4];
};
template <int kRowTiles>
struct RowOperand {
  std::uint32_t of[kRowTiles][4];
};
/// Operands B of two products.
struct ColumnOperands {
  std::uint32_t of[4];
};

/// The online softmax of rows quad and quad + 8 of each row tile.
template <int kRowTiles>
struct RowState {
  float maximum[kRowTiles][2];
  float total[kRowTiles][2];  ///< of this thread's columns
  float top[kRowTiles][2];
};

/// Where a lane's rows and chunks begin in shared memory; chunk 2 * k further is at this ^ 32 * k.
struct LanePlaces {
  std::uint32_t query;
  std::uint32_t key;
};

}  // namespace attn::cuda
