// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/layout/token_layout.h"

#include <algorithm>
#include <array>

namespace attn {
namespace {

constexpr std::array<std::string_view, 2> kSparsifiable{"image", "video"};
constexpr std::array<std::string_view, 1> kDropped{"pad"};

template <class Kinds>
bool holds(const Kinds& kinds, std::string_view kind) noexcept {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

std::string tokens_text(std::int64_t start, std::int64_t end) {
  return std::to_string(start) + " to " + std::to_string(end);
}

std::string named(const TokenSpan& span) {
  return "span \"" + span.kind + "\" (" + tokens_text(span.start, span.end) + ")";
}

}  // namespace

bool is_sparsifiable(std::string_view kind) noexcept { return holds(kSparsifiable, kind); }
bool is_dropped(std::string_view kind) noexcept { return holds(kDropped, kind); }
std::vector<std::string_view> sparsifiable_kinds() { return {kSparsifiable.begin(), kSparsifiable.end()}; }
std::vector<std::string_view> dropped_kinds() { return {kDropped.begin(), kDropped.end()}; }

std::vector<std::string_view> kinds_of(const TokenLayout& layout) {
  std::vector<std::string_view> kinds;
  for (const TokenSpan& span : layout.spans) {
    if (!holds(kinds, span.kind)) kinds.push_back(span.kind);
  }
  return kinds;
}

std::int64_t sparsifiable_tokens(const TokenLayout& layout) noexcept {
  std::int64_t tokens = 0;
  for (const TokenSpan& span : layout.spans) {
    if (is_sparsifiable(span.kind)) tokens += span.end - span.start;
  }
  return tokens;
}

std::vector<TokenRun> covered_runs(const TokenLayout& layout, bool (*wanted)(std::string_view) noexcept,
                                   std::int64_t tokens) {
  const std::int64_t limit = std::min(tokens, layout.length);
  std::vector<TokenRun> runs;
  for (const TokenSpan& span : layout.spans) {
    const TokenRun run{std::max<std::int64_t>(span.start, 0), std::min(span.end, limit)};
    if (run.start < run.end && wanted(span.kind)) runs.push_back(run);
  }
  std::sort(runs.begin(), runs.end(), [](const TokenRun& a, const TokenRun& b) { return a.start < b.start; });
  std::vector<TokenRun> merged;
  for (const TokenRun& run : runs) {
    if (merged.empty() || run.start > merged.back().end) {
      merged.push_back(run);
    } else {
      merged.back().end = std::max(merged.back().end, run.end);
    }
  }
  return merged;
}

std::vector<std::string> layout_faults(const TokenLayout& layout, std::optional<std::int64_t> tokens) {
  std::vector<std::string> faults;
  if (tokens && *tokens != layout.length) {
    faults.push_back("the layout describes " + std::to_string(layout.length) + " tokens, the sequence has " +
                     std::to_string(*tokens) + "; it is not used");
  }
  std::vector<const TokenSpan*> order;
  for (const TokenSpan& span : layout.spans) {
    if (span.end <= span.start || span.start < 0) {
      faults.push_back(named(span) + " is no range of tokens; a start is 0 or more and below its end");
      continue;
    }
    if (span.end > layout.length) {
      faults.push_back(named(span) + " runs past the length " + std::to_string(layout.length) +
                       "; the rest is ignored");
    }
    order.push_back(&span);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const TokenSpan* a, const TokenSpan* b) { return a->start < b->start; });
  std::int64_t reached = 0;
  for (const TokenSpan* span : order) {
    if (span->start < reached) {
      faults.push_back(named(*span) + " overlaps the span before it, which ends at " + std::to_string(reached));
    }
    if (span->start > reached) {
      faults.push_back("tokens " + tokens_text(reached, span->start) + " belong to no span, so their tiles are pinned");
    }
    reached = std::max(reached, span->end);
  }
  if (reached < layout.length) {
    faults.push_back("tokens " + tokens_text(reached, layout.length) + " belong to no span, so their tiles are pinned");
  }
  return faults;
}

}  // namespace attn
