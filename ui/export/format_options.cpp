// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/export/format_options.h"

#include "ui/format/format.h"
#include "ui/services.h"

#include <QComboBox>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QSignalBlocker>
#include <QSpinBox>

namespace attn::ui {

FormatOptions::FormatOptions(Way way, const TargetList* targets, QWidget* parent) : QWidget(parent), way_(way) {
  rows_ = new QFormLayout(this);
  rows_->setContentsMargins(0, 0, 0, 0);
  rows_->setHorizontalSpacing(kGap);
  rows_->setVerticalSpacing(8);
  rows_->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);

  form_ = new QComboBox(this);
  form_->setObjectName("format_form");
  form_->addItem(tr("as the text has it"), -1);
  form_->addItem(tr("overrides: a list of backends"), static_cast<int>(SdNextForm::overrides));
  form_->addItem(tr("selector: one method, newer versions"), static_cast<int>(SdNextForm::selector));
  form_->setToolTip(tr("Newer versions of SD.Next keep one attention method instead of a list of overrides"));
  add(tr("F&orm"), form_);
  connect(form_, &QComboBox::currentIndexChanged, this, &FormatOptions::changed);

  steps_ = new QSpinBox(this);
  steps_->setObjectName("format_steps");
  steps_->setRange(0, 1000);
  steps_->setSpecialValueText(tr("not known"));
  steps_->setFixedWidth(110);
  steps_->setToolTip(
      tr("Steps of a generation: dense steps at both ends become a window of it, or the other way round"));
  add(tr("Ste&ps"), steps_);
  connect(steps_, &QSpinBox::valueChanged, this, [this] {
    steps_typed_ = true;
    emit changed();
  });
  if (way == Way::read) return;

  spelling_ = new QComboBox(this);
  spelling_->setObjectName("format_spelling");
  spelling_->addItem(tr("after its choices were renamed"), false);
  spelling_->addItem(tr("before its choices were renamed"), true);
  spelling_->setToolTip(tr("Which names the target knows for its own choices"));
  add(tr("Target &version"), spelling_);
  connect(spelling_, &QComboBox::currentIndexChanged, this, &FormatOptions::changed);

  target_ = new QComboBox(this);
  target_->setObjectName("format_target");
  target_->addItem(tr("the target of this window"), QString());
  for (const Target& target : targets->targets()) {
    target_->addItem(text_of(target.label.empty() ? target.name : target.label), text_of(target.name));
  }
  target_->setToolTip(tr("The machine that the settings are made for"));
  add(tr("Made &for"), target_);
  connect(target_, &QComboBox::currentIndexChanged, this, &FormatOptions::changed);

  model_ = new QLineEdit(this);
  model_->setObjectName("format_model");
  model_->setPlaceholderText(tr("left to be filled in there"));
  add(tr("&Model path"), model_);
  connect(model_, &QLineEdit::textChanged, this, &FormatOptions::changed);
}

void FormatOptions::add(const QString& label, QWidget* field) {
  auto* text = new QLabel(label, this);
  text->setMinimumWidth(kLabelWidth);
  text->setBuddy(field);
  rows_->addRow(text, field);
  field->setAccessibleName(QString(label).remove('&'));
}

void FormatOptions::show_for(const ExchangeFormat* format) {
  const FormatUses uses = format == nullptr ? FormatUses() : format->uses;
  rows_->setRowVisible(form_, uses.form);
  rows_->setRowVisible(steps_, uses.steps);
  if (way_ == Way::write) {
    rows_->setRowVisible(spelling_, uses.spelling);
    rows_->setRowVisible(target_, uses.target);
    rows_->setRowVisible(model_, uses.model_path);
  }
  const bool any = uses.form || uses.steps || (way_ == Way::write && (uses.spelling || uses.target || uses.model_path));
  setVisible(any);
}

void FormatOptions::set_steps(int steps) {
  if (steps_typed_) return;
  const QSignalBlocker quiet(steps_);
  steps_->setValue(steps);
}

ExportOptions FormatOptions::options() const {
  ExportOptions options;
  if (const int form = form_->currentData().toInt(); form >= 0) options.form = static_cast<SdNextForm>(form);
  options.steps = steps_->value();
  if (way_ == Way::read) return options;
  options.old_spelling = spelling_->currentData().toBool();
  options.target = utf8_of(target_->currentData().toString());
  options.model_path = utf8_of(model_->text().trimmed());
  return options;
}

}  // namespace attn::ui
