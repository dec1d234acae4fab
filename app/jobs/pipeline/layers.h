// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/pipeline/workers.h"
#include "core/tensor/host_buffer.h"

#include <cstdint>
#include <memory>
#include <span>

namespace attn::app {

enum class Activation : std::uint8_t {
  none,
  gelu_tanh,  ///< 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
};

/// y = activation(x W^T + b) for `rows` rows at once, by oneDNN on one thread. The weights are packed once; run() may
/// be called from several threads at once. Move only.
class Linear {
 public:
  /// Rows that a task of a large product takes: enough to use each weight often, few enough to share the work evenly.
  static constexpr std::int64_t kRows = 64;

  /// `weights` (outputs, inputs) as the training framework stores them; `bias` (outputs) or empty. A thread that
  /// constructs one must be inside Workers::enter().
  Linear(std::span<const float> weights, std::span<const float> bias, std::int64_t inputs, std::int64_t outputs,
         Activation activation = Activation::none, std::int64_t rows = kRows);
  ~Linear();
  Linear(Linear&&) noexcept;
  Linear& operator=(Linear&&) noexcept;

  [[nodiscard]] std::int64_t inputs() const noexcept;
  [[nodiscard]] std::int64_t outputs() const noexcept;
  [[nodiscard]] std::int64_t rows() const noexcept;
  /// x (rows, inputs) to y (rows, outputs), both dense. They must not overlap.
  void run(const float* x, float* y, Task& task) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// A picture or its features: (height, width, channels) with one row of zeros above and one below, which is what a
/// 3x3 convolution finds at the border.
class FeatureMap {
 public:
  FeatureMap() = default;
  FeatureMap(std::int64_t height, std::int64_t width, std::int64_t channels);
  FeatureMap(FeatureMap&&) noexcept = default;
  FeatureMap& operator=(FeatureMap&&) noexcept = default;
  [[nodiscard]] FeatureMap copy() const;

  [[nodiscard]] std::int64_t height() const noexcept { return height_; }
  [[nodiscard]] std::int64_t width() const noexcept { return width_; }
  [[nodiscard]] std::int64_t channels() const noexcept { return channels_; }
  [[nodiscard]] std::int64_t cells() const noexcept { return height_ * width_; }
  /// Row y, -1 to height. Rows follow one another without a gap.
  [[nodiscard]] float* row(std::int64_t y) noexcept { return memory_.as<float>() + (y + 1) * width_ * channels_; }
  [[nodiscard]] const float* row(std::int64_t y) const noexcept {
    return memory_.as<float>() + (y + 1) * width_ * channels_;
  }

 private:
  std::int64_t height_ = 0;
  std::int64_t width_ = 0;
  std::int64_t channels_ = 0;
  HostBuffer memory_;
};

/// A 3x3 convolution with padding 1 and stride 1 or 2, by oneDNN, in bands of rows. Move only.
class Convolution {
 public:
  /// `weights` (outputs, inputs, 3, 3), `bias` (outputs).
  Convolution(std::span<const float> weights, std::span<const float> bias, std::int64_t inputs, std::int64_t outputs,
              std::int64_t stride = 1);
  ~Convolution();
  Convolution(Convolution&&) noexcept;
  Convolution& operator=(Convolution&&) noexcept;

  /// The map of height / stride and width / stride. Prepares what it needs for a new size, so one thread calls it.
  [[nodiscard]] FeatureMap run(const FeatureMap& x, Role role, Workers& workers);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace attn::app
