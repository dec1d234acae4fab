// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/sparse/exclusion_chip.h"

#include <QKeyEvent>
#include <QPainter>

namespace attn::ui {

namespace {

constexpr int kSide = 9;
constexpr int kCross = 7;
constexpr int kGap = 7;
constexpr int kWidest = 240;

}  // namespace

ExclusionChip::ExclusionChip(Exclusion entry, const Theme& theme, QWidget* parent)
    : QAbstractButton(parent), entry_(std::move(entry)), theme_(theme) {
  setObjectName("exclusion_" + entry_.text);
  setFocusPolicy(Qt::TabFocus);
  setCursor(Qt::PointingHandCursor);
  QStringList facts{entry_.text};
  if (entry_.matches) facts << tr("The loaded model has this name: its calls stay dense.");
  if (entry_.known_as.isEmpty()) facts << tr("No known model has this name. It is kept, in case one comes.");
  facts << entry_.known_as.mid(0, 6);
  if (entry_.known_as.size() > 6) facts << tr("and %1 more").arg(entry_.known_as.size() - 6);
  setToolTip(facts.join('\n') + '\n' + tr("Click: take it off the list"));
  setAccessibleName(tr("Take %1 off the excluded models").arg(entry_.text));
  setAccessibleDescription(facts.mid(1).join(". "));
  connect(this, &QAbstractButton::clicked, this, [this] { emit removed(entry_.text); });
}

QString ExclusionChip::shown() const { return entry_.known_as.isEmpty() ? entry_.text + " ?" : entry_.text; }

QSize ExclusionChip::sizeHint() const {
  const QFontMetrics metrics(theme_.small_font());
  return {std::min(kWidest, metrics.horizontalAdvance(shown()) + 2 * kSide + kGap + kCross + 2), 22};
}

void ExclusionChip::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const QRectF box = QRectF(rect()).adjusted(0.75, 0.75, -0.75, -0.75);
  QColor edge = theme_[entry_.matches ? Ink::accent : (entry_.known_as.isEmpty() ? Ink::dim : Ink::line)];
  if (hasFocus()) edge = theme_[Ink::text];
  painter.setPen(QPen(edge, entry_.matches ? 1.5 : 1.0, entry_.known_as.isEmpty() ? Qt::DashLine : Qt::SolidLine));
  painter.setBrush(theme_[entry_.matches ? Ink::selection : (underMouse() ? Ink::hover : Ink::raised)]);
  painter.drawRoundedRect(box, box.height() / 2.0, box.height() / 2.0);
  painter.setFont(theme_.small_font());
  painter.setPen(theme_[Ink::text]);
  const QRectF words = box.adjusted(kSide, 0, -(kSide + kCross + kGap), 0);
  painter.drawText(words, Qt::AlignLeft | Qt::AlignVCenter,
                   painter.fontMetrics().elidedText(shown(), Qt::ElideMiddle, static_cast<int>(words.width()) + 1));
  const QPointF at(box.right() - kSide - kCross / 2.0, box.center().y());
  const double arm = kCross / 2.0;
  painter.setPen(QPen(theme_[underMouse() ? Ink::text : Ink::dim], 1.4, Qt::SolidLine, Qt::RoundCap));
  painter.drawLine(at + QPointF(-arm, -arm), at + QPointF(arm, arm));
  painter.drawLine(at + QPointF(arm, -arm), at + QPointF(-arm, arm));
}

void ExclusionChip::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Delete || event->key() == Qt::Key_Backspace || event->key() == Qt::Key_Return ||
      event->key() == Qt::Key_Enter) {
    click();
    return;
  }
  QAbstractButton::keyPressEvent(event);
}

}  // namespace attn::ui
