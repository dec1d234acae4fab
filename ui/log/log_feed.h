// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/registry/log.h"
#include "ui/link/postbox.h"

#include <QObject>
#include <deque>
#include <mutex>
#include <vector>

namespace attn::ui {

/// Log lines from any thread, handed to the GUI thread in batches. Bounded: when nobody takes them, the oldest go.
class LogFeed final : public QObject {
  Q_OBJECT

 public:
  explicit LogFeed(QObject* parent = nullptr) : QObject(parent), postbox_(this) {}

  /// Any thread.
  void push(LogLine line);
  /// The oldest lines that nobody took yet; arrived() is said again when more are left. GUI thread.
  [[nodiscard]] std::vector<LogLine> take(std::size_t most);

 signals:
  /// There is something to take; once until it is taken. GUI thread.
  void arrived();

 private:
  void announce();

  static constexpr std::size_t kBound = 20000;
  std::mutex mutex_;
  std::deque<LogLine> lines_;
  bool announced_ = false;
  Postbox postbox_;
};

}  // namespace attn::ui
