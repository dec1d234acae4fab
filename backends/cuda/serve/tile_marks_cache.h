// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "backends/cuda/runtime/transfer.h"
#include "core/sparse/tile_geometry.h"

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>

namespace attn::cuda {

/// The marks of the geometries that calls were selected by lately, in device memory, so that they travel once and not
/// with every call. Used under the GPU's lock.
class TileMarksCache {
 public:
  static constexpr std::size_t kMostKept = 8;

  /// One byte a mark, (marks->heads(), query_tiles, key_tiles). What is returned keeps the memory also when it is no
  /// longer kept here. Error: device memory, or the copy, with its sentence.
  [[nodiscard]] Expected<std::shared_ptr<const DeviceBuffer>> get(Transfer& transfer,
                                                                  const std::shared_ptr<const TileMarks>& marks);

 private:
  struct Kept {
    std::shared_ptr<const TileMarks> marks;  ///< held, so that its address stays its own
    std::shared_ptr<const DeviceBuffer> bytes;
  };
  std::list<Kept> kept_;  ///< most recent first
};

}  // namespace attn::cuda
