// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/cli/job_options.h"
#include "app/jobs/tensors/tensors_call.h"

namespace attn::cli {

/// `attnctl run --tensors FILE`: one call with the tensors of a file.
struct TensorsOptions {
  std::string file;
  std::string output;
  void add(CLI::App& command);
};

/// The recorded call of `path`, with the words of the job. Error: the file and what is wrong in it, or an input of a
/// model beside it.
[[nodiscard]] Expected<app::FileCall> read_recorded(const std::string& path, const JobOptions& job);

[[nodiscard]] int run_tensors(const TensorsOptions& options, const JobOptions& job, const ChainOptions& chain);

}  // namespace attn::cli
