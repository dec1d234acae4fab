// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/tensor/expected.h"

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace attn::app {

/// Where windows keep their workspaces: $ATTNSCOPE_STATE when that is set, else attnscope/ in $XDG_STATE_HOME or
/// ~/.local/state. May not be there yet.
[[nodiscard]] std::filesystem::path own_state_folder();

/// A window's own place in a folder that several windows share:
///   session-<id>.lock   held locked by the kernel (flock) while the process lives, however it dies
///   session-<id>.json   its workspace, written over every few seconds
///   last.json           the workspace of the window that was closed last
/// A lock that nobody holds beside a workspace means a process that did not come to its end. Whoever finds one takes
/// its lock, so that two windows do not offer the same. On a file system without locks nothing is ever found.
/// One thread at a time.
class SessionFolder {
 public:
  /// What another process left, newest first, its lock held by this one.
  struct Left {
    std::filesystem::path file;
    std::filesystem::path lock;
    std::string text;
    std::chrono::system_clock::time_point at;
    int handle = -1;
  };

  /// Makes the folder and this window's place in it. Error: a sentence; then nothing can be kept.
  [[nodiscard]] static Expected<SessionFolder> open(const std::filesystem::path& folder);
  /// Without end() before it, the workspace stays and is found as left behind.
  ~SessionFolder();
  SessionFolder(SessionFolder&& other) noexcept;
  SessionFolder& operator=(SessionFolder&&) = delete;

  [[nodiscard]] const std::vector<Left>& left() const noexcept { return left_; }
  /// Removes the first of left().
  void drop_left();

  [[nodiscard]] Expected<void> keep(std::string_view text);
  [[nodiscard]] std::string last() const;
  /// The end as it should be: `text` becomes last(), this window's place is gone.
  [[nodiscard]] Expected<void> end(std::string_view text);

 private:
  SessionFolder(std::filesystem::path folder, std::filesystem::path stem, int handle);
  void find_left();
  void remove_place() noexcept;

  std::filesystem::path folder_;
  std::filesystem::path stem_;  ///< <folder>/session-<id>
  int handle_ = -1;
  std::vector<Left> left_;
};

}  // namespace attn::app
