// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/policy/packages.h"

#include <chrono>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

namespace attn::app {

/// Looks modules up in a Python of this machine. Every import has a process of its own, so that one that crashes or
/// hangs says so and leaves the others alone. Not thread safe.
class PythonModules {
 public:
  /// `interpreter` is a program in PATH or a path; `limit` is for each import.
  explicit PythonModules(std::string interpreter, std::chrono::milliseconds limit = std::chrono::seconds(90),
                         std::stop_token stop = {});

  /// "Python 3.11.2". Error: it cannot be run.
  [[nodiscard]] Expected<std::string> version() const;
  /// The module's version (empty where it has none), nullopt when there is none of that name; asked once.
  /// Error: what importing it said, in one line.
  [[nodiscard]] Expected<std::optional<std::string>> find(std::string_view module);

 private:
  [[nodiscard]] Expected<std::optional<std::string>> look(const std::string& module) const;

  std::string interpreter_;
  std::chrono::milliseconds limit_;
  std::stop_token stop_;
  std::map<std::string, Expected<std::optional<std::string>>, std::less<>> known_;
};

}  // namespace attn::app
