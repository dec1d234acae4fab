// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cuda/kernels/task_of_call.h"

#include <limits>

namespace attn::cuda {
namespace {

bool fits(std::int64_t size) noexcept { return size <= std::numeric_limits<int>::max() - kQueryTile; }

}  // namespace

std::optional<DeviceTensor> device_tensor(const TensorView& view) noexcept {
  DeviceTensor tensor;
  tensor.data = view.data;
  tensor.dtype = view.dtype;
  for (int i = 0; i < 4; ++i) tensor.stride[i] = view.size(i - 4) == 1 ? 0 : view.step(i - 4);
  if (view.rank < 5 || view.size(0) == 1) return tensor;
  if (view.size(1) == 1) {
    tensor.stride[0] = view.step(0);
  } else if (view.step(0) != view.size(1) * view.step(1)) {
    return std::nullopt;
  }
  return tensor;
}

std::optional<AttentionTask> task_of_call(const AttentionCall& call) noexcept {
  const std::int64_t sizes[] = {call.batch(),      call.heads(),    call.kv_heads(), call.query_tokens(),
                                call.key_tokens(), call.head_dim(), call.value_dim()};
  for (const std::int64_t size : sizes) {
    if (!fits(size)) return std::nullopt;
  }
  const auto query = device_tensor(call.query);
  const auto key = device_tensor(call.key);
  const auto value = device_tensor(call.value);
  const auto output = device_tensor(call.output);
  if (!query || !key || !value || !output) return std::nullopt;
  AttentionTask task;
  task.shape = {static_cast<int>(sizes[0]), static_cast<int>(sizes[1]), static_cast<int>(sizes[2]),
                static_cast<int>(sizes[3]), static_cast<int>(sizes[4]), static_cast<int>(sizes[5]),
                static_cast<int>(sizes[6])};
  task.query = *query;
  task.key = *key;
  task.value = *value;
  task.output = *output;
  // A dim of size 1 has no neighbour, so that any stride is right; what is contiguous is easiest to copy.
  for (DeviceTensor* tensor : {&task.query, &task.key, &task.value, &task.output}) {
    if (tensor->stride[3] == 0 && (tensor == &task.query || tensor == &task.key ? sizes[5] : sizes[6]) == 1) {
      tensor->stride[3] = 1;
    }
  }
  if (call.attn_mask) {
    const auto mask = device_tensor(*call.attn_mask);
    if (!mask) return std::nullopt;
    task.mask = *mask;
  }
  task.scale = call.effective_scale();
  task.is_causal = call.is_causal;
  return task;
}

}  // namespace attn::cuda
