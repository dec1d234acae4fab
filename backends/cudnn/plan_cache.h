// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "backends/cudnn/sdpa_plan.h"

#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <utility>

namespace attn::cudnn {

/// The last `bound` answers by problem, refusals included: a shape that cuDNN refuses is not asked again. Thread safe.
/// A plan that is dropped lives on for those who hold it.
template <class Answer>
class AnswerCache {
 public:
  explicit AnswerCache(std::size_t bound) : bound_(bound) {}

  /// What was kept, or what `make` says. Two threads that ask for one new problem at once may both make it.
  Answer get(const SdpaProblem& problem, const std::function<Answer()>& make) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto found = places_.find(problem); found != places_.end()) {
        answers_.splice(answers_.begin(), answers_, found->second);
        return found->second->second;
      }
    }
    Answer answer = make();
    const std::lock_guard lock(mutex_);
    if (places_.contains(problem)) return answer;
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
  mutable std::mutex mutex_;
  Answers answers_;  ///< used last comes first
  std::map<SdpaProblem, typename Answers::iterator> places_;
};

}  // namespace attn::cudnn
