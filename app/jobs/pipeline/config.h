// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/tensor/expected.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attn::app {

/// What config.json says about the bundled model: everything besides the weights that is needed to run it.
struct ShapesConfig {
  std::string pipeline_class;
  std::string transformer_class;
  std::vector<std::string> vocabulary;  ///< a word's id is its place
  std::int64_t pad_id = 0;
  std::int64_t unknown_id = 1;
  std::int64_t start_id = 2;
  std::int64_t text_length = 0;  ///< tokens of every prompt, padded
  std::int64_t text_width = 0;
  std::int64_t text_heads = 0;
  std::int64_t text_blocks = 0;
  std::int64_t width = 0;  ///< of the denoiser
  std::int64_t heads = 0;
  std::int64_t blocks = 0;
  std::int64_t time_features = 0;
  std::int64_t position_frequencies = 0;
  double rope_extent = 0.0;
  double rope_theta = 0.0;
  std::int64_t latent_channels = 0;
  std::int64_t latent_factor = 0;  ///< pixels of a latent cell's side
  std::array<std::int64_t, 3> vae_widths{};
  std::int64_t vae_groups = 0;
  std::vector<double> latent_mean;  ///< per channel
  std::vector<double> latent_std;
  double shift_base = 0.0;
  std::int64_t shift_tokens = 0;
  std::int64_t default_steps = 0;
  double default_guidance = 0.0;

  [[nodiscard]] std::int64_t head_dim() const noexcept { return width / heads; }

  /// Reads config.json's text. Error: the file, the key, and what would be right; sizes that do not go together too.
  [[nodiscard]] static Expected<ShapesConfig> parse(std::string_view text, std::string_view file_name);
};

}  // namespace attn::app
