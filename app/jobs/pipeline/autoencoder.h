// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/pipeline/attention_calls.h"
#include "app/jobs/pipeline/config.h"
#include "app/jobs/pipeline/layers.h"
#include "app/jobs/pipeline/normalization.h"
#include "app/jobs/pipeline/weights.h"

#include <cstdint>
#include <vector>

namespace attn::app {

/// Pictures (height, width, 3) in -1..1 to normalised latents (height / 4, width / 4, channels) and back. Convolutions,
/// group norms, and one single-head attention over all cells in the middle of either way. Role vae.
///
/// Keeps what it prepared for a size, so one thread uses it, that of Workers::enter(). False: the generation has to
/// end.
class Autoencoder {
 public:
  Autoencoder(Weights& weights, const ShapesConfig& config);

  [[nodiscard]] bool encode(const FeatureMap& picture, AttentionCalls& attention, Workers& workers, FeatureMap& latent);
  [[nodiscard]] bool decode(const FeatureMap& latent, AttentionCalls& attention, Workers& workers, FeatureMap& picture);

 private:
  struct ResBlock {
    GroupNorm norm1;
    Convolution conv1;
    GroupNorm norm2;
    Convolution conv2;
    void run(FeatureMap& x, Workers& workers);
  };
  struct CellAttention {
    GroupNorm norm;
    Linear qkv, out;
    [[nodiscard]] bool run(FeatureMap& x, std::size_t site, AttentionCalls& attention, Workers& workers) const;
  };
  struct Encoder {
    Convolution conv_in;
    ResBlock res1;
    Convolution down1;
    ResBlock res2;
    Convolution down2;
    ResBlock res3;
    CellAttention attention;
    ResBlock res4;
    GroupNorm norm;
    Convolution conv_out;
  };
  struct Decoder {
    Convolution conv_in;
    ResBlock res1;
    CellAttention attention;
    ResBlock res2;
    Convolution up1;
    ResBlock res3, res4;
    Convolution up2;
    ResBlock res5;
    GroupNorm norm;
    Convolution conv_out;
  };
  struct Builder;

  ShapesConfig config_;
  Encoder encoder_;
  Decoder decoder_;
};

}  // namespace attn::app
