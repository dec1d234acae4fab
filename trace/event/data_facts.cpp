// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/event/data_facts.h"

#include "core/tensor/half.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <limits>

namespace attn::trace {
namespace {

/// Calls `work(address)` for each index of the dims before the last `inner`. A dim of stride 0 says the same at every
/// index; `once` visits it once.
template <class Work>
void each_outer(const TensorView& view, int inner, bool once, Work work) {
  const int dims = std::max(0, view.rank - inner);
  std::array<std::int64_t, TensorView::kMaxRank> at{};
  const auto length = [&](int dim) { return once && view.step(dim) == 0 ? std::int64_t{1} : view.size(dim); };
  const auto* base = static_cast<const std::byte*>(view.data);
  const auto width = static_cast<std::int64_t>(size_of(view.dtype));
  for (int dim = 0; dim < dims; ++dim) {
    if (view.size(dim) == 0) return;
  }
  while (true) {
    std::int64_t offset = 0;
    for (int dim = 0; dim < dims; ++dim) offset += at[static_cast<std::size_t>(dim)] * view.step(dim);
    if (!work(base + offset * width)) return;
    int dim = dims - 1;
    for (; dim >= 0; --dim) {
      auto& index = at[static_cast<std::size_t>(dim)];
      if (++index < length(dim)) break;
      index = 0;
    }
    if (dim < 0) return;
  }
}

/// Bits is signed, so that the bits of a magnitude compare as numbers with the vector instructions of any x86.
template <class Bits, Bits kInfinity>
void count_line(const Bits* line, std::int64_t stride, std::int64_t length, NonFinite& out) noexcept {
  constexpr Bits kMagnitude = std::numeric_limits<Bits>::max();
  constexpr std::int64_t kBlock = 4096;
  for (std::int64_t begin = 0; begin < length; begin += kBlock) {
    const std::int64_t end = std::min(length, begin + kBlock);
    Bits largest = 0;
    if (stride == 1) {
      for (std::int64_t i = begin; i < end; ++i) largest = std::max(largest, static_cast<Bits>(line[i] & kMagnitude));
    } else {
      for (std::int64_t i = begin; i < end; ++i) {
        largest = std::max(largest, static_cast<Bits>(line[i * stride] & kMagnitude));
      }
    }
    if (largest < kInfinity) continue;
    for (std::int64_t i = begin; i < end; ++i) {
      const auto magnitude = static_cast<Bits>(line[i * stride] & kMagnitude);
      out.nan += magnitude > kInfinity ? 1 : 0;
      out.inf += magnitude == kInfinity ? 1 : 0;
    }
  }
}

template <class Bits, Bits kInfinity>
NonFinite count_as(const TensorView& view) noexcept {
  NonFinite out;
  const bool flat = view.is_contiguous();
  each_outer(view, flat ? view.rank : 1, false, [&](const std::byte* line) {
    count_line<Bits, kInfinity>(reinterpret_cast<const Bits*>(line), flat ? 1 : view.step(-1),
                                flat ? view.elements() : view.size(-1), out);
    return true;
  });
  return out;
}

enum class Says : std::uint8_t { allowed, hidden, other };

/// What hides a key in an additive mask besides minus infinity: people write -10000, or the type's least number.
constexpr double kHides = -1e4;

Says says(const std::byte* at, DType dtype) noexcept {
  double value = 0.0;
  switch (dtype) {
    case DType::boolean:
      return *at != std::byte{0} ? Says::allowed : Says::hidden;
    case DType::int8:
      value = static_cast<double>(static_cast<std::int8_t>(*at));
      break;
    case DType::float16:
      value = static_cast<double>(to_float(*reinterpret_cast<const Float16*>(at)));
      break;
    case DType::bfloat16:
      value = static_cast<double>(to_float(*reinterpret_cast<const BFloat16*>(at)));
      break;
    case DType::float32:
      value = static_cast<double>(*reinterpret_cast<const float*>(at));
      break;
    case DType::float64:
      value = *reinterpret_cast<const double*>(at);
      break;
  }
  if (value == 0.0) return Says::allowed;
  return value <= kHides ? Says::hidden : Says::other;
}

/// The patterns that the rows seen so far still allow.
struct Candidates {
  bool all_true = true;
  bool same_rows = true;
  bool causal = true;
  [[nodiscard]] bool none() const noexcept { return !all_true && !same_rows && !causal; }
};

class MatrixReader {
 public:
  explicit MatrixReader(const TensorView& mask) noexcept
      : dtype_(mask.dtype),
        width_(static_cast<std::int64_t>(size_of(mask.dtype))),
        keys_(mask.size(-1)),
        key_step_(mask.step(-1)),
        queries_(mask.step(-2) == 0 ? 1 : mask.size(-2)),
        query_step_(mask.step(-2)) {}

