// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// One line of a diff. Line numbers count from 1; 0 where the line is not in that text.
struct DiffLine {
  enum class Kind : std::uint8_t {
    context,  ///< in both
    removed,
    added,
    gap,  ///< lines in both that are not shown
  };
  Kind kind = Kind::context;
  std::size_t old_line = 0;
  std::size_t new_line = 0;
  std::string text;  ///< without its line end
};

/// What changed from one text to the other, with `context` unchanged lines around each change; empty for equal texts.
/// Line ends belong to the line: a line that only loses its carriage return is a change. Shortest edit script after
/// Myers (An O(ND) Difference Algorithm, 1986); texts more than a thousand edits apart are shown as one replacement.
[[nodiscard]] std::vector<DiffLine> diff_lines(std::string_view before, std::string_view after,
                                               std::size_t context = 3);

/// The lines as people know them: "  text", "- text", "+ text" and "..." for a gap.
[[nodiscard]] std::string diff_text(const std::vector<DiffLine>& lines);

}  // namespace attn
