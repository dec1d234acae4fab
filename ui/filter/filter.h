// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/filter/filter_row.h"

#include <QString>
#include <QStringList>
#include <optional>
#include <vector>

namespace attn::ui {

/// One question about one field, or a word looked for everywhere.
struct FilterTerm {
  enum class Ask : std::uint8_t {
    word,  ///< anywhere in what the row shows
    has,   ///< a word of the text begins so; a number is the value or lies in the range
    is,    ///< the whole text; a number is the value
    less,
    less_equal,
    greater,
    greater_equal,
  };
  struct Range {
    double low = 0.0;
    double high = 0.0;
  };
  Ask ask = Ask::word;
  FilterField field = FilterField::role;
  QStringList texts;          ///< any of them, case folded
  std::vector<Range> ranges;  ///< any of them, both ends included; comparisons have one, a point
  bool flag = true;

  [[nodiscard]] bool holds(const FilterRow& row) const;
};

/// A filter as a value: what parse_filter() makes of a line. An empty one lets everything through.
class Filter {
 public:
  struct Node {
    enum class Kind : std::uint8_t { term, all, any, no };
    Kind kind = Kind::all;
    FilterTerm term;
    std::vector<Node> parts;
  };

  Filter() = default;
  explicit Filter(Node root) : root_(std::move(root)) {}

  [[nodiscard]] bool is_empty() const noexcept { return root_.kind == Node::Kind::all && root_.parts.empty(); }
  [[nodiscard]] bool matches(const FilterRow& row) const;
  /// The answer for every call of a kind, where what varies from call to call cannot change it.
  [[nodiscard]] std::optional<bool> decide(const FilterRow& kind) const;

 private:
  Node root_;
};

}  // namespace attn::ui
