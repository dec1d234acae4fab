// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/log/log_feed.h"

#include <algorithm>
#include <iterator>

namespace attn::ui {

void LogFeed::push(LogLine line) {
  const std::lock_guard lock(mutex_);
  if (lines_.size() >= kBound) lines_.erase(lines_.begin(), lines_.begin() + kBound / 2);
  lines_.push_back(std::move(line));
  if (!announced_) announce();
}

void LogFeed::announce() {
  announced_ = true;
  postbox_.address().post([this] { emit arrived(); });
}

std::vector<LogLine> LogFeed::take(std::size_t most) {
  const std::lock_guard lock(mutex_);
  const auto end = lines_.begin() + static_cast<std::ptrdiff_t>(std::min(most, lines_.size()));
  std::vector<LogLine> taken(std::make_move_iterator(lines_.begin()), std::make_move_iterator(end));
  lines_.erase(lines_.begin(), end);
  announced_ = false;
  if (!lines_.empty()) announce();
  return taken;
}

}  // namespace attn::ui
