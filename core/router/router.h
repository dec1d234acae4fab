// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/context/generation_context.h"
#include "core/router/plan.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace attn {

/// Everything that is known about one routed call. Valid during RouteObserver::observe only, except for the
/// string views, which live as long as the registry (backend names) or the program (variants).
struct RouteRecord {
  const AttentionCall& call;
  std::string_view requested;       ///< asked for first by the settings
  std::string_view selected;        ///< accepted the call
  std::string_view executed;        ///< returned the result: the kernel's own word
  std::string_view variant;         ///< the kernel's own word
  const BlockSelection* selection;  ///< null: dense
  Role role;
  std::int32_t step;
  bool computed;          ///< false: planned only
  std::int64_t begin_ns;  ///< steady clock; both 0 when timing is off
  std::int64_t end_ns;    ///< on a device: as much later as its kernels took, without moving the tensors there and back
  std::string_view stage_reason{};  ///< a static string: why the sparse stage, which was asked, left the call dense
  bool bypassed = false;            ///< a dispatcher served it directly: the chain was not asked
  std::string_view fell_back{};     ///< why a kernel that had accepted the call, or was to compute it, did not
};

/// Sees every route. Called on the router's thread, inside the call: it must be quick and must not throw.
class RouteObserver {
 public:
  RouteObserver() = default;
  RouteObserver(const RouteObserver&) = delete;
  RouteObserver& operator=(const RouteObserver&) = delete;
  virtual ~RouteObserver() = default;
  virtual void observe(const RouteRecord& record) noexcept = 0;
};

/// What the router did with a call.
struct Route {
  std::string_view selected;
  std::string_view executed;
  std::string_view variant;
  bool sparse = false;
  std::string_view failure;      ///< not empty: nobody could serve; the output is not written
  std::string_view fell_back{};  ///< as RouteRecord's
};

/// The entry that serves one call site, chosen once: what a compiled job keeps instead of asking the chain on every
/// call. It holds for calls of one shape under one plan; another shape or a rebuilt chain chooses again.
class FrozenRoute {
 public:
  /// How often the chain was asked for this site.
  [[nodiscard]] std::int64_t resolutions() const noexcept { return resolutions_; }

 private:
  friend class Router;
  struct Guard {
    TensorView::Dims query{};
    TensorView::Dims key{};
    DType dtype = DType::bfloat16;
    bool on_cpu = false;
    bool masked = false;
    bool causal = false;

    explicit Guard(const AttentionCall& call) noexcept;
    Guard() = default;
    friend bool operator==(const Guard&, const Guard&) = default;
  };
  std::shared_ptr<const Plan> plan_;  ///< keeps entry_ alive
  const PlanEntry* entry_ = nullptr;
  Guard guard_;
  std::int64_t resolutions_ = 0;
};

class CompiledForward;

/// Serves attention calls from a plan: the first entry that accepts takes the call, then the terminal or the
/// original sdpa. A call without data is routed and counted the same way, without computing.
/// Not thread safe: one job thread uses it. The clean path neither allocates nor locks.
class Router {
 public:
  /// `context`, `observer` and `stage` may be null and must outlive the router.
  Router(std::shared_ptr<const Plan> plan, const GenerationContext* context, RouteObserver* observer = nullptr,
         SelectionStage* stage = nullptr, bool timing = false);

  Route operator()(const AttentionCall& call);
  /// The same for a call site of a compiled job: the chain is asked when `site` has no entry for such a call yet. The
  /// sparse stage still decides on every call, as its budget follows the step.
  Route operator()(const AttentionCall& call, FrozenRoute& site);
  /// Computes the calls of one forward of a compiled job as one piece of work, where one device records all of them,
  /// and observes each. False: not computed, nothing observed; forward.refusal() says why, and the calls are to be
  /// made one by one at forward.site(). The calls have data.
  [[nodiscard]] bool compute_as_one(std::span<const AttentionCall> calls, CompiledForward& forward);
  /// Whether it would be tried: the same decisions, for calls that need no data. False: forward.refusal() says why.
  [[nodiscard]] bool records(std::span<const AttentionCall> calls, CompiledForward& forward);
  /// Serves the call by the original sdpa, whatever the chain: what a bypass does.
  Route original(const AttentionCall& call) { return serve(plan_->original(), call); }
  /// Serves the call by an entry that is in no chain, without asking the sparse stage: what a dispatcher in front of
  /// the router does. The entry's gate has to be asked before.
  Route direct(const PlanEntry& entry, const AttentionCall& call) { return serve(entry, call, true); }
  /// Reports the next calls as asked of this name first, which must live as long as the registry; empty: of the
  /// chain's own.
  void set_requested(std::string_view name) noexcept { requested_ = name; }

  [[nodiscard]] const Plan& plan() const noexcept { return *plan_; }
  void set_observer(RouteObserver* observer) noexcept { observer_ = observer; }
  void set_timing(bool timing) noexcept { timing_ = timing; }

 private:
  Route serve(const PlanEntry& entry, const AttentionCall& call, bool bypassed = false,
              std::string_view fell_back = {});
  /// The entry of a call site, chosen now where it has none for such a call.
  [[nodiscard]] const PlanEntry& entry_of(const AttentionCall& call, FrozenRoute& site);
  struct Forward;

  std::shared_ptr<const Plan> plan_;
  const GenerationContext* context_;
  RouteObserver* observer_;
  SelectionStage* stage_;
  std::string_view requested_;
  bool timing_;
};

}  // namespace attn
