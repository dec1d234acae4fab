// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/pipeline/workers.h"

#include <algorithm>
#include <dnnl.hpp>
#include <span>

namespace attn::app::onednn {

// What the layers' sources share. Private to pipeline/.

using Format = dnnl::memory::format_tag;
using Desc = dnnl::memory::desc;
inline constexpr auto kF32 = dnnl::memory::data_type::f32;
inline constexpr std::size_t kScratchSlot = 0;  ///< of Task::memory; the networks' own slots begin at 1

/// oneDNN's handles. A stream of the processor keeps no state between two primitives.
struct Device {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
};

/// oneDNN takes no pointers to constants, also where it only reads.
inline void* writable(const float* values) { return const_cast<float*>(values); }

/// Attributes of a primitive that several tasks may run at once: each brings the memory it needs.
inline dnnl::primitive_attr shared_attributes() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

/// A memory of oneDNN's own that holds `values`.
inline dnnl::memory filled(Device& device, const Desc& desc, std::span<const float> values) {
  dnnl::memory memory(desc, device.engine);
  std::copy(values.begin(), values.end(), static_cast<float*>(memory.get_data_handle()));
  return memory;
}

/// What a primitive needs while it runs, out of the thread's memory.
inline dnnl::memory scratchpad(Device& device, const Desc& desc, Task& task) {
  return {desc, device.engine, task.memory(kScratchSlot, desc.get_size() / sizeof(float) + 1)};
}

}  // namespace attn::app::onednn
