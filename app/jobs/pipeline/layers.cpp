// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/pipeline/layers.h"

#include "app/jobs/pipeline/onednn.h"

#include <algorithm>
#include <list>
#include <map>
#include <unordered_map>
#include <utility>

namespace attn::app {

using namespace onednn;

namespace {

/// Weights as a primitive wants them.
dnnl::memory packed(Device& device, const Desc& plain, const float* weights, const Desc& wanted) {
  dnnl::memory from(plain, device.engine, writable(weights));
  dnnl::memory to(wanted, device.engine);
  dnnl::reorder(from, to).execute(device.stream, from, to);
  device.stream.wait();
  return to;
}

}  // namespace

struct Linear::Impl {
  Device device;
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  std::int64_t rows = 0;
  dnnl::matmul::primitive_desc description;
  dnnl::matmul product;
  dnnl::memory weights;
  dnnl::memory bias;
};

Linear::Linear(std::span<const float> weights, std::span<const float> bias, std::int64_t inputs, std::int64_t outputs,
               Activation activation, std::int64_t rows)
    : impl_(std::make_unique<Impl>()) {
  Impl& impl = *impl_;
  impl.inputs = inputs;
  impl.outputs = outputs;
  impl.rows = rows;
  dnnl::primitive_attr attributes = shared_attributes();
  if (activation == Activation::gelu_tanh) {
    dnnl::post_ops after;
    after.append_eltwise(1.0F, dnnl::algorithm::eltwise_gelu_tanh, 0.0F, 0.0F);
    attributes.set_post_ops(after);
  }
  const Desc x({rows, inputs}, kF32, Format::ab);
  const Desc y({rows, outputs}, kF32, Format::ab);
  const Desc any({inputs, outputs}, kF32, Format::any);
  const Desc b({1, outputs}, kF32, Format::ab);
  impl.description = bias.empty() ? dnnl::matmul::primitive_desc({x, any, y}, attributes, impl.device.engine)
                                  : dnnl::matmul::primitive_desc({x, any, b, y}, attributes, impl.device.engine);
  impl.product = dnnl::matmul(impl.description);
  const Desc stored({inputs, outputs}, kF32, Format::ba);
  impl.weights = packed(impl.device, stored, weights.data(), impl.description.weights_desc());
  if (!bias.empty()) impl.bias = filled(impl.device, b, bias);
}

Linear::~Linear() = default;
Linear::Linear(Linear&&) noexcept = default;
Linear& Linear::operator=(Linear&&) noexcept = default;

std::int64_t Linear::inputs() const noexcept { return impl_->inputs; }
std::int64_t Linear::outputs() const noexcept { return impl_->outputs; }
std::int64_t Linear::rows() const noexcept { return impl_->rows; }

void Linear::run(const float* x, float* y, Task& task) const {
  task.in_onednn([&] {
    Impl& impl = *impl_;
    std::unordered_map<int, dnnl::memory> arguments{
        {DNNL_ARG_SRC, {impl.description.src_desc(), impl.device.engine, writable(x)}},
        {DNNL_ARG_WEIGHTS, impl.weights},
        {DNNL_ARG_DST, {impl.description.dst_desc(), impl.device.engine, y}},
        {DNNL_ARG_SCRATCHPAD, scratchpad(impl.device, impl.description.scratchpad_desc(), task)}};
    if (impl.bias) arguments.emplace(DNNL_ARG_BIAS, impl.bias);
    impl.product.execute(impl.device.stream, arguments);
  });
}

FeatureMap::FeatureMap(std::int64_t height, std::int64_t width, std::int64_t channels)
    : height_(height),
      width_(width),
      channels_(channels),
      memory_(static_cast<std::size_t>((height + 2) * width * channels) * sizeof(float)) {}

FeatureMap FeatureMap::copy() const {
  FeatureMap same(height_, width_, channels_);
  std::copy(row(0), row(height_), same.row(0));
  return same;
}

struct Convolution::Impl {
  /// The primitive for bands of `rows` output rows of a map of one width.
  struct Band {
    dnnl::convolution_forward::primitive_desc description;
    dnnl::convolution_forward convolution;
    dnnl::memory weights;
  };

