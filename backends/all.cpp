// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/all.h"

#include "backends/direct/direct.h"
#include "backends/dynamic/dynamic.h"
#include "backends/flash/flash.h"
#include "backends/flex/flex.h"
#include "backends/sage/sage.h"
#include "backends/sdnq/sdnq.h"
#include "backends/sdpa/sdpa.h"
#include "backends/triton/triton.h"

#include <cassert>
#include <utility>

namespace attn {

Registry make_registry() {
  Registry registry;
  registry.set_original(sdpa_backend());
  for (const auto& declare :
       {sdnq_backend, sage_backend, flash_backend, triton_backend, flex_backend, dynamic_backend}) {
    [[maybe_unused]] const Expected<void> added = registry.add(declare());
    assert(added.has_value());
  }
  for (BackendSpec& direct : direct_backends()) {
    [[maybe_unused]] const Expected<void> added = registry.add_direct(std::move(direct));
    assert(added.has_value());
  }
  return registry;
}

}  // namespace attn
