// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/direct/direct.h"

#include "backends/cuda/serve/on_gpu.h"
#include "backends/cudnn/library.h"
#include "backends/sage/sage.h"
#include "backends/sdpa/sdpa.h"
#include "backends/simd/exact_kernel.h"
#include "core/policy/dispatcher_backend.h"

#include <array>
#include <limits>
#include <memory>
#include <utility>

namespace attn {
namespace {

/// Whose arithmetic a name stands for.
enum class Arithmetic : std::uint8_t { exact, torch, sage };

struct Served {
  std::string_view name;
  Arithmetic arithmetic = Arithmetic::exact;
  std::string_view detail;    ///< exact: the variant; torch: the one kernel that is switched on
  int capability = 0;         ///< sage: the architecture whose variant it is; 0: the target's own
  bool bottom_right = false;  ///< aligns causal bottom right
};

constexpr std::array<Served, 22> kServed{{
    {"_native_cudnn", Arithmetic::exact, "cudnn"},
    {"_native_efficient", Arithmetic::torch, "Memory"},
    {"_native_math", Arithmetic::torch, "Math"},
    {"_native_flash", Arithmetic::torch, "Flash"},
    {"flex", Arithmetic::exact, "flex"},
    {"flash", Arithmetic::exact, "flash 2", 0, true},
    {"flash_hub", Arithmetic::exact, "flash 2", 0, true},
    {"flash_varlen", Arithmetic::exact, "flash 2 varlen", 0, true},
    {"flash_varlen_hub", Arithmetic::exact, "flash 2 varlen", 0, true},
    {"_flash_3", Arithmetic::exact, "flash 3", 0, true},
    {"_flash_varlen_3", Arithmetic::exact, "flash 3 varlen", 0, true},
    {"_flash_3_hub", Arithmetic::exact, "flash 3", 0, true},
    {"_flash_3_varlen_hub", Arithmetic::exact, "flash 3 varlen", 0, true},
    {"flash_4_hub", Arithmetic::exact, "flash 4", 0, true},
    {"aiter_fa2_hub", Arithmetic::exact, "aiter flash 2", 0, true},
    {"sage", Arithmetic::sage, {}},
    {"sage_hub", Arithmetic::sage, {}},
    {"_sage_qk_int8_pv_fp8_cuda", Arithmetic::sage, {}, 89},
    {"_sage_qk_int8_pv_fp8_cuda_sm90", Arithmetic::sage, {}, 90},
    {"_sage_qk_int8_pv_fp16_cuda", Arithmetic::sage, {}, 80},
    {"_sage_qk_int8_pv_fp16_triton", Arithmetic::sage, "triton"},
    {"xformers", Arithmetic::exact, "xformers"},
}};

/// A kernel under the dispatcher's name, with what its checks say on top.
class DirectKernel final : public AttentionKernel {
 public:
  DirectKernel(const DispatcherBackend& backend, std::shared_ptr<const AttentionKernel> kernel)
      : backend_(backend), kernel_(std::move(kernel)) {}

  [[nodiscard]] KernelResult run(const AttentionCall& call, const BlockSelection* selection) const override {
    const std::string_view refused = refusal_of(backend_, call);
    return refused.empty() ? named(kernel_->run(call, selection)) : KernelResult{backend_.name, {}, refused};
  }
  [[nodiscard]] KernelResult route(const AttentionCall& call, const BlockSelection* selection) const noexcept override {
    const std::string_view refused = refusal_of(backend_, call);
    return refused.empty() ? named(kernel_->route(call, selection)) : KernelResult{backend_.name, {}, refused};
  }
  [[nodiscard]] KernelForecast forecast(const AttentionCall& call, const BlockSelection* selection) const override {
    KernelForecast forecast = kernel_->forecast(call, selection);
    forecast.would_run = route(call, selection);
    return forecast;
  }

 private:
  /// torch names the settings that would let another of its kernels serve; here only one may.
  [[nodiscard]] KernelResult named(KernelResult result) const noexcept {
    if (result.backend == "sdpa" && result.variant.empty() && !result.failure.empty()) {
      result.failure = "torch's kernel of that name takes no such call";
    }
    result.backend = backend_.name;
    return result;
  }

  const DispatcherBackend& backend_;
  std::shared_ptr<const AttentionKernel> kernel_;
};

Expected<PreparedBackend> prepare_sage(const Served& served, const PrepareContext& context) {
  Target target = context.target;
  if (served.capability != 0) {
    target.platform = "cuda";
    target.capability = served.capability;
  } else if (served.detail == "triton") {
    target.capability.reset();
  }
  return sage_backend().prepare({target, context.options, context.original, context.live});
}

Expected<PreparedBackend> prepare_torch(const Served& served, const PrepareContext& context) {
  OptionValues options = context.options;
  options.put("sdp_options", OptionList{std::string(served.detail)});
  return sdpa_backend().prepare({context.target, options, context.original, context.live});
}

Expected<PreparedBackend> prepare(const Served& served, const DispatcherBackend& backend,
                                  const PrepareContext& context) {
  Expected<PreparedBackend> prepared = PreparedBackend{};
  switch (served.arithmetic) {
    case Arithmetic::exact:
      if (context.target.device && served.detail == "cudnn" && !cudnn::this_machines_cudnn()) {
        return fail(cudnn::this_machines_cudnn().error());
      }
      prepared = PreparedBackend{
          cuda::exact_on_gpu(context.target, std::make_shared<ExactKernel>(served.name, served.detail, false)),
          std::nullopt,
          {}};
      break;
    case Arithmetic::torch:
      prepared = prepare_torch(served, context);
      break;
    case Arithmetic::sage:
      prepared = prepare_sage(served, context);
      break;
  }
  if (!prepared) return prepared;
  return PreparedBackend{std::make_shared<DirectKernel>(backend, std::move(prepared->kernel)), std::nullopt, {}};
}

BackendSpec declare(const Served& served) {
  const DispatcherBackend& backend = *find_dispatcher_backend(served.name);
  BackendSpec spec;
  spec.name = served.name;
  spec.label = served.name;
  spec.constraints = constraints_of(backend);
  spec.constraints.causal_top_left = !served.bottom_right;
  if (served.arithmetic == Arithmetic::sage) {
    spec.constraints.max_offset_reach = std::numeric_limits<std::int32_t>::max();
  }
  spec.help = "A backend of the diffusers dispatcher, served directly.";
  spec.prepare = [&served, &backend](const PrepareContext& context) { return prepare(served, backend, context); };
  return spec;
}

}  // namespace

std::vector<BackendSpec> direct_backends() {
  std::vector<BackendSpec> all;
  for (const Served& served : kServed) all.push_back(declare(served));
  return all;
}

}  // namespace attn
