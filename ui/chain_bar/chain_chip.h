// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/chain_bar/chain_diff.h"
#include "ui/theme/theme.h"

#include <QWidget>

namespace attn::ui {

/// One backend of the chain: its colour, its name, what it served, and whether it will leave or join.
class ChainChip final : public QWidget {
  Q_OBJECT

 public:
  explicit ChainChip(const Theme& theme, QWidget* parent = nullptr);

  void set_link(const ChainLink& link, const QString& label);
  [[nodiscard]] const ChainLink& link() const noexcept { return link_; }
  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  [[nodiscard]] QString second_line() const;

  const Theme& theme_;
  ChainLink link_;
};

}  // namespace attn::ui
