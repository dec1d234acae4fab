// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/filter/filter.h"

#include <algorithm>

namespace attn::ui {

namespace {

using Node = Filter::Node;

/// Whether a word of `text` begins with `start`; a start may itself be several words.
bool begins_a_word(const QString& text, const QString& start) {
  if (start.isEmpty()) return true;
  for (qsizetype at = text.indexOf(start); at >= 0; at = text.indexOf(start, at + 1)) {
    if (at == 0 || !text[at - 1].isLetterOrNumber() || !start[0].isLetterOrNumber()) return true;
  }
  return false;
}

/// Yes, no, or it depends on the call.
std::optional<bool> answer(const Node& node, const FilterRow& row, bool of_kind) {
  switch (node.kind) {
    case Node::Kind::term:
      if (of_kind && node.term.ask != FilterTerm::Ask::word && varies_by_call(node.term.field)) return std::nullopt;
      return node.term.holds(row);
    case Node::Kind::no: {
      const std::optional<bool> inner = answer(node.parts.front(), row, of_kind);
      return inner ? std::optional(!*inner) : std::nullopt;
    }
    case Node::Kind::all:
    case Node::Kind::any: {
      const bool ends_with = node.kind == Node::Kind::any;  // any: the first yes; all: the first no
      bool open = false;
      for (const Node& part : node.parts) {
        const std::optional<bool> one = answer(part, row, of_kind);
        if (one == ends_with) return ends_with;
        open = open || !one;
      }
      return open ? std::nullopt : std::optional(!ends_with);
    }
  }
  return true;
}

}  // namespace

bool FilterTerm::holds(const FilterRow& row) const {
  const auto at = static_cast<std::size_t>(field);
  if (ask == Ask::word) {
    return std::any_of(texts.begin(), texts.end(), [&](const QString& text) { return row.words.contains(text); });
  }
  switch (spec_of(field).kind) {
    case FieldKind::flag:
      return row.flags[at] == flag;
    case FieldKind::text:
      return std::any_of(texts.begin(), texts.end(), [&](const QString& text) {
        return ask == Ask::is ? row.texts[at] == text : begins_a_word(row.texts[at], text);
      });
    case FieldKind::number:
      break;
  }
  const FilterRow::Span& span = row.numbers[at];
  return std::any_of(ranges.begin(), ranges.end(), [&](const Range& range) {
    switch (ask) {
      case Ask::less:
        return span.low < range.high;
      case Ask::less_equal:
        return span.low <= range.high;
      case Ask::greater:
        return span.high > range.low;
      case Ask::greater_equal:
        return span.high >= range.low;
      default:
        return span.low <= range.high && span.high >= range.low;
    }
  });
}

bool Filter::matches(const FilterRow& row) const { return answer(root_, row, false).value_or(true); }

std::optional<bool> Filter::decide(const FilterRow& kind) const { return answer(root_, kind, true); }

}  // namespace attn::ui
