// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <stop_token>
#include <thread>

namespace attn::cli {

/// While it lives, the first Ctrl-C (or SIGTERM) asks the job to stop, and a second one ends the program at once with
/// exit code 1. Construct it before any other thread starts: the signals are blocked in all of them.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  [[nodiscard]] std::stop_token token() const { return source_.get_token(); }

 private:
  std::stop_source source_;
  std::jthread watcher_;
};

}  // namespace attn::cli
