// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/registry/backend_spec.h"

#include <memory>
#include <string>

namespace attn::test {

/// A plain evaluation in double, right in every convention of the contracts: what faulty kernels are made from.
class ReferenceKernel : public AttentionKernel {
 public:
  explicit ReferenceKernel(std::string_view backend, std::string_view variant = "reference")
      : backend_(backend), variant_(variant) {}

  KernelResult run(const AttentionCall& call, const BlockSelection* selection) const override;
  KernelResult route(const AttentionCall&, const BlockSelection*) const noexcept override {
    return {backend_, variant_, {}};
  }
  KernelForecast forecast(const AttentionCall&, const BlockSelection*) const override {
    return {{backend_, variant_, {}}, 0, {}, {}};
  }

  mutable int runs = 0;

 protected:
  std::string_view backend_;  ///< a literal: results may outlive the kernel
  std::string_view variant_;
};

/// A spec whose prepare() returns a ReferenceKernel that calls itself `name` (a literal).
[[nodiscard]] BackendSpec reference_spec(std::string_view name, std::string label, int priority);

/// The original sdpa as a ReferenceKernel.
[[nodiscard]] BackendSpec reference_original();

/// A target of a platform, called after it.
[[nodiscard]] Target target_of(std::string platform);

/// A call of contiguous tensors without data, k and v alike.
[[nodiscard]] AttentionCall plain_call(std::initializer_list<std::int64_t> query,
                                       std::initializer_list<std::int64_t> key, DType dtype = DType::bfloat16,
                                       Device device = Device::accel());

}  // namespace attn::test
