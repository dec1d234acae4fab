// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/block_mask/tile_map.h"

#include "core/layout/layout_reader.h"

#include <QCoreApplication>
#include <algorithm>

namespace attn::ui {

QString name_of(TileKind kind) {
  const auto said = [](const char* text) { return QCoreApplication::translate("TileKind", text); };
  switch (kind) {
    case TileKind::left_out:
      return said("left out");
    case TileKind::candidate:
      return said("candidate");
    case TileKind::chosen:
      return said("chosen");
    case TileKind::diagonal:
      return said("diagonal");
    case TileKind::pinned:
      return said("pinned");
    case TileKind::dropped:
      return said("dropped");
  }
  return {};
}

TileMap::TileMap(std::int64_t tokens, const TokenLayout* layout, double budget,
                 std::shared_ptr<const BlockSelection> selection, TileOrigin origin)
    : grid_{tokens, tokens},
      layout_(layout != nullptr ? *layout : prefix_layout(tokens)),
      published_(layout != nullptr),
      budget_(budget),
      marks_(std::make_shared<LayoutTiles>(layout_, grid_)) {
  const bool fits = selection != nullptr && selection->has_tiles() && selection->query_tiles == grid_.query_tiles() &&
                    selection->key_tiles == grid_.key_tiles();
  if (!fits) return;
  selection_ = std::move(selection);
  origin_ = origin;
}

int TileMap::heads() const noexcept { return selection_ ? static_cast<int>(selection_->heads) : 1; }
int TileMap::batches() const noexcept { return selection_ ? static_cast<int>(selection_->batch) : 1; }

const std::uint8_t* TileMap::keep_of(int batch, int head) const noexcept {
  const auto plane =
      static_cast<std::size_t>(batch) * static_cast<std::size_t>(heads()) + static_cast<std::size_t>(head);
  return selection_->keep.data() + plane * tiles();
}

std::vector<TileKind> TileMap::kinds(int batch, int head) const {
  std::vector<TileKind> kinds(empty() ? 0 : tiles(), TileKind::left_out);
  if (kinds.empty()) return kinds;
  const auto columns = static_cast<std::size_t>(grid_.key_tiles());
  std::vector<TileMark> marks(columns);
  const std::vector<float> any = has_tiles() && head < 0 ? kept_share(batch) : std::vector<float>();
  for (std::int64_t row = 0; row < grid_.query_tiles(); ++row) {
    marks_->mark_row(0, row, marks);
    const std::size_t at = static_cast<std::size_t>(row) * columns;
    for (std::size_t j = 0; j < columns; ++j) {
      TileKind& kind = kinds[at + j];
      switch (marks[j]) {
        case TileMark::candidate: {
          const bool kept = has_tiles() && (head < 0 ? any[at + j] > 0.0F : keep_of(batch, head)[at + j] != 0);
          kind = !has_tiles() ? TileKind::candidate : (kept ? TileKind::chosen : TileKind::left_out);
          break;
        }
        case TileMark::diagonal:
          kind = TileKind::diagonal;
          break;
        case TileMark::pinned:
          kind = TileKind::pinned;
          break;
        case TileMark::dropped:
          kind = TileKind::dropped;
          break;
      }
    }
  }
  return kinds;
}

std::vector<float> TileMap::kept_share(int batch) const {
  std::vector<float> share(empty() ? 0 : tiles(), 0.0F);
  if (!has_tiles()) {
    const std::vector<TileKind> fixed = kinds(batch, 0);
    for (std::size_t i = 0; i < share.size(); ++i) {
      share[i] = fixed[i] == TileKind::diagonal || fixed[i] == TileKind::pinned ? 1.0F : 0.0F;
    }
    return share;
  }
  const float part = 1.0F / static_cast<float>(heads());
  for (int head = 0; head < heads(); ++head) {
    const std::uint8_t* keep = keep_of(batch, head);
    for (std::size_t i = 0; i < share.size(); ++i) share[i] += keep[i] != 0 ? part : 0.0F;
  }
  return share;
}

double TileMap::density(int batch, int head) const {
  if (empty()) return 0.0;
  if (!has_tiles()) return selection_totals(*marks_, budget_).density();
  std::int64_t kept = 0;
  const int first = head < 0 ? 0 : head;
  const int last = head < 0 ? heads() - 1 : head;
  for (int h = first; h <= last; ++h) {
    kept += std::count_if(keep_of(batch, h), keep_of(batch, h) + tiles(), [](std::uint8_t tile) { return tile != 0; });
  }
  return static_cast<double>(kept) / (static_cast<double>(tiles()) * (last - first + 1));
}

std::vector<std::uint8_t> TileMap::keep(int batch) const {
  if (!has_tiles()) return {};
  const std::uint8_t* first = keep_of(batch, 0);
  return {first, first + tiles() * static_cast<std::size_t>(heads())};
}

}  // namespace attn::ui
