// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/registry/log.h"
#include "core/tensor/expected.h"

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace attn::trace {

/// Where the SD_ATTN_DEBUG text goes.
struct DebugLogOptions {
  std::optional<std::filesystem::path> file;       ///< every level; appended to
  std::size_t file_bytes = std::size_t{32} << 20;  ///< a file that would grow beyond this is rolled over
  std::size_t old_files = 9;                       ///< kept beside it: name.1.log is the youngest
  std::string host;                                ///< field of the file form; empty: this machine's name
  bool console = false;                            ///< also to stderr
  LogLevel console_level = LogLevel::debug;        ///< what the console shows: this and everything graver
};

/// The module that the mirrored systems name beside a line: "debug" for routes, "router" for chains, "stage",
/// "sdnq", ...; "router" for what is not known.
[[nodiscard]] std::string_view module_of(std::string_view text) noexcept;

/// A sink that writes lines as the mirrored systems do, times local:
///     file:    2026-10-02 08:15:47,906 | pine | sd | DEBUG | router | Torch attention: chain=sdnq>sdpa ...
///     console: 08:15:47-905631 DEBUG    Torch attention: chain=sdnq>sdpa ...
/// Each line is flushed. The sink may be called from any thread and copied; it never throws: a file that stops
/// taking text (a full disk) is said once on stderr and the lines after that go to the console only.
/// Error: the file cannot be opened; the sentence says which and why.
[[nodiscard]] Expected<LogSink> make_debug_log(const DebugLogOptions& options);

}  // namespace attn::trace
