// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/context/generation_context.h"

#include <algorithm>
#include <array>
#include <limits>

namespace attn {
namespace {

std::int32_t counted(std::int64_t value) noexcept {
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(value, 0, std::numeric_limits<std::int32_t>::max() - 1));
}

constexpr std::array<std::string_view, 5> kDenoiserSlots{"transformer", "unet", "transformer_2", "transformer_ref",
                                                         "unconditional_transformer"};

}  // namespace

std::span<const std::string_view> denoiser_slots() noexcept { return kDenoiserSlots; }

bool is_denoiser_slot(std::string_view slot) noexcept {
  return std::find(kDenoiserSlots.begin(), kDenoiserSlots.end(), slot) != kDenoiserSlots.end();
}

bool GenerationContext::before_forward(std::string_view slot, std::optional<TokenLayout> layout) {
  if (!is_denoiser_slot(slot)) return false;
  layout_ = std::move(layout);
  return true;
}

void GenerationContext::begin(const std::optional<PipelineInfo>& pipeline, std::int64_t steps) {
  // Everything that may throw comes first, so a failed begin leaves the context as it was.
  std::optional<ModelKey> model;
  if (pipeline) {
    model = ModelKey{pipeline->pipeline_class, pipeline->transformer ? pipeline->transformer : pipeline->unet,
                     pipeline->architecture};
  }
  model_ = std::move(model);
  layout_.reset();
  active_ = true;
  role_ = Role::transformer;
  ++generation_;
  new_pass(steps);
}

void GenerationContext::end() noexcept {
  active_ = false;
  role_ = Role::none;
  model_.reset();
  layout_.reset();
  ++generation_;
  new_pass(0);
}

void GenerationContext::new_pass(std::int64_t steps) noexcept {
  steps_ = counted(steps);
  forwards_ = 0;
  set_step(0);
}

void GenerationContext::move_to(std::int64_t step) noexcept {
  set_step(step);
  forwards_ = step_ + 1;
}

void GenerationContext::tick(std::int64_t completed) noexcept { move_to(completed); }

void GenerationContext::tick() noexcept { move_to(forwards_); }

void GenerationContext::set_step(std::int64_t step) noexcept {
  step_ = counted(step);
  step_cell_.store(step_);
}

}  // namespace attn
