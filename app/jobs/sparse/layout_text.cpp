// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/sparse/layout_text.h"

#include "core/sparse/exclusions.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace attn::app {
namespace {

constexpr std::int64_t kMostTokens = std::int64_t{1} << 40;
constexpr std::string_view kForm = "write runs such as text:512,image:4096, or spans such as text:0-512,image:512-4608";

std::optional<std::int64_t> count_in(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0 || value > kMostTokens) return std::nullopt;
  return value;
}

/// One part: a run (start -1, end is its count) or a span.
Expected<TokenSpan> read_part(std::string_view text) {
  const std::string whole(text);
  const std::size_t colon = text.find(':');
  const auto wrong = [&] { return fail("the layout's \"" + whole + "\" does not read; " + std::string(kForm)); };
  if (colon == std::string_view::npos) return wrong();
  TokenSpan span;
  span.kind = lower_text(trim_text(text.substr(0, colon)));
  const std::string_view numbers = trim_text(text.substr(colon + 1));
  const std::size_t dash = numbers.find('-', 1);
  const bool is_span = dash != std::string_view::npos;
  const auto first = count_in(numbers.substr(0, is_span ? dash : numbers.size()));
  const auto last = is_span ? count_in(numbers.substr(dash + 1)) : first;
  if (span.kind.empty() || !first || !last) return wrong();
  span.start = is_span ? *first : -1;
  span.end = *last;
  if (is_span && span.end <= span.start) {
    return fail("the layout's \"" + whole + "\" ends where it starts or before; the end is the token after its last");
  }
  return span;
}

}  // namespace

Expected<TokenLayout> read_layout(std::string_view text) {
  TokenLayout layout;
  layout.source = "written";
  bool runs = false;
  bool spans = false;
  std::int64_t at = 0;
  for (bool more = true; more;) {
    const std::size_t end = std::min(text.find(','), text.size());
    auto span = read_part(trim_text(text.substr(0, end)));
    if (!span) return fail(span.error());
    more = end < text.size();
    text.remove_prefix(std::min(end + 1, text.size()));
    (span->start < 0 ? runs : spans) = true;
    if (runs && spans) return fail("the layout mixes runs and spans; " + std::string(kForm));
    if (span->start < 0) {
      if (span->end == 0) continue;
      span->start = at;
      span->end += at;
      at = span->end;
    }
    layout.length = std::max(layout.length, span->end);
    layout.spans.push_back(*std::move(span));
  }
  if (layout.length == 0) return fail("the layout has no tokens; " + std::string(kForm));
  if (layout.length > kMostTokens) return fail("the layout has more tokens than any sequence");
  if (const auto faults = layout_faults(layout); !faults.empty()) return fail("the layout is wrong: " + faults.front());
  return layout;
}

std::string layout_text(const TokenLayout& layout) {
  bool in_a_row = true;
  std::int64_t at = 0;
  for (const TokenSpan& span : layout.spans) {
    in_a_row = in_a_row && span.start == at;
    at = span.end;
  }
  std::string text;
  for (const TokenSpan& span : layout.spans) {
    text += (text.empty() ? "" : ",") + span.kind + ":";
    text +=
        in_a_row ? std::to_string(span.end - span.start) : std::to_string(span.start) + "-" + std::to_string(span.end);
  }
  return text;
}

std::string layout_mismatch(const TokenLayout& layout, std::int64_t tokens) {
  if (layout.length == tokens) return {};
  return "layout mismatch: the layout " + layout_text(layout) + " declares " + std::to_string(layout.length) +
         " tokens, the call has " + std::to_string(tokens);
}

}  // namespace attn::app
