// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cuda/serve/own_compute.h"

#include "backends/cuda/kernels/task_of_call.h"

#include <optional>
#include <span>
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

/// Lists that the device writes: rows of key_tiles each, per batch item and head that selects.
TileLists device_lists(const SelectionTask& task) {
  TileLists lists;
  lists.query_tiles = (task.shape.query_tokens + task.block_q - 1) / task.block_q;
  lists.key_tiles = (task.shape.key_tokens + task.block_kv - 1) / task.block_kv;
  lists.head_step = task.head_shared ? 0 : lists.query_tiles;
  lists.batch_step = task.head_shared ? lists.query_tiles : lists.query_tiles * task.shape.heads;
  return lists;
}

/// The selection of a call whose tiles are chosen on the device; without addresses.
SelectionTask selection_task(const AttentionTask& task, const BlockSelection& selection) {
  SelectionTask chosen;
  chosen.shape = task.shape;
  chosen.query = task.query;
  chosen.key = task.key;
  chosen.mark_heads = static_cast<int>(selection.rule.marks->heads());
  chosen.head_shared = selection.rule.head_shared;
  chosen.budget = static_cast<float>(selection.budget);
  return chosen;
}

class OwnCompute : public DeviceCompute {
 public:
  explicit OwnCompute(const LaunchTable& launches) : launches_(launches) {}

  [[nodiscard]] std::string refusal(const AttentionCall& call, const BlockSelection* selection) const final {
    if (selection != nullptr && (selection->block_q != kQueryTile || selection->block_kv != kKeyTile)) {
      return "takes block selections of 128 by 64 tokens";
    }
    const auto task = task_of_call(call);
    return task ? std::string(refuse(*task, call)) : std::string("takes sizes below 2^31");
  }

  [[nodiscard]] bool chooses_tiles(const AttentionCall& call, const BlockSelection& selection) const final {
    if (!selection.rule || launches_.selection == nullptr || !refusal(call, &selection).empty()) return false;
    const auto task = task_of_call(call);
    return task && refuse_selection(selection_task(*task, selection)).empty();
  }

  [[nodiscard]] Expected<std::unique_ptr<PreparedCall>> prepare(LocalGpu& gpu, Transfer& transfer,
                                                                const AttentionCall& host, const PlacedCall& placed,
                                                                const BlockSelection* selection,
                                                                const StepTable& steps) const final {
    auto task = task_of_call(placed.call);
    if (!task) return fail("a tensor's leading dims do not fold");
    auto prepared = std::make_unique<Prepared>(*this, gpu, host, *task);
    if (selection != nullptr) {
      auto ready = selection->has_tiles() ? prepared->take_tiles(transfer, *selection)
                                          : prepared->choose_tiles(transfer, *selection, steps);
      if (!ready) return fail(ready.error());
    }
    if (auto ready = prepared->take_workspace(); !ready) return fail(ready.error());
    return std::unique_ptr<PreparedCall>(std::move(prepared));
  }

 protected:
  [[nodiscard]] virtual std::string_view refuse(const AttentionTask& task, const AttentionCall& call) const = 0;
  [[nodiscard]] virtual std::int64_t workspace_bytes(const AttentionTask& task, const AttentionCall& call) const = 0;
  [[nodiscard]] virtual LaunchStatus launch(const AttentionTask& task, const AttentionCall& call, void* workspace,
                                            void* stream) const = 0;

  const LaunchTable& launches_;

 private:
  class Prepared final : public PreparedCall {
   public:
    Prepared(const OwnCompute& compute, LocalGpu& gpu, const AttentionCall& host, const AttentionTask& task)
        : compute_(compute), gpu_(gpu), host_(host), task_(task) {}

    [[nodiscard]] Expected<void> launch() override {
      void* const stream = gpu_.api->stream();
      LaunchStatus status;
      if (selection_) status = compute_.launches_.selection(*selection_, selection_workspace_.data(), stream);
      if (status.ok()) status = compute_.launch(task_, host_, workspace_.data(), stream);
      return status.ok() ? Expected<void>() : fail(gpu_.api->launch_error(status.kernel, status.code));
    }

