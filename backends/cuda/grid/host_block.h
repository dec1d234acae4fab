// SPDX-License-Identifier: GPL-3.0-or-later
// A block of threads on the host: the same kernel source, one thread after the other between two collective steps.
#pragma once

#include "backends/cuda/arithmetic/numbers.h"
#include "backends/cuda/grid/fragments.h"
#include "backends/cuda/grid/grid_size.h"
#include "backends/cuda/grid/shared_audit.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

namespace attn::cuda {

/// In which order the threads of a phase run. A result that depends on it lacks a barrier.
enum class ThreadOrder : std::uint8_t { forward, reverse, shuffled };

/// How blocks run on the host.
struct HostRun {
  ThreadOrder order = ThreadOrder::forward;
  AuditReport* report = nullptr;  ///< null: shared memory is not watched
};

/// What DeviceBlock offers, on the host. Shared memory starts as bytes of 0xFF; asynchronous copies arrive as late as
/// they may, and what they overwrite is 0xFF until then.
class HostBlock {
 public:
  template <class T>
  class PerThread {
   public:
    explicit PerThread(const HostBlock& block) : values_(static_cast<std::size_t>(block.threads_)) {}
    [[nodiscard]] T& operator()(int thread) { return values_[static_cast<std::size_t>(thread)]; }

   private:
    std::vector<T> values_;
  };

  HostBlock(std::array<int, 3> index, int threads, std::size_t shared_bytes, const HostRun& run)
      : index_(index), threads_(threads), shared_(shared_bytes + 16, 0xFF), order_(static_cast<std::size_t>(threads)) {
    std::iota(order_.begin(), order_.end(), 0);
    if (run.order == ThreadOrder::reverse) std::reverse(order_.begin(), order_.end());
    if (run.order == ThreadOrder::shuffled) shuffle();
    if (run.report != nullptr) audit_ = std::make_unique<SharedAudit>(shared_bytes, *run.report);
    traces_.resize(audit_ ? order_.size() : 0);
    bytes_ = shared_bytes;
  }

  [[nodiscard]] int x() const noexcept { return index_[0]; }
  [[nodiscard]] int y() const noexcept { return index_[1]; }
  [[nodiscard]] int z() const noexcept { return index_[2]; }

  /// Runs f(thread) for every thread. Threads see each other's registers and memory only behind sync().
  template <class F>
  void each(F f) {
    for (const int thread : order_) f(thread);
    if (audit_) count_conflicts();
  }
  template <class F>
  void each_anew(F f) {
    each(f);
  }
  void sync() {
    if (audit_) audit_->barrier();
  }

  // --- shared memory, addressed in bytes --------------------------------------------------------------------------

  template <class T>
  [[nodiscard]] T load(int thread, std::uint32_t at) {
    T value{};
    if (touch(SharedAudit::Access::read, thread, at, sizeof(T))) std::memcpy(&value, memory() + at, sizeof(T));
    return value;
  }
  template <class T>
  void store(int thread, std::uint32_t at, T value) {
    if (touch(SharedAudit::Access::write, thread, at, sizeof(T))) std::memcpy(memory() + at, &value, sizeof(T));
  }
  /// An atomic addition to an int.
  void add(int thread, std::uint32_t at, int value) {
    int old = 0;
    if (!touch(SharedAudit::Access::add, thread, at, sizeof(int))) return;
    std::memcpy(&old, memory() + at, sizeof(int));
    old += value;
    std::memcpy(memory() + at, &old, sizeof(int));
  }

  /// Starts a copy of 16 bytes from global memory, of which the last 16 - bytes are zeros instead.
  void copy16(int thread, std::uint32_t at, const void* from, int bytes) {
    if (!touch(SharedAudit::Access::copy, thread, at, 16)) return;
    std::memset(memory() + at, 0xFF, 16);
    Copy copy{thread, at, {}};
    if (bytes > 0) std::memcpy(copy.bytes.data(), from, static_cast<std::size_t>(bytes));
    open_.push_back(copy);
  }
  /// Closes the group of copies that were started since the last commit.
  void commit() { groups_.push_back(std::exchange(open_, {})); }
  /// Waits until at most kPending groups are on their way. Other threads see what arrived behind the next sync().
  template <int kPending>
  void wait() {
    while (groups_.size() > static_cast<std::size_t>(kPending)) {
      for (const Copy& copy : groups_.front()) {
        std::memcpy(memory() + copy.at, copy.bytes.data(), copy.bytes.size());
        if (audit_) audit_->arrived(copy.thread, copy.at, 16);
      }
      groups_.pop_front();
    }
  }

  // --- a warp's collective steps ----------------------------------------------------------------------------------

