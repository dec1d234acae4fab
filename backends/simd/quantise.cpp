// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/simd/quantise.h"

#include "backends/simd/rounding.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace attn {
namespace {

float narrow(NumberFormat format, float value) noexcept {
  switch (format) {
    case NumberFormat::none:
      return value;
    case NumberFormat::int8:
      return std::clamp(round_half_even(value), -128.0F, 127.0F);
    case NumberFormat::e4m3:
      return round_to_e4m3(value);
    case NumberFormat::fp16: {
      const float rounded = round_to_half(std::clamp(value, -65504.0F, 65504.0F));
      return std::isnan(rounded) ? 0.0F : rounded;
    }
  }
  return value;
}

/// One Kronecker factor of order 2, at distance `step`: (a + b, a - b).
void butterfly(float* group, std::int64_t size, std::int64_t step) noexcept {
  for (std::int64_t block = 0; block < size; block += 2 * step) {
    for (std::int64_t i = block; i < block + step; ++i) {
      const float a = group[i];
      const float b = group[i + step];
      group[i] = a + b;
      group[i + step] = a - b;
    }
  }
}

/// One Kronecker factor of order 4, ones with -1 on the antidiagonal: each output is the sum less twice its mirror.
void butterfly_four(float* group, std::int64_t size, std::int64_t step) noexcept {
  for (std::int64_t block = 0; block < size; block += 4 * step) {
    for (std::int64_t i = block; i < block + step; ++i) {
      const float a = group[i];
      const float b = group[i + step];
      const float c = group[i + 2 * step];
      const float d = group[i + 3 * step];
      const float sum = (a + b) + (c + d);
      group[i] = sum - 2.0F * d;
      group[i + step] = sum - 2.0F * c;
      group[i + 2 * step] = sum - 2.0F * b;
      group[i + 3 * step] = sum - 2.0F * a;
    }
  }
}

}  // namespace

float largest_of(NumberFormat format) noexcept {
  switch (format) {
    case NumberFormat::none:
      return 0.0F;
    case NumberFormat::int8:
      return 127.0F;
    case NumberFormat::e4m3:
      return 448.0F;
    case NumberFormat::fp16:
      return 65504.0F;
  }
  return 0.0F;
}

std::int64_t bytes_of(NumberFormat format) noexcept {
  if (format == NumberFormat::none) return 0;
  return format == NumberFormat::fp16 ? 2 : 1;
}

void subtract_mean(float* rows, std::int64_t count, std::int64_t width, DType dtype) {
  if (count == 0) return;
  std::vector<double> mean(static_cast<std::size_t>(width), 0.0);
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t d = 0; d < width; ++d) mean.data()[d] += static_cast<double>(rows[i * width + d]);
  }
  std::vector<float> rounded(mean.size());
  for (std::size_t d = 0; d < mean.size(); ++d)
    rounded[d] = round_to(dtype, static_cast<float>(mean[d] / static_cast<double>(count)));
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t d = 0; d < width; ++d)
      rows[i * width + d] = round_to(dtype, rows[i * width + d] - rounded.data()[d]);
  }
}

void quantise_rows(NumberFormat format, float* rows, std::int64_t count, std::int64_t width, DType dtype,
                   std::vector<float>& factor) {
  factor.assign(static_cast<std::size_t>(count), 0.0F);
  for (std::int64_t i = 0; i < count; ++i) {
    float* row = rows + i * width;
    float largest = 0.0F;
    for (std::int64_t d = 0; d < width; ++d) largest = std::max(largest, std::fabs(row[d]));
    const float scale = round_to(dtype, largest / largest_of(format));
    factor[static_cast<std::size_t>(i)] = scale;
    for (std::int64_t d = 0; d < width; ++d) {
      row[d] = scale == 0.0F ? 0.0F : narrow(format, round_to(dtype, row[d] / scale));
    }
  }
}

void hadamard(float* row, std::int64_t width, std::int64_t group) noexcept {
  if (group < 4) return;
  const bool by_four = std::countr_zero(static_cast<std::uint64_t>(group)) % 2 == 0;
  const float norm = 1.0F / std::sqrt(static_cast<float>(group));
  for (std::int64_t first = 0; first < width; first += group) {
    float* at = row + first;
    for (std::int64_t step = 1; step < group; step *= by_four ? 4 : 2) {
      by_four ? butterfly_four(at, group, step) : butterfly(at, group, step);
    }
    for (std::int64_t d = 0; d < group; ++d) at[d] *= norm;
  }
}

std::int64_t hadamard_group(std::int64_t setting, std::int64_t padded_width) noexcept {
  if (setting < 1) return 0;
  auto group = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::min(setting, padded_width))));
  while (group > 1 && padded_width % group != 0) group /= 2;
  return group < 4 ? 0 : group;
}

}  // namespace attn
