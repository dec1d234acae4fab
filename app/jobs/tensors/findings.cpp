// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/tensors/findings.h"

#include "core/tensor/host_buffer.h"

#include <cmath>

namespace attn::app {
namespace {

/// Calls work(offset, query_row) for every row (all dims but the last) of a view, until it returns false.
template <class Work>
void walk_rows(const TensorView& view, Work work) {
  const std::int64_t width = view.size(-1);
  if (view.elements() == 0) return;
  const std::int64_t rows = view.elements() / width;
  for (std::int64_t row = 0; row < rows; ++row) {
    std::int64_t offset = 0;
    std::int64_t rest = row;
    for (int dim = view.rank - 2; dim >= 0; --dim) {
      const auto at = static_cast<std::size_t>(dim);
      offset += rest % view.shape[at] * view.stride[at];
      rest /= view.shape[at];
    }
    if (!work(offset, row % std::max<std::int64_t>(view.size(-2), 1))) return;
  }
}

bool hides_all(const TensorView& mask, std::int64_t offset, std::int64_t keys) {
  const std::int64_t width = mask.size(-1);
  for (std::int64_t key = 0; key < keys; ++key) {
    const float value = load_element(mask, offset + (width == 1 ? 0 : key) * mask.step(-1));
    const bool hidden = mask.dtype == DType::boolean ? value == 0.0F : std::isinf(value) && value < 0.0F;
    if (!hidden) return false;
  }
  return true;
}

}  // namespace

ValueCounts count_values(const TensorView& view) {
  ValueCounts counts;
  walk_rows(view, [&](std::int64_t offset, std::int64_t) {
    for (std::int64_t i = 0; i < view.size(-1); ++i) {
      const float value = load_element(view, offset + i * view.step(-1));
      counts.nan += std::isnan(value) ? 1 : 0;
      counts.inf += std::isinf(value) ? 1 : 0;
    }
    return true;
  });
  return counts;
}

std::int64_t fully_masked_rows(const AttentionCall& call) {
  if (!call.attn_mask) return 0;
  const TensorView& mask = *call.attn_mask;
  const bool one_row_for_all = mask.size(-2) == 1;
  std::int64_t rows = 0;
  walk_rows(mask, [&](std::int64_t offset, std::int64_t query) {
    const std::int64_t last = call.is_causal && one_row_for_all ? call.query_tokens() : query + 1;
    for (std::int64_t row = query; row < last; ++row) {
      const std::int64_t keys = call.is_causal ? std::min(row + 1, call.key_tokens()) : call.key_tokens();
      rows += hides_all(mask, offset, keys) ? 1 : 0;
    }
    return true;
  });
  return rows;
}

bool looks_like_boolean(const TensorView& mask) {
  if (mask.dtype == DType::boolean) return false;
  bool zero = false;
  bool one = false;
  bool other = false;
  walk_rows(mask, [&](std::int64_t offset, std::int64_t) {
    for (std::int64_t i = 0; i < mask.size(-1); ++i) {
      const float value = load_element(mask, offset + i * mask.step(-1));
      zero |= value == 0.0F;
      one |= value == 1.0F;
      other |= value != 0.0F && value != 1.0F;
    }
    return !other;
  });
  return zero && one && !other;
}

std::vector<std::string> findings_of(const AttentionCall& call) {
  std::vector<std::string> findings;
  if (!call.attn_mask || !call.attn_mask->has_data()) return findings;
  if (const std::int64_t rows = fully_masked_rows(call); rows > 0) {
    findings.push_back(std::to_string(rows) + " fully masked row" + (rows == 1 ? "" : "s") +
                       ": no key is allowed there, so the output is 0");
  }
  if (looks_like_boolean(*call.attn_mask)) {
    findings.emplace_back("float mask of only 0/1: did you mean bool? It is added to the scores and hides nothing");
  }
  return findings;
}

}  // namespace attn::app
