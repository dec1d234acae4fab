// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/theme/theme.h"

#include <QAbstractButton>

namespace attn::ui {

/// Two words side by side of which one holds: prefer a backend, or require it (checked). Space and a click change
/// over, Left and Right choose.
class RequireToggle final : public QAbstractButton {
  Q_OBJECT

 public:
  RequireToggle(const QString& backend, const Theme& theme, QWidget* parent = nullptr);
  [[nodiscard]] QSize sizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  [[nodiscard]] QString word(bool required) const;
  [[nodiscard]] int width_of(bool required) const;
  void say();

  QString backend_;
  const Theme& theme_;
};

}  // namespace attn::ui