  void read(const std::byte* matrix, Candidates& could) const noexcept {
    if (queries_ == 1) could.causal = could.causal && keys_ == 1;
    for (std::int64_t row = 0; row < queries_; ++row) {
      const std::byte* line = matrix + row * query_step_ * width_;
      if (row > 0 && could.same_rows && !equal_rows(matrix, line)) could.same_rows = could.all_true = false;
      // Rows that equal the first say nothing new but for a causal one.
      if (row == 0 || could.causal) read_row(line, row, could);
      if (could.none()) return;
    }
  }

 private:
  [[nodiscard]] bool equal_rows(const std::byte* first, const std::byte* other) const noexcept {
    if (key_step_ == 1) return std::memcmp(first, other, static_cast<std::size_t>(keys_ * width_)) == 0;
    for (std::int64_t key = 0; key < keys_; ++key) {
      const std::int64_t at = key * key_step_ * width_;
      if (std::memcmp(first + at, other + at, static_cast<std::size_t>(width_)) != 0) return false;
    }
    return true;
  }

  void read_row(const std::byte* line, std::int64_t row, Candidates& could) const noexcept {
    for (std::int64_t key = 0; key < keys_; ++key) {
      const Says said = says(line + key * key_step_ * width_, dtype_);
      if (said == Says::other) could = {false, false, false};
      if (said == Says::hidden) could.all_true = false;
      if ((said == Says::allowed) != (key <= row)) could.causal = false;
      if (could.none() || (row > 0 && !could.causal)) return;
    }
  }

  DType dtype_;
  std::int64_t width_;
  std::int64_t keys_;
  std::int64_t key_step_;
  std::int64_t queries_;
  std::int64_t query_step_;
};

std::uint32_t saturated(std::int64_t count) noexcept {
  return static_cast<std::uint32_t>(std::min<std::int64_t>(count, std::numeric_limits<std::uint32_t>::max()));
}

}  // namespace

NonFinite count_non_finite(const TensorView& view) noexcept {
  if (!view.has_data() || view.rank == 0 || view.elements() == 0) return {};
  switch (view.dtype) {
    case DType::bfloat16:
      return count_as<std::int16_t, 0x7F80>(view);
    case DType::float16:
      return count_as<std::int16_t, 0x7C00>(view);
    case DType::float32:
      return count_as<std::int32_t, 0x7F800000>(view);
    case DType::float64:
      return count_as<std::int64_t, 0x7FF0000000000000>(view);
    case DType::int8:
    case DType::boolean:
      break;
  }
  return {};
}

MaskPattern mask_pattern_of(const TensorView& mask) noexcept {
  if (mask.rank == 0 || mask.elements() == 0) return MaskPattern::unknown;
  const bool one_row = mask.size(-2) == 1 || mask.step(-2) == 0;
  if (!mask.has_data()) return one_row ? MaskPattern::key_padding : MaskPattern::unknown;
  Candidates could;
  const MatrixReader reader(mask);
  each_outer(mask, 2, true, [&](const std::byte* matrix) {
    reader.read(matrix, could);
    return !could.none();
  });
  if (could.all_true) return MaskPattern::all_true;
  if (could.causal) return MaskPattern::causal;
  return could.same_rows ? MaskPattern::key_padding : MaskPattern::arbitrary;
}

void look_at_data(const RouteRecord& record, RouteEvent& event) noexcept {
  if (record.call.attn_mask) event.mask_pattern = mask_pattern_of(*record.call.attn_mask);
  if (!record.computed) return;
  const NonFinite found = count_non_finite(record.call.output);
  event.nan_count = saturated(found.nan);
  event.inf_count = saturated(found.inf);
}

}  // namespace attn::trace
