// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace attn {

/// Levels of the production systems' log; trace stands between info and warning there.
enum class LogLevel : std::uint8_t { debug, info, trace, warning, error };
/// "DEBUG", "INFO", "TRACE", "WARNING", "ERROR".
[[nodiscard]] std::string_view name_of(LogLevel level) noexcept;
struct LogLine {
  LogLevel level = LogLevel::debug;
  std::string text;
  friend bool operator==(const LogLine&, const LogLine&) = default;
};
/// Receives lines as they are made, on the thread that makes them.
using LogSink = std::function<void(const LogLine&)>;

}  // namespace attn
