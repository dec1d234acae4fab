// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/router/conformance.h"

#include "core/tensor/half.h"
#include "core/tensor/host_buffer.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

namespace attn {
namespace {

constexpr std::int64_t kTokens = 8;

/// Sizes of a probe's tensors. head_dim is 64 because every backend takes it.
struct Sizes {
  std::int64_t batch = 2;
  std::int64_t heads = 2;
  std::int64_t kv_heads = 2;
  std::int64_t query_tokens = kTokens;
  std::int64_t key_tokens = kTokens;
  std::int64_t head_dim = 64;
};

/// A call with zero queries, so that every allowed key weighs the same, and values that name their key:
/// v[b,h,j] = j + 1 in every channel. A row's answer is then the mean of (j + 1) over its allowed keys, exact in
/// any arithmetic.
class ProbeCall {
 public:
  explicit ProbeCall(const Sizes& s)
      : query_({s.batch, s.heads, s.query_tokens, s.head_dim}, DType::float16),
        key_({s.batch, s.kv_heads, s.key_tokens, s.head_dim}, DType::float16),
        value_({s.batch, s.kv_heads, s.key_tokens, s.head_dim}, DType::float16),
        output_({s.batch, s.heads, s.query_tokens, s.head_dim}, DType::float32) {
    call.query = query_.view();
    call.key = key_.view();
    call.value = value_.view();
    call.output = output_.view();
    call.enable_gqa = s.heads != s.kv_heads;
    fill_values(call.value);
  }

  /// Lays the values out as (batch, tokens, heads, head_dim) seen transposed, without changing them.
  void transpose_values() {
    TensorView& view = call.value;
    const std::int64_t heads = view.size(1);
    const std::int64_t dim = view.size(3);
    view.stride = {heads * view.size(2) * dim, dim, heads * dim, 1, 0};
    fill_values(view);
  }

  void set_mask(std::initializer_list<std::int64_t> shape, const std::vector<std::uint8_t>& allowed) {
    mask_ = HostTensor(shape, DType::boolean);
    std::copy(allowed.begin(), allowed.end(), mask_.as<std::uint8_t>());
    call.attn_mask = mask_.view();
  }

  [[nodiscard]] float at(std::int64_t b, std::int64_t h, std::int64_t i) const {
    const TensorView& out = output_.view();
    return load_element(out, b * out.stride[0] + h * out.stride[1] + i * out.stride[2]);
  }

  AttentionCall call;

 private:
  static void fill_values(const TensorView& view) {
    for (std::int64_t b = 0; b < view.size(0); ++b) {
      for (std::int64_t h = 0; h < view.size(1); ++h) {
        for (std::int64_t j = 0; j < view.size(2); ++j) {
          for (std::int64_t d = 0; d < view.size(3); ++d) {
            const std::int64_t at = b * view.stride[0] + h * view.stride[1] + j * view.stride[2] + d * view.stride[3];
            store_element(view, at, static_cast<float>(j + 1));
          }
        }
      }
    }
  }

