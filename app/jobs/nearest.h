// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace attn::app {

/// Up to `count` of `names` that look most like `wanted` (edit distance without regard to case, a shared beginning
/// or a contained word counts as near), nearest first; empty where nothing is near.
[[nodiscard]] std::vector<std::string> nearest_names(std::string_view wanted, const std::vector<std::string>& names,
                                                     std::size_t count = 3);

/// "; nearest: a, b, c", or `otherwise` where nothing is near. For the end of an error sentence.
[[nodiscard]] std::string nearest_hint(std::string_view wanted, const std::vector<std::string>& names,
                                       std::string_view otherwise);

/// Foreign text as it may stand in a sentence: at most `most` bytes, then "...", without characters that would move a
/// cursor.
[[nodiscard]] std::string quotable(std::string_view text, std::size_t most = 80);

/// "a, b, c".
[[nodiscard]] std::string joined(const std::vector<std::string>& parts, std::string_view separator = ", ");

}  // namespace attn::app
