// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <filesystem>
#include <string_view>

namespace attn::app {

/// Where the file `relative` of resources/ ("models/models.json") is: below $ATTNSCOPE_RESOURCES when that is set,
/// else below <program>/../share/attnscope when it is there, else in the source tree that built this program.
/// Does not promise that the file exists. Any thread.
[[nodiscard]] std::filesystem::path resource_path(std::string_view relative);

}  // namespace attn::app
