// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/start/examples.h"
#include "ui/workspace/window_state.h"

#include <QObject>
#include <optional>

namespace attn::ui {

/// Sets the window to an example and runs it. GUI thread.
class ExampleRunner final : public QObject {
  Q_OBJECT

 public:
  explicit ExampleRunner(WindowState& state);

  /// Settings are one step back. Error: a sentence; also while a job runs.
  [[nodiscard]] Expected<void> run(const QString& id);

 signals:
  /// The run is there; what it is about is selected and can be brought to the front.
  void ready(attn::ui::Example::Show show);

 private:
  [[nodiscard]] Expected<void> set(const Example& example);
  void take_end(const RunEnd& end);
  void show_when_still(Example::Show show, std::uint64_t revision, int looks);
  void select(Example::Show show);

  WindowState& state_;
  std::optional<Example::Show> waiting_;
  int number_ = 0;  ///< of the example that was started last
};

}  // namespace attn::ui
