// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/theme/theme.h"

#include <QAbstractButton>

namespace attn::ui {

/// The small bar before an option. Amber: edited, not applied. Blue: applied, not the default. A click (or Space)
/// undoes just that. When off it keeps its place, is not painted and cannot be reached.
class ChangeMark final : public QAbstractButton {
  Q_OBJECT

 public:
  enum class Kind { edited, changed };
  ChangeMark(Kind kind, const Theme& theme, QWidget* parent = nullptr);

  /// `value_text` is what a click would bring back.
  void set_on(bool on, const QString& value_text = {});
  [[nodiscard]] bool is_on() const noexcept { return on_; }
  [[nodiscard]] QSize sizeHint() const override { return {6, 17}; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  Kind kind_;
  const Theme& theme_;
  bool on_ = false;
};

}  // namespace attn::ui
