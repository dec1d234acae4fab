// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/pipeline/config.h"
#include "core/tensor/dtype.h"
#include "core/tensor/expected.h"

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace attn::app {

/// How the two prompts of guidance reach the denoiser. The picture is the same but for rounding.
enum class TextForm : std::uint8_t {
  padded,   ///< one forward for both, padded to one length; an attn_mask hides the padding
  trimmed,  ///< a forward for each without padding, so without a mask: for backends that take none
};

/// Who tells the generation context which step it is, as in the systems mirrored.
enum class StepSource : std::uint8_t {
  callback,  ///< classic pipelines: after a step, the number of steps done; roles are scopes
  hook,      ///< modular pipelines: before each forward, which counts forwards; roles stay until the next hook
};

/// A second pass at a higher resolution that starts from the first one's picture.
struct HiresSettings {
  enum class Upscale : std::uint8_t {
    latent,  ///< the latent, bilinearly: quick, softer
    image,   ///< decoded, enlarged bicubically, encoded again
  };
  std::int64_t width = 256;
  std::int64_t height = 256;
  std::int64_t steps = 10;
  double strength = 0.6;  ///< share of the noise that is put back, over 0 to 1
  Upscale upscale = Upscale::latent;

  friend bool operator==(const HiresSettings&, const HiresSettings&) = default;
};

/// Everything that decides a picture, besides the chain that computes its attention.
struct GenerationSettings {
  std::string prompt;
  std::string negative_prompt;  ///< what guidance leads away from; empty: the null prompt
  std::uint64_t seed = 0;
  std::int64_t width = 128;
  std::int64_t height = 128;
  std::int64_t steps = 20;
  double guidance = 3.0;  ///< 1: the prompt alone, in half of the time
  std::optional<HiresSettings> hires;
  DType dtype = DType::float32;  ///< of the attention tensors: float32, float16 or bfloat16
  TextForm text = TextForm::padded;
  StepSource step_source = StepSource::callback;
  bool compiled = false;  ///< routes are chosen once per call site and kept until the chain is rebuilt

  friend bool operator==(const GenerationSettings&, const GenerationSettings&) = default;
};

/// Sizes, steps and so on within what the model does, and both prompts in its words. Error: the first that is not,
/// and what would be right.
[[nodiscard]] Expected<void> check_settings(const GenerationSettings& settings, const ShapesConfig& config);

/// One flat object and one for the second pass, as the PNG keeps it.
[[nodiscard]] nlohmann::ordered_json to_json(const GenerationSettings& settings);
/// Reads what to_json wrote; keys that are missing keep their defaults, other keys are ignored. Error: the key, its
/// value, and what would be right.
[[nodiscard]] Expected<GenerationSettings> read_generation(const nlohmann::ordered_json& object);

[[nodiscard]] std::string_view name_of(TextForm form) noexcept;           ///< "padded", "trimmed"
[[nodiscard]] std::string_view name_of(StepSource source) noexcept;       ///< "callback", "hook"
[[nodiscard]] std::string_view name_of(HiresSettings::Upscale) noexcept;  ///< "latent", "image"
[[nodiscard]] std::optional<TextForm> parse_text_form(std::string_view text) noexcept;
[[nodiscard]] std::optional<StepSource> parse_step_source(std::string_view text) noexcept;
[[nodiscard]] std::optional<HiresSettings::Upscale> parse_upscale(std::string_view text) noexcept;

}  // namespace attn::app
