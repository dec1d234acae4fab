// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/cli/attention_options.h"
#include "app/cli/program.h"
#include "app/jobs/requirement/requirement.h"
#include "core/engine/engine.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attn::cli {

/// What every subcommand that builds a chain takes.
struct ChainOptions {
  std::string target = "cpu";
  std::optional<std::string> overrides;
  std::vector<std::string> sets;
  std::string preset;       ///< settings under a name, before the import
  std::string import_file;  ///< settings out of an SD.Next config.json, before overrides and sets
  std::string require;
  AttentionOptions attention;
  bool json = false;
  bool debug = false;
  std::string log_file;

  void add_json(CLI::App& command);
  void add_log(CLI::App& command);
  void add_target(CLI::App& command);
  void add_settings(CLI::App& command);  ///< target, overrides, set, preset, import, attention
  void add_chain(CLI::App& command);     ///< those, require, json, debug, log
};

/// Where the engine's and the trace's lines go: warnings and errors on stderr, with --debug or SD_ATTN_DEBUG in the
/// environment every line, with --log every line to that file too.
[[nodiscard]] Expected<LogSink> make_sink(const ChainOptions& options);
/// Whether routes are to be logged.
[[nodiscard]] bool traces_routes(const ChainOptions& options);

/// An engine for the options. Error: an unknown target, backend or setting, or a value that is wrong.
[[nodiscard]] Expected<std::unique_ptr<Engine>> make_engine(const ChainOptions& options, LogSink sink);

/// "sage,SDNQ attention" as override labels: names or labels, in any case. "none" and "" are the empty list.
/// Error: the unknown one, with the list of those there are.
[[nodiscard]] Expected<OptionList> read_overrides(const Registry& registry, const std::string& text);

/// Puts "key=value" texts into the engine, all or none.
[[nodiscard]] Expected<void> apply_sets(Engine& engine, const std::optional<std::string>& overrides,
                                        const std::vector<std::string>& sets);

/// Words of a list separated by commas, trimmed, empty ones gone.
[[nodiscard]] std::vector<std::string> split(std::string_view text, char separator);

using app::Requirement;
using app::unmet_requirement;
/// Reads "sage,sdnq" or "transformer=sage". Error: the unknown name or role.
[[nodiscard]] Expected<std::vector<Requirement>> read_requirements(const Registry& registry, const std::string& text);

}  // namespace attn::cli
