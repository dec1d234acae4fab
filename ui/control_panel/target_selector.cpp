// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/control_panel/target_selector.h"

#include "ui/control_panel/change_mark.h"
#include "ui/format/format.h"
#include "ui/panel/elided_label.h"

#include <QComboBox>
#include <QGridLayout>
#include <QLabel>

namespace attn::ui {

QString target_facts(const Target& target) {
  QStringList facts;
  if (target.capability) facts << QStringLiteral("sm_%1").arg(*target.capability);
  if (!target.gfx.empty()) facts << text_of(target.gfx);
  if (!target.capability && target.gfx.empty() && !target.is_cpu()) facts << text_of(target.platform);
  if (target.memory_bytes) facts << bytes_text(*target.memory_bytes);
  facts << (target.present ? TargetSelector::tr("this machine") : TargetSelector::tr("emulated on this host"));
  return facts.join(" · ");
}

namespace {

/// With why its hardware cannot be used here.
QString target_tip(const Target& target) {
  const QString facts = target_facts(target);
  return target.absence.empty() ? facts : facts + ":\n" + text_of(target.absence);
}

}  // namespace

TargetSelector::TargetSelector(EngineLink& link, const TargetList& targets, const Theme& theme, QWidget* parent)
    : QWidget(parent), link_(link), targets_(targets) {
  auto* grid = new QGridLayout(this);
  grid->setContentsMargins(6, 2, 12, 4);
  grid->setHorizontalSpacing(8);
  grid->setVerticalSpacing(3);
  edited_ = new ChangeMark(ChangeMark::Kind::edited, theme, this);
  box_ = new QComboBox(this);
  box_->setObjectName("target");
  box_->setAccessibleName(tr("Target"));
  box_->setToolTip(
      tr("The machine that the chain is built for. Hardware that is not here is emulated on the host:\n"
         "routes and numerical error are real, times are this host's."));
  box_->setMinimumContentsLength(12);
  box_->setMaxVisibleItems(24);
  for (const Target& target : targets.targets()) {
    box_->addItem(text_of(target.label.empty() ? target.name : target.label), text_of(target.name));
    box_->setItemData(box_->count() - 1, target_tip(target), Qt::ToolTipRole);
  }
  facts_ = new ElidedLabel(this);
  set_look(facts_, "dim");
  grid->addWidget(edited_, 0, 0);
  grid->addWidget(box_, 0, 1);
  grid->addWidget(facts_, 1, 1);
  grid->setColumnMinimumWidth(0, 12);
  grid->setColumnStretch(1, 1);
  connect(box_, &QComboBox::activated, this, [this](int at) {
    const Target& chosen = targets_.targets()[static_cast<std::size_t>(at)];
    if (chosen.name != link_.engine().target().name) link_.set_target(chosen);
  });
  connect(edited_, &QAbstractButton::clicked, this, [this] { link_.set_target(link_.engine().plan()->target()); });
  connect(&link_, &EngineLink::settings_changed, this, &TargetSelector::refresh);
  refresh();
}

void TargetSelector::refresh() {
  const Target wanted = link_.engine().target();
  const Target& applied = link_.engine().plan()->target();
  box_->setCurrentIndex(box_->findData(text_of(wanted.name)));
  facts_->setText(target_facts(wanted));
  facts_->setToolTip(target_tip(wanted));
  edited_->set_on(wanted.name != applied.name, text_of(applied.label));
}

}  // namespace attn::ui
