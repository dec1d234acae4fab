// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/pipeline/autoencoder.h"

#include "app/jobs/pipeline/network.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace attn::app {
namespace {

constexpr std::size_t kEncoderSite = 0;
constexpr std::size_t kDecoderSite = 1;

/// Every cell four times: (2 height, 2 width).
FeatureMap enlarged(const FeatureMap& x, Workers& workers) {
  FeatureMap y(2 * x.height(), 2 * x.width(), x.channels());
  workers.run(Role::vae, y.height(), [&](std::int64_t at, Task&) {
    const float* from = x.row(at / 2);
    float* to = y.row(at);
    for (std::int64_t cell = 0; cell < y.width(); ++cell, to += x.channels()) {
      std::copy_n(from + cell / 2 * x.channels(), x.channels(), to);
    }
  });
  return y;
}

}  // namespace

/// Reads the parts of one half by their names.
struct Autoencoder::Builder {
  Weights& weights;
  std::string at;
  std::int64_t groups;

  [[nodiscard]] Convolution conv(const std::string& name, std::int64_t inputs, std::int64_t outputs,
                                 std::int64_t stride = 1) const {
    return {weights.take(at + name + ".weight", {outputs, inputs, 3, 3}), weights.take(at + name + ".bias", {outputs}),
            inputs, outputs, stride};
  }
  [[nodiscard]] GroupNorm norm(const std::string& name, std::int64_t width) const {
    return {weights.take(at + name + ".weight", {width}), weights.take(at + name + ".bias", {width}), groups};
  }
  [[nodiscard]] ResBlock res(const std::string& name, std::int64_t width) const {
    return {norm(name + ".norm1", width), conv(name + ".conv1", width, width), norm(name + ".norm2", width),
            conv(name + ".conv2", width, width)};
  }
  [[nodiscard]] CellAttention attention(const std::string& name, std::int64_t width) const {
    return {norm(name + ".norm", width), linear(weights, at + name + ".qkv", width, 3 * width),
            linear(weights, at + name + ".out", width, width)};
  }
  [[nodiscard]] Encoder encoder(std::int64_t low, std::int64_t mid, std::int64_t high, std::int64_t channels) const {
    return {conv("conv_in", 3, low),      res("res1", low),
            conv("down1", low, mid, 2),   res("res2", mid),
            conv("down2", mid, high, 2),  res("res3", high),
            attention("attention", high), res("res4", high),
            norm("norm", high),           conv("conv_out", high, channels)};
  }
  [[nodiscard]] Decoder decoder(std::int64_t low, std::int64_t mid, std::int64_t high, std::int64_t channels) const {
    return {conv("conv_in", channels, high),
            res("res1", high),
            attention("attention", high),
            res("res2", high),
            conv("up1", high, mid),
            res("res3", mid),
            res("res4", mid),
            conv("up2", mid, low),
            res("res5", low),
            norm("norm", low),
            conv("conv_out", low, 3)};
  }
};

Autoencoder::Autoencoder(Weights& weights, const ShapesConfig& config)
    : config_(config),
      encoder_(Builder{weights, "vae.encoder.", config.vae_groups}.encoder(
          config.vae_widths[0], config.vae_widths[1], config.vae_widths[2], config.latent_channels)),
      decoder_(Builder{weights, "vae.decoder.", config.vae_groups}.decoder(
          config.vae_widths[0], config.vae_widths[1], config.vae_widths[2], config.latent_channels)) {}

void Autoencoder::ResBlock::run(FeatureMap& x, Workers& workers) {
  constexpr auto kSilu = GroupNorm::Then::silu;
  const FeatureMap hidden = conv1.run(norm1.run(x, kSilu, Role::vae, workers), Role::vae, workers);
  const FeatureMap change = conv2.run(norm2.run(hidden, kSilu, Role::vae, workers), Role::vae, workers);
  workers.run(Role::vae, x.height(), [&](std::int64_t y, Task&) {
    float* to = x.row(y);
    const float* add = change.row(y);
    for (std::int64_t i = 0; i < x.width() * x.channels(); ++i) to[i] += add[i];
  });
}

