// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/pipeline/text_encoder.h"

#include "app/jobs/pipeline/network.h"

#include <algorithm>

namespace attn::app {
namespace {

LayerNorm layer_norm(Weights& weights, const std::string& name, std::int64_t width) {
  return {weights.take(name + ".weight", {width}), weights.take(name + ".bias", {width}), 1e-5F};
}

}  // namespace

TextEncoder::TextEncoder(Weights& weights, const ShapesConfig& config)
    : length_(config.text_length),
      width_(config.text_width),
      heads_(config.text_heads),
      norm_(layer_norm(weights, "te.norm", width_)) {
  const auto words = static_cast<std::int64_t>(config.vocabulary.size());
  words_ = kept(weights.take("te.token.weight", {words, width_}));
  places_ = kept(weights.take("te.position.weight", {length_, width_}));
  for (std::int64_t i = 0; i < config.text_blocks; ++i) {
    const std::string at = "te.blocks." + std::to_string(i) + ".";
    blocks_.push_back({layer_norm(weights, at + "norm1", width_), layer_norm(weights, at + "norm2", width_),
                       linear(weights, at + "qkv", width_, 3 * width_), linear(weights, at + "out", width_, width_),
                       linear(weights, at + "fc1", width_, 4 * width_, Activation::gelu_tanh),
                       linear(weights, at + "fc2", 4 * width_, width_)});
  }
}

void TextEncoder::project(const Block& block, const float* x, std::int64_t first, std::int64_t rows,
                          AttentionTensors& tensors, Task& task) const {
  float* normed = task.memory(kNormedSlot, static_cast<std::size_t>(Linear::kRows * width_));
  float* qkv = task.memory(kHiddenSlot, static_cast<std::size_t>(Linear::kRows * width_ * 3));
  std::copy_n(x + first * width_, rows * width_, normed);
  block.norm1.run(normed, task);
  block.qkv.run(normed, qkv, task);
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t batch = (first + row) / length_;
    const std::int64_t token = (first + row) % length_;
    for (std::int64_t head = 0; head < heads_; ++head) {
      const float* at = qkv + row * 3 * width_ + head * (width_ / heads_);
      tensors.put_query(batch, head, token, at);
      tensors.put_key(batch, head, token, at + width_);
      tensors.put_value(batch, head, token, at + 2 * width_);
    }
  }
}

void TextEncoder::finish(const Block& block, float* x, std::int64_t first, std::int64_t rows,
                         const AttentionTensors& tensors, Task& task) const {
  float* normed = task.memory(kNormedSlot, static_cast<std::size_t>(Linear::kRows * width_));
  float* hidden = task.memory(kHiddenSlot, static_cast<std::size_t>(Linear::kRows * width_ * 4));
  float* result = task.memory(kResultSlot, static_cast<std::size_t>(Linear::kRows * width_));
  const auto add = [&] {
    for (std::int64_t i = 0; i < rows * width_; ++i) x[first * width_ + i] += result[i];
  };
  for (std::int64_t row = 0; row < rows; ++row) {
    tensors.get_token((first + row) / length_, (first + row) % length_, normed + row * width_);
  }
  block.out.run(normed, result, task);
  add();
  std::copy_n(x + first * width_, rows * width_, normed);
  block.norm2.run(normed, task);
  block.fc1.run(normed, hidden, task);
  block.fc2.run(hidden, result, task);
  add();
}

bool TextEncoder::run(std::span<const TokenizedPrompt> prompts, AttentionCalls& attention, Workers& workers,
                      TextStates& states) const {
  states.batch = static_cast<std::int64_t>(prompts.size());
  const std::int64_t rows = states.batch * length_;
  std::vector<float>& x = states.states;
  x.resize(static_cast<std::size_t>(rows * width_));
  HostTensor mask({states.batch, 1, 1, length_}, DType::boolean, attention.device());
  states.live.clear();
  for (std::int64_t row = 0; row < rows; ++row) {
    const TokenizedPrompt& prompt = prompts[static_cast<std::size_t>(row / length_)];
    const float* word = words_.data() + prompt.ids[static_cast<std::size_t>(row % length_)] * width_;
    const float* place = places_.data() + row % length_ * width_;
    for (std::int64_t i = 0; i < width_; ++i) x[static_cast<std::size_t>(row * width_ + i)] = word[i] + place[i];
    mask.as<std::uint8_t>()[row] = row % length_ < prompt.live ? 1 : 0;
    if (row % length_ == 0) states.live.push_back(prompt.live);
  }
  AttentionTensors tensors(states.batch, heads_, length_, width_ / heads_, attention.dtype(), attention.device());
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    for_chunks(Role::te, rows, workers, [&](std::int64_t first, std::int64_t count, Task& task) {
      project(blocks_[i], x.data(), first, count, tensors, task);
    });
    if (!attention.serve(Role::te, i, tensors.call(&mask))) return false;
    for_chunks(Role::te, rows, workers, [&](std::int64_t first, std::int64_t count, Task& task) {
      finish(blocks_[i], x.data(), first, count, tensors, task);
    });
  }
  states.pooled.assign(static_cast<std::size_t>(states.batch * width_), 0.0F);
  for_chunks(Role::te, rows, workers, [&](std::int64_t first, std::int64_t count, Task& task) {
    float* normed = task.memory(kNormedSlot, static_cast<std::size_t>(Linear::kRows * width_));
    std::copy_n(x.data() + first * width_, count * width_, normed);
    norm_.run(normed, task);
    std::copy_n(normed, count * width_, x.data() + first * width_);
  });
  for (std::int64_t row = 0; row < rows; ++row) {
    const float* state = x.data() + row * width_;
    const std::int64_t live = states.live[static_cast<std::size_t>(row / length_)];
    if (row % length_ >= live) continue;
    float* pooled = states.pooled.data() + row / length_ * width_;
    for (std::int64_t i = 0; i < width_; ++i) pooled[i] += state[i] / static_cast<float>(live);
  }
  return true;
}

}  // namespace attn::app
