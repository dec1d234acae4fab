// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cuda/serve/tile_marks_cache.h"

#include <algorithm>
#include <span>
#include <vector>

namespace attn::cuda {
namespace {

std::vector<TileMark> all_marks(const TileMarks& marks) {
  const auto columns = static_cast<std::size_t>(marks.grid().key_tiles());
  const std::int64_t rows = marks.grid().query_tiles();
  std::vector<TileMark> all(columns * static_cast<std::size_t>(rows * marks.heads()));
  std::span<TileMark> left(all);
  for (std::int64_t head = 0; head < marks.heads(); ++head) {
    for (std::int64_t row = 0; row < rows; ++row) {
      marks.mark_row(head, row, left.first(columns));
      left = left.subspan(columns);
    }
  }
  return all;
}

}  // namespace

Expected<std::shared_ptr<const DeviceBuffer>> TileMarksCache::get(Transfer& transfer,
                                                                  const std::shared_ptr<const TileMarks>& marks) {
  static_assert(sizeof(TileMark) == 1, "a mark is a byte on the device");
  const auto known = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& kept) { return kept.marks == marks; });
  if (known != kept_.end()) {
    kept_.splice(kept_.begin(), kept_, known);
    return kept_.front().bytes;
  }
  const std::vector<TileMark> all = all_marks(*marks);
  auto sent = transfer.send(std::span<const TileMark>(all), [] { return std::string("the tile marks"); });
  if (!sent) return fail(sent.error());
  if (kept_.size() == kMostKept) kept_.pop_back();
  kept_.push_front({marks, std::make_shared<const DeviceBuffer>(std::move(*sent))});
  return kept_.front().bytes;
}

}  // namespace attn::cuda
