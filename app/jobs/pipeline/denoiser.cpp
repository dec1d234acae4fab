// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/pipeline/denoiser.h"

#include "app/jobs/pipeline/network.h"
#include "app/jobs/pipeline/norms.h"
#include "app/jobs/pipeline/positions.h"
#include "core/layout/layout_reader.h"

#include <algorithm>
#include <numeric>

namespace attn::app {
namespace {

constexpr std::int64_t kPrompts = 2;  // rows of a product over prompts: one with guidance, one without
constexpr std::size_t kNone = ~std::size_t{0};
constexpr std::int64_t kModulations = 12;  // shift, scale, gate of attention and of the MLP, for image and text

/// One row per prompt through a layer made for kPrompts rows.
std::vector<float> for_prompts(const Linear& layer, std::vector<float> x, std::int64_t prompts, Task& task) {
  x.resize(static_cast<std::size_t>(kPrompts * layer.inputs()));
  std::vector<float> y(static_cast<std::size_t>(kPrompts * layer.outputs()));
  layer.run(x.data(), y.data(), task);
  y.resize(static_cast<std::size_t>(prompts * layer.outputs()));
  return y;
}

/// Rows of any number through a layer made for Linear::kRows rows. `x` has to be as long as whole pieces.
void in_pieces(const Linear& layer, const std::vector<float>& x, std::int64_t rows, std::vector<float>& y,
               Workers& workers) {
  y.resize(static_cast<std::size_t>(rows * layer.outputs()));
  for_chunks(Role::transformer, rows, workers, [&](std::int64_t first, std::int64_t count, Task& task) {
    float* piece = task.memory(kNormedSlot, static_cast<std::size_t>(Linear::kRows * layer.inputs()));
    float* result = task.memory(kResultSlot, static_cast<std::size_t>(Linear::kRows * layer.outputs()));
    std::copy_n(x.data() + first * layer.inputs(), count * layer.inputs(), piece);
    layer.run(piece, result, task);
    std::copy_n(result, count * layer.outputs(), y.data() + first * layer.outputs());
  });
}

}  // namespace

std::optional<TokenLayout> layout_of_ids(std::int64_t text, std::int64_t image) {
  const auto argument = [](const char* name, std::int64_t first, std::int64_t count) {
    DenoiserArgument indices{
        .name = name, .shape = {count}, .values = std::vector<std::int64_t>(static_cast<std::size_t>(count))};
    std::iota(indices.values.begin(), indices.values.end(), first);
    return indices;
  };
  const std::array<DenoiserArgument, 2> arguments{argument("text_indices", 0, text),
                                                  argument("image_indices", text, image)};
  return index_layout(arguments, text + image);
}

struct Denoiser::Rows {
  bool image;
  std::int64_t first;     ///< of all prompts' rows of this kind
  std::int64_t count;     ///< up to Linear::kRows
  std::int64_t tokens;    ///< of this kind in one prompt's sequence
  std::int64_t sequence;  ///< where they begin in the joint sequence

