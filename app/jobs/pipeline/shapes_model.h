// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/pipeline/autoencoder.h"
#include "app/jobs/pipeline/config.h"
#include "app/jobs/pipeline/denoiser.h"
#include "app/jobs/pipeline/preview.h"
#include "app/jobs/pipeline/text_encoder.h"
#include "core/engine/engine.h"

#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>

namespace attn::app {

/// Call sites of a compiled generation, by role and number. A model keeps them from one generation to the next.
using CompiledSites = std::map<std::pair<Role, std::size_t>, FrozenRoute>;

/// The bundled model, ready to run: text encoder, denoiser and autoencoder with their weights packed. One generation
/// at a time uses it.
class ShapesModel {
 public:
  /// Takes the networks' weights; load() is the way in, as only weights.finish() says whether all of them were there.
  ShapesModel(Weights& weights, ShapesConfig config);
  /// Reads config.json and shapes.safetensors of a folder. Error: the file and what is wrong in it.
  [[nodiscard]] static Expected<std::shared_ptr<ShapesModel>> load(const std::filesystem::path& folder);
  /// resources/models/shapes.
  [[nodiscard]] static std::filesystem::path bundled();

  [[nodiscard]] const ShapesConfig& config() const noexcept { return config_; }
  [[nodiscard]] const TextEncoder& text_encoder() const noexcept { return text_encoder_; }
  [[nodiscard]] const Denoiser& denoiser() const noexcept { return denoiser_; }
  [[nodiscard]] Autoencoder& autoencoder() noexcept { return autoencoder_; }
  [[nodiscard]] const LatentPreview& preview() const noexcept { return preview_; }
  [[nodiscard]] CompiledSites& compiled_sites() noexcept { return sites_; }

 private:
  ShapesConfig config_;
  TextEncoder text_encoder_;
  Denoiser denoiser_;
  Autoencoder autoencoder_;
  LatentPreview preview_;
  CompiledSites sites_;
};

}  // namespace attn::app
