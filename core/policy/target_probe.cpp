// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/policy/target_probe.h"

#include "core/settings/settings.h"
#include "core/tensor/host_buffer.h"

#include <algorithm>

namespace attn {
namespace {

struct Switch {
  std::string_view kernel;
  std::string_view name;  ///< in `sdp_options`; empty: there is no switch
};
constexpr std::array<Switch, 4> kSwitches{
    {{"flash", "Flash"}, {"memory-efficient", "Memory"}, {"cudnn", {}}, {"math", "Math"}}};

std::string_view switch_of(std::string_view kernel) {
  for (const Switch& one : kSwitches) {
    if (one.kernel == kernel) return one.name;
  }
  return {};
}

Expected<void> run_tiny(const AttentionKernel& kernel, std::string_view expected, DType dtype, Device device) {
  HostTensor query({1, 2, 8, 64}, dtype, device);
  HostTensor output({1, 2, 8, 64}, dtype, device);
  AttentionCall call;
  call.query = call.key = call.value = query.view();
  call.output = output.view();
  const KernelResult result = kernel.run(call, nullptr);
  if (!result.failure.empty()) return fail("no kernel of that name takes a call here");
  if (!expected.empty() && result.variant != expected) return fail(std::string(result.variant) + " served instead");
  return {};
}

}  // namespace

TinyCall tiny_call_on(const Registry& registry, const Target& target) {
  if (!target.present) return {};
  return [&registry, target](std::string_view kernel, DType dtype) -> Expected<void> {
    const std::string_view name = switch_of(kernel);
    const BackendSpec* spec = name.empty() ? registry.direct("_native_cudnn") : &registry.original();
    if (spec == nullptr || !spec->prepare) return fail("there is no such kernel here");
    if (name.empty() && !is_device(target, DeviceNeed::nvidia)) return fail("needs NVIDIA CUDA");
    OptionValues options;
    if (!name.empty()) options.put(std::string(keys::kernels), OptionList{std::string(name)});
    const Expected<PreparedBackend> prepared = spec->prepare({target, options, nullptr, {}});
    if (!prepared) return fail(prepared.error());
    if (!prepared->kernel) return fail("there is no such kernel here");
    const Device device = target.is_cpu() ? Device::cpu() : Device::accel();
    return run_tiny(*prepared->kernel, name.empty() ? std::string_view() : kernel, dtype, device);
  };
}

std::vector<KernelRow> kernel_rows(const OptionList& switches, const KernelProbe& probe) {
  std::vector<KernelRow> rows;
  for (const Switch& one : kSwitches) {
    KernelRow row{one.kernel, one.name.empty(), Support::unknown, {}, one.name};
    for (const std::string& ticked : switches) {
      row.switched_on = row.switched_on || ticked == one.name || ticked == std::string(one.name) + " attention";
    }
    for (const KernelProbe::Row& found : probe.rows) {
      if (found.kernel != one.kernel) continue;
      row.runs = found.runs;
      row.reason = found.reason;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace attn
