// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/control_panel/value_rows.h"

#include "ui/format/format.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QSignalBlocker>
#include <QSlider>
#include <QVBoxLayout>
#include <QWheelEvent>
#include <cmath>

namespace attn::ui {

namespace {

/// A wheel over a form scrolls the form; it changes a value only where the keyboard is.
template <class Base>
class Calm final : public Base {
 public:
  using Base::Base;

 protected:
  /// A number's undo is that of the settings, not that of the letters typed into it.
  bool event(QEvent* event) override {
    if (event->type() == QEvent::ShortcutOverride) {
      const auto* key = static_cast<QKeyEvent*>(event);
      if (key->matches(QKeySequence::Undo) || key->matches(QKeySequence::Redo)) {
        event->ignore();
        return true;
      }
    }
    return Base::event(event);
  }
  void wheelEvent(QWheelEvent* event) override {
    if (this->hasFocus()) {
      Base::wheelEvent(event);
    } else {
      event->ignore();
    }
  }
};

double number_of(const OptionValue& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return 0.0;
}

int decimals_of(const OptionSpec& spec) {
  if (spec.type == OptionType::integer) return 0;
  int decimals = 0;
  for (double step = spec.step; decimals < 4 && std::abs(step - std::round(step)) > 1e-9; step *= 10.0) ++decimals;
  return decimals;
}

QString suffix_of(const OptionSpec& spec) {
  // Things that are counted are named by their label; a unit that is a measure stays with its number.
  if (spec.unit.empty() || spec.unit == "steps" || spec.unit == "tokens" || spec.unit == "channels") return {};
  return ' ' + text_of(spec.unit);
}

}  // namespace

ValueRow::ValueRow(EngineLink& link, const Theme& theme, const OptionState& state, QWidget* parent)
    : OptionRow(link, theme, state, parent), state_(state) {
  setObjectName(text_of(state.spec.key));
  undo_edit = [this] { commit(state_.applied); };
  undo_change = [this] { commit(state_.spec.fallback); };
}

void ValueRow::show_state(const OptionState& state) {
  state_ = state;
  show_value(state.wanted);
  set_marks(state.edited, readable(state.spec, state.applied), state.changed,
            readable(state.spec, state.spec.fallback));
}

void ValueRow::commit(OptionValue value) {
  if (!link_.set(key(), std::move(value))) show_value(state_.wanted);
}

QLabel* ValueRow::add_label(QWidget* buddy) {
  auto* label = new QLabel(text_of(short_label(state_.spec)), this);
  label->setBuddy(buddy);
  label->setWordWrap(true);
  label->setMinimumWidth(104);
  buddy->setAccessibleName(text_of(state_.spec.label));
  buddy->setAccessibleDescription(text_of(state_.spec.help));
  return label;
}

BooleanRow::BooleanRow(EngineLink& link, const Theme& theme, const OptionState& state, QWidget* parent)
    : ValueRow(link, theme, state, parent) {
  box_ = new QCheckBox(text_of(short_label(state.spec)), this);
  box_->setAccessibleName(text_of(state.spec.label));
  box_->setAccessibleDescription(text_of(state.spec.help));
  row_->addWidget(box_);
  row_->addStretch(1);
  connect(box_, &QCheckBox::clicked, this, [this](bool on) { commit(on); });
}

void BooleanRow::show_value(const OptionValue& value) {
  const bool* on = std::get_if<bool>(&value);
  box_->setChecked(on != nullptr && *on);
}

NumberRow::NumberRow(EngineLink& link, const Theme& theme, const OptionState& state, QWidget* parent)
    : ValueRow(link, theme, state, parent) {
  const OptionSpec& spec = state.spec;
  slider_ = new Calm<QSlider>(Qt::Horizontal, this);
  slider_->setFocusPolicy(Qt::ClickFocus);
  slider_->setMinimumWidth(36);
  slider_->setAccessibleName(text_of(spec.label));
  slider_->setAccessibleDescription(text_of(spec.help));
  spin_ = new Calm<QDoubleSpinBox>(this);
  spin_->setDecimals(decimals_of(spec));
  spin_->setSingleStep(spec.step);
  spin_->setSuffix(suffix_of(spec));
  spin_->setKeyboardTracking(false);
  spin_->setFocusPolicy(Qt::StrongFocus);
  spin_->setAlignment(Qt::AlignRight);
  spin_->setFixedWidth(92);
  show_range();
  row_->addWidget(add_label(spin_), 5);
  row_->addWidget(slider_, 4);
  row_->addWidget(spin_);

  connect(slider_, &QSlider::valueChanged, this, [this](int at) {
    const double value = state_.spec.minimum + at * state_.spec.step;
    const QSignalBlocker quiet(spin_);
    spin_->setValue(value);
    if (slider_->isSliderDown()) {
      emit dragged(value);
    } else {
      send(value);
    }
  });
  connect(slider_, &QSlider::sliderReleased, this, [this] { send(spin_->value()); });
  connect(spin_, &QDoubleSpinBox::valueChanged, this, &NumberRow::send);
}

void NumberRow::show_range() {
  const OptionSpec& spec = state_.spec;
  slider_->setRange(0, static_cast<int>(std::lround((spec.maximum - spec.minimum) / spec.step)));
  slider_->setPageStep(std::max(1, slider_->maximum() / 10));
  spin_->setRange(spec.minimum, spec.maximum);
}

void NumberRow::send(double value) {
  if (state_.spec.type == OptionType::integer) {
    commit(static_cast<std::int64_t>(std::llround(value)));
  } else {
    commit(value);
  }
}

void NumberRow::show_value(const OptionValue& value) {
  if (slider_->isSliderDown()) return;
  const QSignalBlocker quiet_slider(slider_);
  const QSignalBlocker quiet_spin(spin_);
  const double number = number_of(value);
  show_range();
  slider_->setValue(static_cast<int>(std::lround((number - state_.spec.minimum) / state_.spec.step)));
  if (spin_->value() != number) spin_->setValue(number);
}

ComboRow::ComboRow(EngineLink& link, const Theme& theme, const OptionState& state, QWidget* parent)
    : ValueRow(link, theme, state, parent) {
  combo_ = new Calm<QComboBox>(this);
  combo_->setFocusPolicy(Qt::StrongFocus);
  combo_->setMinimumContentsLength(8);
  combo_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  set_look(combo_, "compact");
  for (const std::string& choice : state.spec.choices) combo_->addItem(text_of(choice));
  auto* label = add_label(combo_);
  label->setMinimumWidth(84);  // a choice is never cut
  row_->addWidget(label, 1);
  row_->addWidget(combo_);
  connect(combo_, &QComboBox::activated, this, [this](int at) { commit(utf8_of(combo_->itemText(at))); });
}

void ComboRow::show_value(const OptionValue& value) { combo_->setCurrentText(text_of(value_text(value))); }

TextRow::TextRow(EngineLink& link, const Theme& theme, const OptionState& state, QWidget* parent)
    : ValueRow(link, theme, state, parent) {
  edit_ = new QLineEdit(this);
  edit_->setPlaceholderText(tr("empty"));
  auto* column = new QVBoxLayout;
  column->setSpacing(3);
  column->addWidget(add_label(edit_));
  column->addWidget(edit_);
  row_->addLayout(column, 1);
  connect(edit_, &QLineEdit::editingFinished, this, [this] {
    if (utf8_of(edit_->text()) != value_text(state_.wanted)) commit(utf8_of(edit_->text()));
  });
}

void TextRow::show_value(const OptionValue& value) {
  const QString text = text_of(value_text(value));
  if (edit_->text() == text || (edit_->hasFocus() && edit_->isModified())) return;
  edit_->setText(text);
  edit_->setCursorPosition(0);
}

}  // namespace attn::ui
