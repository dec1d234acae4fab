// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/context/generation_context.h"

#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// Lowercases UTF-8 text letter by letter (the simple mappings of Unicode 15's UnicodeData.txt, so without regard to
/// what stands around a letter) for Latin with all its extensions that models are named in (Latin-1, Extended-A, the
/// paired letters of Extended-B and Extended Additional), Greek, Cyrillic, Armenian and full-width Latin. Other text
/// and bytes that are not UTF-8 stay as they are.
[[nodiscard]] std::string lower_text(std::string_view text);

/// Without the Unicode white space at both ends; a zero-width space is none.
[[nodiscard]] std::string_view trim_text(std::string_view text) noexcept;

/// Entries of the exclusion list: split at commas, trimmed, lowercased (Unicode), empty ones gone, repeats kept.
[[nodiscard]] std::vector<std::string> parse_exclusions(std::string_view raw);

/// The first entry that equals one of the model's names (architecture, pipeline, denoiser) in lower case; empty for
/// none. Entries are compared as they are: parse_exclusions() lowercased them. Absent and empty names never match.
[[nodiscard]] std::string matched_exclusion(const std::vector<std::string>& entries, const ModelKey& model);

}  // namespace attn
