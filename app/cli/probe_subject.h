// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/cli/generate_options.h"
#include "app/cli/job_options.h"
#include "app/jobs/levers/lever_job.h"

#include <memory>
#include <string>

namespace attn::cli {

/// What probe and tune work on: a job, and an engine with the settings as they are given.
struct LeverSubject {
  std::unique_ptr<Engine> engine;
  std::unique_ptr<app::LeverJob> job;
};

/// A model with its inputs or a written call.
struct ScheduleSubject {
  JobOptions job;
  ChainOptions chain;

  void add(CLI::App& command, const Expected<app::ProfileLibrary>* library);
  /// Error: one sentence about the input.
  [[nodiscard]] Expected<LeverSubject> read(const Expected<app::ProfileLibrary>& library) const;
};

/// The bundled pipeline with what `generate` takes.
struct PictureSubject {
  GenerateOptions picture;

  void add(CLI::App& command);
  [[nodiscard]] Expected<LeverSubject> read() const;
};

/// Whether a file can be written there at all, before anything is computed. Error: one sentence that begins with
/// `option`.
[[nodiscard]] Expected<void> check_file(const std::string& option, const std::string& path);

/// A line on stderr when that is a terminal: what runs, which of how many, how much is left.
void show_lever_progress(std::size_t done, std::size_t total, const std::string& name, double share,
                         const std::optional<double>& seconds_left);

}  // namespace attn::cli
