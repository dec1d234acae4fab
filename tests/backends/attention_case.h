// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "backends/all.h"
#include "core/call/block_selection.h"
#include "core/registry/registry.h"
#include "core/tensor/half.h"
#include "core/tensor/host_buffer.h"
#include "support/oracle.h"
#include "support/safetensors.h"

#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace attn::test {

/// A target that nobody sells: platform and capability only.
inline Target machine(std::string platform, std::optional<int> capability = std::nullopt) {
  Target target;
  target.name = platform;
  target.platform = std::move(platform);
  target.capability = capability;
  return target;
}

using Settings = std::vector<std::pair<std::string, OptionValue>>;

inline OptionValues values_of(const Settings& settings) {
  OptionValues values;
  for (const auto& [key, value] : settings) values.put(key, value);
  return values;
}

/// Prepares a backend by name ("sdpa" is the original) as a plan would.
inline Expected<PreparedBackend> prepare(const std::string& backend, const Target& target,
                                         const Settings& settings = {}) {
  const Registry registry = make_registry();
  const OptionValues values = values_of(settings);
  PrepareContext context{target, values, nullptr, {}};
  const auto original = registry.original().prepare(context);
  if (!original || backend == "sdpa") return original;
  context.original = original->kernel;
  return registry.by_name(backend)->prepare(context);
}

inline std::shared_ptr<const AttentionKernel> kernel_of(const std::string& backend, const Target& target,
                                                        const Settings& settings = {}) {
  const auto prepared = prepare(backend, target, settings);
  return prepared ? prepared->kernel : nullptr;
}

/// A copy in another dtype; the elements are read in the order of the view's dims.
inline HostTensor converted(const TensorView& from, DType dtype) {
  HostTensor to(from.sizes(), dtype, from.device);
  std::vector<std::int64_t> at(from.rank, 0);
  for (std::int64_t i = 0; i < from.elements(); ++i) {
    std::int64_t rest = i;
    std::int64_t offset = 0;
    for (int d = from.rank - 1; d >= 0; --d) {
      offset += rest % from.size(d) * from.step(d);
      rest /= from.size(d);
    }
    store_element(to.view(), i, load_element(from, offset));
  }
  return to;
}

/// The elements in the order of the view's dims.
inline std::vector<float> elements_of(const TensorView& view) {
  const HostTensor dense = converted(view, DType::float32);
  const float* data = dense.as<float>();
  return {data, data + view.elements()};
}

/// A tensor whose memory has another order or gaps than its view.
struct LaidTensor {
  HostTensor memory;
  TensorView view;
};

/// The same elements with (batch, tokens, heads, head_dim) in memory, `parts` tensors of that side by side: 1 is a
/// transposed view, 3 one out of a fused qkv projection. Rank 4.
inline LaidTensor transposed(const TensorView& from, std::int64_t parts) {
  const std::int64_t batch = from.size(0);
  const std::int64_t heads = from.size(1);
  const std::int64_t tokens = from.size(2);
  const std::int64_t dim = from.size(3);
  LaidTensor laid{HostTensor({batch, tokens, parts, heads, dim}, from.dtype), from};
  laid.view.stride = {tokens * parts * heads * dim, dim, parts * heads * dim, 1, 0};
  laid.view.data = laid.memory.memory().data();
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t s = 0; s < tokens; ++s) {
        for (std::int64_t d = 0; d < dim; ++d) {
          store_element(laid.view, b * laid.view.stride[0] + h * dim + s * laid.view.stride[2] + d,
                        load_element(from, b * from.step(0) + h * from.step(1) + s * from.step(2) + d * from.step(3)));
        }
      }
    }
  }
  return laid;
}

/// Deterministic, roughly normal numbers (sum of four uniform ones), the same on every machine.
inline void fill_normal(const TensorView& contiguous, std::uint64_t seed, float spread = 1.0F) {
  std::uint64_t state = seed * 2862933555777941757ULL + 3037000493ULL;
  const auto uniform = [&state] {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<float>(state >> 40) / 16777216.0F - 0.5F;
  };
  for (std::int64_t i = 0; i < contiguous.elements(); ++i) {
    const float sum = uniform() + uniform() + uniform() + uniform();
    store_element(contiguous, i, spread * 1.7320508F * sum);
  }
}

/// How far a result lies from its reference.
struct Distance {
  double relative_l1 = 0.0;  ///< sum |a - b| / sum |b|; the plain sum where the reference is all zero
  double cosine = 1.0;
  double max_abs = 0.0;
  std::size_t not_finite = 0;
};

inline Distance distance(const std::vector<float>& result, const std::vector<float>& reference) {
  Distance out;
  double difference = 0.0;
  double size = 0.0;
  double dot = 0.0;
  double own = 0.0;
  double other = 0.0;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const auto a = static_cast<double>(result[i]);
    const auto b = static_cast<double>(reference[i]);
    if (!std::isfinite(a)) {
      ++out.not_finite;
      continue;
    }
    difference += std::fabs(a - b);
    size += std::fabs(b);
    dot += a * b;
    own += a * a;
    other += b * b;
    out.max_abs = std::max(out.max_abs, std::fabs(a - b));
  }
  out.relative_l1 = size > 0.0 ? difference / size : difference;
  if (own > 0.0 && other > 0.0) out.cosine = dot / std::sqrt(own * other);
  return out;
}

