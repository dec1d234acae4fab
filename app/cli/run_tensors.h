// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/cli/job_options.h"

namespace attn::cli {

/// `attnctl run --tensors FILE`: one call with the tensors of a file.
struct TensorsOptions {
  std::string file;
  std::string output;
  void add(CLI::App& command);
};

[[nodiscard]] int run_tensors(const TensorsOptions& options, const JobOptions& job, const ChainOptions& chain);

}  // namespace attn::cli
