// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace attn {

/// Earlier states of something that a person edits, for undo and redo. A state is compared with ==. Not thread safe.
template <class State>
class History {
 public:
  using Time = std::chrono::milliseconds;
  /// Steps of one option that follow each other faster than this are one step.
  static constexpr Time kPause{1500};

  explicit History(State now, std::size_t most_steps = 200) : most_(most_steps) { trail_.push_back({std::move(now)}); }

  /// Takes a state that somebody has made. `what` names the option whose steps merge, empty: never merges; `name` is
  /// shown instead of a description. False: nothing differs. States that were undone are gone then.
  bool record(State next, std::string what, std::string name, Time at) {
    if (next == now()) return false;
    trail_.resize(at_ + 1);
    Step& last = trail_[at_];
    const bool merges = at_ > 0 && !sealed_ && !what.empty() && what == last.what && at - last.at <= kPause;
    sealed_ = false;
    if (!merges) {
      trail_.push_back({std::move(next), std::move(what), std::move(name), at});
      ++at_;
      if (trail_.size() > most_ + 1) {
        trail_.erase(trail_.begin());
        --at_;
      }
      return true;
    }
    last.state = std::move(next);
    last.at = at;
    if (last.state == trail_[at_ - 1].state) {  // dragged back to where it began
      trail_.pop_back();
      --at_;
      sealed_ = true;
    }
    return true;
  }

  /// What belongs to the last step and has only now arrived. False: there is no last step to belong to.
  bool amend(State next) {
    if (at_ == 0 || sealed_) return false;
    trail_.resize(at_ + 1);
    trail_[at_].state = std::move(next);
    return true;
  }

  /// The next step does not merge with the last one.
  void seal() noexcept { sealed_ = true; }

  [[nodiscard]] bool can_undo() const noexcept { return at_ > 0; }
  [[nodiscard]] bool can_redo() const noexcept { return at_ + 1 < trail_.size(); }
  /// Goes to the state before, or the one after; the caller puts it in force.
  const State& undo() {
    if (can_undo()) --at_;
    sealed_ = true;
    return now();
  }
  const State& redo() {
    if (can_redo()) ++at_;
    sealed_ = true;
    return now();
  }

  [[nodiscard]] const State& now() const noexcept { return trail_[at_].state; }
  /// What undo() and redo() would go to; only where they can.
  [[nodiscard]] const State& before() const noexcept { return trail_[at_ - 1].state; }
  [[nodiscard]] const State& after() const noexcept { return trail_[at_ + 1].state; }
  /// The name of the step that undo() or redo() would take; empty where none was given.
  [[nodiscard]] const std::string& undo_name() const noexcept { return trail_[at_].name; }
  [[nodiscard]] const std::string& redo_name() const noexcept { return trail_[at_ + 1].name; }

 private:
  struct Step {
    State state;
    std::string what{};  ///< led to the state
    std::string name{};
    Time at{0};
  };
  std::vector<Step> trail_;  ///< oldest first; never empty
  std::size_t at_ = 0;
  std::size_t most_;
  bool sealed_ = false;
};

}  // namespace attn
