// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cuda/serve/own_compute.h"

#include "backends/cuda/kernels/task_of_call.h"

#include <utility>
#include <vector>

namespace attn::cuda {
namespace {

/// Kept tiles as ascending lists, on the host, in the layout of TileLists.
struct HostLists {
  std::vector<int> tiles;
  std::vector<int> counts;
  TileLists shape;  ///< without addresses

  explicit HostLists(const BlockSelection& selection) {
    const std::int64_t rows = selection.batch * selection.heads * selection.query_tiles;
    tiles.resize(static_cast<std::size_t>(rows * selection.key_tiles));
    counts.resize(static_cast<std::size_t>(rows));
    for (std::size_t row = 0; row < counts.size(); ++row) {
      const std::size_t first = row * static_cast<std::size_t>(selection.key_tiles);
      for (std::int64_t j = 0; j < selection.key_tiles; ++j) {
        if (selection.keep[first + static_cast<std::size_t>(j)] == 0) continue;
        tiles[first + static_cast<std::size_t>(counts[row]++)] = static_cast<int>(j);
      }
    }
    shape.query_tiles = static_cast<int>(selection.query_tiles);
    shape.key_tiles = static_cast<int>(selection.key_tiles);
    shape.head_step = selection.heads == 1 ? 0 : shape.query_tiles;
    shape.batch_step = selection.batch == 1 ? 0 : shape.query_tiles * static_cast<int>(selection.heads);
  }
};

std::int64_t bytes_of(const std::vector<int>& values) { return static_cast<std::int64_t>(values.size() * sizeof(int)); }

class OwnCompute : public DeviceCompute {
 public:
  [[nodiscard]] std::string refusal(const AttentionCall& call, const BlockSelection* selection) const final {
    if (selection != nullptr && (selection->block_q != kQueryTile || selection->block_kv != kKeyTile)) {
      return "takes block selections of 128 by 64 tokens";
    }
    const auto task = task_of_call(call);
    return task ? std::string(refuse(*task, call)) : std::string("takes sizes below 2^31");
  }

  [[nodiscard]] Expected<void> run(LocalGpu& gpu, const AttentionCall& call,
                                   const BlockSelection* selection) const final {
    Transfer transfer(*gpu.api, gpu.pool);
    if (auto current = gpu.api->make_current(); !current) return current;
    const auto placed = place(transfer, call, true);
    if (!placed) return fail(placed.error());
    auto task = task_of_call(placed->call);
    if (!task) return fail("a tensor's leading dims do not fold");
    DeviceBuffer tiles;
    DeviceBuffer counts;
    std::optional<HostLists> lists;  // outlives the copies
    if (selection != nullptr) {
      auto sent = send(gpu, lists.emplace(*selection), tiles, counts);
      if (!sent) return sent;
      task->selection = lists->shape;
      task->selection.tiles = static_cast<int*>(tiles.data());
      task->selection.counts = static_cast<int*>(counts.data());
    }
    const auto workspace =
        gpu.pool.get(workspace_bytes(*task, call), [this] { return "the workspace of the " + std::string(name()); });
    if (!workspace) return fail(workspace.error());
    if (auto begun = gpu.api->mark_begin(); !begun) return begun;
    const LaunchStatus launched = launch(*task, call, workspace->data(), gpu.api->stream());
    if (!launched.ok()) return fail(gpu.api->launch_error(launched.kernel, launched.code));
    if (auto ended = gpu.api->mark_end(); !ended) return ended;
    if (auto queued = transfer.download(placed->output, call.output, "output"); !queued) return queued;
    if (auto finished = transfer.finish(name()); !finished) return finished;
    return note_time(gpu);
  }

 protected:
  [[nodiscard]] virtual std::string_view refuse(const AttentionTask& task, const AttentionCall& call) const = 0;
  [[nodiscard]] virtual std::int64_t workspace_bytes(const AttentionTask& task, const AttentionCall& call) const = 0;
  [[nodiscard]] virtual LaunchStatus launch(const AttentionTask& task, const AttentionCall& call, void* workspace,
                                            void* stream) const = 0;

 private:
  static Expected<void> send(LocalGpu& gpu, const HostLists& lists, DeviceBuffer& tiles, DeviceBuffer& counts) {
    const Subject subject = [] { return std::string("the kept tiles"); };
    for (const auto& [values, buffer] : {std::pair(&lists.tiles, &tiles), std::pair(&lists.counts, &counts)}) {
      auto room = gpu.pool.get(bytes_of(*values), subject);
      if (!room) return fail(room.error());
      *buffer = std::move(*room);
      if (values->empty()) continue;
      auto queued = gpu.api->copy_in(buffer->data(), values->data(), bytes_of(*values), subject);
      if (!queued) return queued;
    }
    return {};
  }
};

class OwnInt8Compute final : public OwnCompute {
 public:
  OwnInt8Compute(const LaunchTable& launches, Int8OptionsFor options)
      : launches_(launches), options_(std::move(options)) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "own int8 kernel"; }

 protected:
  [[nodiscard]] std::string_view refuse(const AttentionTask& task, const AttentionCall& call) const override {
    const auto options = options_(call);
    return options ? refuse_int8_attention(task, *options) : "has no such number formats";
  }
  [[nodiscard]] std::int64_t workspace_bytes(const AttentionTask& task, const AttentionCall& call) const override {
    return int8_workspace_bytes(task, options_(call).value_or(Int8Options{}));
  }
  [[nodiscard]] LaunchStatus launch(const AttentionTask& task, const AttentionCall& call, void* workspace,
                                    void* stream) const override {
    return launches_.int8_attention(task, options_(call).value_or(Int8Options{}), workspace, stream);
  }

 private:
  const LaunchTable& launches_;
  Int8OptionsFor options_;
};

class OwnExactCompute final : public OwnCompute {
 public:
  explicit OwnExactCompute(const LaunchTable& launches) : launches_(launches) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "own exact kernel"; }

 protected:
  [[nodiscard]] std::string_view refuse(const AttentionTask& task, const AttentionCall&) const override {
    return refuse_exact_attention(task);
  }
  [[nodiscard]] std::int64_t workspace_bytes(const AttentionTask& task, const AttentionCall&) const override {
    return exact_workspace_bytes(task);
  }
  [[nodiscard]] LaunchStatus launch(const AttentionTask& task, const AttentionCall&, void* workspace,
                                    void* stream) const override {
    return launches_.exact_attention(task, workspace, stream);
  }

 private:
  const LaunchTable& launches_;
};

}  // namespace

std::unique_ptr<DeviceCompute> own_int8_compute(const LaunchTable& launches, Int8OptionsFor options) {
  return std::make_unique<OwnInt8Compute>(launches, std::move(options));
}

std::unique_ptr<DeviceCompute> own_exact_compute(const LaunchTable& launches) {
  return std::make_unique<OwnExactCompute>(launches);
}

}  // namespace attn::cuda
