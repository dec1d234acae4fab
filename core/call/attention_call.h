// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/tensor/expected.h"
#include "core/tensor/tensor_view.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

namespace attn {

/// Who makes a call: text encoder, denoiser, VAE, nobody known, or a name that none of the systems uses.
enum class Role : std::uint8_t { none, te, transformer, vae, other };

/// "te", "transformer", "vae", "None", "other": as the trace prints them.
[[nodiscard]] std::string_view name_of(Role role) noexcept;
[[nodiscard]] std::optional<Role> parse_role(std::string_view text) noexcept;

/// One scaled-dot-product-attention call, after torch's signature (torch.nn.functional.scaled_dot_product_attention):
/// query (B, H, Sq, D), key (B, Hkv, Sk, D), value (B, Hkv, Sk, Dv), output (B, H, Sq, Dv).
///
/// attn_mask broadcasts to (B, H, Sq, Sk) from the right: boolean means "attend where true", any other dtype is
/// added to the scaled scores. is_causal is aligned top left: query i sees keys 0..i, whoever serves. A row
/// without any allowed key gives zeros. The output's dtype is the query's unless the output view says otherwise.
struct AttentionCall {
  TensorView query;
  TensorView key;
  TensorView value;
  TensorView output;  ///< rank 0 where there is no data: planned calls have none
  std::optional<TensorView> attn_mask;
  std::optional<double> scale;  ///< 1/sqrt(head_dim) when absent; 0 is a real scale
  double dropout_p = 0.0;
  bool is_causal = false;
  bool enable_gqa = false;  ///< query head h reads key/value head h / (H / Hkv)

  [[nodiscard]] std::int64_t batch() const noexcept {
    return query.rank > 4 ? query.size(0) * query.size(1) : query.size(-4);
  }
  [[nodiscard]] std::int64_t heads() const noexcept { return query.size(-3); }
  [[nodiscard]] std::int64_t kv_heads() const noexcept { return key.size(-3); }
  [[nodiscard]] std::int64_t query_tokens() const noexcept { return query.size(-2); }
  [[nodiscard]] std::int64_t key_tokens() const noexcept { return key.size(-2); }
  [[nodiscard]] std::int64_t head_dim() const noexcept { return query.size(-1); }
  [[nodiscard]] std::int64_t value_dim() const noexcept { return value.size(-1); }
  [[nodiscard]] double effective_scale() const noexcept {
    return scale ? *scale : 1.0 / std::sqrt(static_cast<double>(head_dim()));
  }
  [[nodiscard]] bool has_data() const noexcept {
    return query.has_data() && key.has_data() && value.has_data() && output.has_data();
  }
  /// The same call on the same memory.
  friend bool operator==(const AttentionCall&, const AttentionCall&) = default;
};

/// Checks that the shapes belong together: ranks 2 to 5, one head_dim for query and key, one length for key and
/// value, batch dims that agree, heads that agree or divide (with enable_gqa), a mask that broadcasts.
/// The error names the tensors, both sizes and the rule.
[[nodiscard]] Expected<void> check_call(const AttentionCall& call);

/// Multiply-adds counted as two: 4 * B * H * Sq * Sk * D, in double because video lengths overflow 32 bits.
[[nodiscard]] double flops_of(const AttentionCall& call) noexcept;

}  // namespace attn
