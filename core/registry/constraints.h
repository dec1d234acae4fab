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
/// accepts() and explain() work from one table of checks, so an answer and its reason cannot disagree.
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

/// What the checks look at, read out of a call once instead of once per backend.
struct CallFacts {
  /// Facts that a backend may forbid, one bit each.
  enum Flag : std::uint32_t {
    on_cpu = 1U << 0U,
    masked = 1U << 1U,
    float32 = 1U << 2U,
    mixed_device = 1U << 3U,
    mixed_dtype = 1U << 4U,
    causal = 1U << 5U,
    causal_unequal = 1U << 6U,  ///< causal with different query and key lengths
  };
  std::uint32_t flags = 0;
  std::int32_t rank = 0;
  std::int64_t query_tokens = 0;
  std::int64_t key_tokens = 0;
  std::int64_t head_dim = 0;
  std::int64_t heads = 0;  ///< 0 where the query has no dimension that holds heads

  explicit CallFacts(const AttentionCall& call) noexcept;
};

/// Constraints made ready to be asked many times: the forbidden facts as one mask, the stated numbers as another.
class Gate {
 public:
  Gate() = default;
  explicit Gate(const Constraints& constraints) noexcept;

  /// Whether every condition holds. `facts` must be those of `call`. No allocation, no virtual call; a few ns.
  [[nodiscard]] bool accepts(const CallFacts& facts, const AttentionCall& call) const noexcept;
  [[nodiscard]] const Constraints& constraints() const noexcept { return constraints_; }

 private:
  Constraints constraints_{.allow_cpu = true};
  std::uint32_t forbidden_ = 0;  ///< CallFacts::Flag bits
  std::uint32_t stated_ = 0;     ///< one bit per check that is no flag, by its place in the table
};

/// Gate(constraints).accepts(...) for a single call.
[[nodiscard]] bool accepts(const Constraints& constraints, const AttentionCall& call) noexcept;

/// One verdict per condition that `constraints` really states, in the order in which they are tested.
[[nodiscard]] std::vector<Verdict> explain(const Constraints& constraints, const AttentionCall& call);

/// Names of all checks in their order.
[[nodiscard]] std::vector<std::string_view> check_names();

}  // namespace attn
