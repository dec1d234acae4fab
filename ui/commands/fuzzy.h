// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QStringView>
#include <optional>
#include <vector>

namespace attn::ui {

/// How well a few typed letters fit a text.
struct FuzzyMatch {
  int score = 0;            ///< larger is better; compares matches of one pattern
  std::vector<int> places;  ///< of the letters that fit, ascending
};

/// Whether the letters of `pattern` stand in `text` in this order, without regard to case and to spaces in the pattern.
/// Letters that begin a word or follow each other count for more than scattered ones, and of all ways to place them the
/// best is taken. An empty pattern fits everything. Takes pattern times text steps.
[[nodiscard]] std::optional<FuzzyMatch> fuzzy_match(QStringView pattern, QStringView text);

}  // namespace attn::ui