  [[nodiscard]] std::int64_t batch(std::int64_t row) const noexcept { return (first + row) / tokens; }
  [[nodiscard]] std::int64_t token(std::int64_t row) const noexcept { return sequence + (first + row) % tokens; }
};

Conditioning padded(const TextStates& states) {
  const auto tokens = static_cast<std::int64_t>(states.states.size() / states.pooled.size());
  return {states.batch, tokens, states.states, states.pooled, states.live, true};
}

Conditioning trimmed(const TextStates& states, std::int64_t prompt) {
  const auto at = static_cast<std::size_t>(prompt);
  const std::size_t width = states.pooled.size() / static_cast<std::size_t>(states.batch);
  const std::size_t length = states.states.size() / static_cast<std::size_t>(states.batch);
  const float* begin = states.states.data() + at * length;
  const float* pooled = states.pooled.data() + at * width;
  return {1,
          states.live[at],
          {begin, begin + static_cast<std::size_t>(states.live[at]) * width},
          {pooled, pooled + width},
          {states.live[at]},
          false};
}

Denoiser::Stream Denoiser::read_stream(Weights& weights, const std::string& name, std::int64_t width,
                                       std::int64_t head_dim, bool last) {
  Stream stream{linear(weights, name + "qkv", width, 3 * width),
                kept(weights.take(name + "query_norm.weight", {head_dim})),
                kept(weights.take(name + "key_norm.weight", {head_dim})),
                {},
                {},
                {}};
  if (last) return stream;
  stream.out = linear(weights, name + "out", width, width);
  stream.fc1 = linear(weights, name + "fc1", width, 4 * width, Activation::gelu_tanh);
  stream.fc2 = linear(weights, name + "fc2", 4 * width, width);
  return stream;
}

Denoiser::Denoiser(Weights& weights, const ShapesConfig& config)
    : config_(config),
      image_in_(linear(weights, "transformer.image_in", config.latent_channels, config.width)),
      position_in_(weights.take("transformer.position_in.weight", {config.width, 4 * config.position_frequencies}), {},
                   4 * config.position_frequencies, config.width),
      text_in_(linear(weights, "transformer.text_in", config.text_width, config.width)),
      time_in_(linear(weights, "transformer.time_in", config.time_features, config.width, Activation::none, kPrompts)),
      time_out_(linear(weights, "transformer.time_out", config.width, config.width, Activation::none, kPrompts)),
      pooled_in_(linear(weights, "transformer.pooled_in", config.text_width, config.width, Activation::none, kPrompts)),
      modulation_(linear(weights, "transformer.modulation", config.width, kModulations * config.width, Activation::none,
                         kPrompts)),
      final_modulation_(
          linear(weights, "transformer.final_modulation", config.width, 2 * config.width, Activation::none, kPrompts)),
      image_out_(linear(weights, "transformer.image_out", config.width, config.latent_channels)),
      norm_(config.width, 1e-6F) {
  for (std::int64_t i = 0; i < config.blocks; ++i) {
    const std::string at = "transformer.blocks." + std::to_string(i) + ".";
    blocks_.push_back({read_stream(weights, at + "image.", config.width, config.head_dim(), false),
                       read_stream(weights, at + "text.", config.width, config.head_dim(), i + 1 == config.blocks),
                       kept(weights.take(at + "offset", {kModulations, config.width}))});
  }
}

DenoiserPass Denoiser::prepare(const Conditioning& text, std::int64_t height, std::int64_t width,
                               const AttentionCalls& attention, Workers& workers) const {
  DenoiserPass pass;
  pass.batch_ = text.batch;
  pass.text_tokens_ = text.tokens;
  pass.image_tokens_ = height * width;
  const std::int64_t tokens = pass.text_tokens_ + pass.image_tokens_;
  pass.layout_ = layout_of_ids(pass.text_tokens_, pass.image_tokens_);
  if (text.masked) {
    pass.mask_.emplace(HostTensor({text.batch, 1, 1, tokens}, DType::boolean, attention.device()));
    for (std::int64_t b = 0; b < text.batch; ++b) {
      const std::int64_t live = text.live[static_cast<std::size_t>(b)];
      for (std::int64_t t = 0; t < tokens; ++t) {
        pass.mask_->as<std::uint8_t>()[b * tokens + t] = t < live || t >= pass.text_tokens_ ? 1 : 0;
      }
    }
  }
  RotaryTables tables = rotary_tables(pass.text_tokens_, height, width, config_);
  pass.cosine_ = std::move(tables.cosine);
  pass.sine_ = std::move(tables.sine);
  in_pieces(position_in_, position_features(height, width, config_.position_frequencies), pass.image_tokens_,
            pass.places_, workers);
  in_pieces(text_in_, text.states, pass.batch_ * pass.text_tokens_, pass.words_, workers);
  workers.run(Role::transformer, 1, [&](std::int64_t, Task& task) {
    pass.pooled_ = for_prompts(pooled_in_, text.pooled, pass.batch_, task);
  });
  pass.tensors_ =
      AttentionTensors(pass.batch_, config_.heads, tokens, config_.head_dim(), attention.dtype(), attention.device());
  pass.image_.resize(static_cast<std::size_t>(pass.batch_ * pass.image_tokens_ * config_.width));
  return pass;
}

void Denoiser::condition(DenoiserPass& pass, float time, Workers& workers) const {
  workers.run(Role::transformer, 1, [&](std::int64_t, Task& task) {
    std::vector<float> embedded = for_prompts(time_in_, time_features(time, config_.time_features), 1, task);
    silu(embedded.data(), config_.width);
    embedded = for_prompts(time_out_, std::move(embedded), 1, task);
    std::vector<float> condition = pass.pooled_;
    for (std::size_t i = 0; i < condition.size(); ++i) condition[i] += embedded[i % embedded.size()];
    silu(condition.data(), static_cast<std::int64_t>(condition.size()));
    const std::vector<float> shared = for_prompts(modulation_, condition, pass.batch_, task);
    pass.final_ = for_prompts(final_modulation_, condition, pass.batch_, task);
    pass.modulation_.resize(blocks_.size() * shared.size());
    float* to = pass.modulation_.data();
    for (const Block& block : blocks_) {
      for (std::size_t i = 0; i < shared.size(); ++i) *to++ = shared[i] + block.offset[i % block.offset.size()];
    }
  });
}

void Denoiser::enter(DenoiserPass& pass, const FeatureMap& latent, Workers& workers) const {
  const std::int64_t width = config_.width;
  pass.text_ = pass.words_;
  for_chunks(Role::transformer, pass.image_tokens_, workers, [&](std::int64_t first, std::int64_t count, Task& task) {
    float* cells = task.memory(kNormedSlot, static_cast<std::size_t>(Linear::kRows * config_.latent_channels));
    float* result = task.memory(kResultSlot, static_cast<std::size_t>(Linear::kRows * width));
    std::copy_n(latent.row(0) + first * config_.latent_channels, count * config_.latent_channels, cells);
    image_in_.run(cells, result, task);
    const float* places = pass.places_.data() + first * width;
    for (std::int64_t b = 0; b < pass.batch_; ++b) {
      float* to = pass.image_.data() + (b * pass.image_tokens_ + first) * width;
      for (std::int64_t i = 0; i < count * width; ++i) to[i] = result[i] + places[i];
    }
  });
}

void Denoiser::project(DenoiserPass& pass, std::size_t block, const Rows& rows, Task& task) const {
  const std::int64_t width = config_.width;
  const std::int64_t head_dim = config_.head_dim();
  const Stream& stream = rows.image ? blocks_[block].image : blocks_[block].text;
  const float* x = (rows.image ? pass.image_ : pass.text_).data() + rows.first * width;
  float* normed = task.memory(kNormedSlot, static_cast<std::size_t>(Linear::kRows * width));
  float* qkv = task.memory(kHiddenSlot, static_cast<std::size_t>(Linear::kRows * width * 4));
  std::copy_n(x, rows.count * width, normed);
  norm_.run(normed, task);
  for (std::int64_t row = 0; row < rows.count; ++row) {
    const float* m =
        pass.modulation_.data() +
        ((static_cast<std::int64_t>(block) * pass.batch_ + rows.batch(row)) * kModulations + (rows.image ? 0 : 6)) *
            width;
    modulate_row(normed + row * width, m, m + width, width);
  }
  stream.qkv.run(normed, qkv, task);
  for (std::int64_t row = 0; row < rows.count; ++row) {
    const std::int64_t batch = rows.batch(row);
    const std::int64_t token = rows.token(row);
    const float* cosine = pass.cosine_.data() + token * (head_dim / 2);
    const float* sine = pass.sine_.data() + token * (head_dim / 2);
    for (std::int64_t head = 0; head < config_.heads; ++head) {
      float* query = qkv + row * 3 * width + head * head_dim;
      float* key = query + width;
      rms_norm_head(query, stream.query_norm);
      rms_norm_head(key, stream.key_norm);
      rotate_head(query, cosine, sine, head_dim);
      rotate_head(key, cosine, sine, head_dim);
      pass.tensors_.put_query(batch, head, token, query);
      pass.tensors_.put_key(batch, head, token, key);
      pass.tensors_.put_value(batch, head, token, key + width);
    }
  }
}

void Denoiser::finish(DenoiserPass& pass, std::size_t block, const Rows& rows, Task& task) const {
  const std::int64_t width = config_.width;
  const Stream& stream = rows.image ? blocks_[block].image : blocks_[block].text;
  float* x = (rows.image ? pass.image_ : pass.text_).data() + rows.first * width;
  float* normed = task.memory(kNormedSlot, static_cast<std::size_t>(Linear::kRows * width));
  float* hidden = task.memory(kHiddenSlot, static_cast<std::size_t>(Linear::kRows * width * 4));
  float* result = task.memory(kResultSlot, static_cast<std::size_t>(Linear::kRows * width));
  const auto modulation = [&](std::int64_t row) {
    return pass.modulation_.data() +
           ((static_cast<std::int64_t>(block) * pass.batch_ + rows.batch(row)) * kModulations + (rows.image ? 0 : 6)) *
               width;
  };
  for (std::int64_t row = 0; row < rows.count; ++row) {
    pass.tensors_.get_token(rows.batch(row), rows.token(row), normed + row * width);
  }
  stream.out->run(normed, result, task);
  for (std::int64_t row = 0; row < rows.count; ++row) {
    add_gated_row(x + row * width, result + row * width, modulation(row) + 2 * width, width);
  }
  std::copy_n(x, rows.count * width, normed);
  norm_.run(normed, task);
  for (std::int64_t row = 0; row < rows.count; ++row) {
    const float* m = modulation(row);
    modulate_row(normed + row * width, m + 3 * width, m + 4 * width, width);
  }
  stream.fc1->run(normed, hidden, task);
  stream.fc2->run(hidden, result, task);
  for (std::int64_t row = 0; row < rows.count; ++row) {
    add_gated_row(x + row * width, result + row * width, modulation(row) + 5 * width, width);
  }
}

void Denoiser::leave(const DenoiserPass& pass, const Rows& rows, float* velocity, Task& task) const {
  const std::int64_t width = config_.width;
  const std::int64_t channels = config_.latent_channels;
  float* normed = task.memory(kNormedSlot, static_cast<std::size_t>(Linear::kRows * width));
  float* result = task.memory(kResultSlot, static_cast<std::size_t>(Linear::kRows * std::max(width, channels)));
  std::copy_n(pass.image_.data() + rows.first * width, rows.count * width, normed);
  norm_.run(normed, task);
  for (std::int64_t row = 0; row < rows.count; ++row) {
    const float* m = pass.final_.data() + rows.batch(row) * 2 * width;
    modulate_row(normed + row * width, m, m + width, width);
  }
  image_out_.run(normed, result, task);
  std::copy_n(result, rows.count * channels, velocity + rows.first * channels);
}

/// What lies between two attentions: the second half of block `done` and the first half of block `next`, or the way
/// out. A piece of rows goes through all of it on one thread while it is in the cache.
void Denoiser::between(DenoiserPass& pass, std::size_t done, std::size_t next, Workers& workers,
                       float* velocity) const {
  const auto pieces = [](std::int64_t rows) { return (rows + Linear::kRows - 1) / Linear::kRows; };
  const std::int64_t image_rows = pass.batch_ * pass.image_tokens_;
  const std::int64_t text_rows = pass.batch_ * pass.text_tokens_;
  const bool text_lives = next != kNone;  // after the last block nothing reads the text
  workers.run(Role::transformer, pieces(image_rows) + (text_lives ? pieces(text_rows) : 0),
              [&](std::int64_t at, Task& task) {
                const bool image = at < pieces(image_rows);
                const std::int64_t first = (image ? at : at - pieces(image_rows)) * Linear::kRows;
                const Rows rows{image, first, std::min(Linear::kRows, (image ? image_rows : text_rows) - first),
                                image ? pass.image_tokens_ : pass.text_tokens_, image ? pass.text_tokens_ : 0};
                if (done != kNone) finish(pass, done, rows, task);
                if (next != kNone) {
                  project(pass, next, rows, task);
                } else {
                  leave(pass, rows, velocity, task);
                }
              });
}

bool Denoiser::run(DenoiserPass& pass, std::size_t group, const FeatureMap& latent, float time,
                   AttentionCalls& attention, Workers& workers, std::vector<float>& velocity) const {
  velocity.resize(static_cast<std::size_t>(pass.batch_ * pass.image_tokens_ * config_.latent_channels));
  condition(pass, time, workers);
  enter(pass, latent, workers);
  for (std::size_t block = 0; block < blocks_.size(); ++block) {
    between(pass, block == 0 ? kNone : block - 1, block, workers, nullptr);
    if (!attention.serve(Role::transformer, group * blocks_.size() + block,
                         pass.tensors_.call(pass.mask_ ? &*pass.mask_ : nullptr)))
      return false;
  }
  between(pass, blocks_.size() - 1, kNone, workers, velocity.data());
  return true;
}

}  // namespace attn::app
