// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/explain/verdict_card.h"

#include "ui/format/format.h"

#include <QPainter>
#include <QPainterPath>
#include <utility>

namespace attn::ui {

namespace {

QString spelled(std::string_view condition) {
  return text_of(condition)
      .replace(">= ", "≥\u00a0")
      .replace("<= ", "≤\u00a0")
      .replace("> ", ">\u00a0")
      .replace("2147483647", "2³¹\u2009−\u20091");  // ten digits have no room beside their value
}

}  // namespace

VerdictCard::VerdictCard(const Theme& theme, QWidget* parent)
    : TextGrid({{14, false}, {96, false}, {0, true}, {0, true}}, theme, parent) {
  setContentsMargins(14, 6, 10, 7);
}

void VerdictCard::set_card(const Card& card) {
  std::vector<GridRow> rows;
  QStringList spoken{card.name, card.outcome};
  rows.push_back({{card.name, Ink::text, true}, {card.outcome, card.ink, false, Qt::AlignRight}});
  for (const Verdict& check : card.checks) {
    rows.push_back({{check.ok ? "✓" : "✗", check.ok ? Ink::ok : Ink::bad},
                    {text_of(check.check)},
                    {spelled(check.required), Ink::dim},
                    {text_of(check.actual), Ink::text, !check.ok}});
    if (!check.ok) spoken << text_of(check.reason);
  }
  if (!card.sentence.isEmpty()) {
    rows.push_back({{card.sentence, Ink::dim}});
    spoken << card.sentence;
  }
  backend_ = card.backend;
  setAccessibleName(spoken.join(", "));
  set_rows(std::move(rows));
  update();
}

void VerdictCard::paintEvent(QPaintEvent* event) {
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
  painter.end();
  TextGrid::paintEvent(event);
}

}  // namespace attn::ui
