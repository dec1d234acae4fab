// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QCoreApplication>
#include <QDeadlineTimer>
#include <QEventLoop>
#include <functional>

namespace attn::app {

/// Runs the event loop of the thread until `done`; false when it never was within two minutes, which a computed run on
/// a slow host does not take. For the programs that make pictures of the window.
[[nodiscard]] inline bool wait_for(const std::function<bool()>& done) {
  const QDeadlineTimer deadline(120000);
  while (!done()) {
    if (deadline.hasExpired()) return false;
    QCoreApplication::processEvents(QEventLoop::AllEvents | QEventLoop::WaitForMoreEvents, 20);
  }
  return true;
}

/// Lets what is queued happen: layouts, paints and what they queue.
inline void settle() {
  for (int i = 0; i < 5; ++i) QCoreApplication::processEvents(QEventLoop::AllEvents, 50);
}

}  // namespace attn::app
