// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/cli/chain_options.h"
#include "app/jobs/profile/profile_job.h"

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attn::cli {

/// The job of plan, run and compare: a model with its inputs, or a written call.
struct JobOptions {
  std::vector<std::string> job;
  std::vector<std::string> inputs;                          ///< --input K=V
  std::map<std::string, std::optional<std::string>> named;  ///< --width 1024: by input name, where given
  std::uint64_t seed = 0;

  /// `library` may be null when the profiles cannot be read; then only --input is there.
  void add(CLI::App& command, const app::ProfileLibrary* library);
  /// An option that gives an input of a model, as it is written; empty when there is none.
  [[nodiscard]] std::string any_input() const;
};

/// The schedule that the options ask for. Error: an unknown model, an input that is wrong, a call that does not read.
[[nodiscard]] Expected<app::CallSchedule> read_job(const JobOptions& options,
                                                   const Expected<app::ProfileLibrary>& library);

/// The bundled profiles. Error: the file and what is wrong in it.
[[nodiscard]] Expected<app::ProfileLibrary> load_profiles();

}  // namespace attn::cli
