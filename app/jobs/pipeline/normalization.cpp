// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/pipeline/normalization.h"

#include "app/jobs/pipeline/norms.h"
#include "app/jobs/pipeline/onednn.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

namespace attn::app {

using namespace onednn;
using Flags = dnnl::normalization_flags;

struct LayerNorm::Impl {
  Impl(std::int64_t rows, std::int64_t width, float epsilon, Flags flags)
      : description({dnnl::prop_kind::forward_inference, Desc({rows, width}, kF32, Format::ab), epsilon, flags},
                    shared_attributes(), device.engine),
        norm(description) {}

  Device device;
  dnnl::layer_normalization_forward::primitive_desc description;
  dnnl::layer_normalization_forward norm;
  dnnl::memory weight;
  dnnl::memory bias;
};

LayerNorm::LayerNorm(std::int64_t width, float epsilon, std::int64_t rows)
    : impl_(std::make_unique<Impl>(rows, width, epsilon, Flags::none)) {}

LayerNorm::LayerNorm(std::span<const float> weight, std::span<const float> bias, float epsilon, std::int64_t rows)
    : impl_(std::make_unique<Impl>(rows, static_cast<std::int64_t>(weight.size()), epsilon,
                                   Flags::use_scale | Flags::use_shift)) {
  const Desc learned({static_cast<std::int64_t>(weight.size())}, kF32, Format::x);
  impl_->weight = filled(impl_->device, learned, weight);
  impl_->bias = filled(impl_->device, learned, bias);
}

LayerNorm::~LayerNorm() = default;
LayerNorm::LayerNorm(LayerNorm&&) noexcept = default;
LayerNorm& LayerNorm::operator=(LayerNorm&&) noexcept = default;

void LayerNorm::run(float* x, Task& task) const {
  task.in_onednn([&] {
    Impl& impl = *impl_;
    const dnnl::memory rows(impl.description.src_desc(), impl.device.engine, x);
    std::unordered_map<int, dnnl::memory> arguments{
        {DNNL_ARG_SRC, rows},
        {DNNL_ARG_DST, rows},
        {DNNL_ARG_SCRATCHPAD, scratchpad(impl.device, impl.description.scratchpad_desc(), task)}};
    if (impl.weight) {
      arguments.emplace(DNNL_ARG_SCALE, impl.weight);
      arguments.emplace(DNNL_ARG_SHIFT, impl.bias);
    }
    impl.norm.execute(impl.device.stream, arguments);
  });
}

struct GroupNorm::Impl {
  /// The two primitives for bands of `rows` rows of a map of one width.
  struct Band {
    dnnl::batch_normalization_forward::primitive_desc measuring, applying;
    dnnl::batch_normalization_forward measure, apply;
  };
  /// Mean and variance of channels.
  struct Moments {
    std::vector<float> mean, variance;
  };

  Band& band(std::int64_t rows, std::int64_t width);
  [[nodiscard]] Moments of_groups(const std::vector<Moments>& parts, const std::vector<std::int64_t>& rows) const;
  [[nodiscard]] std::int64_t channels() const noexcept { return static_cast<std::int64_t>(weight.size()); }
  [[nodiscard]] dnnl::memory numbers(const std::vector<float>& values) {
    return {Desc({channels()}, kF32, Format::x), device.engine, writable(values.data())};
  }

