// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/policy/dispatcher_backend.h"

#include "core/policy/words.h"

#include <array>

namespace attn {
namespace {

constexpr std::string_view kFlashAttn = "flash-attn >= 2.6.3";
constexpr std::string_view kKernels = "kernels >= 0.12";
constexpr std::string_view kSage = "sageattention >= 2.1.1";
constexpr std::int32_t kFlashHeadDim = 256;
constexpr std::int32_t kSageHeadDim = 128;
constexpr CapabilityGate kAmpere{80, 0};
constexpr CapabilityGate kHopper{90, 0};
constexpr DtypeRule kHalf = DtypeRule::half;
constexpr MaskRule kNoMask = MaskRule::refused;
constexpr MaskRule kKeys = MaskRule::key_lengths;

constexpr DispatcherBackend flash(std::string_view name, std::string_view needs, MaskRule mask) {
  return {.name = name, .needs = needs, .dtype = kHalf, .mask = mask, .max_head_dim = kFlashHeadDim};
}

constexpr DispatcherBackend sage(std::string_view name, std::string_view needs, MaskRule mask) {
  return {
      .name = name, .needs = needs, .dtype = kHalf, .mask = mask, .accelerator = true, .max_head_dim = kSageHeadDim};
}

constexpr DispatcherBackend sage_variant(std::string_view name, CapabilityGate gate) {
  return {.name = name, .needs = kSage, .mask = kNoMask, .gate = gate, .max_head_dim = kSageHeadDim};
}

constexpr std::array<DispatcherBackend, 26> kBackends{{
    {.name = "native", .needs = {}, .through_torch = true},
    {.name = "_native_cudnn", .needs = {}, .dtype = kHalf, .through_torch = true},
    {.name = "_native_efficient", .needs = {}, .through_torch = true},
    {.name = "_native_math", .needs = {}, .through_torch = true},
    {.name = "_native_flash", .needs = {}, .dtype = kHalf, .mask = kNoMask, .through_torch = true},
    {.name = "_native_npu", .needs = "torch_npu", .dtype = kHalf},
    {.name = "_native_xla", .needs = "torch_xla >= 2.2", .mask = kNoMask},
    {.name = "flex", .needs = "torch >= 2.5", .mask = MaskRule::plain, .causal_or_mask = true},
    flash("flash", kFlashAttn, kNoMask),
    flash("flash_hub", kKernels, kNoMask),
    flash("flash_varlen", kFlashAttn, kKeys),
    flash("flash_varlen_hub", kKernels, kKeys),
    flash("_flash_3", "flash-attn 3 built locally", kNoMask),
    flash("_flash_varlen_3", "flash-attn 3 built locally", kKeys),
    flash("_flash_3_hub", kKernels, kNoMask),
    flash("_flash_3_varlen_hub", kKernels, kKeys),
    flash("flash_4_hub", "kernels >= 0.12.3", kNoMask),
    {.name = "aiter_fa2_hub",
     .needs = kKernels,
     .dtype = DtypeRule::bfloat16,
     .mask = kNoMask,
     .accelerator = true,
     .max_head_dim = kFlashHeadDim},
    sage("sage", kSage, kNoMask),
    sage("sage_hub", kKernels, kNoMask),
    sage("sage_varlen", kSage, kKeys),
    sage_variant("_sage_qk_int8_pv_fp8_cuda", kHopper),
    sage_variant("_sage_qk_int8_pv_fp8_cuda_sm90", kHopper),
    sage_variant("_sage_qk_int8_pv_fp16_cuda", kAmpere),
    sage_variant("_sage_qk_int8_pv_fp16_triton", kAmpere),
    {.name = "xformers", .needs = "xformers >= 0.0.29", .mask = MaskRule::plain, .causal_or_mask = true},
}};

}  // namespace

std::span<const DispatcherBackend> dispatcher_backends() noexcept { return kBackends; }

const DispatcherBackend* find_dispatcher_backend(std::string_view name) {
  const std::string low = lowered(trimmed(name));
  for (const DispatcherBackend& backend : kBackends) {
    if (backend.name == low) return &backend;
  }
  return nullptr;
}

Constraints constraints_of(const DispatcherBackend& backend) noexcept {
  Constraints constraints;
  constraints.allow_cpu = !backend.accelerator;
  constraints.allow_mask = backend.mask != MaskRule::refused;
  constraints.allow_float32 = backend.dtype == DtypeRule::any;
  constraints.same_device = true;
  constraints.same_dtype = true;
  constraints.max_head_dim = backend.max_head_dim;
  return constraints;
}

std::string_view refusal_of(const DispatcherBackend& backend, const AttentionCall& call) noexcept {
  if (backend.dtype == DtypeRule::bfloat16 && call.query.dtype != DType::bfloat16) return "takes bf16 only";
  if (!call.attn_mask) return {};
  if (backend.causal_or_mask && call.is_causal) return "takes causal or a mask, not both";
  if (backend.mask == MaskRule::key_lengths && call.attn_mask->dtype != DType::boolean) {
    return "takes a boolean mask of key lengths only";
  }
  if (backend.mask == MaskRule::plain && call.attn_mask->rank != 2 && call.attn_mask->rank != 4) {
    return "takes a mask of 2 or 4 dims";
  }
  return {};
}

}  // namespace attn
