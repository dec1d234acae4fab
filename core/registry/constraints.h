// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/call/attention_call.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// What a call must be for a backend to take it. Plain data; 0 means "no condition" for every number.
/// accepts() and explain() walk one table of checks, so an answer and its reason cannot disagree.
struct Constraints {
  bool allow_cpu = false;           ///< false: a query on the cpu is declined
  bool allow_mask = true;           ///< false: any attn_mask is declined
  bool allow_float32 = true;        ///< false: a float32 query is declined (only that dtype)
  bool same_device = false;         ///< true: key and value must be on the query's device
  bool same_dtype = false;          ///< true: key and value must have the query's dtype
  bool require_contiguous = false;  ///< true: query, key and value must be contiguous (set by a failed probe)
  bool allow_causal = true;         ///< false: is_causal is declined (set by a failed probe)
  bool causal_top_left = true;      ///< false: the kernel aligns causal bottom right, so unequal lengths are declined
  std::uint8_t min_ndim = 0;
  std::array<std::int32_t, 4> head_dims{};  ///< the allowed head_dims, 0 where unused; all 0: any
  std::int32_t max_head_dim = 0;
  std::int32_t min_tokens = 0;     ///< query and key at least this long
  std::int32_t min_long_side = 0;  ///< query or key strictly longer than this
  std::int32_t min_heads = 0;
  std::int64_t max_offset_reach = 0;  ///< largest element offset a kernel with 32-bit offsets may reach

  friend bool operator==(const Constraints&, const Constraints&) = default;
};

/// One check of one call, as a person reads it.
struct Verdict {
  std::string_view check;  ///< static name, such as "head_dim"
  std::string required;    ///< "64, 96, 128"
  std::string actual;      ///< "160"
  bool ok = true;
  std::string reason;  ///< a clause when declined, such as "head_dim 160 not in {64,96,128}"; else empty
};

/// Whether every condition holds. No allocation, no virtual call; about 5 ns.
[[nodiscard]] bool accepts(const Constraints& constraints, const AttentionCall& call) noexcept;

/// One verdict per condition that `constraints` really states, in the order in which accepts() tests them.
[[nodiscard]] std::vector<Verdict> explain(const Constraints& constraints, const AttentionCall& call);

/// Names of all checks in their order.
[[nodiscard]] std::vector<std::string_view> check_names();

}  // namespace attn
