// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace attn {

/// A result, or one sentence that names what is wrong, where, and what would be right.
template <class T>
using Expected = tl::expected<T, std::string>;

[[nodiscard]] inline tl::unexpected<std::string> fail(std::string sentence) {
  return tl::unexpected<std::string>(std::move(sentence));
}

}  // namespace attn