    /// Tiles that the host chose.
    [[nodiscard]] Expected<void> take_tiles(Transfer& transfer, const BlockSelection& selection) {
      const HostLists lists(selection);
      const Subject subject = [] { return std::string("the kept tiles"); };
      auto sent = transfer.send(std::span<const int>(lists.tiles), subject);
      if (!sent) return fail(sent.error());
      tiles_ = std::move(*sent);
      sent = transfer.send(std::span<const int>(lists.counts), subject);
      if (!sent) return fail(sent.error());
      counts_ = std::move(*sent);
      task_.selection = lists.shape;
      address_lists();
      return {};
    }

    /// Tiles that the device chooses whenever the call is launched.
    [[nodiscard]] Expected<void> choose_tiles(Transfer& transfer, const BlockSelection& selection,
                                              const StepTable& steps) {
      if (!selection.rule) return fail("the selection has neither tiles nor a rule to choose them by");
      selection_ = selection_task(task_, selection);
      auto marks = gpu_.marks.get(transfer, selection.rule.marks);
      if (!marks) return fail(marks.error());
      marks_ = std::move(*marks);
      selection_->marks = static_cast<const std::uint8_t*>(marks_->data());
      selection_->budgets = steps.budgets;
      selection_->steps = steps.steps;
      selection_->step = steps.step;
      task_.selection = device_lists(*selection_);
      const std::int64_t rows = static_cast<std::int64_t>(task_.shape.batch) *
                                (selection_->head_shared ? 1 : task_.shape.heads) * task_.selection.query_tiles;
      const auto size = static_cast<std::int64_t>(sizeof(int));
      for (const auto& [buffer, bytes] :
           {std::pair(&tiles_, rows * task_.selection.key_tiles * size), std::pair(&counts_, rows * size),
            std::pair(&selection_workspace_, selection_workspace_bytes(*selection_))}) {
        auto room = gpu_.pool.get(bytes, [] { return std::string("the selection"); });
        if (!room) return fail(room.error());
        *buffer = std::move(*room);
      }
      address_lists();
      selection_->lists = task_.selection;
      return {};
    }

    [[nodiscard]] Expected<void> take_workspace() {
      auto room = gpu_.pool.get(compute_.workspace_bytes(task_, host_),
                                [this] { return "the workspace of the " + std::string(compute_.name()); });
      if (!room) return fail(room.error());
      workspace_ = std::move(*room);
      return {};
    }

   private:
    void address_lists() noexcept {
      task_.selection.tiles = static_cast<int*>(tiles_.data());
      task_.selection.counts = static_cast<int*>(counts_.data());
    }

    const OwnCompute& compute_;
    LocalGpu& gpu_;
    AttentionCall host_;
    AttentionTask task_;
    std::optional<SelectionTask> selection_;
    std::shared_ptr<const DeviceBuffer> marks_;
    DeviceBuffer tiles_;
    DeviceBuffer counts_;
    DeviceBuffer selection_workspace_;
    DeviceBuffer workspace_;
  };
};

class OwnInt8Compute final : public OwnCompute {
 public:
  OwnInt8Compute(const LaunchTable& launches, Int8OptionsFor options)
      : OwnCompute(launches), options_(std::move(options)) {}
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
  Int8OptionsFor options_;
};

class OwnExactCompute final : public OwnCompute {
 public:
  using OwnCompute::OwnCompute;
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
};

}  // namespace

std::unique_ptr<DeviceCompute> own_int8_compute(const LaunchTable& launches, Int8OptionsFor options) {
  return std::make_unique<OwnInt8Compute>(launches, std::move(options));
}

std::unique_ptr<DeviceCompute> own_exact_compute(const LaunchTable& launches) {
  return std::make_unique<OwnExactCompute>(launches);
}

}  // namespace attn::cuda
