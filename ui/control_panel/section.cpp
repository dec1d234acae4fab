// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/control_panel/section.h"

#include <QKeyEvent>
#include <QPainter>
#include <QVBoxLayout>

namespace attn::ui {

SectionHeader::SectionHeader(const QString& title, const Theme& theme, QWidget* parent)
    : QAbstractButton(parent), theme_(theme) {
  setText(title);
  setCheckable(true);
  setChecked(true);
  setFocusPolicy(Qt::TabFocus);
  setCursor(Qt::PointingHandCursor);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setAccessibleName(tr("Section %1").arg(title));
}

void SectionHeader::set_marks(bool edited, bool changed) {
  if (edited == edited_ && changed == changed_) return;
  edited_ = edited;
  changed_ = changed;
  QStringList facts;
  if (edited) facts << tr("has edits that are not applied");
  if (changed) facts << tr("has values that are not the default");
  setAccessibleDescription(facts.join(", "));
  update();
}

void SectionHeader::set_note(const QString& note) {
  note_ = note;
  update();
}

void SectionHeader::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  QFont bold = theme_.text_font();
  bold.setWeight(QFont::DemiBold);
  painter.setFont(bold);
  painter.setPen(theme_[hasFocus() ? Ink::accent : Ink::text]);
  const QRect box = rect().adjusted(12, 4, -12, 0);
  painter.drawText(box, Qt::AlignLeft | Qt::AlignVCenter, text());

  int x = box.left() + QFontMetrics(bold).horizontalAdvance(text()) + 8;
  painter.setPen(Qt::NoPen);
  for (const auto& [on, ink] : {std::pair{edited_, Ink::pending}, std::pair{changed_, Ink::applied}}) {
    if (!on) continue;
    painter.setBrush(theme_[ink]);
    painter.drawRoundedRect(QRectF(x, box.center().y() - 6.5, 4, 14), 2, 2);
    x += 7;
  }

  const int arrow = 12;
  const QPointF at(box.right() - arrow / 2.0, box.center().y() + 1);
  painter.setPen(QPen(theme_[Ink::dim], 1.5, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
  painter.setBrush(Qt::NoBrush);
  const QPolygonF shape = isChecked() ? QPolygonF({at + QPointF(-4, -2), at + QPointF(0, 2), at + QPointF(4, -2)})
                                      : QPolygonF({at + QPointF(-2, -4), at + QPointF(2, 0), at + QPointF(-2, 4)});
  painter.drawPolyline(shape);

  painter.setFont(theme_.text_font());
  painter.setPen(theme_[Ink::dim]);
  const QRect note(x, box.top(), box.right() - arrow - 8 - x, box.height());
  painter.drawText(note, Qt::AlignRight | Qt::AlignVCenter,
                   painter.fontMetrics().elidedText(note_, Qt::ElideRight, note.width()));
}

void SectionHeader::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) {
    click();
    return;
  }
  QAbstractButton::keyPressEvent(event);
}

Section::Section(const QString& title, const Theme& theme, QWidget* parent) : QWidget(parent) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  header_ = new SectionHeader(title, theme, this);
  body_ = new QWidget(this);
  rows_ = new QVBoxLayout(body_);
  rows_->setContentsMargins(0, 0, 0, 4);
  rows_->setSpacing(0);
  column->addWidget(header_);
  column->addWidget(body_);
  connect(header_, &QAbstractButton::toggled, this, &Section::show_body);
}

void Section::add(QWidget* row) { rows_->addWidget(row); }

void Section::set_open(bool open) { header_->setChecked(open); }

void Section::set_searching(bool searching) {
  searching_ = searching;
  show_body();
}

void Section::show_body() { body_->setVisible(searching_ || header_->isChecked()); }

}  // namespace attn::ui