  static constexpr float kEpsilon = 1e-5F;
  Device device;
  std::vector<float> weight, bias;
  std::int64_t groups = 1;
  std::map<std::pair<std::int64_t, std::int64_t>, Band> bands;
};

GroupNorm::Impl::Band& GroupNorm::Impl::band(std::int64_t rows, std::int64_t width) {
  const auto found = bands.find({rows, width});
  if (found != bands.end()) return found->second;
  const Desc cells({1, channels(), rows, width}, kF32, Format::nhwc);
  using Norm = dnnl::batch_normalization_forward;
  Band made;
  made.measuring = Norm::primitive_desc({dnnl::prop_kind::forward_training, cells, kEpsilon, Flags::none},
                                        shared_attributes(), device.engine);
  made.applying = Norm::primitive_desc({dnnl::prop_kind::forward_inference, cells, kEpsilon,
                                        Flags::use_global_stats | Flags::use_scale | Flags::use_shift},
                                       shared_attributes(), device.engine);
  made.measure = Norm(made.measuring);
  made.apply = Norm(made.applying);
  return bands.emplace(std::pair(rows, width), std::move(made)).first->second;
}

/// The variance of a whole is the mean of its parts' variances and of their means' squared distances from its own.
GroupNorm::Impl::Moments GroupNorm::Impl::of_groups(const std::vector<Moments>& parts,
                                                    const std::vector<std::int64_t>& rows) const {
  Moments result{std::vector<float>(weight.size()), std::vector<float>(weight.size())};
  const std::size_t per_group = weight.size() / static_cast<std::size_t>(groups);
  for (std::size_t first = 0; first < weight.size(); first += per_group) {
    const auto mean_of = [&](auto&& value) {
      double sum = 0.0;
      double count = 0.0;
      for (std::size_t b = 0; b < parts.size(); ++b) {
        for (std::size_t c = first; c < first + per_group; ++c)
          sum += static_cast<double>(rows[b]) * value(parts[b], c);
        count += static_cast<double>(rows[b]) * static_cast<double>(per_group);
      }
      return sum / count;
    };
    const double mean = mean_of([](const Moments& band, std::size_t c) { return static_cast<double>(band.mean[c]); });
    const double variance = mean_of([mean](const Moments& band, std::size_t c) {
      const double apart = static_cast<double>(band.mean[c]) - mean;
      return static_cast<double>(band.variance[c]) + apart * apart;
    });
    std::fill_n(result.mean.begin() + static_cast<std::ptrdiff_t>(first), per_group, static_cast<float>(mean));
    std::fill_n(result.variance.begin() + static_cast<std::ptrdiff_t>(first), per_group, static_cast<float>(variance));
  }
  return result;
}

GroupNorm::GroupNorm(std::span<const float> weight, std::span<const float> bias, std::int64_t groups)
    : impl_(std::make_unique<Impl>()) {
  impl_->weight.assign(weight.begin(), weight.end());
  impl_->bias.assign(bias.begin(), bias.end());
  impl_->groups = groups;
}

GroupNorm::~GroupNorm() = default;
GroupNorm::GroupNorm(GroupNorm&&) noexcept = default;
GroupNorm& GroupNorm::operator=(GroupNorm&&) noexcept = default;

FeatureMap GroupNorm::run(const FeatureMap& x, Then then, Role role, Workers& workers) const {
  constexpr std::int64_t kCells = 512;  // of a band: the width alone decides how a map is cut
  Impl& impl = *impl_;
  const std::int64_t rows = std::clamp<std::int64_t>(kCells / x.width(), 1, x.height());
  const std::int64_t count = (x.height() + rows - 1) / rows;
  const std::int64_t rest = x.height() - (count - 1) * rows;
  Impl::Band& whole = impl.band(rows, x.width());
  Impl::Band& last = impl.band(rest, x.width());
  const auto channels = static_cast<std::size_t>(x.channels());
  std::vector<Impl::Moments> moments(static_cast<std::size_t>(count),
                                     {std::vector<float>(channels), std::vector<float>(channels)});
  std::vector<std::int64_t> heights(static_cast<std::size_t>(count), rows);
  heights.back() = rest;

  FeatureMap y(x.height(), x.width(), x.channels());
  const auto execute = [&](bool measure, std::int64_t at, const Impl::Moments& of, Task& task) {
    const Impl::Band& band = at + 1 == count ? last : whole;
    const auto& description = measure ? band.measuring : band.applying;
    const dnnl::memory from(description.src_desc(), impl.device.engine, writable(x.row(at * rows)));
    const dnnl::memory to(description.dst_desc(), impl.device.engine, y.row(at * rows));
    std::unordered_map<int, dnnl::memory> arguments{
        {DNNL_ARG_SRC, from},
        {DNNL_ARG_DST, to},
        {DNNL_ARG_MEAN, impl.numbers(of.mean)},
        {DNNL_ARG_VARIANCE, impl.numbers(of.variance)},
        {DNNL_ARG_SCRATCHPAD, scratchpad(impl.device, description.scratchpad_desc(), task)}};
    if (!measure) {
      arguments.emplace(DNNL_ARG_SCALE, impl.numbers(impl.weight));
      arguments.emplace(DNNL_ARG_SHIFT, impl.numbers(impl.bias));
    }
    task.in_onednn([&] { (measure ? band.measure : band.apply).execute(impl.device.stream, arguments); });
  };
  workers.run(role, count,
              [&](std::int64_t at, Task& task) { execute(true, at, moments[static_cast<std::size_t>(at)], task); });
  const Impl::Moments groups = impl.of_groups(moments, heights);
  workers.run(role, count, [&](std::int64_t at, Task& task) {
    execute(false, at, groups, task);
    const std::int64_t height = at + 1 == count ? rest : rows;
    if (then == Then::silu) silu(y.row(at * rows), height * x.width() * x.channels());
  });
  return y;
}

}  // namespace attn::app
