// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/pipeline/generation_settings.h"
#include "app/jobs/pipeline/picture.h"
#include "core/engine/engine.h"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace attn::app {

/// What made a picture: the generation's settings and the chain's.
struct PictureSettings {
  GenerationSettings generation;
  std::string target;                                         ///< as `--target` takes it
  std::vector<std::pair<std::string, OptionValue>> settings;  ///< of the chain, as Engine::set_all takes them
};

/// The settings with those that `engine` has for the chain.
[[nodiscard]] PictureSettings settings_of(const GenerationSettings& generation, std::string target,
                                          const Engine& engine);

/// Writes a PNG with the settings as JSON in its text chunk "attnscope", atomically. Error: one sentence.
[[nodiscard]] Expected<void> save_picture(const std::filesystem::path& path, const Picture& picture,
                                          const PictureSettings& settings);

/// Takes the settings back out of such a PNG. Error: the file, and why there are none to take: it is no PNG, it has no
/// such chunk, or a value in it is wrong.
[[nodiscard]] Expected<PictureSettings> read_picture_settings(const std::filesystem::path& path);

}  // namespace attn::app
