// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/registry/constraints.h"

#include <algorithm>

namespace attn {
namespace {

bool has_head_dims(const Constraints& c) noexcept { return c.head_dims[0] != 0; }

bool in_head_dims(const Constraints& c, std::int64_t head_dim) noexcept {
  return std::any_of(c.head_dims.begin(), c.head_dims.end(),
                     [head_dim](std::int32_t allowed) { return allowed != 0 && allowed == head_dim; });
}

std::string head_dims_text(const Constraints& c, std::string_view separator) {
  std::string text;
  for (const std::int32_t head_dim : c.head_dims) {
    if (head_dim == 0) continue;
    if (!text.empty()) text += separator;
    text += std::to_string(head_dim);
  }
  return text;
}

bool mixed_dtype(const AttentionCall& call) noexcept {
  return call.key.dtype != call.query.dtype || call.value.dtype != call.query.dtype;
}

std::string dtypes_text(const AttentionCall& call) {
  std::string text = "q=" + std::string(short_name_of(call.query.dtype));
  if (call.key.dtype != call.query.dtype) text += " k=" + std::string(short_name_of(call.key.dtype));
  if (call.value.dtype != call.query.dtype) text += " v=" + std::string(short_name_of(call.value.dtype));
  return text;
}

std::string layouts_text(const AttentionCall& call) {
  return std::string(name_of(layout_of(call.query))) + ", " + std::string(name_of(layout_of(call.key))) + ", " +
         std::string(name_of(layout_of(call.value)));
}

std::int64_t reach_of(const AttentionCall& call) noexcept {
  return std::max({call.query.offset_reach(), call.key.offset_reach(), call.value.offset_reach()});
}

std::int64_t long_side(const AttentionCall& call) noexcept { return std::max(call.query_tokens(), call.key_tokens()); }

/// A query of rank 2 has no dimension that holds heads; the reference throws there, this declines.
std::int64_t heads_of(const AttentionCall& call) noexcept { return call.query.rank < 3 ? 0 : call.heads(); }

std::string both_lengths(const AttentionCall& call) {
  return std::to_string(call.query_tokens()) + ", " + std::to_string(call.key_tokens());
}

std::string number(std::int64_t value) { return std::to_string(value); }

/// One row: when the condition is stated, when it holds, and the words for both sides.
struct Check {
  std::string_view name;
  bool (*stated)(const Constraints&) noexcept;
  bool (*holds)(const Constraints&, const AttentionCall&) noexcept;
  std::string (*required)(const Constraints&);
  std::string (*actual)(const AttentionCall&);
  std::string (*reason)(const Constraints&, const AttentionCall&);
};

using C = const Constraints&;
using Call = const AttentionCall&;

constexpr std::array<Check, 15> kChecks{{
    {"device", [](C c) noexcept { return !c.allow_cpu; },
     [](C, Call call) noexcept { return !call.query.device.is_cpu(); }, [](C) { return std::string("not cpu"); },
     [](Call call) { return to_string(call.query.device); },
     [](C, Call) { return std::string("query is on the cpu"); }},
    {"rank", [](C c) noexcept { return c.min_ndim != 0; },
     [](C c, Call call) noexcept { return call.query.rank >= c.min_ndim; },
     [](C c) { return ">= " + number(c.min_ndim); }, [](Call call) { return number(call.query.rank); },
     [](C c, Call call) { return "rank " + number(call.query.rank) + " below " + number(c.min_ndim); }},
    {"attn_mask", [](C c) noexcept { return !c.allow_mask; },
     [](C, Call call) noexcept { return !call.attn_mask.has_value(); }, [](C) { return std::string("none"); },
     [](Call call) {
       if (!call.attn_mask) return std::string("none");
       return std::string(call.attn_mask->dtype == DType::boolean ? "bool" : "float");
     },
     [](C, Call) { return std::string("takes no attn_mask"); }},
    {"dtype", [](C c) noexcept { return !c.allow_float32; },
     [](C, Call call) noexcept { return call.query.dtype != DType::float32; },
     [](C) { return std::string("not float32"); }, [](Call call) { return std::string(name_of(call.query.dtype)); },
     [](C, Call) { return std::string("dtype float32 not supported"); }},
    {"same_device", [](C c) noexcept { return c.same_device; },
     [](C, Call call) noexcept {
       return call.key.device == call.query.device && call.value.device == call.query.device;
     },
     [](C) { return std::string("q, k, v on one device"); },
     [](Call call) {
       return to_string(call.query.device) + ", " + to_string(call.key.device) + ", " + to_string(call.value.device);
     },
     [](C, Call call) {
       return "q on " + to_string(call.query.device) + ", k on " + to_string(call.key.device) + ", v on " +
              to_string(call.value.device);
     }},
    {"head_dim", [](C c) noexcept { return has_head_dims(c); },
     [](C c, Call call) noexcept { return in_head_dims(c, call.head_dim()); },
     [](C c) { return head_dims_text(c, ", "); }, [](Call call) { return number(call.head_dim()); },
     [](C c, Call call) { return "head_dim " + number(call.head_dim()) + " not in {" + head_dims_text(c, ",") + "}"; }},
    {"max_head_dim", [](C c) noexcept { return c.max_head_dim != 0; },
     [](C c, Call call) noexcept { return call.head_dim() <= c.max_head_dim; },
     [](C c) { return "<= " + number(c.max_head_dim); }, [](Call call) { return number(call.head_dim()); },
     [](C c, Call call) { return "head_dim " + number(call.head_dim()) + " over " + number(c.max_head_dim); }},
    {"min_tokens", [](C c) noexcept { return c.min_tokens != 0; },
     [](C c, Call call) noexcept { return call.query_tokens() >= c.min_tokens && call.key_tokens() >= c.min_tokens; },
     [](C c) { return "both >= " + number(c.min_tokens); }, both_lengths,
     [](C c, Call call) { return "lengths " + both_lengths(call) + ", both must reach " + number(c.min_tokens); }},
    {"min_long_side", [](C c) noexcept { return c.min_long_side != 0; },
     [](C c, Call call) noexcept { return long_side(call) > c.min_long_side; },
     [](C c) { return "> " + number(c.min_long_side); }, [](Call call) { return number(long_side(call)); },
     [](C c, Call call) { return "longest side " + number(long_side(call)) + " not over " + number(c.min_long_side); }},
    {"min_heads", [](C c) noexcept { return c.min_heads != 0; },
     [](C c, Call call) noexcept { return heads_of(call) >= c.min_heads; },
     [](C c) { return ">= " + number(c.min_heads); }, [](Call call) { return number(heads_of(call)); },
     [](C c, Call call) { return number(heads_of(call)) + " heads, needs " + number(c.min_heads); }},
    {"same_dtype", [](C c) noexcept { return c.same_dtype; }, [](C, Call call) noexcept { return !mixed_dtype(call); },
     [](C) { return std::string("q, k, v of one dtype"); }, dtypes_text,
     [](C, Call call) { return "mixed dtype " + dtypes_text(call); }},
    {"contiguous", [](C c) noexcept { return c.require_contiguous; },
     [](C, Call call) noexcept {
       return call.query.is_contiguous() && call.key.is_contiguous() && call.value.is_contiguous();
     },
     [](C) { return std::string("q, k, v contiguous"); }, layouts_text,
     [](C, Call call) { return "layout-dependent result, tensors are " + layouts_text(call); }},
    {"is_causal", [](C c) noexcept { return !c.allow_causal; }, [](C, Call call) noexcept { return !call.is_causal; },
     [](C) { return std::string("not causal"); },
     [](Call call) { return std::string(call.is_causal ? "causal" : "not causal"); },
     [](C, Call) { return std::string("causal result was wrong in its probe"); }},
    {"causal_alignment", [](C c) noexcept { return !c.causal_top_left; },
     [](C, Call call) noexcept { return !call.is_causal || call.query_tokens() == call.key_tokens(); },
     [](C) { return std::string("Sq = Sk when causal"); },
     [](Call call) { return call.is_causal ? both_lengths(call) : std::string("not causal"); },
     [](C, Call) { return std::string("bottom-right causal, Sq != Sk"); }},
    {"offset_reach", [](C c) noexcept { return c.max_offset_reach != 0; },
     [](C c, Call call) noexcept { return reach_of(call) <= c.max_offset_reach; },
     [](C c) { return "<= " + number(c.max_offset_reach); }, [](Call call) { return number(reach_of(call)); },
     [](C, Call call) { return "32-bit offset reach, " + number(reach_of(call)) + " elements"; }},
}};

}  // namespace

bool accepts(const Constraints& constraints, const AttentionCall& call) noexcept {
  return std::all_of(kChecks.begin(), kChecks.end(),
                     [&](const Check& check) { return !check.stated(constraints) || check.holds(constraints, call); });
}

std::vector<Verdict> explain(const Constraints& constraints, const AttentionCall& call) {
  std::vector<Verdict> verdicts;
  for (const Check& check : kChecks) {
    if (!check.stated(constraints)) continue;
    const bool ok = check.holds(constraints, call);
    verdicts.push_back({check.name, check.required(constraints), check.actual(call), ok,
                        ok ? std::string() : check.reason(constraints, call)});
  }
  return verdicts;
}

std::vector<std::string_view> check_names() {
  std::vector<std::string_view> names;
  for (const Check& check : kChecks) names.push_back(check.name);
  return names;
}

}  // namespace attn
