// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cuda/runtime/device_api.h"

namespace attn::cuda {

Expected<std::unique_ptr<DeviceApi>> open_device(int) {
  return fail("this program was built without the CUDA toolkit");
}

Expected<void> make_device_current(int) { return fail("this program was built without the CUDA toolkit"); }

}  // namespace attn::cuda
