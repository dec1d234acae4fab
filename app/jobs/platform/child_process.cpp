// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/platform/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

extern char** environ;

namespace attn::app {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostBytes = std::size_t{1} << 20;

/// Both ends of a pipe; they close with it.
struct Pipe {
  std::array<int, 2> ends{-1, -1};
  Pipe() = default;
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    for (const int end : ends) {
      if (end >= 0) close(end);
    }
  }
  [[nodiscard]] bool open() { return pipe2(ends.data(), O_CLOEXEC) == 0; }
  void close_writer() {
    close(ends[1]);
    ends[1] = -1;
  }
};

/// File descriptors of a child to be.
struct Actions {
  posix_spawn_file_actions_t actions{};
  Actions() { posix_spawn_file_actions_init(&actions); }
  Actions(const Actions&) = delete;
  Actions& operator=(const Actions&) = delete;
  ~Actions() { posix_spawn_file_actions_destroy(&actions); }
};

Expected<pid_t> start(const std::vector<std::string>& words, const Pipe& out, const Pipe& err) {
  std::vector<std::string> copies = words;
  std::vector<char*> pointers;
  for (std::string& word : copies) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  Actions actions;
  posix_spawn_file_actions_addopen(&actions.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions.actions, out.ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions.actions, err.ends[1], STDERR_FILENO);
  pid_t child = 0;
  const int code = posix_spawnp(&child, pointers.front(), &actions.actions, nullptr, pointers.data(), environ);
  if (code != 0) return fail(words.front() + " cannot be started: " + std::strerror(code));
  return child;
}

/// Reads what is there. False: the other side has closed.
bool take(int from, std::string& text) {
  std::array<char, 4096> bytes{};
  const ssize_t count = read(from, bytes.data(), bytes.size());
  if (count < 0) return errno == EINTR || errno == EAGAIN;
  if (text.size() < kMostBytes) text.append(bytes.data(), static_cast<std::size_t>(count));
  return count > 0;
}

/// Reads both outputs until they close. False: the time was over, or a stop was asked for.
bool read_all(const Pipe& out, const Pipe& err, Clock::time_point end, const std::stop_token& stop,
              ChildOutput& output) {
  std::array<pollfd, 2> waits{{{out.ends[0], POLLIN, 0}, {err.ends[0], POLLIN, 0}}};
  while (waits[0].fd >= 0 || waits[1].fd >= 0) {
    if (stop.stop_requested() || Clock::now() >= end) return false;
    constexpr int kLook = 50;  // milliseconds between two looks at the clock
    if (poll(waits.data(), waits.size(), kLook) <= 0) continue;
    if (waits[0].revents != 0 && !take(out.ends[0], output.out)) waits[0].fd = -1;
    if (waits[1].revents != 0 && !take(err.ends[0], output.err)) waits[1].fd = -1;
  }
  return true;
}

}  // namespace

Expected<ChildOutput> run_child(const std::vector<std::string>& words, std::chrono::milliseconds limit,
                                const std::stop_token& stop) {
  Pipe out;
  Pipe err;
  if (!out.open() || !err.open()) return fail(std::string("no pipe: ") + std::strerror(errno));
  const auto child = start(words, out, err);
  if (!child) return fail(child.error());
  out.close_writer();
  err.close_writer();
  ChildOutput output;
  if (!read_all(out, err, Clock::now() + limit, stop, output)) {
    output.late = true;
    kill(*child, SIGKILL);
  }
  int status = 0;
  while (waitpid(*child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) output.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) output.signal = WTERMSIG(status);
  return output;
}

}  // namespace attn::app