  HostTensor query_, key_, value_, output_, mask_;
};

/// 8-bit values carry one part in 127 of the largest one; a wrong key moves an answer by far more.
bool near(float actual, double expected) {
  return std::isfinite(actual) && std::abs(static_cast<double>(actual) - expected) <= 0.01 * kTokens;
}

double mean_of_first(std::int64_t count) { return 0.5 * static_cast<double>(count + 1); }

bool runs(const AttentionKernel& kernel, const ProbeCall& probe) {
  return kernel.run(probe.call, nullptr).failure.empty();
}

/// Every row of a batch element and head sees `expected`.
bool all_rows(const ProbeCall& probe, std::int64_t b, double expected) {
  for (std::int64_t h = 0; h < probe.call.heads(); ++h) {
    for (std::int64_t i = 0; i < probe.call.query_tokens(); ++i) {
      if (!near(probe.at(b, h, i), expected)) return false;
    }
  }
  return true;
}

/// Empty when right; else the sentence.
std::string wrong_dense(const AttentionKernel& kernel) {
  ProbeCall probe({});
  if (!runs(kernel, probe)) return {};  // it says itself why it does not serve; the router asks the next one
  for (std::int64_t b = 0; b < probe.call.batch(); ++b) {
    if (!all_rows(probe, b, mean_of_first(kTokens))) return "batch element " + std::to_string(b) + " wrong";
  }
  return {};
}

bool depends_on_layout(const AttentionKernel& kernel) {
  ProbeCall probe({});
  probe.transpose_values();
  if (!runs(kernel, probe)) return false;
  return !all_rows(probe, 0, mean_of_first(kTokens)) || !all_rows(probe, 1, mean_of_first(kTokens));
}

/// Batch element 0 sees the first half of the keys, element 1 the second; a third call hides everything.
std::string wrong_mask(const AttentionKernel& kernel) {
  ProbeCall probe({});
  std::vector<std::uint8_t> halves(2 * kTokens, 0);
  for (std::int64_t j = 0; j < kTokens / 2; ++j) {
    halves[static_cast<std::size_t>(j)] = 1;
    halves[static_cast<std::size_t>(kTokens + kTokens / 2 + j)] = 1;
  }
  probe.set_mask({2, 1, 1, kTokens}, halves);
  if (!runs(kernel, probe)) return {};
  const double unmasked = mean_of_first(kTokens);
  if (all_rows(probe, 0, unmasked) && all_rows(probe, 1, unmasked)) return "mask ignored: output equals unmasked";
  if (!all_rows(probe, 0, mean_of_first(kTokens / 2))) return "masked result wrong in batch element 0";
  if (!all_rows(probe, 1, kTokens / 2 + mean_of_first(kTokens / 2))) return "masked result wrong in batch element 1";

  ProbeCall hidden({});
  hidden.set_mask({1, 1, 1, kTokens}, std::vector<std::uint8_t>(kTokens, 0));
  if (runs(kernel, hidden) && !all_rows(hidden, 0, 0.0)) return "fully masked rows are not zero";
  return {};
}

enum class Alignment : std::uint8_t { top_left, bottom_right, wrong };

std::optional<Alignment> causal_alignment(const AttentionKernel& kernel) {
  ProbeCall probe({.query_tokens = 2});
  probe.call.is_causal = true;
  if (!runs(kernel, probe)) return std::nullopt;
  const auto rows = [&](std::int64_t first) {
    return near(probe.at(0, 0, 0), mean_of_first(first)) && near(probe.at(0, 0, 1), mean_of_first(first + 1));
  };
  if (rows(1)) return Alignment::top_left;
  return rows(kTokens - 1) ? Alignment::bottom_right : Alignment::wrong;
}

void add(std::string& note, std::string_view clause) {
  if (!note.empty()) note += "; ";
  note += clause;
}

}  // namespace

Conformance probe_conformance(const AttentionKernel& kernel, const Constraints& declared) {
  Conformance found{declared, {}, wrong_dense(kernel)};
  if (!found.barred.empty()) return found;
  if (depends_on_layout(kernel)) {
    found.constraints.require_contiguous = true;
    add(found.note, "layout-dependent result: takes contiguous tensors only");
  }
  if (declared.allow_mask) {
    if (const std::string wrong = wrong_mask(kernel); !wrong.empty()) {
      found.constraints.allow_mask = false;
      add(found.note, wrong + ": barred for masked calls");
    }
  }
  if (declared.causal_top_left) {
    const std::optional<Alignment> alignment = causal_alignment(kernel);
    if (alignment == Alignment::bottom_right) {
      found.constraints.causal_top_left = false;
      add(found.note, "causal is aligned bottom right: unequal lengths are declined");
    } else if (alignment == Alignment::wrong) {
      found.constraints.allow_causal = false;
      add(found.note, "causal result wrong: causal calls are declined");
    }
  }
  return found;
}

}  // namespace attn