  Band& band(std::int64_t rows, std::int64_t width);
  dnnl::memory weights_as(const Desc& wanted);

  Device device;
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  std::int64_t stride = 1;
  std::vector<float> plain;
  dnnl::memory bias;
  std::list<dnnl::memory> packings;
  std::map<std::pair<std::int64_t, std::int64_t>, Band> bands;
};

dnnl::memory Convolution::Impl::weights_as(const Desc& wanted) {
  for (const dnnl::memory& packing : packings) {
    if (packing.get_desc() == wanted) return packing;
  }
  const Desc stored({outputs, inputs, 3, 3}, kF32, Format::oihw);
  return packings.emplace_back(packed(device, stored, plain.data(), wanted));
}

Convolution::Impl::Band& Convolution::Impl::band(std::int64_t rows, std::int64_t width) {
  const auto found = bands.find({rows, width});
  if (found != bands.end()) return found->second;
  // The map's own rows of zeros are the padding above and below; only the sides are left to the primitive. With stride
  // 2 and an even width the column of zeros on the right is never reached.
  const Desc x({1, inputs, (rows - 1) * stride + 3, width}, kF32, Format::nhwc);
  const Desc y({1, outputs, rows, width / stride}, kF32, Format::nhwc);
  const Desc any({outputs, inputs, 3, 3}, kF32, Format::any);
  const dnnl::convolution_forward::desc wanted(dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
                                               x, any, bias.get_desc(), y, {stride, stride}, {0, 1},
                                               {0, stride == 1 ? 1 : 0});
  Band made;
  made.description = dnnl::convolution_forward::primitive_desc(wanted, shared_attributes(), device.engine);
  made.convolution = dnnl::convolution_forward(made.description);
  made.weights = weights_as(made.description.weights_desc());
  return bands.emplace(std::pair(rows, width), std::move(made)).first->second;
}

Convolution::Convolution(std::span<const float> weights, std::span<const float> bias, std::int64_t inputs,
                         std::int64_t outputs, std::int64_t stride)
    : impl_(std::make_unique<Impl>()) {
  impl_->inputs = inputs;
  impl_->outputs = outputs;
  impl_->stride = stride;
  impl_->plain.assign(weights.begin(), weights.end());
  impl_->bias = filled(impl_->device, Desc({outputs}, kF32, Format::x), bias);
}

Convolution::~Convolution() = default;
Convolution::Convolution(Convolution&&) noexcept = default;
Convolution& Convolution::operator=(Convolution&&) noexcept = default;

FeatureMap Convolution::run(const FeatureMap& x, Role role, Workers& workers) {
  constexpr std::int64_t kCells = 256;  // of a band: the width alone decides how a map is cut
  Impl& impl = *impl_;
  FeatureMap y(x.height() / impl.stride, x.width() / impl.stride, impl.outputs);
  const std::int64_t rows = std::clamp<std::int64_t>(kCells / y.width(), 1, y.height());
  const std::int64_t rest = y.height() % rows;
  Impl::Band& whole = impl.band(rows, x.width());
  Impl::Band& last = rest == 0 ? whole : impl.band(rest, x.width());
  const std::int64_t count = (y.height() + rows - 1) / rows;
  workers.run(role, count, [&](std::int64_t at, Task& task) {
    Impl::Band& band = at + 1 == count ? last : whole;
    task.in_onednn([&] {
      const dnnl::engine& engine = impl.device.engine;
      band.convolution.execute(
          impl.device.stream,
          {{DNNL_ARG_SRC, {band.description.src_desc(), engine, writable(x.row(at * rows * impl.stride - 1))}},
           {DNNL_ARG_WEIGHTS, band.weights},
           {DNNL_ARG_BIAS, impl.bias},
           {DNNL_ARG_DST, {band.description.dst_desc(), engine, y.row(at * rows)}},
           {DNNL_ARG_SCRATCHPAD, scratchpad(impl.device, band.description.scratchpad_desc(), task)}});
    });
  });
  return y;
}

}  // namespace attn::app
