// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/link/postbox.h"
#include "ui/preview/preview_service.h"

#include <atomic>
#include <memory>
#include <mutex>

namespace attn::app {

/// Where a job leaves its newest frame for the window. The job hands over a copy and goes on: nobody holds the slot for
/// longer than a pointer takes to copy, and a frame that the window was too slow for is replaced.
class PreviewSlot {
 public:
  /// `announce` runs on the address's thread, once for all frames that came since it last ran.
  PreviewSlot(ui::Postbox::Address address, std::function<void()> announce)
      : address_(std::move(address)), announce_(std::move(announce)), newest_(std::make_shared<ui::PreviewFrame>()) {}

  /// Any thread.
  void put(ui::PreviewFrame frame) {
    auto next = std::make_shared<const ui::PreviewFrame>(std::move(frame));
    {
      const std::lock_guard lock(mutex_);
      newest_.swap(next);
    }
    if (queued_->exchange(true)) return;
    address_.post([queued = queued_, announce = announce_] {
      *queued = false;
      announce();
    });
  }
  [[nodiscard]] ui::PreviewFrame newest() const {
    std::shared_ptr<const ui::PreviewFrame> frame;
    {
      const std::lock_guard lock(mutex_);
      frame = newest_;
    }
    return *frame;
  }

 private:
  ui::Postbox::Address address_;
  std::function<void()> announce_;
  mutable std::mutex mutex_;
  std::shared_ptr<const ui::PreviewFrame> newest_;
  std::shared_ptr<std::atomic<bool>> queued_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace attn::app
