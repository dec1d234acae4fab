// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/tensor/host_buffer.h"
#include "support/kernels.h"

namespace attn::test {

// Kernels that are wrong in the ways people reported, each by one deviation from the reference.

class IgnoresMasks final : public ReferenceKernel {
 public:
  IgnoresMasks() : ReferenceKernel("stub") {}
  KernelResult run(const AttentionCall& call, const BlockSelection* selection) const override {
    AttentionCall unmasked = call;
    unmasked.attn_mask.reset();
    return ReferenceKernel::run(unmasked, selection);
  }
};

class AssumesContiguity final : public ReferenceKernel {
 public:
  AssumesContiguity() : ReferenceKernel("stub") {}
  KernelResult run(const AttentionCall& call, const BlockSelection* selection) const override {
    AttentionCall assumed = call;
    assumed.value.stride = TensorView::contiguous(call.value.sizes(), call.value.dtype).stride;
    return ReferenceKernel::run(assumed, selection);
  }
};

class ZeroesLaterBatches final : public ReferenceKernel {
 public:
  ZeroesLaterBatches() : ReferenceKernel("stub") {}
  KernelResult run(const AttentionCall& call, const BlockSelection* selection) const override {
    const KernelResult result = ReferenceKernel::run(call, selection);
    const TensorView& out = call.output;
    for (std::int64_t i = out.stride[0]; i < out.elements(); ++i) store_element(out, i, 0.0F);
    return result;
  }
};

class AlignsBottomRight final : public ReferenceKernel {
 public:
  AlignsBottomRight() : ReferenceKernel("stub") {}
  KernelResult run(const AttentionCall& call, const BlockSelection* selection) const override {
    if (!call.is_causal) return ReferenceKernel::run(call, selection);
    const std::int64_t rows = call.query_tokens(), keys = call.key_tokens();
    HostTensor mask({rows, keys}, DType::boolean);
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < keys; ++j) mask.as<std::uint8_t>()[i * keys + j] = j <= i + keys - rows;
    }
    AttentionCall masked = call;
    masked.is_causal = false;
    masked.attn_mask = mask.view();
    return ReferenceKernel::run(masked, selection);
  }
};

class IgnoresCausal final : public ReferenceKernel {
 public:
  IgnoresCausal() : ReferenceKernel("stub") {}
  KernelResult run(const AttentionCall& call, const BlockSelection* selection) const override {
    AttentionCall open = call;
    open.is_causal = false;
    return ReferenceKernel::run(open, selection);
  }
};

}  // namespace attn::test
