// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cuda/serve/gpu_step.h"

#include "backends/cuda/runtime/step_cell.h"
#include "backends/cuda/serve/device_kernel.h"

#include <algorithm>
#include <new>
#include <optional>
#include <utility>
#include <vector>

namespace attn::cuda {
namespace {

std::string the_step() { return "the recorded step"; }

/// A distinct call of the step, ready to be launched.
struct Member {
  AttentionCall call;  ///< on the host
  std::optional<BlockSelection> selection;
  const DeviceKernel* kernel = nullptr;
  std::string_view name;
  PlacedCall placed;
  std::unique_ptr<PreparedCall> prepared;  ///< goes before what it reads
};

bool same_selection(const std::optional<BlockSelection>& one, const BlockSelection* other) {
  if (!one || other == nullptr) return !one && other == nullptr;
  return one->rule.marks == other->rule.marks && one->rule.head_shared == other->rule.head_shared &&
         one->budget == other->budget && one->block_q == other->block_q && one->block_kv == other->block_kv &&
         one->keep == other->keep;
}

class GpuStep final : public RecordedStep {
 public:
  explicit GpuStep(std::shared_ptr<LocalGpu> gpu) : gpu_(std::move(gpu)) {}
  ~GpuStep() override {
    const std::lock_guard lock(gpu_->mutex);
    (void)gpu_->api->make_current();
    release();
  }

  [[nodiscard]] Expected<void> record(std::span<const StepCall> calls, std::span<const float> budgets) {
    const std::lock_guard lock(gpu_->mutex);
    Transfer transfer(*gpu_->api, gpu_->pool);  // outlives what it queues
    auto recorded = guarded([&] { return try_to_record(transfer, calls, budgets); });
    if (recorded) return recorded;
    (void)gpu_->api->finish(the_step);  // what is under way must not meet this memory in other hands
    release();
    return recorded;
  }

  [[nodiscard]] Expected<void> run(std::int32_t step, std::span<double> milliseconds) override {
    const std::lock_guard lock(gpu_->mutex);
    Transfer transfer(*gpu_->api, gpu_->pool);
    auto done = guarded([&] { return run(transfer, step, milliseconds); });
    if (!done) (void)gpu_->api->finish(the_step);
    return done;
  }

 private:
  template <class Body>
  [[nodiscard]] static Expected<void> guarded(const Body& body) {
    try {
      return body();
    } catch (const std::bad_alloc&) {
      return fail("the host ran out of memory");
    }
  }

  [[nodiscard]] Expected<void> run(Transfer& transfer, std::int32_t step, std::span<double> milliseconds) {
    if (auto current = gpu_->api->make_current(); !current) return current;
    if (auto set = cell_->set(*gpu_->api, step); !set) return set;
    if (auto launched = graph_->launch(the_step); !launched) return launched;
    for (const std::size_t index : last_launched_) {
      const Member& member = *members_[index];
      if (auto queued = transfer.download(member.placed.output, member.call.output, "output"); !queued) return queued;
    }
    if (auto finished = transfer.finish("the recorded step"); !finished) return finished;
    for (const std::size_t index : last_launched_) members_[index]->prepared->complete(members_[index]->call);
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const auto time = marks_->milliseconds(i, i + 1);
      if (!time) return fail(time.error());
      milliseconds[i] = *time;
    }
    return {};
  }

  [[nodiscard]] Expected<void> try_to_record(Transfer& transfer, std::span<const StepCall> calls,
                                             std::span<const float> budgets) {
    if (auto current = gpu_->api->make_current(); !current) return current;
    auto cell = StepCell::create(*gpu_->api, gpu_->pool);
    if (!cell) return fail(cell.error());
    cell_.emplace(std::move(*cell));
    auto table = transfer.send(budgets, [] { return std::string("the budgets of the steps"); });
    if (!table) return fail(table.error());
    budgets_ = std::move(*table);
    const StepTable steps{budgets.empty() ? nullptr : static_cast<const float*>(budgets_.data()),
                          static_cast<int>(budgets.size()), cell_->device_address()};
    for (const StepCall& call : calls) {
      const auto member = member_for(transfer, call, steps);
      if (!member) return fail(member.error());
      order_.push_back(*member);
    }
    order_last_launches();
    // Once outside of the recording: kernels are loaded, and what a kernel cannot do is said under its name.
    if (auto set = cell_->set(*gpu_->api, 0); !set) return set;
    for (const auto& member : members_) {
      if (auto launched = launch(*member); !launched) return launched;
    }
    if (auto sent = transfer.finish("the recorded step's first run"); !sent) return sent;
    auto marks = gpu_->api->make_marks(order_.size() + 1);
    if (!marks) return fail(marks.error());
    marks_ = std::move(*marks);
    return capture();
  }

