// SPDX-License-Identifier: GPL-3.0-or-later
#include "support/kernels.h"

#include "core/tensor/host_buffer.h"

#include <cmath>
#include <limits>
#include <vector>

namespace attn::test {
namespace {

std::int64_t offset(const TensorView& view, std::int64_t outer, std::int64_t b, std::int64_t h, std::int64_t t) {
  return outer * view.step(-5) + b * view.step(-4) + h * view.step(-3) + t * view.step(-2);
}

std::int64_t clipped(const TensorView& view, int dim, std::int64_t i) { return view.size(dim) == 1 ? 0 : i; }

}  // namespace

KernelResult ReferenceKernel::run(const AttentionCall& call, const BlockSelection* selection) const {
  ++runs;
  const std::int64_t group = call.kv_heads() == 0 ? 1 : call.heads() / call.kv_heads();
  const std::int64_t keys = call.key_tokens();
  std::vector<double> weights(static_cast<std::size_t>(keys));
  for (std::int64_t o = 0; o < call.query.size(-5); ++o) {
    for (std::int64_t b = 0; b < call.query.size(-4); ++b) {
      for (std::int64_t h = 0; h < call.heads(); ++h) {
        for (std::int64_t i = 0; i < call.query_tokens(); ++i) {
          double largest = -std::numeric_limits<double>::infinity();
          for (std::int64_t j = 0; j < keys; ++j) {
            double score = 0.0;
            for (std::int64_t d = 0; d < call.head_dim(); ++d) {
              score += static_cast<double>(
                           load_element(call.query, offset(call.query, o, b, h, i) + d * call.query.step(-1))) *
                       static_cast<double>(
                           load_element(call.key, offset(call.key, o, b, h / group, j) + d * call.key.step(-1)));
            }
            score *= call.effective_scale();
            bool allowed = !call.is_causal || j <= i;
            if (call.attn_mask) {
              const TensorView& mask = *call.attn_mask;
              const std::int64_t at = clipped(mask, -5, o) * mask.step(-5) + clipped(mask, -4, b) * mask.step(-4) +
                                      clipped(mask, -3, h) * mask.step(-3) + clipped(mask, -2, i) * mask.step(-2) +
                                      clipped(mask, -1, j) * mask.step(-1);
              const float value = load_element(mask, at);
              if (mask.dtype == DType::boolean)
                allowed = allowed && value != 0.0F;
              else
                score += static_cast<double>(value);
            }
            if (selection != nullptr && selection->has_tiles()) {
              allowed = allowed && selection->kept(b, h, i / selection->block_q, j / selection->block_kv);
            }
            weights[static_cast<std::size_t>(j)] = allowed ? score : -std::numeric_limits<double>::infinity();
            largest = std::max(largest, weights[static_cast<std::size_t>(j)]);
          }
          double sum = 0.0;
          for (double& weight : weights) {
            weight = std::isinf(largest) ? 0.0 : std::exp(weight - largest);
            sum += weight;
          }
          for (std::int64_t d = 0; d < call.value_dim(); ++d) {
            double out = 0.0;
            for (std::int64_t j = 0; j < keys; ++j) {
              out += weights[static_cast<std::size_t>(j)] *
                     static_cast<double>(
                         load_element(call.value, offset(call.value, o, b, h / group, j) + d * call.value.step(-1)));
            }
            store_element(call.output, offset(call.output, o, b, h, i) + d * call.output.step(-1),
                          static_cast<float>(sum > 0.0 ? out / sum : 0.0));
          }
        }
      }
    }
  }
  return {backend_, variant_, {}};
}

BackendSpec reference_spec(std::string_view name, std::string label, int priority) {
  BackendSpec spec;
  spec.name = std::string(name);
  spec.label = std::move(label);
  spec.priority = priority;
  spec.prepare = [name](const PrepareContext&) -> Expected<PreparedBackend> {
    return PreparedBackend{std::make_shared<ReferenceKernel>(name), std::nullopt, {}};
  };
  return spec;
}

BackendSpec reference_original() { return reference_spec("sdpa", "Scaled-Dot-Product", 0); }

Target target_of(std::string platform) {
  Target target;
  target.name = platform;
  target.label = platform;
  target.platform = std::move(platform);
  return target;
}

AttentionCall plain_call(std::initializer_list<std::int64_t> query, std::initializer_list<std::int64_t> key,
                         DType dtype, Device device) {
  AttentionCall call;
  call.query = TensorView::contiguous(query, dtype, device);
  call.key = TensorView::contiguous(key, dtype, device);
  call.value = call.key;
  return call;
}

}  // namespace attn::test
