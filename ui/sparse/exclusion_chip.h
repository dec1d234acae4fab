// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/sparse/exclusion_list.h"
#include "ui/theme/theme.h"

#include <QAbstractButton>

namespace attn::ui {

/// An entry of the exclusion list with a cross; a click on it, Space, Delete or Backspace takes the entry out. The
/// entry that the loaded model matches is filled, one that no known model has is dashed and ends in a question mark.
class ExclusionChip final : public QAbstractButton {
  Q_OBJECT

 public:
  ExclusionChip(Exclusion entry, const Theme& theme, QWidget* parent = nullptr);
  [[nodiscard]] const Exclusion& entry() const noexcept { return entry_; }
  [[nodiscard]] QSize sizeHint() const override;

 signals:
  void removed(const QString& text);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  [[nodiscard]] QString shown() const;

  Exclusion entry_;
  const Theme& theme_;
};

}  // namespace attn::ui
