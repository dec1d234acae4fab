// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/call/attention_call.h"

namespace attn {
namespace {

std::string sized(std::string_view name, const TensorView& view) {
  return std::string(name) + shape_text(view.sizes());
}

Expected<void> check_rank(std::string_view name, const TensorView& view) {
  if (view.rank < 2 || view.rank > 5) {
    return fail(sized(name, view) + " has rank " + std::to_string(view.rank) +
                "; attention takes ranks 2 to 5, such as (batch, heads, tokens, head_dim)");
  }
  for (const std::int64_t size : view.sizes()) {
    if (size < 0) return fail(sized(name, view) + " has a negative size; sizes are 0 or more");
  }
  return {};
}

Expected<void> check_leading(std::string_view name, const AttentionCall& call, const TensorView& view) {
  // The heads dim is checked apart; everything before it is batch and must agree.
  for (int i = -5; i <= -4; ++i) {
    if (view.size(i) != call.query.size(i)) {
      return fail("batch of " + sized(name, view) + " does not match " + sized("query", call.query) +
                  "; both need the same leading sizes");
    }
  }
  const std::int64_t heads = view.size(-3);
  if (heads == call.heads()) return {};
  if (!call.enable_gqa) {
    return fail("heads of " + sized(name, view) + " do not match " + sized("query", call.query) +
                "; they must be equal, or enable_gqa must be set and divide them");
  }
  if (heads == 0 || call.heads() % heads != 0) {
    return fail("heads of " + sized(name, view) + " do not divide the " + std::to_string(call.heads()) +
                " heads of the query, as enable_gqa asks");
  }
  return {};
}

Expected<void> check_mask(const AttentionCall& call) {
  if (!call.attn_mask) return {};
  const TensorView& mask = *call.attn_mask;
  const std::int64_t target[] = {call.query.size(-5), call.query.size(-4), call.heads(), call.query_tokens(),
                                 call.key_tokens()};
  for (int i = 1; i <= mask.rank; ++i) {
    const std::int64_t size = mask.size(-i);
    const std::int64_t wanted = target[5 - i];
    if (size == 1 || size == wanted) continue;
    return fail(sized("attn_mask", mask) + " does not broadcast to query tokens x key tokens " +
                std::to_string(call.query_tokens()) + "x" + std::to_string(call.key_tokens()) + " of " +
                sized("query", call.query) + ", " + sized("key", call.key) + ": its size " + std::to_string(size) +
                " must be 1 or " + std::to_string(wanted));
  }
  return {};
}

}  // namespace

std::string_view name_of(Role role) noexcept {
  switch (role) {
    case Role::none:
      return "None";
    case Role::te:
      return "te";
    case Role::transformer:
      return "transformer";
    case Role::vae:
      return "vae";
    case Role::other:
      return "other";
  }
  return "None";
}

std::optional<Role> parse_role(std::string_view text) noexcept {
  for (const Role role : {Role::none, Role::te, Role::transformer, Role::vae, Role::other}) {
    if (text == name_of(role)) return role;
  }
  if (text == "none") return Role::none;
  return std::nullopt;
}

Expected<void> check_call(const AttentionCall& call) {
  for (const auto& [name, view] : {std::pair<std::string_view, const TensorView*>{"query", &call.query},
                                   {"key", &call.key},
                                   {"value", &call.value}}) {
    if (auto rank = check_rank(name, *view); !rank) return rank;
  }
  if (call.key.size(-1) != call.head_dim()) {
    return fail("head_dim of " + sized("key", call.key) + " does not match " + sized("query", call.query) +
                "; query and key need the same last size");
  }
  if (call.value.size(-2) != call.key_tokens()) {
    return fail("tokens of " + sized("value", call.value) + " do not match " + sized("key", call.key) +
                "; key and value need the same length");
  }
  if (auto key = check_leading("key", call, call.key); !key) return key;
  if (auto value = check_leading("value", call, call.value); !value) return value;
  if (call.value.size(-3) != call.kv_heads()) {
    return fail("heads of " + sized("value", call.value) + " do not match " + sized("key", call.key) +
                "; key and value need the same heads");
  }
  return check_mask(call);
}

double flops_of(const AttentionCall& call) noexcept {
  return 2.0 * static_cast<double>(call.batch()) * static_cast<double>(call.heads()) *
         static_cast<double>(call.query_tokens()) * static_cast<double>(call.key_tokens()) *
         static_cast<double>(call.head_dim() + call.value_dim());
}

}  // namespace attn
