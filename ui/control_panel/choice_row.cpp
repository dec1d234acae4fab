// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/control_panel/choice_row.h"

#include "ui/format/format.h"

#include <QCheckBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>

namespace attn::ui {

ChoiceRow::ChoiceRow(EngineLink& link, const Theme& theme, const OptionState& state, const std::string& choice,
                     QWidget* parent)
    : OptionRow(link, theme, state, parent), choice_(choice), state_(state) {
  setObjectName(text_of(state.spec.key + '/' + choice));
  search_text_ += ' ' + text_of(choice).toLower();
  box_ = new QCheckBox(text_of(choice), this);
  box_->setAccessibleDescription(text_of(state.spec.help));
  note_ = new QLabel(this);
  note_->setWordWrap(true);
  note_->setMinimumWidth(72);
  note_->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
  set_look(note_, "dim");
  row_->addWidget(box_);
  row_->addWidget(note_, 1);
  connect(box_, &QCheckBox::clicked, this, &ChoiceRow::set_choice);
  undo_edit = [this] { set_choice(has_item(state_.applied, choice_)); };
  undo_change = [this] { set_choice(has_item(state_.spec.fallback, choice_)); };
}

void ChoiceRow::set_choice(bool on) {
  // Asked afresh: two boxes may be clicked before the first change has come back.
  const OptionValues values = link_.engine().values();
  OptionState now = state_;
  if (const OptionValue* value = values.find(key())) now.wanted = *value;
  if (!link_.set(key(), with_item(now, choice_, on))) show_state(state_);
}

void ChoiceRow::show_state(const OptionState& state) {
  state_ = state;
  const bool wanted = has_item(state.wanted, choice_);
  const bool applied = has_item(state.applied, choice_);
  const bool fallback = has_item(state.spec.fallback, choice_);
  box_->setChecked(wanted);
  set_marks(wanted != applied, applied ? tr("on") : tr("off"), applied != fallback, fallback ? tr("on") : tr("off"));
}

void ChoiceRow::show_note(const QString& note, const char* look, const QString& tip) {
  note_->setText(note);
  note_->setToolTip(tip);
  if (note_->property("look").toString() != QLatin1String(look)) set_look(note_, look);
}

void ChoiceRow::show_backend(const QString& name) {
  backend_ = name;
  paint_dot();
  connect(&theme_, &Theme::changed, this, &ChoiceRow::paint_dot);
}

void ChoiceRow::paint_dot() {
  constexpr int kSide = 8;
  constexpr int kGap = 4;
  QIcon icon;
  for (const qreal ratio : {1.0, 2.0, 3.0}) {
    QPixmap dot(QSize(kSide + kGap, kSide) * ratio);
    dot.setDevicePixelRatio(ratio);
    dot.fill(Qt::transparent);
    QPainter painter(&dot);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme_.backend(backend_));
    painter.drawEllipse(QRectF(0, 0, kSide, kSide));
    icon.addPixmap(dot);
  }
  box_->setIconSize({kSide + kGap, kSide});
  box_->setIcon(icon);
}

QString ChoiceRow::note() const { return note_->text(); }

}  // namespace attn::ui
