// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <functional>

namespace attn {

/// Runs body(begin, end) over ranges that together cover 0..n once, on any threads, and returns when all are done.
/// core has no threads of its own: whoever composes the program passes one in. Empty: one range, on this thread.
using ParallelFor =
    std::function<void(std::int64_t n, const std::function<void(std::int64_t begin, std::int64_t end)>& body)>;

}  // namespace attn
