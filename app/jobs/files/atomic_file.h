// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/tensor/expected.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace attn::app {

/// The bytes of a file of at most `limit` bytes. Error: one sentence for a file that is missing, a directory, not
/// readable or too large. Any thread.
[[nodiscard]] Expected<std::string> read_text(const std::filesystem::path& path,
                                              std::size_t limit = std::size_t{64} << 20);

enum class Backup : std::uint8_t {
  none,
  keep,  ///< the old file stays beside the new one as <name>.bak, over an older backup
};

/// Puts `text` into a file so that at every moment, also after a crash, either the old or the new content is there:
/// a temporary file in the same folder with the old one's mode and owner, then a rename. A symbolic link is followed.
/// A file without any write permission is refused, whoever asks.
/// Error: one sentence (read-only, a directory, no such folder, the disk is full, ...); then the old file is as it
/// was and no temporary file is left. Any thread.
[[nodiscard]] Expected<void> write_atomically(const std::filesystem::path& path, std::string_view text,
                                              Backup backup = Backup::none);

}  // namespace attn::app
