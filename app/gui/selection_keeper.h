// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/router/router.h"
#include "core/sparse/selector.h"
#include "trace/event/route_event.h"

#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace attn::app {

/// An observer that passes every record on and keeps a copy of the first block selection of each kind of call and
/// budget of a run, so that the window can show the tiles that were used. Holds at most kBytes; what does not fit is
/// not kept. observe() belongs to the job's thread, the rest to any.
class SelectionKeeper final : public RouteObserver {
 public:
  static constexpr std::size_t kBytes = std::size_t{128} << 20;

  explicit SelectionKeeper(RouteObserver& next) noexcept : next_(next) {}

  void observe(const RouteRecord& record) noexcept override {
    next_.observe(record);
    if (record.selection == nullptr || !record.computed) return;
    try {
      keep(trace::make_event(record), record);
    } catch (const std::bad_alloc&) {  // a picture less, no call less
    }
  }

  /// A new run: forgets everything.
  void clear() {
    const std::lock_guard lock(mutex_);
    kept_.clear();
    bytes_ = 0;
  }

  [[nodiscard]] std::shared_ptr<const BlockSelection> find(Role role, const trace::EventShape& query, DType dtype,
                                                           double budget) const {
    const std::lock_guard lock(mutex_);
    for (const Kept& kept : kept_) {
      if (kept.role == role && kept.query == query && kept.dtype == dtype && kept.selection->budget == budget) {
        return kept.selection;
      }
    }
    return nullptr;
  }

 private:
  struct Kept {
    Role role;
    trace::EventShape query;
    DType dtype;
    std::shared_ptr<const BlockSelection> selection;
  };

  void keep(const trace::RouteEvent& event, const RouteRecord& record) {
    if (find(event.role, event.query, event.query_dtype, record.selection->budget) != nullptr) return;
    auto selection = std::make_shared<BlockSelection>(*record.selection);
    // A device that chose for itself gave nothing back; the host's choice is the same to the last tile.
    if (!selection->has_tiles() && !choose_planned_tiles(record.call, {}, *selection)) return;
    selection->rule = {};
    const std::lock_guard lock(mutex_);
    if (!selection->has_tiles() || bytes_ + selection->keep.size() > kBytes) return;
    bytes_ += selection->keep.size();
    kept_.push_back({event.role, event.query, event.query_dtype, std::move(selection)});
  }

  RouteObserver& next_;
  mutable std::mutex mutex_;
  std::vector<Kept> kept_;
  std::size_t bytes_ = 0;
};

}  // namespace attn::app