/// Attention in float64, one row at a time: the definition, written down without any of the kernels' parts.
inline std::vector<float> reference_attention(const AttentionCall& call) {
  const auto at = [](const TensorView& view, std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) {
    const std::int64_t inner = view.size(-4);
    return static_cast<double>(load_element(view, b / inner * view.step(-5) + b % inner * view.step(-4) +
                                                      h * view.step(-3) + s * view.step(-2) + d * view.step(-1)));
  };
  const auto mask_at = [&call](std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) {
    const TensorView& mask = *call.attn_mask;
    const auto part = [&mask](int dim, std::int64_t index) { return mask.size(dim) == 1 ? 0 : index * mask.step(dim); };
    const std::int64_t inner = call.query.size(-4);
    return load_element(mask, part(-5, b / inner) + part(-4, b % inner) + part(-3, h) + part(-2, i) + part(-1, j));
  };
  const std::int64_t batch = call.query.size(-5) * call.query.size(-4);
  const std::int64_t group = call.kv_heads() == 0 ? 1 : call.heads() / call.kv_heads();
  std::vector<float> out;
  std::vector<double> scores(static_cast<std::size_t>(call.key_tokens()));
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t h = 0; h < call.heads(); ++h) {
      for (std::int64_t i = 0; i < call.query_tokens(); ++i) {
        double maximum = -INFINITY;
        for (std::int64_t j = 0; j < call.key_tokens(); ++j) {
          double score = 0.0;
          for (std::int64_t d = 0; d < call.head_dim(); ++d)
            score += at(call.query, b, h, i, d) * at(call.key, b, h / group, j, d);
          score *= call.effective_scale();
          if (call.attn_mask) {
            const auto mask = static_cast<double>(mask_at(b, h, i, j));
            if (call.attn_mask->dtype != DType::boolean) score += mask;
            if (call.attn_mask->dtype == DType::boolean && mask == 0.0) score = -INFINITY;
          }
          if (call.is_causal && j > i) score = -INFINITY;
          scores[static_cast<std::size_t>(j)] = score;
          maximum = std::max(maximum, score);
        }
        double sum = 0.0;
        for (double& score : scores) sum += score = maximum == -INFINITY ? 0.0 : std::exp(score - maximum);
        for (std::int64_t d = 0; d < call.value_dim(); ++d) {
          double total = 0.0;
          for (std::int64_t j = 0; j < call.key_tokens(); ++j)
            total += scores[static_cast<std::size_t>(j)] * at(call.value, b, h / group, j, d);
          out.push_back(static_cast<float>(sum == 0.0 ? 0.0 : total / sum));
        }
      }
    }
  }
  return out;
}

/// One case of attention.json with its tensors in one dtype.
struct AttentionCase {
  std::string id;
  std::string name;
  double max_abs_logit = 0.0;
  HostTensor query;
  HostTensor key;
  HostTensor value;
  HostTensor mask;
  HostTensor output;
  std::vector<float> reference;
  std::optional<BlockSelection> selection;
  AttentionCall call;
};

inline AttentionCase read_case(const nlohmann::json& row, const SafeTensors& tensors, DType dtype) {
  AttentionCase made;
  made.id = row.at("id");
  made.name = row.at("name");
  made.max_abs_logit = row.at("max_abs_logit");
  made.query = converted(tensors.tensor(row.at("q").get<std::string>()).view(), dtype);
  made.key = converted(tensors.tensor(row.at("k").get<std::string>()).view(), dtype);
  made.value = converted(tensors.tensor(row.at("v").get<std::string>()).view(), dtype);
  const HostTensor reference = tensors.tensor(row.at("out").get<std::string>());
  made.reference = elements_of(reference.view());
  made.output = HostTensor(reference.view().sizes(), dtype);
  made.call.query = made.query.view();
  made.call.key = made.key.view();
  made.call.value = made.value.view();
  made.call.output = made.output.view();
  made.call.is_causal = row.at("causal");
  made.call.enable_gqa = row.at("enable_gqa");
  if (!row.at("scale").is_null()) made.call.scale = row.at("scale").get<double>();
  if (row.contains("mask")) {
    made.mask = tensors.tensor(row.at("mask").get<std::string>());
    made.call.attn_mask = made.mask.view();
  }
  if (row.contains("keep")) {
    const HostTensor keep = tensors.tensor(row.at("keep").get<std::string>());
    BlockSelection selection;
    selection.batch = keep.view().size(0);
    selection.heads = keep.view().size(1);
    selection.query_tiles = keep.view().size(2);
    selection.key_tiles = keep.view().size(3);
    selection.block_q = row.at("block_q");
    selection.block_kv = row.at("block_kv");
    const auto* flags = keep.as<std::uint8_t>();
    selection.keep.assign(flags, flags + keep.view().elements());
    made.selection = std::move(selection);
  }
  return made;
}

}  // namespace attn::test
