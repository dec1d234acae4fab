// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/resources.h"

#include <cstdlib>
#include <system_error>

namespace attn::app {

namespace fs = std::filesystem;

fs::path resource_path(std::string_view relative) {
  if (const char* chosen = std::getenv("ATTNSCOPE_RESOURCES"); chosen != nullptr && *chosen != '\0') {
    return fs::path(chosen) / relative;
  }
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    fs::path installed = program.parent_path().parent_path() / "share" / "attnscope" / relative;
    if (fs::exists(installed, error)) return installed;
  }
  return fs::path(ATTN_RESOURCES) / relative;
}

}  // namespace attn::app
