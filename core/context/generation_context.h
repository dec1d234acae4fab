// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/call/attention_call.h"
#include "core/layout/token_layout.h"

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attn {

/// The step as a scalar with a stable address, updated in place, so that a captured graph keeps reading it.
/// Written by the job thread, read by any thread.
class StepCell {
 public:
  [[nodiscard]] const std::atomic<std::int32_t>* address() const noexcept { return &step_; }
  [[nodiscard]] std::int32_t load() const noexcept { return step_.load(std::memory_order_relaxed); }
  void store(std::int32_t step) noexcept { step_.store(step, std::memory_order_relaxed); }

 private:
  std::atomic<std::int32_t> step_{0};
};

/// The classes that a generation runs, and the name of its architecture.
struct ModelKey {
  std::string pipeline;
  std::optional<std::string> denoiser;
  std::optional<std::string> architecture;  ///< not part of what the trace calls the model; for exclusions

  friend bool operator==(const ModelKey&, const ModelKey&) = default;
};

/// The components of a pipeline that the context looks at.
struct PipelineInfo {
  std::string pipeline_class;
  std::optional<std::string> transformer;  ///< class in the `transformer` slot
  std::optional<std::string> unet;         ///< class in the `unet` slot
  std::optional<std::string> architecture;
  /// Slots of denoisers that can be given an attention backend of their own; a U-Net is none.
  std::vector<std::string> denoisers{};
};

/// The slots of a pipeline whose forwards are hooked, because a denoiser may stand in them.
[[nodiscard]] std::span<const std::string_view> denoiser_slots() noexcept;
[[nodiscard]] bool is_denoiser_slot(std::string_view slot) noexcept;

/// What a generation is doing now. One job thread writes; it is not shared between threads (the StepCell is).
///
/// step is the index of the denoiser forward about to run. Two sources move it, as in the systems mirrored: a
/// callback that reports completed steps (tick(n)) and a pre-forward hook that counts forwards (tick()).
class GenerationContext {
 public:
  /// Opens a generation: active, role transformer, no layout, step 0 of `steps`.
  void begin(const std::optional<PipelineInfo>& pipeline, std::int64_t steps);
  /// Closes it: everything back to nothing, so a throw in the middle leaves no trace.
  void end() noexcept;
  /// Base, hires and refiner each start again at step 0 with their own count; the layout stays.
  void new_pass(std::int64_t steps) noexcept;

  /// The callback source: `completed` steps are done, so forward number `completed` is next. Below 0 counts as 0.
  void tick(std::int64_t completed) noexcept;
  /// The hook source: a forward is about to run; counts 0, 1, 2, ...
  void tick() noexcept;
  /// Moves the step and leaves the count of forwards alone.
  void set_step(std::int64_t step) noexcept;

  void set_role(Role role) noexcept { role_ = role; }
  void set_layout(std::optional<TokenLayout> layout) { layout_ = std::move(layout); }
  /// What a hook before a component's forward does: a denoiser's layout, known or not, replaces the one before it, so
  /// that a second denoiser never runs under the first one's. Any other slot changes nothing. True for a denoiser.
  bool before_forward(std::string_view slot, std::optional<TokenLayout> layout);

  [[nodiscard]] bool active() const noexcept { return active_; }
  [[nodiscard]] Role role() const noexcept { return role_; }
  [[nodiscard]] std::int32_t step() const noexcept { return step_; }
  [[nodiscard]] std::int32_t steps() const noexcept { return steps_; }
  [[nodiscard]] std::int32_t forwards() const noexcept { return forwards_; }
  [[nodiscard]] const std::optional<ModelKey>& model() const noexcept { return model_; }
  [[nodiscard]] const std::optional<TokenLayout>& layout() const noexcept { return layout_; }
  [[nodiscard]] const StepCell& step_cell() const noexcept { return step_cell_; }

 private:
  friend class RoleScope;
  void move_to(std::int64_t step) noexcept;

  bool active_ = false;
  Role role_ = Role::none;
  std::int32_t step_ = 0;
  std::int32_t steps_ = 0;
  std::int32_t forwards_ = 0;
  std::uint64_t generation_ = 0;  ///< counts begin() and end(), so a scope that outlives its generation is inert
  std::optional<ModelKey> model_;
  std::optional<TokenLayout> layout_;
  StepCell step_cell_;
};

/// Sets a role and restores the one before, also when the body throws. A scope that outlives the generation it
/// was opened in restores nothing: the role stays what begin() or end() made it.
class RoleScope {
 public:
  RoleScope(GenerationContext& context, Role role) noexcept
      : context_(context), previous_(context.role_), generation_(context.generation_) {
    context_.role_ = role;
  }
  ~RoleScope() {
    if (context_.generation_ == generation_) context_.role_ = previous_;
  }
  RoleScope(const RoleScope&) = delete;
  RoleScope& operator=(const RoleScope&) = delete;

 private:
  GenerationContext& context_;
  Role previous_;
  std::uint64_t generation_;
};

}  // namespace attn
