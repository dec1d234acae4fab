// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/registry/constraints.h"

#include <algorithm>
#include <utility>

namespace attn {
namespace {

using C = const Constraints&;
using Call = const AttentionCall&;
using Facts = const CallFacts&;

/// One row: when the condition is stated, what it needs, and the words for both sides. A row with a flag forbids
/// that fact and needs no function of its own.
struct Check {
  std::string_view name;
  std::uint32_t flag;
  bool (*stated)(C) noexcept;
  bool (*holds)(C, Facts, Call) noexcept;
  std::string (*required)(C);
  std::string (*actual)(Call);
  std::string (*reason)(C, Call);
  bool walks = false;  ///< walks over strides: asked last, apart, so that the common call saves no registers for it
};

// --- words -----------------------------------------------------------------------------------------------------

std::string number(std::int64_t value) { return std::to_string(value); }

std::string head_dims_text(C c, std::string_view separator) {
  std::string text;
  for (const std::int32_t head_dim : c.head_dims) {
    if (head_dim == 0) continue;
    if (!text.empty()) text += separator;
    text += std::to_string(head_dim);
  }
  return text;
}

std::string mask_text(Call call) {
  if (!call.attn_mask) return "none";
  return call.attn_mask->dtype == DType::boolean ? "bool" : "float";
}

std::string dtypes_text(Call call) {
  std::string text = "q=" + std::string(short_name_of(call.query.dtype));
  if (call.key.dtype != call.query.dtype) text += " k=" + std::string(short_name_of(call.key.dtype));
  if (call.value.dtype != call.query.dtype) text += " v=" + std::string(short_name_of(call.value.dtype));
  return text;
}

std::string devices_text(Call call) {
  return to_string(call.query.device) + ", " + to_string(call.key.device) + ", " + to_string(call.value.device);
}

std::string layouts_text(Call call) {
  return std::string(name_of(layout_of(call.query))) + ", " + std::string(name_of(layout_of(call.key))) + ", " +
         std::string(name_of(layout_of(call.value)));
}

std::string lengths_text(Call call) { return number(call.query_tokens()) + ", " + number(call.key_tokens()); }

std::string causal_text(Call call) { return call.is_causal ? "causal" : "not causal"; }

std::string rank_text(Call call) { return number(call.query.rank); }
std::string head_dim_text(Call call) { return number(call.head_dim()); }
std::string long_side_text(Call call) { return number(std::max(call.query_tokens(), call.key_tokens())); }
std::string heads_text(Call call) { return number(CallFacts(call).heads); }

std::int64_t reach_of(Call call) noexcept {
  return std::max({call.query.offset_reach(), call.key.offset_reach(), call.value.offset_reach()});
}

// --- the table -------------------------------------------------------------------------------------------------

constexpr std::array<Check, 15> kChecks{{
    {"device", CallFacts::on_cpu, [](C c) noexcept { return !c.allow_cpu; }, nullptr,
     [](C) -> std::string { return "not cpu"; }, [](Call call) { return to_string(call.query.device); },
     [](C, Call) -> std::string { return "query is on the cpu"; }},
    {"rank", 0, [](C c) noexcept { return c.min_ndim != 0; },
     [](C c, Facts f, Call) noexcept { return f.rank >= c.min_ndim; }, [](C c) { return ">= " + number(c.min_ndim); },
     rank_text, [](C c, Call call) { return "rank " + rank_text(call) + " below " + number(c.min_ndim); }},
    {"attn_mask", CallFacts::masked, [](C c) noexcept { return !c.allow_mask; }, nullptr,
     [](C) -> std::string { return "none"; }, mask_text, [](C, Call) -> std::string { return "takes no attn_mask"; }},
    {"dtype", CallFacts::float32, [](C c) noexcept { return !c.allow_float32; }, nullptr,
     [](C) -> std::string { return "not float32"; }, [](Call call) { return std::string(name_of(call.query.dtype)); },
     [](C, Call) -> std::string { return "dtype float32 not supported"; }},
    {"same_device", CallFacts::mixed_device, [](C c) noexcept { return c.same_device; }, nullptr,
     [](C) -> std::string { return "q, k, v on one device"; }, devices_text,
     [](C, Call call) { return "q, k, v on different devices: " + devices_text(call); }},
    {"head_dim", 0, [](C c) noexcept { return c.head_dims[0] != 0; },
     [](C c, Facts f, Call) noexcept {
       return f.head_dim == c.head_dims[0] || (c.head_dims[1] != 0 && f.head_dim == c.head_dims[1]) ||
              (c.head_dims[2] != 0 && f.head_dim == c.head_dims[2]) ||
              (c.head_dims[3] != 0 && f.head_dim == c.head_dims[3]);
     },
     [](C c) { return head_dims_text(c, ", "); }, head_dim_text,
     [](C c, Call call) { return "head_dim " + head_dim_text(call) + " not in {" + head_dims_text(c, ",") + "}"; }},
    {"max_head_dim", 0, [](C c) noexcept { return c.max_head_dim != 0; },
     [](C c, Facts f, Call) noexcept { return f.head_dim <= c.max_head_dim; },
     [](C c) { return "<= " + number(c.max_head_dim); }, head_dim_text,
     [](C c, Call call) { return "head_dim " + head_dim_text(call) + " over " + number(c.max_head_dim); }},
    {"min_tokens", 0, [](C c) noexcept { return c.min_tokens != 0; },
     [](C c, Facts f, Call) noexcept { return f.query_tokens >= c.min_tokens && f.key_tokens >= c.min_tokens; },
     [](C c) { return "both >= " + number(c.min_tokens); }, lengths_text,
     [](C c, Call call) { return "lengths " + lengths_text(call) + ", both must reach " + number(c.min_tokens); }},
    {"min_long_side", 0, [](C c) noexcept { return c.min_long_side != 0; },
     [](C c, Facts f, Call) noexcept { return f.query_tokens > c.min_long_side || f.key_tokens > c.min_long_side; },
     [](C c) { return "> " + number(c.min_long_side); }, long_side_text,
     [](C c, Call call) { return "longest side " + long_side_text(call) + " not over " + number(c.min_long_side); }},
    {"min_heads", 0, [](C c) noexcept { return c.min_heads != 0; },
     [](C c, Facts f, Call) noexcept { return f.heads >= c.min_heads; },
     [](C c) { return ">= " + number(c.min_heads); }, heads_text,
     [](C c, Call call) { return heads_text(call) + " heads, needs " + number(c.min_heads); }},
    {"same_dtype", CallFacts::mixed_dtype, [](C c) noexcept { return c.same_dtype; }, nullptr,
     [](C) -> std::string { return "q, k, v of one dtype"; }, dtypes_text,
     [](C, Call call) { return "mixed dtype " + dtypes_text(call); }},
    {"contiguous", 0, [](C c) noexcept { return c.require_contiguous; },
     [](C, Facts, Call call) noexcept {
       return call.query.is_contiguous() && call.key.is_contiguous() && call.value.is_contiguous();
     },
     [](C) -> std::string { return "q, k, v contiguous"; }, layouts_text,
     [](C, Call call) { return "layout-dependent result, tensors are " + layouts_text(call); }, true},
    {"is_causal", CallFacts::causal, [](C c) noexcept { return !c.allow_causal; }, nullptr,
     [](C) -> std::string { return "not causal"; }, causal_text,
     [](C, Call) -> std::string { return "causal result was wrong in its probe"; }},
    {"causal_alignment", CallFacts::causal_unequal, [](C c) noexcept { return !c.causal_top_left; }, nullptr,
     [](C) -> std::string { return "Sq = Sk when causal"; },
     [](Call call) { return call.is_causal ? lengths_text(call) : causal_text(call); },
     [](C, Call) -> std::string { return "bottom-right causal, Sq != Sk"; }},
    {"offset_reach", 0, [](C c) noexcept { return c.max_offset_reach != 0; },
     [](C c, Facts, Call call) noexcept { return reach_of(call) <= c.max_offset_reach; },
     [](C c) { return "<= " + number(c.max_offset_reach); }, [](Call call) { return number(reach_of(call)); },
     [](C, Call call) { return "32-bit offset reach, " + number(reach_of(call)) + " elements"; }, true},
}};

constexpr std::uint32_t bit(std::size_t row) { return std::uint32_t{1} << row; }

bool row_holds(const Check& check, C constraints, Facts facts, Call call) noexcept {
  return check.flag != 0 ? (facts.flags & check.flag) == 0 : check.holds(constraints, facts, call);
}

/// The rows without a flag that walk, or do not, unrolled so that each one's function is inlined.
template <bool kWalks, std::size_t... Row>
bool numbers_hold(std::uint32_t stated, C c, Facts f, Call call, std::index_sequence<Row...>) noexcept {
  const auto holds = [&](auto row) noexcept {
    constexpr Check kCheck = kChecks[decltype(row)::value];
    if constexpr (kCheck.flag != 0 || kCheck.walks != kWalks)
      return true;
    else
      return (stated & bit(decltype(row)::value)) == 0 || kCheck.holds(c, f, call);
  };
  return (holds(std::integral_constant<std::size_t, Row>{}) && ...);
}

constexpr std::uint32_t walking_rows() {
  std::uint32_t rows = 0;
  for (std::size_t row = 0; row < kChecks.size(); ++row) rows |= kChecks[row].walks ? bit(row) : 0U;
  return rows;
}

[[gnu::noinline]] bool walks_hold(std::uint32_t stated, C c, Facts f, Call call) noexcept {
  return numbers_hold<true>(stated, c, f, call, std::make_index_sequence<kChecks.size()>{});
}

}  // namespace

CallFacts::CallFacts(const AttentionCall& call) noexcept
    : rank(call.query.rank),
      query_tokens(call.query_tokens()),
      key_tokens(call.key_tokens()),
      head_dim(call.head_dim()),
      heads(call.query.rank < 3 ? 0 : call.heads()) {
  const TensorView& q = call.query;
  const TensorView& k = call.key;
  const TensorView& v = call.value;
  const auto when = [](bool fact, Flag flag) noexcept { return fact ? static_cast<std::uint32_t>(flag) : 0U; };
  flags = when(q.device.is_cpu(), on_cpu) | when(call.attn_mask.has_value(), masked) |
          when(q.dtype == DType::float32, float32) |
          when(!(k.device == q.device && v.device == q.device), mixed_device) |
          when(k.dtype != q.dtype || v.dtype != q.dtype, mixed_dtype) | when(call.is_causal, causal) |
          when(call.is_causal && query_tokens != key_tokens, causal_unequal);
}

Gate::Gate(const Constraints& constraints) noexcept : constraints_(constraints) {
  for (std::size_t row = 0; row < kChecks.size(); ++row) {
    if (!kChecks[row].stated(constraints)) continue;
    forbidden_ |= kChecks[row].flag;
    if (kChecks[row].flag == 0) stated_ |= bit(row);
  }
}

bool Gate::accepts(const CallFacts& facts, const AttentionCall& call) const noexcept {
  if ((facts.flags & forbidden_) != 0) return false;
  if (!numbers_hold<false>(stated_, constraints_, facts, call, std::make_index_sequence<kChecks.size()>{}))
    return false;
  return (stated_ & walking_rows()) == 0 || walks_hold(stated_, constraints_, facts, call);
}

bool accepts(const Constraints& constraints, const AttentionCall& call) noexcept {
  return Gate(constraints).accepts(CallFacts(call), call);
}

std::vector<Verdict> explain(const Constraints& constraints, const AttentionCall& call) {
  const CallFacts facts(call);
  std::vector<Verdict> verdicts;
  for (const Check& check : kChecks) {
    if (!check.stated(constraints)) continue;
    const bool ok = row_holds(check, constraints, facts, call);
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
