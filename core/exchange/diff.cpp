// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/exchange/diff.h"

#include <algorithm>
#include <utility>

namespace attn {
namespace {

using Lines = std::vector<std::string_view>;

constexpr std::ptrdiff_t kMostEdits = 1000;

/// Lines with their ends.
Lines split(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

std::string without_end(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return std::string(line);
}

/// Which lines of two ranges stay, as pairs of equal lines in order.
class EditScript {
 public:
  EditScript(const Lines& before, const Lines& after, std::size_t skip, std::size_t before_end, std::size_t after_end)
      : before_(before),
        after_(after),
        skip_(static_cast<std::ptrdiff_t>(skip)),
        n_(static_cast<std::ptrdiff_t>(before_end - skip)),
        m_(static_cast<std::ptrdiff_t>(after_end - skip)) {}

  /// Pairs of places (in the whole texts) of lines that are in both.
  [[nodiscard]] std::vector<std::pair<std::size_t, std::size_t>> kept() {
    const std::ptrdiff_t edits = search();
    std::vector<std::pair<std::size_t, std::size_t>> pairs;
    if (edits < 0) return pairs;
    std::ptrdiff_t x = n_;
    std::ptrdiff_t y = m_;
    for (std::ptrdiff_t d = edits; d >= 0; --d) {
      const std::ptrdiff_t k = x - y;
      const bool down = d > 0 && goes_down(d, k);
      const std::ptrdiff_t start_x = d == 0 ? 0 : reach(d - 1, down ? k + 1 : k - 1) + (down ? 0 : 1);
      for (; x > start_x; --x, --y) pairs.emplace_back(place(x - 1), place(y - 1));
      if (d > 0) down ? --y : --x;
    }
    std::reverse(pairs.begin(), pairs.end());
    return pairs;
  }

 private:
  [[nodiscard]] std::size_t place(std::ptrdiff_t at) const { return static_cast<std::size_t>(skip_ + at); }
  /// How far diagonal k got with d edits; only diagonals of d's own parity within [-d, d] exist.
  [[nodiscard]] std::ptrdiff_t reach(std::ptrdiff_t d, std::ptrdiff_t k) const {
    return k < -d || k > d ? -1 : rows_[static_cast<std::size_t>(d)][static_cast<std::size_t>((k + d) / 2)];
  }
  [[nodiscard]] bool goes_down(std::ptrdiff_t d, std::ptrdiff_t k) const {
    return k == -d || (k != d && reach(d - 1, k - 1) < reach(d - 1, k + 1));
  }

  /// The number of edits, or -1 when there are too many.
  std::ptrdiff_t search() {
    for (std::ptrdiff_t d = 0; d <= std::min(n_ + m_, kMostEdits); ++d) {
      rows_.emplace_back(static_cast<std::size_t>(d) + 1);
      for (std::ptrdiff_t k = -d; k <= d; k += 2) {
        std::ptrdiff_t x = d == 0 ? 0 : goes_down(d, k) ? reach(d - 1, k + 1) : reach(d - 1, k - 1) + 1;
        while (x < n_ && x - k < m_ && before_[place(x)] == after_[place(x - k)]) ++x;
        rows_.back()[static_cast<std::size_t>((k + d) / 2)] = x;
        if (x >= n_ && x - k >= m_) return d;
      }
    }
    return -1;
  }

  const Lines& before_;
  const Lines& after_;
  std::ptrdiff_t skip_;
  std::ptrdiff_t n_;
  std::ptrdiff_t m_;
  std::vector<std::vector<std::ptrdiff_t>> rows_;
};

/// Every line of both texts in the order of a diff.
std::vector<DiffLine> whole(const Lines& before, const Lines& after,
                            const std::vector<std::pair<std::size_t, std::size_t>>& kept) {
  std::vector<DiffLine> lines;
  std::size_t i = 0;
  std::size_t j = 0;
  const auto changed_up_to = [&](std::size_t before_end, std::size_t after_end) {
    for (; i < before_end; ++i) lines.push_back({DiffLine::Kind::removed, i + 1, 0, without_end(before[i])});
    for (; j < after_end; ++j) lines.push_back({DiffLine::Kind::added, 0, j + 1, without_end(after[j])});
  };
  for (const auto& [old_at, new_at] : kept) {
    changed_up_to(old_at, new_at);
    lines.push_back({DiffLine::Kind::context, ++i, ++j, without_end(before[old_at])});
  }
  changed_up_to(before.size(), after.size());
  return lines;
}

}  // namespace

std::vector<DiffLine> diff_lines(std::string_view before_text, std::string_view after_text, std::size_t context) {
  if (before_text == after_text) return {};
  const Lines before = split(before_text);
  const Lines after = split(after_text);
  const std::size_t shorter = std::min(before.size(), after.size());
  std::size_t head = 0;
  while (head < shorter && before[head] == after[head]) ++head;
  std::size_t tail = 0;
  while (tail < shorter - head && before[before.size() - 1 - tail] == after[after.size() - 1 - tail]) ++tail;

  // Only the part between the first and the last change is compared.
  std::vector<std::pair<std::size_t, std::size_t>> kept;
  for (std::size_t i = 0; i < head; ++i) kept.emplace_back(i, i);
  for (const auto& pair : EditScript(before, after, head, before.size() - tail, after.size() - tail).kept()) {
    kept.push_back(pair);
  }
  for (std::size_t i = tail; i > 0; --i) kept.emplace_back(before.size() - i, after.size() - i);

  const std::vector<DiffLine> all = whole(before, after, kept);
  std::vector<bool> shown(all.size(), false);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].kind == DiffLine::Kind::context) continue;
    const std::size_t end = std::min(all.size(), i + context + 1);
    for (std::size_t near = i - std::min(i, context); near < end; ++near) shown[near] = true;
  }
  std::vector<DiffLine> lines;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (shown[i]) {
      lines.push_back(all[i]);
    } else if (lines.empty() || lines.back().kind != DiffLine::Kind::gap) {
      lines.push_back({DiffLine::Kind::gap, 0, 0, {}});
    }
  }
  return lines;
}

std::string diff_text(const std::vector<DiffLine>& lines) {
  std::string text;
  for (const DiffLine& line : lines) {
    switch (line.kind) {
      case DiffLine::Kind::context:
        text += "  " + line.text;
        break;
      case DiffLine::Kind::removed:
        text += "- " + line.text;
        break;
      case DiffLine::Kind::added:
        text += "+ " + line.text;
        break;
      case DiffLine::Kind::gap:
        text += "...";
        break;
    }
    text += '\n';
  }
  return text;
}

}  // namespace attn
