// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/interrupt.h"

#include "app/cli/program.h"

#include <unistd.h>
#include <csignal>
#include <ctime>

namespace attn::cli {
namespace {

sigset_t watched_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  return signals;
}

}  // namespace

Interrupt::Interrupt() {
  const sigset_t signals = watched_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  watcher_ = std::jthread([this](const std::stop_token& end) {
    const sigset_t wanted = watched_signals();
    const timespec wait{0, 50'000'000};
    while (!end.stop_requested()) {
      if (sigtimedwait(&wanted, nullptr, &wait) < 0) continue;
      if (source_.stop_requested()) _exit(Exit::failed);
      source_.request_stop();
      say(Exit::failed, "stopping after the call that runs; press Ctrl-C again to end at once");
    }
  });
}

Interrupt::~Interrupt() {
  watcher_.request_stop();
  watcher_.join();
  const sigset_t signals = watched_signals();
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

}  // namespace attn::cli
