// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/registry/log.h"

namespace attn {

std::string_view name_of(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::debug:
      return "DEBUG";
    case LogLevel::info:
      return "INFO";
    case LogLevel::trace:
      return "TRACE";
    case LogLevel::warning:
      return "WARNING";
    case LogLevel::error:
      return "ERROR";
  }
  return "DEBUG";
}

}  // namespace attn
