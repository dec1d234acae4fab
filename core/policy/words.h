// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// Without blanks at either end.
[[nodiscard]] std::string_view trimmed(std::string_view text) noexcept;
/// ASCII letters in lower case.
[[nodiscard]] std::string lowered(std::string_view text);
/// The parts between `separator`, trimmed, blank ones gone.
[[nodiscard]] std::vector<std::string> split_words(std::string_view text, char separator);

}  // namespace attn
