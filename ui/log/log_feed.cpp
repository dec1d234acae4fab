// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/log/log_feed.h"

namespace attn::ui {

void LogFeed::push(LogLine line) {
  const std::lock_guard lock(mutex_);
  if (lines_.size() >= kBound) lines_.erase(lines_.begin(), lines_.begin() + kBound / 2);
  lines_.push_back(std::move(line));
  if (announced_) return;
  announced_ = true;
  postbox_.address().post([this] { emit arrived(); });
}

std::vector<LogLine> LogFeed::take() {
  const std::lock_guard lock(mutex_);
  announced_ = false;
  return std::exchange(lines_, {});
}

}  // namespace attn::ui
