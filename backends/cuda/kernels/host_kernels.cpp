// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cuda/kernels/host_kernels.h"

#include "backends/cuda/kernels/selection_plan.h"

namespace attn::cuda {
namespace {

struct HostLauncher {
  const HostRun& run;

  template <class Kernel>
  LaunchStatus launch(const typename Kernel::Params& params, GridSize grid) {
    run_on_host<Kernel>(params, grid, run);
    return {};
  }
};

}  // namespace

LaunchStatus host_int8_attention(const AttentionTask& task, const Int8Options& options, void* workspace,
                                 const HostRun& run) {
  HostLauncher launcher{run};
  return AttentionLaunches<HostLauncher>(launcher, task).int8(options, workspace);
}

LaunchStatus host_exact_attention(const AttentionTask& task, void* workspace, const HostRun& run) {
  HostLauncher launcher{run};
  return AttentionLaunches<HostLauncher>(launcher, task).exact(workspace);
}

LaunchStatus host_selection(const SelectionTask& task, void* workspace, const HostRun& run) {
  HostLauncher launcher{run};
  return select_on(launcher, task, workspace);
}

}  // namespace attn::cuda
