// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/control_panel/option_row.h"

#include "ui/control_panel/change_mark.h"
#include "ui/control_panel/choice_row.h"
#include "ui/control_panel/value_rows.h"
#include "ui/format/format.h"

#include <QHBoxLayout>

namespace attn::ui {

OptionRow::OptionRow(EngineLink& link, const Theme& theme, const OptionState& state, QWidget* parent)
    : QWidget(parent), link_(link), theme_(theme), key_(state.spec.key) {
  row_ = new QHBoxLayout(this);
  row_->setContentsMargins(6, 2, 12, 2);
  row_->setSpacing(8);
  auto* marks = new QHBoxLayout;
  marks->setSpacing(0);
  edited_ = new ChangeMark(ChangeMark::Kind::edited, theme, this);
  edited_->setObjectName("edited_mark");
  changed_ = new ChangeMark(ChangeMark::Kind::changed, theme, this);
  changed_->setObjectName("changed_mark");
  marks->addWidget(edited_);
  marks->addWidget(changed_);
  row_->addLayout(marks);
  connect(edited_, &QAbstractButton::clicked, this, [this] { undo_edit(); });
  connect(changed_, &QAbstractButton::clicked, this, [this] { undo_change(); });
  setMinimumHeight(28);
  setToolTip(tip_of(state.spec));
  search_text_ =
      text_of(state.spec.label + ' ' + state.spec.key + ' ' + state.spec.section + ' ' + state.spec.help).toLower();
}

bool OptionRow::is_edited() const noexcept { return edited_->is_on(); }
bool OptionRow::is_changed() const noexcept { return changed_->is_on(); }

void OptionRow::set_marks(bool edited, const QString& applied, bool changed, const QString& fallback) {
  edited_->set_on(edited, applied);
  changed_->set_on(changed, fallback);
}

QString readable(const OptionSpec& spec, const OptionValue& value) {
  if (const bool* on = std::get_if<bool>(&value)) {
    return *on ? OptionRow::tr("on") : OptionRow::tr("off");
  }
  if (const auto* list = std::get_if<OptionList>(&value)) {
    QStringList items;
    for (const std::string& item : *list) items << text_of(item);
    return items.isEmpty() ? OptionRow::tr("none") : items.join(", ");
  }
  const QString text = text_of(value_text(value));
  if (text.isEmpty()) return OptionRow::tr("empty");
  return spec.unit.empty() ? text : text + ' ' + text_of(spec.unit);
}

QString tip_of(const OptionSpec& spec) {
  const QString range = spec.type == OptionType::integer || spec.type == OptionType::real
                            ? OptionRow::tr("<br>Range: %1 to %2").arg(spec.minimum).arg(spec.maximum)
                            : QString();
  return OptionRow::tr(
             "<p><b>%1</b></p><p>%2</p><p>Default: %3%4<br>Key: <code>%5</code><br>A change takes effect: %6</p>")
      .arg(text_of(spec.label).toHtmlEscaped(), text_of(spec.help).toHtmlEscaped(),
           readable(spec, spec.fallback).toHtmlEscaped(), range, text_of(spec.key).toHtmlEscaped(),
           text_of(describe(spec.applies)).toHtmlEscaped());
}

std::vector<OptionRow*> make_option_rows(EngineLink& link, const Theme& theme, const OptionState& state,
                                         QWidget* parent) {
  std::vector<OptionRow*> rows;
  switch (state.spec.type) {
    case OptionType::boolean:
      rows.push_back(new BooleanRow(link, theme, state, parent));
      break;
    case OptionType::integer:
    case OptionType::real:
      rows.push_back(new NumberRow(link, theme, state, parent));
      break;
    case OptionType::choice:
      rows.push_back(new ComboRow(link, theme, state, parent));
      break;
    case OptionType::text:
      rows.push_back(new TextRow(link, theme, state, parent));
      break;
    case OptionType::choices:
      for (const std::string& choice : state.spec.choices) {
        rows.push_back(new ChoiceRow(link, theme, state, choice, parent));
      }
      break;
  }
  for (OptionRow* row : rows) row->show_state(state);
  return rows;
}

}  // namespace attn::ui