  /// ldmatrix.x4: to(thread) are the four registers that receive, at(thread) the row that the lane points to.
  template <class To, class At>
  void load_matrices(To to, At at) {
    each_matrix(at, [&](int warp, int m, const Matrix& matrix) {
      for (int lane = 0; lane < kLanes; ++lane) {
        std::memcpy(to(warp + lane) + m, matrix[static_cast<std::size_t>(matrix_row(lane))].data() + matrix_byte(lane),
                    4);
      }
    });
  }
  /// The same with each matrix transposed, in elements of 16 bits.
  template <class To, class At>
  void load_transposed(To to, At at) {
    each_matrix(at, [&](int warp, int m, const Matrix& matrix) {
      for (int lane = 0; lane < kLanes; ++lane) {
        for (int e = 0; e < 2; ++e) {
          const auto& row = matrix[static_cast<std::size_t>(transposed_row(lane, e))];
          std::memcpy(reinterpret_cast<unsigned char*>(to(warp + lane) + m) + 2 * e,
                      row.data() + 2 * transposed_column(lane), 2);
        }
      }
    });
  }

  /// mma: f(thread) gives the lane's part, a LaneProduct<Numbers::Sum>.
  template <class Numbers, class F>
  void mma(F f) {
    for (int warp = 0; warp < threads_; warp += kLanes) {
      std::array<LaneProduct<typename Numbers::Sum>, kLanes> lanes;
      for (int lane = 0; lane < kLanes; ++lane) lanes[static_cast<std::size_t>(lane)] = f(warp + lane);
      multiply(Numbers{}, lanes);
    }
  }

  /// Butterfly over kWidth neighbouring lanes: all of them get the same value(thread).
  template <int kWidth, class Value, class Op>
  void reduce(Value value, Op op) {
    for (int first = 0; first < threads_; first += kLanes) {
      for (int distance = 1; distance < kWidth; distance *= 2) {
        std::array<float, kLanes> before{};
        for (int lane = 0; lane < kLanes; ++lane) before[static_cast<std::size_t>(lane)] = value(first + lane);
        for (int lane = 0; lane < kLanes; ++lane) {
          value(first + lane) =
              op(before[static_cast<std::size_t>(lane)], before[static_cast<std::size_t>(lane ^ distance)]);
        }
      }
    }
  }

 private:
  using Matrix = std::array<std::array<unsigned char, kMatrixRowBytes>, kMatrixRows>;
  struct Copy {
    int thread;
    std::uint32_t at;
    std::array<unsigned char, 16> bytes;
  };
  struct Traced {
    SharedAudit::Access access;
    std::uint32_t at;
    std::uint32_t bytes;
  };

  [[nodiscard]] unsigned char* memory() noexcept { return shared_.data(); }

  bool touch(SharedAudit::Access access, int thread, std::uint32_t at, std::size_t bytes) {
    if (!audit_) return at + bytes <= bytes_;
    traces_[static_cast<std::size_t>(thread)].push_back({access, at, static_cast<std::uint32_t>(bytes)});
    return audit_->touch(access, thread, at, static_cast<std::uint32_t>(bytes));
  }

  /// The n-th access of each lane of a warp is one instruction; 8 or 16 bytes a lane go in halves or quarters of it.
  void count_conflicts() {
    for (int warp = 0; warp < threads_; warp += kLanes) {
      std::size_t most = 0;
      for (int lane = 0; lane < kLanes; ++lane) most = std::max(most, trace(warp + lane).size());
      for (std::size_t n = 0; n < most; ++n) count_conflicts(warp, n);
    }
    for (auto& own : traces_) own.clear();
  }
  void count_conflicts(int warp, std::size_t n) {
    std::uint32_t bytes = 4;
    SharedAudit::Access access = SharedAudit::Access::read;
    for (int lane = 0; lane < kLanes; ++lane) {
      if (n >= trace(warp + lane).size()) continue;
      bytes = std::max(bytes, trace(warp + lane)[n].bytes);
      access = trace(warp + lane)[n].access;
    }
    const int together = kLanes / static_cast<int>(bytes / 4);
    for (int first = 0; first < kLanes; first += together) {
      std::vector<std::uint32_t> starts;
      for (int lane = first; lane < first + together; ++lane) {
        if (n < trace(warp + lane).size()) starts.push_back(trace(warp + lane)[n].at);
      }
      AuditReport& report = audit_->report();
      (access == SharedAudit::Access::copy ? report.copy_conflicts : report.plain_conflicts) +=
          SharedAudit::extra_passes(starts, bytes);
    }
  }
  [[nodiscard]] std::vector<Traced>& trace(int thread) { return traces_[static_cast<std::size_t>(thread)]; }

