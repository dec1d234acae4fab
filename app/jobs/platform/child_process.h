// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/tensor/expected.h"

#include <chrono>
#include <stop_token>
#include <string>
#include <vector>

namespace attn::app {

/// What a program left behind.
struct ChildOutput {
  std::string out;
  std::string err;
  int exit_code = 0;  ///< meaningless where a signal ended it
  int signal = 0;     ///< that ended it; 0: none
  bool late = false;  ///< ended because the time was over
};

/// Runs a program, looked for in PATH, with nothing on its stdin, and waits for it. At most `limit`, or until a stop
/// is asked for; then it is killed. At most a MiB of each output is kept. Error: it cannot be started.
[[nodiscard]] Expected<ChildOutput> run_child(const std::vector<std::string>& words, std::chrono::milliseconds limit,
                                              const std::stop_token& stop = {});

}  // namespace attn::app
