// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/registry/target.h"
#include "core/tensor/expected.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace attn::app {

/// Reads "platform=cuda,sm=86,memory=24GiB" by the rules that find_target() states.
[[nodiscard]] Expected<Target> parse_target_description(std::string_view text);

/// nullopt when `platform` is a platform name, else a sentence that lists them.
[[nodiscard]] std::optional<std::string> platform_error(std::string_view platform);

/// CUDA compute capability times ten from "86", "8.6" or "sm_86".
[[nodiscard]] std::optional<int> parse_capability(std::string_view text);

/// Bytes from "24GiB", "24 GB" or "1.5TiB": GiB are powers of 1024, GB are powers of 1000.
[[nodiscard]] std::optional<std::int64_t> parse_memory(std::string_view text);

/// "24 GiB", "15.5 GiB", "512 MiB".
[[nodiscard]] std::string memory_text(std::int64_t bytes);

}  // namespace attn::app
