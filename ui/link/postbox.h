// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QMetaObject>
#include <QObject>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

namespace attn::ui {

/// Delivers closures to a QObject's thread from any thread, and drops them once the postbox is gone. Make it a
/// member of the receiver: what is posted after, or still queued at, the receiver's end is never run.
class Postbox {
  struct Slot {
    std::mutex mutex;
    QObject* receiver = nullptr;
  };

 public:
  /// May be copied to and used on any thread, also after the postbox is gone.
  class Address {
   public:
    void post(std::function<void()> work) const {
      const std::lock_guard lock(slot_->mutex);
      if (slot_->receiver != nullptr) {
        QMetaObject::invokeMethod(slot_->receiver, std::move(work), Qt::QueuedConnection);
      }
    }

   private:
    friend class Postbox;
    explicit Address(std::shared_ptr<Slot> slot) : slot_(std::move(slot)) {}
    std::shared_ptr<Slot> slot_;
  };

  explicit Postbox(QObject* receiver) : slot_(std::make_shared<Slot>()) { slot_->receiver = receiver; }
  ~Postbox() {
    const std::lock_guard lock(slot_->mutex);
    slot_->receiver = nullptr;
  }
  Postbox(const Postbox&) = delete;
  Postbox& operator=(const Postbox&) = delete;

  [[nodiscard]] Address address() const { return Address(slot_); }

 private:
  std::shared_ptr<Slot> slot_;
};

}  // namespace attn::ui
