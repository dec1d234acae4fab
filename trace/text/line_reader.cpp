// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/text/line_reader.h"

namespace attn::trace {
namespace {

constexpr char kEscape = '\x1b';

/// A colour code is ESC [ parameters, ended by a letter (ECMA-48, SGR).
std::string without_colours(std::string_view line) {
  std::string text;
  text.reserve(line.size());
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == kEscape && i + 1 < line.size() && line[i + 1] == '[') {
      i += 2;
      while (i < line.size() && (line[i] < '@' || line[i] > '~')) ++i;
    } else {
      text += line[i];
    }
  }
  return text;
}

bool is_blank(char c) noexcept { return c == ' ' || c == '\t'; }

}  // namespace

LineReader::LineReader(std::string_view line) : text_(without_colours(line)) {
  const std::size_t last = text_.find_last_not_of(" \t\r\n");
  text_.resize(last == std::string::npos ? 0 : last + 1);
}

bool LineReader::skip_to(std::string_view marker) {
  std::size_t found = text_.find(marker, at_);
  while (found != std::string::npos) {
    const char before = found == 0 ? ' ' : text_[found - 1];
    if (is_blank(before) || before == '"') {
      in_json_ = before == '"';
      at_ = found + marker.size();
      skip_blanks();
      return true;
    }
    found = text_.find(marker, found + 1);
  }
  return false;
}

bool LineReader::take(std::string_view literal) {
  if (!rest().starts_with(literal)) return false;
  at_ += literal.size();
  skip_blanks();
  return true;
}

std::string_view LineReader::word() {
  const std::string_view left = rest();
  const std::string_view taken = left.substr(0, left.find_first_of(in_json_ ? " \t\"" : " \t"));
  at_ += taken.size();
  skip_blanks();
  return taken;
}

std::optional<std::string_view> LineReader::field(std::string_view name) {
  const std::size_t start = at_;
  if (!rest().starts_with(name)) return std::nullopt;
  at_ += name.size();
  const std::string_view value = word();
  if (!value.empty()) return value;
  at_ = start;
  return std::nullopt;
}

std::optional<bool> LineReader::boolean() {
  const std::size_t start = at_;
  const std::string_view value = word();
  if (value == "True") return true;
  if (value == "False") return false;
  at_ = start;
  return std::nullopt;
}

std::optional<EventShape> LineReader::shape() {
  if (!take("[")) return std::nullopt;
  EventShape shape;
  if (take("]")) return shape;
  while (shape.rank < shape.size.size()) {
    const auto size = number<std::int32_t>();
    if (!size) return std::nullopt;
    shape.size[shape.rank++] = *size;
    if (take("]")) return shape;
    if (!take(",")) return std::nullopt;
  }
  return std::nullopt;
}

std::optional<std::string> LineReader::label() {
  if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) return std::nullopt;
  const char quote = text_[at_++];
  std::string value;
  for (; at_ < text_.size(); ++at_) {
    char c = text_[at_];
    if (c == quote) {
      ++at_;
      skip_blanks();
      return value;
    }
    if (c == '\\' && at_ + 1 < text_.size()) c = text_[++at_];
    value += c;
  }
  return std::nullopt;
}

std::optional<std::vector<std::string>> LineReader::labels() {
  if (!take("[")) return std::nullopt;
  std::vector<std::string> all;
  if (take("]")) return all;
  while (true) {
    auto next = label();
    if (!next) return std::nullopt;
    all.push_back(*std::move(next));
    if (take("]")) return all;
    if (!take(",")) return std::nullopt;
  }
}

bool LineReader::at_end() const noexcept { return in_json_ ? rest().starts_with('"') : rest().empty(); }

void LineReader::skip_blanks() noexcept {
  while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
}

}  // namespace attn::trace
