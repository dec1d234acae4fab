// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/pipeline/layers.h"

#include <cstdint>
#include <memory>
#include <span>

namespace attn::app {

/// y = (x - mean) / sqrt(variance + epsilon) over each row, by oneDNN on one thread. run() may be called from several
/// threads at once. Move only. A thread that constructs one must be inside Workers::enter().
class LayerNorm {
 public:
  /// Without learned numbers.
  LayerNorm(std::int64_t width, float epsilon, std::int64_t rows = Linear::kRows);
  /// With learned `weight` and `bias` (width), which are multiplied with the result and added.
  LayerNorm(std::span<const float> weight, std::span<const float> bias, float epsilon,
            std::int64_t rows = Linear::kRows);
  ~LayerNorm();
  LayerNorm(LayerNorm&&) noexcept;
  LayerNorm& operator=(LayerNorm&&) noexcept;

  /// x (rows, width), dense, in place.
  void run(float* x, Task& task) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Group norm with learned weight and bias per channel, epsilon 1e-5, by oneDNN's batch normalisation in bands of rows:
/// it gives each channel's mean and variance of each band, a group's are put together from them, and it applies those.
/// Move only.
class GroupNorm {
 public:
  GroupNorm(std::span<const float> weight, std::span<const float> bias, std::int64_t groups);
  ~GroupNorm();
  GroupNorm(GroupNorm&&) noexcept;
  GroupNorm& operator=(GroupNorm&&) noexcept;

  enum class Then : std::uint8_t { nothing, silu };
  /// Prepares what it needs for a new size, so one thread calls it.
  [[nodiscard]] FeatureMap run(const FeatureMap& x, Then then, Role role, Workers& workers) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace attn::app