  template <class At, class Use>
  void each_matrix(At at, Use use) {
    for (int warp = 0; warp < threads_; warp += kLanes) {
      for (int m = 0; m < kLanes / kMatrixRows; ++m) {
        Matrix matrix{};
        std::vector<std::uint32_t> starts;
        for (int row = 0; row < kMatrixRows; ++row) {
          const int thread = warp + m * kMatrixRows + row;
          const std::uint32_t from = at(thread);
          if (audit_) {
            starts.push_back(from);
            if (!audit_->touch(SharedAudit::Access::read, thread, from, kMatrixRowBytes)) continue;
          }
          if (from + kMatrixRowBytes > bytes_) continue;
          std::memcpy(matrix[static_cast<std::size_t>(row)].data(), memory() + from, kMatrixRowBytes);
        }
        if (audit_) audit_->report().matrix_conflicts += SharedAudit::extra_passes(starts, kMatrixRowBytes);
        use(warp, m, matrix);
      }
    }
  }

  static void multiply(Int8Numbers, const std::array<LaneProduct<std::int32_t>, kLanes>& lanes) {
    product_of<std::int32_t, std::int32_t, 1>(
        lanes, [](const unsigned char* bytes) { return static_cast<std::int32_t>(static_cast<std::int8_t>(*bytes)); });
  }
  static void multiply(HalfNumbers, const std::array<LaneProduct<float>, kLanes>& lanes) {
    product_of<float, float, 2>(lanes, [](const unsigned char* bytes) { return half_value(word_at(bytes)); });
  }
  static void multiply(BfloatNumbers, const std::array<LaneProduct<float>, kLanes>& lanes) {
    product_of<float, float, 2>(lanes, [](const unsigned char* bytes) { return bfloat_value(word_at(bytes)); });
  }
  [[nodiscard]] static std::uint16_t word_at(const unsigned char* bytes) {
    std::uint16_t word = 0;
    std::memcpy(&word, bytes, 2);
    return word;
  }

  template <class Sum, class Element, int kBytes, class Read>
  static void product_of(const std::array<LaneProduct<Sum>, kLanes>& lanes, Read read) {
    constexpr int kDepth = kMmaRowBytes / kBytes;
    Element a[kMmaRows][kDepth];
    Element b[kDepth][kMmaColumns];
    for (int lane = 0; lane < kLanes; ++lane) {
      const LaneProduct<Sum>& own = lanes[static_cast<std::size_t>(lane)];
      for (int byte = 0; byte < 4; byte += kBytes) {
        for (int r = 0; r < kRegistersOfA; ++r) {
          const auto* bytes = reinterpret_cast<const unsigned char*>(own.a + r) + byte;
          a[a_row(lane, r)][(a_byte(lane, r) + byte) / kBytes] = read(bytes);
        }
        for (int r = 0; r < kRegistersOfB; ++r) {
          const auto* bytes = reinterpret_cast<const unsigned char*>(own.b + r) + byte;
          b[(b_byte(lane, r) + byte) / kBytes][b_column(lane)] = read(bytes);
        }
      }
    }
    Sum sums[kMmaRows][kMmaColumns] = {};
    for (int row = 0; row < kMmaRows; ++row) {
      for (int k = 0; k < kDepth; ++k) {
        for (int column = 0; column < kMmaColumns; ++column) sums[row][column] += a[row][k] * b[k][column];
      }
    }
    for (int lane = 0; lane < kLanes; ++lane) {
      for (int i = 0; i < kSumsPerLane; ++i) {
        lanes[static_cast<std::size_t>(lane)].sums[i] += sums[sum_row(lane, i)][sum_column(lane, i)];
      }
    }
  }

  void shuffle() {
    std::uint32_t state = 0x9E3779B9U;
    for (std::size_t i = order_.size(); i > 1; --i) {
      state = state * 1664525U + 1013904223U;
      std::swap(order_[i - 1], order_[(state >> 8) % i]);
    }
  }

  std::array<int, 3> index_;
  int threads_;
  std::size_t bytes_ = 0;
  std::vector<unsigned char> shared_;
  std::vector<int> order_;
  std::unique_ptr<SharedAudit> audit_;
  std::vector<std::vector<Traced>> traces_;
  std::vector<Copy> open_;
  std::deque<std::vector<Copy>> groups_;
};

/// Runs every block of a kernel in order.
template <class Kernel>
void run_on_host(const typename Kernel::Params& params, GridSize grid, const HostRun& run) {
  for (int z = 0; z < grid.z; ++z) {
    for (int y = 0; y < grid.y; ++y) {
      for (int x = 0; x < grid.x; ++x) {
        HostBlock block({x, y, z}, Kernel::kThreads, Kernel::shared_bytes(params), run);
        Kernel::run(block, params);
      }
    }
  }
}

}  // namespace attn::cuda
