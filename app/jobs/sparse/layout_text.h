// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/layout/token_layout.h"
#include "core/tensor/expected.h"

#include <string>
#include <string_view>

namespace attn::app {

/// A token layout as people write it: runs one behind the other, "text:512,image:4096", or spans with their first
/// token and the one after their last, "text:0-512,image:512-4608". Kinds are lowercased. The layout's length is the
/// sum of the runs, or the end of the last span. Source "written".
/// Error: a part that does not read, runs and spans mixed, spans that overlap or leave gaps, or no tokens at all.
[[nodiscard]] Expected<TokenLayout> read_layout(std::string_view text);

/// What read_layout() reads: "text:512,image:4096", or spans where runs could not say it.
[[nodiscard]] std::string layout_text(const TokenLayout& layout);

/// "layout mismatch: ...", or empty when the layout is of that length.
[[nodiscard]] std::string layout_mismatch(const TokenLayout& layout, std::int64_t tokens);

}  // namespace attn::app
