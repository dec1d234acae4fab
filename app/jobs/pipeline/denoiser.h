// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/pipeline/attention_calls.h"
#include "app/jobs/pipeline/layers.h"
#include "app/jobs/pipeline/normalization.h"
#include "app/jobs/pipeline/text_encoder.h"
#include "app/jobs/pipeline/weights.h"
#include "core/layout/token_layout.h"

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace attn::app {

/// The text that one forward of the denoiser sees.
struct Conditioning {
  std::int64_t batch = 0;
  std::int64_t tokens = 0;         ///< of each prompt in the joint sequence
  std::vector<float> states;       ///< (batch, tokens, text_width)
  std::vector<float> pooled;       ///< (batch, text_width)
  std::vector<std::int64_t> live;  ///< per prompt: tokens before the padding
  bool masked = false;             ///< padding is in the sequence and hidden by an attn_mask
};

/// All prompts in one batch, with their padding and the mask that hides it.
[[nodiscard]] Conditioning padded(const TextStates& states);
/// One prompt alone, without its padding and so without a mask. The same picture for backends that take no masks.
[[nodiscard]] Conditioning trimmed(const TextStates& states, std::int64_t prompt);

/// What the joint sequence holds: the text's tokens first, then the image's, as a pipeline numbers them for its
/// denoiser.
[[nodiscard]] std::optional<TokenLayout> layout_of_ids(std::int64_t text, std::int64_t image);

class Denoiser;

/// What the forwards of one pass have in common: text, sizes, and memory. Belongs to its denoiser.
class DenoiserPass {
 public:
  [[nodiscard]] std::int64_t batch() const noexcept { return batch_; }
  /// What each token of the joint sequence is, from the ids of the text and of the image tokens.
  [[nodiscard]] const std::optional<TokenLayout>& layout() const noexcept { return layout_; }

 private:
  friend class Denoiser;
  std::int64_t batch_ = 0;
  std::int64_t text_tokens_ = 0;
  std::int64_t image_tokens_ = 0;
  std::optional<TokenLayout> layout_;
  std::optional<HostTensor> mask_;  ///< (batch, 1, 1, tokens) bool
  std::vector<float> cosine_;       ///< (tokens, head_dim / 2)
  std::vector<float> sine_;
  std::vector<float> places_;  ///< (image tokens, width): what the position features add
  std::vector<float> words_;   ///< (batch * text tokens, width): the text as it enters
  std::vector<float> pooled_;  ///< (batch, width)
  AttentionTensors tensors_;
  std::vector<float> image_;       ///< (batch * image tokens, width)
  std::vector<float> text_;        ///< (batch * text tokens, width)
  std::vector<float> modulation_;  ///< (blocks, batch, 12, width)
  std::vector<float> final_;       ///< (batch, 2, width): shift and scale of the last norm
};

/// ShapesTransformer2DModel: the velocity of a noisy latent. Joint attention with the text first, normalised queries
/// and keys, rotary positions over (y, x), adaptive norm. Role transformer.
class Denoiser {
 public:
  Denoiser(Weights& weights, const ShapesConfig& config);

  [[nodiscard]] DenoiserPass prepare(const Conditioning& text, std::int64_t height, std::int64_t width,
                                     const AttentionCalls& attention, Workers& workers) const;
  /// The velocity of `latent` (height, width, channels), the same for every prompt of the batch, at `time` in 0..1:
  /// (batch, height, width, channels). The call sites are those of group `group`, one a block. False: the generation
  /// has to end.
  [[nodiscard]] bool run(DenoiserPass& pass, std::size_t group, const FeatureMap& latent, float time,
                         AttentionCalls& attention, Workers& workers, std::vector<float>& velocity) const;

 private:
  /// The weights that one kind of token has in a block. The text of the last block has no second half.
  struct Stream {
    Linear qkv;
    std::vector<float> query_norm, key_norm;
    std::optional<Linear> out, fc1, fc2;
  };
  struct Block {
    Stream image, text;
    std::vector<float> offset;  ///< (12, width)
  };
  /// Rows of one kind of token, and where they are in the joint sequence.
  struct Rows;

  static Stream read_stream(Weights& weights, const std::string& name, std::int64_t width, std::int64_t head_dim,
                            bool last);
  void condition(DenoiserPass& pass, float time, Workers& workers) const;
  void enter(DenoiserPass& pass, const FeatureMap& latent, Workers& workers) const;
  void between(DenoiserPass& pass, std::size_t done, std::size_t next, Workers& workers, float* velocity) const;
  void project(DenoiserPass& pass, std::size_t block, const Rows& rows, Task& task) const;
  void finish(DenoiserPass& pass, std::size_t block, const Rows& rows, Task& task) const;
  void leave(const DenoiserPass& pass, const Rows& rows, float* velocity, Task& task) const;

  ShapesConfig config_;
  Linear image_in_, position_in_, text_in_, time_in_, time_out_, pooled_in_, modulation_;
  std::vector<Block> blocks_;
  Linear final_modulation_, image_out_;
  LayerNorm norm_;
};

}  // namespace attn::app
