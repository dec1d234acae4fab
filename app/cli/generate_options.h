// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/cli/chain_options.h"
#include "app/cli/repeat_options.h"
#include "app/jobs/pipeline/picture_file.h"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace attn::cli {

/// The words of `attnctl generate`, as they were typed: what is absent comes from --from or is the default.
struct GenerateOptions {
  ChainOptions chain;
  std::optional<std::string> prompt;
  std::string output;
  std::string from;
  std::string against;  ///< a picture to compare with
  std::string model;    ///< another folder than the bundled one
  std::optional<std::string> negative;
  std::optional<std::string> seed;  ///< a number, or "random"
  std::optional<std::string> size;
  std::optional<std::int64_t> width, height, steps;
  std::optional<double> guidance;
  std::optional<std::string> hires;  ///< a size, or "off"
  std::optional<std::int64_t> hires_steps;
  std::optional<double> hires_strength;
  std::optional<std::string> hires_upscale;
  std::optional<std::string> dtype;
  std::optional<std::string> text;
  std::optional<std::string> step_source;
  bool compiled = false;
  int threads = 0;
  RepeatOptions repeat;
  CLI::Option* target_option = nullptr;    ///< tells whether --target was given
  CLI::Option* compiled_option = nullptr;  ///< tells whether --compiled or --no-compiled was; null: there is neither

  void add(CLI::App& command);
  /// The options that say what is drawn, without the files, the chain and --compiled.
  void add_picture(CLI::App& command);
};

/// The settings that the options ask for, and the chain's out of --from. Puts the target of --from into `options`
/// where none was given. Error: one sentence.
[[nodiscard]] Expected<app::PictureSettings> read_generate(GenerateOptions& options);

/// An engine with the settings of --from below those of the command line.
[[nodiscard]] Expected<std::unique_ptr<Engine>> make_generate_engine(const GenerateOptions& options,
                                                                     const app::PictureSettings& settings,
                                                                     LogSink sink);

/// Whether a picture can be written there at all, before it is computed. Error: one sentence.
[[nodiscard]] Expected<void> check_output(const std::string& path);

}  // namespace attn::cli
