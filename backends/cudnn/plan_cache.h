// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "backends/cudnn/sdpa_plan.h"

#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

namespace attn::cudnn {

/// The last `bound` answers by problem, refusals included where `keeps` says so: a shape that cuDNN refuses is not
/// asked again. Thread safe. A plan that is dropped lives on for those who hold it.
template <class Answer>
class AnswerCache {
 public:
  using Keeps = bool (*)(const Answer&);
  explicit AnswerCache(
      std::size_t bound, Keeps keeps = [](const Answer&) { return true; })
      : bound_(bound), keeps_(keeps) {}

  /// What is kept; nullopt: nobody has asked.
  [[nodiscard]] std::optional<Answer> known(const SdpaProblem& problem) {
    const std::lock_guard lock(mutex_);
    const auto found = places_.find(problem);
    if (found == places_.end()) return std::nullopt;
    answers_.splice(answers_.begin(), answers_, found->second);
    return found->second->second;
  }

  /// What was kept, or what `make` says. Two threads that ask for one new problem at once may both make it.
  Answer get(const SdpaProblem& problem, const std::function<Answer()>& make) {
    if (std::optional<Answer> answer = known(problem)) return *std::move(answer);
    Answer answer = make();
    const std::lock_guard lock(mutex_);
    if (!keeps_(answer) || places_.contains(problem)) return answer;
    answers_.emplace_front(problem, answer);
    places_.emplace(problem, answers_.begin());
    if (answers_.size() > bound_) {
      places_.erase(answers_.back().first);
      answers_.pop_back();
    }
    return answer;
  }

  [[nodiscard]] std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return answers_.size();
  }

 private:
  using Answers = std::list<std::pair<SdpaProblem, Answer>>;

  const std::size_t bound_;
  const Keeps keeps_;
  mutable std::mutex mutex_;
  Answers answers_;  ///< used last comes first
  std::map<SdpaProblem, typename Answers::iterator> places_;
};

}  // namespace attn::cudnn
