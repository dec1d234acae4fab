// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/gui/worker.h"
#include "core/engine/engine.h"
#include "ui/link/postbox.h"
#include "ui/policy/policy_service.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

namespace attn::app {

/// What is asked of `attention_backend`, for the window.
class GuiPolicyService final : public ui::PolicyService {
  Q_OBJECT

 public:
  /// `engine` outlives this.
  explicit GuiPolicyService(Engine& engine, QObject* parent = nullptr);
  ~GuiPolicyService() override;

  [[nodiscard]] const ui::PolicyState& state() const override { return state_; }
  [[nodiscard]] Expected<void> choose(AttentionChoices choices) override;

 private:
  /// On whatever thread the engine's event came from.
  void take(const EngineEvent& event);
  void refresh();
  [[nodiscard]] AttentionChoices applied(const AttentionChoices& wanted) const;

  Engine& engine_;
  ui::PolicyState state_;
  mutable std::mutex mutex_;
  std::optional<AttentionChoices> of_job_;  ///< what the running job began with; behind the mutex
  std::atomic<std::uint64_t> newest_{0};
  ui::Postbox postbox_;
  Worker worker_;
  std::shared_ptr<void> subscription_;  ///< last: ends first
};

}  // namespace attn::app
