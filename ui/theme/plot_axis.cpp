// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/theme/plot_axis.h"

#include <qcustomplot.h>

namespace attn::ui {

void style_axis(QCPAxis* axis, const Theme& theme) {
  axis->setBasePen(QPen(theme[Ink::line]));
  axis->setTickPen(QPen(theme[Ink::line]));
  axis->setSubTickPen(Qt::NoPen);
  axis->setLabelColor(theme[Ink::dim]);
  axis->setTickLabelColor(theme[Ink::dim]);
  axis->setLabelFont(theme.small_font());
  axis->setTickLabelFont(theme.small_font());
  axis->grid()->setPen(QPen(theme[Ink::raised]));
  axis->grid()->setZeroLinePen(QPen(theme[Ink::line]));
}

}  // namespace attn::ui
