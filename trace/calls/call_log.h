// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "trace/routes/route_table.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace attn::trace {

/// Everything that calls of one kind share. A run has a few hundred kinds at most, whatever its length.
struct CallKind {
  RouteRow route;  ///< of a single call: counts, times and steps are 0
  std::string stage_reason;
  bool computed = false;
};

/// What one call has for itself.
struct CallRecord {
  std::int64_t begin_ns = kUntimed;  ///< after the first timed call of the run
  float seconds = 0.0F;
  std::uint32_t kind = 0;
  std::int32_t step = 0;
  float density = 1.0F;  ///< 1 when dense
  std::uint32_t nan_count = 0;
  std::uint32_t inf_count = 0;

  static constexpr std::int64_t kUntimed = -1;
  [[nodiscard]] bool timed() const noexcept { return begin_ns != kUntimed; }
};
static_assert(sizeof(CallRecord) == 32);

/// The calls of a run as they were at one moment: a cheap copy, never changed afterwards, readable on any thread while
/// the log goes on.
class CallView {
 public:
  static constexpr std::size_t kChunk = std::size_t{1} << 14;
  using Chunk = std::array<CallRecord, kChunk>;
  using Kinds = std::vector<std::shared_ptr<const CallKind>>;

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  /// Of the run, in the order in which they were made.
  [[nodiscard]] const CallRecord& operator[](std::size_t at) const noexcept {
    return (*chunks_[at / kChunk])[at % kChunk];
  }
  [[nodiscard]] const CallKind& kind(std::size_t number) const noexcept { return *(*kinds_)[number]; }
  [[nodiscard]] const CallKind& kind_of(const CallRecord& call) const noexcept { return kind(call.kind); }
  [[nodiscard]] std::size_t kinds() const noexcept { return kinds_ ? kinds_->size() : 0; }
  /// Calls that came when the log was full.
  [[nodiscard]] std::int64_t left_out() const noexcept { return left_out_; }
  /// Which run this is of; another number is another run.
  [[nodiscard]] std::uint64_t run() const noexcept { return run_; }
  /// Every call has a time.
  [[nodiscard]] bool all_timed() const noexcept { return all_timed_; }

 private:
  friend class CallLog;
  std::vector<std::shared_ptr<const Chunk>> chunks_;
  std::shared_ptr<const Kinds> kinds_;
  std::size_t size_ = 0;
  std::int64_t left_out_ = 0;
  std::uint64_t run_ = 0;
  bool all_timed_ = true;
};

/// Keeps the first calls of a run. Not thread safe; the views that it gives are.
/// Memory: 32 bytes a call, 128 MiB for the default bound, and at most kMostKinds kinds of under 1 KiB. What does not
/// fit is counted and left out, the first calls stay.
class CallLog {
 public:
  static constexpr std::size_t kDefaultCalls = std::size_t{1} << 22;
  static constexpr std::size_t kMostKinds = std::size_t{1} << 16;

  /// Keeps up to `most` calls; 0: none, and nothing is counted.
  explicit CallLog(std::size_t most = kDefaultCalls) noexcept : most_(most) {}

  void add(const RouteEvent& event);
  /// A new run.
  void reset();

  [[nodiscard]] CallView view() const;
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  /// What tells kinds apart, as words; names as their number.
  using KindKey = std::array<std::uint64_t, 12>;
  struct KeyHash {
    std::size_t operator()(const KindKey& key) const noexcept;
  };

  [[nodiscard]] std::uint64_t name_number(std::string_view name);
  [[nodiscard]] KindKey key_of(const RouteEvent& event);
  /// kMostKinds when there is no room for another one.
  [[nodiscard]] std::size_t kind_of(const RouteEvent& event);

  std::size_t most_;
  std::vector<std::shared_ptr<CallView::Chunk>> chunks_;
  std::vector<std::string> names_;
  std::unordered_map<KindKey, std::size_t, KeyHash> index_;
  CallView::Kinds kinds_;
  mutable std::shared_ptr<const CallView::Kinds> shared_kinds_;  ///< a copy for views; null when a kind was added
  std::size_t size_ = 0;
  std::int64_t left_out_ = 0;
  std::int64_t origin_ns_ = 0;
  std::uint64_t run_ = 0;
  bool all_timed_ = true;
};

}  // namespace attn::trace
