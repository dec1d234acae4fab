// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/explain/verdict_card.h"

#include "ui/format/format.h"

#include <QGridLayout>
#include <QLabel>
#include <QPainter>
#include <QPainterPath>

namespace attn::ui {

namespace {

QLabel* cell(const QString& text, const char* look, QWidget* parent) {
  auto* label = new QLabel(text, parent);
  label->setWordWrap(true);
  label->setTextFormat(Qt::PlainText);
  label->setAlignment(Qt::AlignLeft | Qt::AlignTop);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  if (look[0] != '\0') set_look(label, look);
  return label;
}

QString spelled(std::string_view condition) {
  return text_of(condition).replace(">= ", "≥\u00a0").replace("<= ", "≤\u00a0").replace("> ", ">\u00a0");
}

}  // namespace

VerdictCard::VerdictCard(const Card& card, const Theme& theme, QWidget* parent)
    : QFrame(parent), theme_(theme), backend_(card.backend) {
  auto* grid = new QGridLayout(this);
  grid->setContentsMargins(14, 6, 10, 7);
  grid->setHorizontalSpacing(8);
  grid->setVerticalSpacing(2);
  grid->setColumnMinimumWidth(0, 14);
  grid->setColumnMinimumWidth(1, 96);
  grid->setColumnStretch(2, 1);
  grid->setColumnStretch(3, 1);
  auto* head = new QHBoxLayout;
  head->addWidget(cell(card.name, "title", this));
  QLabel* outcome = cell(card.outcome, card.look, this);
  outcome->setAlignment(Qt::AlignRight | Qt::AlignTop);
  head->addWidget(outcome, 1);
  grid->addLayout(head, 0, 0, 1, 4);
  int row = 1;
  QStringList spoken{card.name, card.outcome};
  for (const Verdict& check : card.checks) {
    grid->addWidget(cell(check.ok ? "✓" : "✗", check.ok ? "ok" : "bad", this), row, 0);
    grid->addWidget(cell(text_of(check.check), "", this), row, 1);
    grid->addWidget(cell(spelled(check.required), "dim", this), row, 2);
    grid->addWidget(cell(text_of(check.actual), check.ok ? "" : "title", this), row, 3);
    if (!check.ok) spoken << text_of(check.reason);
    ++row;
  }
  if (!card.sentence.isEmpty()) {
    grid->addWidget(cell(card.sentence, "dim", this), row, 0, 1, 4);
    spoken << card.sentence;
  }
  setAccessibleName(spoken.join(", "));
}

void VerdictCard::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  QPainterPath shape;
  shape.addRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6);
  painter.fillPath(shape, theme_[Ink::raised]);
  painter.save();
  painter.setClipPath(shape);
  painter.fillRect(QRectF(0, 0, 4, height()), backend_.isEmpty() ? theme_[Ink::dim] : theme_.backend(backend_));
  painter.restore();
  painter.setPen(QPen(theme_[Ink::line], 1.0));
  painter.drawPath(shape);
}

}  // namespace attn::ui
