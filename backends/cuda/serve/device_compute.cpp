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

namespace {

/// A call on its way. Whatever was queued reads and writes this memory.
struct Running {
  explicit Running(LocalGpu& used) : gpu(used), transfer(*used.api, used.pool) {}

  LocalGpu& gpu;
  Transfer transfer;
  PlacedCall placed;
  std::unique_ptr<PreparedCall> prepared;  ///< goes before what it reads

  [[nodiscard]] Expected<void> compute(const DeviceCompute& compute, const AttentionCall& call,
                                       const BlockSelection* selection) {
    auto tensors = place(transfer, call, compute.reads_mask());
    if (!tensors) return fail(tensors.error());
    placed = std::move(*tensors);
    auto ready = compute.prepare(gpu, transfer, call, placed, selection, {});
    if (!ready) return fail(ready.error());
    prepared = std::move(*ready);
    if (auto begun = gpu.api->mark_begin(); !begun) return begun;
    if (auto launched = prepared->launch(); !launched) return launched;
    if (auto ended = gpu.api->mark_end(); !ended) return ended;
    if (auto queued = transfer.download(placed.output, call.output, "output"); !queued) return queued;
    if (auto finished = transfer.finish(compute.name()); !finished) return finished;
    prepared->complete(call);
    const auto time = gpu.api->milliseconds();
    if (!time) return fail(time.error());
    gpu.milliseconds = *time;
    return {};
  }
};

}  // namespace

Expected<void> compute_on(LocalGpu& gpu, const DeviceCompute& compute, const AttentionCall& call,
                          const BlockSelection* selection) {
  if (auto current = gpu.api->make_current(); !current) return current;
  Running running(gpu);
  auto done = running.compute(compute, call, selection);
  // After a failure something may still be under way, which must not meet this memory in other hands.
  if (!done) (void)gpu.api->finish([] { return std::string("a call that failed"); });
  return done;
}

}  // namespace attn::cuda
