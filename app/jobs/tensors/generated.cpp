// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/tensors/generated.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <limits>
#include <numbers>
#include <thread>
#include <vector>

namespace attn::app {
namespace {

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014).
std::uint64_t mixed(std::uint64_t x) noexcept {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

std::int64_t buffer_elements(const TensorView& view) { return view.elements() == 0 ? 0 : view.offset_reach() + 1; }

/// Where logical element 0 lies in the buffer: after everything that negative strides reach back to.
std::int64_t origin_of(const TensorView& view) {
  std::int64_t origin = 0;
  for (std::size_t i = 0; i < view.rank; ++i) {
    if (view.stride[i] < 0) origin -= (view.shape[i] - 1) * view.stride[i];
  }
  return origin;
}

HostBuffer attach(TensorView& view) {
  const auto size = static_cast<std::int64_t>(size_of(view.dtype));
  HostBuffer buffer(static_cast<std::size_t>(buffer_elements(view) * size));
  view.data = buffer.data() + origin_of(view) * size;
  return buffer;
}

/// Calls work(row) for every row (all dims but the last) on several threads.
void for_rows(std::int64_t rows, std::int64_t row_elements, const std::function<void(std::int64_t)>& work) {
  constexpr std::int64_t kWorthAThread = 1 << 18;
  const auto wanted = static_cast<std::int64_t>(std::max(1U, std::thread::hardware_concurrency()));
  const std::int64_t threads = std::clamp<std::int64_t>(rows * row_elements / kWorthAThread, 1,
                                                        std::min(wanted, std::max<std::int64_t>(rows, 1)));
  std::vector<std::jthread> pool;
  for (std::int64_t t = 0; t < threads; ++t) {
    const auto part = [&work, begin = rows * t / threads, end = rows * (t + 1) / threads] {
      for (std::int64_t row = begin; row < end; ++row) work(row);
    };
    if (t + 1 == threads) {
      part();
    } else {
      pool.emplace_back(part);
    }
  }
}

/// Offset in memory of the first element of a row, and the row's logical index with shared dims counted once.
struct RowPlace {
  std::int64_t offset = 0;
  std::uint64_t logical = 0;
};

RowPlace place_of(const TensorView& view, std::int64_t row) {
  RowPlace place;
  std::uint64_t scale = 1;
  for (int dim = view.rank - 2; dim >= 0; --dim) {
    const auto at = static_cast<std::size_t>(dim);
    const std::int64_t index = row % view.shape[at];
    row /= view.shape[at];
    place.offset += index * view.stride[at];
    if (view.stride[at] != 0) place.logical += static_cast<std::uint64_t>(index) * scale;
    scale *= static_cast<std::uint64_t>(view.shape[at]);
  }
  return place;
}

void fill_normal(const TensorView& view, std::uint64_t seed, std::uint64_t stream) {
  const std::int64_t width = view.size(-1);
  if (view.elements() == 0) return;
  const bool shared = view.step(-1) == 0;
  for_rows(view.elements() / width, width, [&](std::int64_t row) {
    const RowPlace place = place_of(view, row);
    // Rows that a stride of 0 shares are written once, by the row whose shared indices are all 0.
    if (view.elements() > width && place.logical != static_cast<std::uint64_t>(row)) return;
    for (std::int64_t i = 0; i < (shared ? 1 : width); ++i) {
      const float value =
          normal_at(seed, stream, place.logical * static_cast<std::uint64_t>(width) + static_cast<std::uint64_t>(i));
      store_element(view, place.offset + i * view.step(-1),
                    view.dtype == DType::int8 ? std::round(value * 32.0F) : value);
    }
  });
}

void fill_mask(const TensorView& mask, std::int64_t key_tokens, std::int64_t hidden_keys) {
  if (mask.elements() == 0) return;
  const std::int64_t hidden = hidden_keys > 0 ? hidden_keys : key_tokens / 8;
  const bool boolean = mask.dtype == DType::boolean;
  const std::int64_t width = mask.size(-1);
  for_rows(mask.elements() / width, width, [&](std::int64_t row) {
    const RowPlace place = place_of(mask, row);
    for (std::int64_t i = 0; i < width; ++i) {
      // A mask of one column holds for every key: it hides nothing.
      const bool keep = width == 1 || i < width - hidden;
      const float additive = keep ? 0.0F : -std::numeric_limits<float>::infinity();
      store_element(mask, place.offset + i * mask.step(-1), boolean ? (keep ? 1.0F : 0.0F) : additive);
    }
  });
}

void copy_values(const TensorView& from, const TensorView& to) {
  const std::int64_t width = from.size(-1);
  if (from.elements() == 0) return;
  for_rows(from.elements() / width, width, [&](std::int64_t row) {
    const std::int64_t source = place_of(from, row).offset;
    const std::int64_t target = place_of(to, row).offset;
    for (std::int64_t i = 0; i < width; ++i) {
      store_element(to, target + i * to.step(-1), load_element(from, source + i * from.step(-1)));
    }
  });
}

TensorView plain_output(const AttentionCall& call) {
  std::array<std::int64_t, TensorView::kMaxRank> shape = call.query.shape;
  shape[static_cast<std::size_t>(call.query.rank - 1)] = call.value_dim();
  return TensorView::contiguous(std::span<const std::int64_t>(shape.data(), call.query.rank), call.query.dtype,
                                call.query.device);
}

std::int64_t number_in(const char* path) {
  std::ifstream file(path);
  std::int64_t number = -1;
  return file >> number ? number : -1;
}

}  // namespace

float normal_at(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) noexcept {
  constexpr std::uint64_t kGamma = 0x9E3779B97F4A7C15ULL;
  const std::uint64_t key = mixed(seed + kGamma * (stream + 1));
  const std::uint64_t bits = mixed(key + kGamma * ((index >> 1) + 1));
  // Two uniforms of 32 bits, the first in (0, 1], make the two numbers of a pair.
  const float radius = std::sqrt(-2.0F * std::log((static_cast<float>(bits >> 40) + 1.0F) * 0x1p-24F));
  const float angle = static_cast<float>(bits & 0xFFFFFFU) * 0x1p-24F * 2.0F * std::numbers::pi_v<float>;
  return radius * ((index & 1U) != 0 ? std::sin(angle) : std::cos(angle));
}

std::int64_t tensor_bytes(const AttentionCall& call) {
  const auto bytes = [](const TensorView& view) {
    return buffer_elements(view) * static_cast<std::int64_t>(size_of(view.dtype));
  };
  return bytes(call.query) + bytes(call.key) + bytes(call.value) + plain_output(call).bytes() +
         (call.attn_mask ? bytes(*call.attn_mask) : 0);
}

CallTensors generate(const AttentionCall& call, std::uint64_t seed, std::int64_t hidden_keys) {
  CallTensors made;
  made.call = call;
  made.query = attach(made.call.query);
  made.key = attach(made.call.key);
  made.value = attach(made.call.value);
  fill_normal(made.call.query, seed, 0);
  fill_normal(made.call.key, seed, 1);
  fill_normal(made.call.value, seed, 2);
  if (made.call.attn_mask) {
    made.mask = attach(*made.call.attn_mask);
    fill_mask(*made.call.attn_mask, call.key_tokens(), hidden_keys);
  }
  made.call.output = plain_output(call);
  made.output = attach(made.call.output);
  return made;
}

CallTensors contiguous_copy(const CallTensors& tensors) {
  CallTensors copy;
  copy.call = tensors.call;
  const auto plain = [](TensorView& to, const TensorView& from) {
    to = TensorView::contiguous(from.sizes(), from.dtype, from.device);
    HostBuffer buffer = attach(to);
    copy_values(from, to);
    return buffer;
  };
  copy.query = plain(copy.call.query, tensors.call.query);
  copy.key = plain(copy.call.key, tensors.call.key);
  copy.value = plain(copy.call.value, tensors.call.value);
  if (tensors.call.attn_mask) copy.mask = plain(*copy.call.attn_mask, *tensors.call.attn_mask);
  copy.call.output = plain_output(copy.call);
  copy.output = attach(copy.call.output);
  return copy;
}

std::int64_t available_memory() {
  std::int64_t available = std::numeric_limits<std::int64_t>::max();
  std::ifstream meminfo("/proc/meminfo");
  for (std::string name; meminfo >> name;) {
    std::int64_t kibibytes = 0;
    if (name == "MemAvailable:" && meminfo >> kibibytes) available = kibibytes * 1024;
    meminfo.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  const std::int64_t limit = number_in("/sys/fs/cgroup/memory.max");
  const std::int64_t used = number_in("/sys/fs/cgroup/memory.current");
  if (limit >= 0 && used >= 0) available = std::min(available, std::max<std::int64_t>(limit - used, 0));
  return available;
}

std::string bytes_text(std::int64_t bytes) {
  constexpr std::array<const char*, 5> kUnits{"bytes", "KiB", "MiB", "GiB", "TiB"};
  auto amount = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; amount >= 1024.0 && unit + 1 < kUnits.size(); ++unit) amount /= 1024.0;
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.2f %s", amount, kUnits[unit]);
  return text.data();
}

Expected<void> check_memory(const AttentionCall& call, std::int64_t kernel_bytes, std::int64_t available) {
  const std::int64_t tensors = tensor_bytes(call);
  if (tensors + kernel_bytes <= available) return {};
  return fail("q" + shape_text(call.query.sizes()) + " k" + shape_text(call.key.sizes()) + " needs " +
              bytes_text(tensors) + " for its tensors and " + bytes_text(kernel_bytes) + " for the kernel, but only " +
              bytes_text(available) + " are free; plan it without computing, or choose a smaller size");
}

}  // namespace attn::app
