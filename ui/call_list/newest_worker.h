// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace attn::ui {

/// A thread for questions of which only the newest matters: a new one replaces the one that waits and asks the one that
/// runs to stop. The owner's thread asks; work runs on the worker's.
class NewestWorker {
 public:
  /// The flag is set when the answer is no longer wanted.
  using Work = std::function<void(const std::atomic<bool>& stop)>;

  NewestWorker() : thread_([this] { loop(); }) {}
  ~NewestWorker() {
    {
      const std::lock_guard lock(mutex_);
      end_ = true;
      if (running_) *running_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }
  NewestWorker(const NewestWorker&) = delete;
  NewestWorker& operator=(const NewestWorker&) = delete;

  void ask(Work work) {
    {
      const std::lock_guard lock(mutex_);
      waiting_ = std::move(work);
      if (running_) *running_ = true;
    }
    wake_.notify_one();
  }

 private:
  void loop() {
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [this] { return end_ || waiting_; });
      if (end_) return;
      const Work work = std::exchange(waiting_, nullptr);
      const auto stop = std::make_shared<std::atomic<bool>>(false);
      running_ = stop;
      lock.unlock();
      work(*stop);
      lock.lock();
      running_.reset();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  Work waiting_;
  std::shared_ptr<std::atomic<bool>> running_;
  bool end_ = false;
  std::thread thread_;
};

}  // namespace attn::ui