bool Autoencoder::CellAttention::run(FeatureMap& x, std::size_t site, AttentionCalls& attention,
                                     Workers& workers) const {
  const std::int64_t width = x.channels();
  const FeatureMap normed = norm.run(x, GroupNorm::Then::nothing, Role::vae, workers);
  AttentionTensors tensors(1, 1, x.cells(), width, attention.dtype(), attention.device());
  for_chunks(Role::vae, x.cells(), workers, [&](std::int64_t first, std::int64_t count, Task& task) {
    float* cells = task.memory(kNormedSlot, static_cast<std::size_t>(Linear::kRows * width));
    float* parts = task.memory(kHiddenSlot, static_cast<std::size_t>(Linear::kRows * width * 3));
    std::copy_n(normed.row(0) + first * width, count * width, cells);
    qkv.run(cells, parts, task);
    for (std::int64_t row = 0; row < count; ++row, parts += 3 * width) {
      tensors.put_query(0, 0, first + row, parts);
      tensors.put_key(0, 0, first + row, parts + width);
      tensors.put_value(0, 0, first + row, parts + 2 * width);
    }
  });
  if (!attention.serve(Role::vae, site, tensors.call())) return false;
  for_chunks(Role::vae, x.cells(), workers, [&](std::int64_t first, std::int64_t count, Task& task) {
    float* attended = task.memory(kNormedSlot, static_cast<std::size_t>(Linear::kRows * width));
    float* result = task.memory(kResultSlot, static_cast<std::size_t>(Linear::kRows * width));
    for (std::int64_t row = 0; row < count; ++row) tensors.get_token(0, first + row, attended + row * width);
    out.run(attended, result, task);
    float* to = x.row(0) + first * width;
    for (std::int64_t i = 0; i < count * width; ++i) to[i] += result[i];
  });
  return true;
}

bool Autoencoder::encode(const FeatureMap& picture, AttentionCalls& attention, Workers& workers, FeatureMap& latent) {
  Encoder& e = encoder_;
  FeatureMap x = e.conv_in.run(picture, Role::vae, workers);
  e.res1.run(x, workers);
  x = e.down1.run(x, Role::vae, workers);
  e.res2.run(x, workers);
  x = e.down2.run(x, Role::vae, workers);
  e.res3.run(x, workers);
  if (!e.attention.run(x, kEncoderSite, attention, workers)) return false;
  e.res4.run(x, workers);
  latent = e.conv_out.run(e.norm.run(x, GroupNorm::Then::silu, Role::vae, workers), Role::vae, workers);
  // Bounded softly to +-3 before it is normalised.
  for (std::int64_t i = 0; i < latent.cells() * latent.channels(); ++i) {
    const auto channel = static_cast<std::size_t>(i % latent.channels());
    float& value = latent.row(0)[i];
    value = (3.0F * std::tanh(value / 3.0F) - static_cast<float>(config_.latent_mean[channel])) /
            static_cast<float>(config_.latent_std[channel]);
  }
  return true;
}

bool Autoencoder::decode(const FeatureMap& latent, AttentionCalls& attention, Workers& workers, FeatureMap& picture) {
  Decoder& d = decoder_;
  FeatureMap x(latent.height(), latent.width(), latent.channels());
  for (std::int64_t i = 0; i < latent.cells() * latent.channels(); ++i) {
    const auto channel = static_cast<std::size_t>(i % latent.channels());
    x.row(0)[i] = latent.row(0)[i] * static_cast<float>(config_.latent_std[channel]) +
                  static_cast<float>(config_.latent_mean[channel]);
  }
  x = d.conv_in.run(x, Role::vae, workers);
  d.res1.run(x, workers);
  if (!d.attention.run(x, kDecoderSite, attention, workers)) return false;
  d.res2.run(x, workers);
  x = d.up1.run(enlarged(x, workers), Role::vae, workers);
  d.res3.run(x, workers);
  d.res4.run(x, workers);
  x = d.up2.run(enlarged(x, workers), Role::vae, workers);
  d.res5.run(x, workers);
  picture = d.conv_out.run(d.norm.run(x, GroupNorm::Then::silu, Role::vae, workers), Role::vae, workers);
  return true;
}

}  // namespace attn::app
