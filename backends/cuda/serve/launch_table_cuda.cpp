// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cuda/serve/launch_table.h"

namespace attn::cuda {

const LaunchTable* built_launches() noexcept {
  static constexpr LaunchTable kBuilt{launch_int8_attention, launch_exact_attention, launch_selection};
  return &kBuilt;
}

}  // namespace attn::cuda
