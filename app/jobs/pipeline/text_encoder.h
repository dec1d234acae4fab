// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/pipeline/attention_calls.h"
#include "app/jobs/pipeline/layers.h"
#include "app/jobs/pipeline/normalization.h"
#include "app/jobs/pipeline/prompt.h"
#include "app/jobs/pipeline/weights.h"

#include <cstdint>
#include <span>
#include <vector>

namespace attn::app {

/// What the text encoder makes of prompts.
struct TextStates {
  std::int64_t batch = 0;
  std::vector<float> states;       ///< (batch, text_length, text_width)
  std::vector<float> pooled;       ///< (batch, text_width): the mean over the live tokens
  std::vector<std::int64_t> live;  ///< per prompt: tokens before the padding
};

/// Word ids and a padding mask to text states: learned words and places, pre-norm blocks, a final norm. Role te.
class TextEncoder {
 public:
  TextEncoder(Weights& weights, const ShapesConfig& config);

  /// False: the generation has to end. On the thread of Workers::enter().
  [[nodiscard]] bool run(std::span<const TokenizedPrompt> prompts, AttentionCalls& attention, Workers& workers,
                         TextStates& states) const;

 private:
  struct Block {
    LayerNorm norm1, norm2;
    Linear qkv, out, fc1, fc2;
  };
  void project(const Block& block, const float* x, std::int64_t first, std::int64_t rows, AttentionTensors& tensors,
               Task& task) const;
  void finish(const Block& block, float* x, std::int64_t first, std::int64_t rows, const AttentionTensors& tensors,
              Task& task) const;

  std::int64_t length_, width_, heads_;
  std::vector<float> words_, places_;
  std::vector<Block> blocks_;
  LayerNorm norm_;
};

}  // namespace attn::app