  /// The index of the call's member, made where no equal call has one.
  [[nodiscard]] Expected<std::size_t> member_for(Transfer& transfer, const StepCall& wanted, const StepTable& steps) {
    const auto* kernel = static_cast<const DeviceKernel*>(wanted.kernel);
    const auto known = std::find_if(members_.begin(), members_.end(), [&](const auto& member) {
      return member->kernel == kernel && member->call == *wanted.call &&
             same_selection(member->selection, wanted.selection);
    });
    if (known != members_.end()) return static_cast<std::size_t>(known - members_.begin());
    const auto compute = kernel->compute_of(*wanted.call, wanted.selection);
    if (!compute) return fail(compute.error());
    auto member = std::make_unique<Member>();
    member->call = *wanted.call;
    member->kernel = kernel;
    member->name = (*compute)->name();
    if (wanted.selection != nullptr) member->selection = *wanted.selection;
    auto placed = place(transfer, member->call, (*compute)->reads_mask());
    if (!placed) return fail(placed.error());
    member->placed = std::move(*placed);
    const BlockSelection* selection = member->selection ? &*member->selection : nullptr;
    auto prepared = (*compute)->prepare(*gpu_, transfer, member->call, member->placed, selection, steps);
    if (!prepared) return fail(std::string(member->name) + ": " + prepared.error());
    member->prepared = std::move(*prepared);
    members_.push_back(std::move(member));
    return members_.size() - 1;
  }

  [[nodiscard]] Expected<void> capture() {
    if (auto begun = gpu_->api->begin_recording(the_step); !begun) return begun;
    const auto launched = guarded([this] { return launch_all(); });
    auto graph = gpu_->api->end_recording(the_step);  // also where a launch failed
    if (!launched) return fail(launched.error());
    if (!graph) return fail(graph.error());
    graph_ = std::move(*graph);
    return {};
  }

  [[nodiscard]] Expected<void> launch_all() {
    for (std::size_t i = 0; i < order_.size(); ++i) {
      if (auto marked = marks_->set(i); !marked) return marked;
      if (auto launched = launch(*members_[order_[i]]); !launched) return launched;
    }
    return marks_->set(order_.size());
  }
  [[nodiscard]] static Expected<void> launch(const Member& member) {
    const auto launched = member.prepared->launch();
    return launched ? launched : fail(std::string(member.name) + ": " + launched.error());
  }

  /// Outputs are brought back in the order of their last launches, as two calls may write one tensor.
  void order_last_launches() {
    for (auto at = order_.rbegin(); at != order_.rend(); ++at) {
      if (std::ranges::find(last_launched_, *at) == last_launched_.end()) last_launched_.push_back(*at);
    }
    std::ranges::reverse(last_launched_);
  }

  void release() noexcept {
    graph_.reset();
    marks_.reset();
    members_.clear();
    order_.clear();
    last_launched_.clear();
    budgets_.reset();
    cell_.reset();
  }

  std::shared_ptr<LocalGpu> gpu_;
  std::vector<std::unique_ptr<Member>> members_;
  std::vector<std::size_t> order_;  ///< members in the order of the calls
  std::vector<std::size_t> last_launched_;
  DeviceBuffer budgets_;
  std::optional<StepCell> cell_;
  std::unique_ptr<DeviceMarks> marks_;
  std::unique_ptr<DeviceGraph> graph_;
};

}  // namespace

Expected<std::unique_ptr<RecordedStep>> GpuStepRecorder::record(std::span<const StepCall> calls,
                                                                std::span<const float> budgets) const {
  if (calls.empty()) return fail("a step without calls has nothing to record");
  try {
    auto step = std::make_unique<GpuStep>(static_cast<const DeviceKernel*>(calls.front().kernel)->gpu());
    if (auto recorded = step->record(calls, budgets); !recorded) return fail(recorded.error());
    return std::unique_ptr<RecordedStep>(std::move(step));
  } catch (const std::bad_alloc&) {
    return fail("the host ran out of memory");
  }
}

}  // namespace attn::cuda
