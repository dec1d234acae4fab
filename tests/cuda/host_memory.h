// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "backends/cuda/kernels/host_kernels.h"
#include "backends/cuda/kernels/task_of_call.h"
#include "core/call/block_selection.h"

#include <cstdint>
#include <vector>

namespace attn::test {

/// Device memory that is host memory, aligned as cudaMalloc aligns; 0xFF until it is written.
class Memory {
 public:
  explicit Memory(std::int64_t bytes) : memory_(static_cast<std::size_t>(bytes) + 256, 0xFF) {}
  [[nodiscard]] void* data() {
    const auto at = reinterpret_cast<std::uintptr_t>(memory_.data());
    return memory_.data() + (256 - at % 256) % 256;
  }

 private:
  std::vector<unsigned char> memory_;
};

/// A selection as the kernels consume it.
struct HostLists {
  std::vector<int> tiles;
  std::vector<int> counts;
  cuda::TileLists lists;

  explicit HostLists(const BlockSelection& selection) {
    const auto rows = selection.batch * selection.heads * selection.query_tiles;
    tiles.assign(static_cast<std::size_t>(rows * selection.key_tiles), -1);
    counts.assign(static_cast<std::size_t>(rows), 0);
    for (std::size_t row = 0; row < counts.size(); ++row) {
      for (std::int64_t j = 0; j < selection.key_tiles; ++j) {
        const auto first = row * static_cast<std::size_t>(selection.key_tiles);
        if (selection.keep[first + static_cast<std::size_t>(j)] == 0) continue;
        tiles[first + static_cast<std::size_t>(counts[row]++)] = static_cast<int>(j);
      }
    }
    const auto per_head = static_cast<int>(selection.query_tiles);
    lists.tiles = tiles.data();
    lists.counts = counts.data();
    lists.query_tiles = per_head;
    lists.key_tiles = static_cast<int>(selection.key_tiles);
    lists.head_step = selection.heads == 1 ? 0 : per_head;
    lists.batch_step = selection.batch == 1 ? 0 : per_head * static_cast<int>(selection.heads);
  }
};

}  // namespace attn::test
