// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/workspace/workspace.h"

#include <QObject>
#include <array>
#include <optional>

class QSettings;

namespace attn::ui {

/// A few arrangements of the panels under numbers. They belong to the person, not to a workspace, and leave the
/// window's place and size alone. GUI thread.
class LayoutSlots final : public QObject {
  Q_OBJECT

 public:
  static constexpr int kCount = 4;
  using QObject::QObject;

  void keep(int slot, LayoutState layout);
  /// Empty: nothing was kept there.
  [[nodiscard]] const std::optional<LayoutState>& at(int slot) const {
    return slots_.at(static_cast<std::size_t>(slot));
  }
  void save(QSettings& settings) const;
  void restore(const QSettings& settings);

 signals:
  void changed();

 private:
  std::array<std::optional<LayoutState>, kCount> slots_;
};

}  // namespace attn::ui
