// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/commands/fuzzy.h"

#include <QString>
#include <algorithm>
#include <limits>

namespace attn::ui {

namespace {

constexpr int kNever = std::numeric_limits<int>::min() / 2;
constexpr int kWordBegin = 8;
constexpr int kFollows = 6;
constexpr int kLetter = 1;
constexpr int kGap = 1;  ///< for each letter that lies between two that fit

bool begins_word(QStringView text, qsizetype at) {
  if (at == 0) return true;
  const QChar before = text[at - 1];
  return !before.isLetterOrNumber() || (text[at].isUpper() && before.isLower());
}

}  // namespace

std::optional<FuzzyMatch> fuzzy_match(QStringView pattern, QStringView text) {
  QString wanted;
  for (const QChar c : pattern) {
    if (!c.isSpace()) wanted += c.toCaseFolded();
  }
  const qsizetype rows = wanted.size();
  const qsizetype columns = text.size();
  if (rows == 0) return FuzzyMatch{};
  if (rows > columns) return std::nullopt;
  // best[i][j]: of the first i + 1 letters with the last one at j.
  std::vector<std::vector<int>> best(static_cast<std::size_t>(rows),
                                     std::vector<int>(static_cast<std::size_t>(columns), kNever));
  std::vector<std::vector<int>> from(static_cast<std::size_t>(rows),
                                     std::vector<int>(static_cast<std::size_t>(columns), -1));
  for (std::size_t i = 0; i < best.size(); ++i) {
    int reach = kNever;  // best of the letter before, less the gap to here
    int reach_from = -1;
    for (std::size_t j = 0; j < best[i].size(); ++j) {
      const auto at = static_cast<qsizetype>(j);
      if (text[at].toCaseFolded() == wanted[static_cast<qsizetype>(i)]) {
        const int own = kLetter + (begins_word(text, at) ? kWordBegin : 0);
        if (i == 0) {
          best[i][j] = own;
        } else {
          const int near = j > 0 && best[i - 1][j - 1] > kNever ? best[i - 1][j - 1] + kFollows : kNever;
          if (near > kNever && near >= reach) {
            best[i][j] = near + own;
            from[i][j] = static_cast<int>(j) - 1;
          } else if (reach > kNever) {
            best[i][j] = reach + own;
            from[i][j] = reach_from;
          }
        }
      }
      if (i == 0) continue;
      if (reach > kNever) reach -= kGap;
      if (best[i - 1][j] > reach) {
        reach = best[i - 1][j];
        reach_from = static_cast<int>(j);
      }
    }
  }
  const auto& last = best.back();
  const auto end = std::max_element(last.begin(), last.end());
  if (*end <= kNever) return std::nullopt;
  FuzzyMatch match;
  match.score = *end;
  int at = static_cast<int>(end - last.begin());
  for (std::size_t i = best.size(); i-- > 0;) {
    match.places.push_back(at);
    at = from[i][static_cast<std::size_t>(at)];
  }
  std::reverse(match.places.begin(), match.places.end());
  return match;
}

}  // namespace attn::ui
