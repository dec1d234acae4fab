// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/nearest.h"

#include <algorithm>
#include <cctype>
#include <numeric>

namespace attn::app {
namespace {

std::string lowered(std::string_view text) {
  std::string low(text);
  for (char& c : low) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return low;
}

/// Levenshtein's distance: insertions, deletions and replacements that turn `a` into `b`.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

std::size_t distance(std::string_view wanted, std::string_view name) {
  const std::size_t edits = edit_distance(wanted, name);
  if (wanted.size() >= 3 && name.find(wanted) != std::string_view::npos) return std::min<std::size_t>(edits, 1);
  return edits;
}

}  // namespace

std::vector<std::string> nearest_names(std::string_view wanted, const std::vector<std::string>& names,
                                       std::size_t count) {
  const std::string low = lowered(wanted);
  const std::size_t limit = std::max<std::size_t>(2, low.size() / 2);
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (const std::string& name : names) {
    if (const std::size_t away = distance(low, lowered(name)); away <= limit) ranked.emplace_back(away, name);
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> nearest;
  for (auto& [away, name] : ranked) {
    if (nearest.size() == count) break;
    nearest.push_back(std::move(name));
  }
  return nearest;
}

std::string nearest_hint(std::string_view wanted, const std::vector<std::string>& names, std::string_view otherwise) {
  const auto near = nearest_names(wanted, names);
  return near.empty() ? std::string(otherwise) : "; nearest: " + joined(near);
}

std::string quotable(std::string_view text, std::size_t most) {
  std::string plain;
  for (const char c : text.substr(0, most)) {
    plain.push_back(static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? '?' : c);
  }
  return text.size() > most ? plain + "..." : plain;
}

std::string joined(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (const std::string& part : parts) {
    if (!text.empty()) text += separator;
    text += part;
  }
  return text;
}

}  // namespace attn::app
