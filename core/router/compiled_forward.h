// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/registry/recorded_step.h"
#include "core/router/router.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace attn {

/// One forward of a compiled job: the entry that serves each of its calls and, where a device records them, all of them
/// as one piece of work. It holds for one plan: a rebuilt chain drops what was recorded and chooses again. A forward
/// whose calls are decided differently, as the stage's budget follows the step, is recorded once more; the last
/// kMostRecordings are kept. The inputs' data is read when it is recorded and has to stay the same.
class CompiledForward {
 public:
  static constexpr std::size_t kMostRecordings = 4;

  /// The call site of call `index`, for a forward that is computed call by call.
  [[nodiscard]] FrozenRoute& site(std::size_t index) {
    while (sites_.size() <= index) sites_.emplace_back();
    return sites_[index];
  }
  /// How often a step was recorded.
  [[nodiscard]] std::int64_t recordings() const noexcept { return recordings_; }
  /// Why the last forward was not computed as one; empty when it was.
  [[nodiscard]] const std::string& refusal() const noexcept { return refusal_; }
  /// Drops what is recorded and its memory on the device, and forgets what could not be. True: there was something on a
  /// device.
  bool drop() noexcept;

 private:
  friend class Router;

  /// What decides whether a recording computes a call.
  struct Part {
    const PlanEntry* entry = nullptr;
    std::shared_ptr<const TileMarks> marks;  ///< of tiles that are chosen on the device
    double budget = 0.0;                     ///< of tiles that are not
    bool sparse = false;
    AttentionCall call;

    friend bool operator==(const Part&, const Part&) = default;
  };
  struct Recording {
    std::vector<Part> parts;
    std::unique_ptr<RecordedStep> step;
    std::string refusal;  ///< why there is no step
  };

  [[nodiscard]] Recording* find(const std::vector<Part>& parts) noexcept;

  std::shared_ptr<const Plan> plan_;  ///< keeps the entries and kernels of the parts alive
  std::deque<FrozenRoute> sites_;
  std::deque<Recording> kept_;  ///< the latest first
  std::int64_t recordings_ = 0;
  std::string refusal_;
};

}  // namespace attn
