// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cuda/serve/device_compute.h"

#include <utility>

namespace attn::cuda {

Expected<PlacedCall> place(Transfer& transfer, const AttentionCall& call, bool with_mask) {
  PlacedCall placed;
  placed.call = call;
  std::string error;
  const auto take = [&error](Expected<DeviceCopy> copy, DeviceCopy& into, TensorView& view) {
    if (!error.empty()) return;
    if (!copy) {
      error = copy.error();
      return;
    }
    into = std::move(*copy);
    view = into.view;
  };
  take(transfer.upload(call.query, "query"), placed.query, placed.call.query);
  if (error.empty()) take(transfer.upload(call.key, "key"), placed.key, placed.call.key);
  if (error.empty()) take(transfer.upload(call.value, "value"), placed.value, placed.call.value);
  if (error.empty()) take(transfer.make(call.output, call.output.dtype, "output"), placed.output, placed.call.output);
  if (error.empty() && with_mask && call.attn_mask) {
    take(transfer.upload(*call.attn_mask, "attn_mask"), placed.mask, *placed.call.attn_mask);
  }
  if (!error.empty()) return fail(error);
  return placed;
}

Expected<void> compute_on(LocalGpu& gpu, const DeviceCompute& compute, const AttentionCall& call,
                          const BlockSelection* selection) {
  if (auto current = gpu.api->make_current(); !current) return current;
  Transfer transfer(*gpu.api, gpu.pool);
  const auto placed = place(transfer, call, compute.reads_mask());
  if (!placed) return fail(placed.error());
  const auto prepared = compute.prepare(gpu, transfer, call, *placed, selection, {});
  if (!prepared) return fail(prepared.error());
  if (auto begun = gpu.api->mark_begin(); !begun) return begun;
  if (auto launched = (*prepared)->launch(); !launched) return launched;
  if (auto ended = gpu.api->mark_end(); !ended) return ended;
  if (auto queued = transfer.download(placed->output, call.output, "output"); !queued) return queued;
  if (auto finished = transfer.finish(compute.name()); !finished) return finished;
  (*prepared)->complete(call);
  const auto time = gpu.api->milliseconds();
  if (!time) return fail(time.error());
  gpu.milliseconds = *time;
  return {};
}

}  // namespace attn::cuda
