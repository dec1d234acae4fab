// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panel/panel_title.h"

#include "ui/control_panel/change_mark.h"
#include "ui/panel/elided_label.h"

#include <QDockWidget>
#include <QHBoxLayout>
#include <QLabel>
#include <QTabBar>
#include <QToolButton>

namespace attn::ui {

PanelTitle::PanelTitle(const QString& title, const Theme& theme, QWidget* parent) : QFrame(parent), theme_(theme) {
  set_look(this, "titlebar");
  setFixedHeight(kHeight);
  row_ = new QHBoxLayout(this);
  row_->setContentsMargins(12, 0, 6, 0);
  row_->setSpacing(8);
  name_ = new QLabel(title, this);
  set_look(name_, "title");
  const auto mark = [&](ChangeMark::Kind kind, const char* name) {
    auto* made = new ChangeMark(kind, theme, this);
    made->setObjectName(name);
    made->setAttribute(Qt::WA_TransparentForMouseEvents);
    made->hide();
    return made;
  };
  edited_ = mark(ChangeMark::Kind::edited, "title_edited");
  changed_ = mark(ChangeMark::Kind::changed, "title_changed");
  facts_ = new ElidedLabel(this);
  set_look(facts_, "dim");
  facts_->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
  row_->addWidget(name_);
  auto* marks = new QHBoxLayout;
  marks->setSpacing(0);
  marks->addWidget(edited_);
  marks->addWidget(changed_);
  row_->addLayout(marks);
  row_->addWidget(facts_, 1);
  row_->addSpacing(4);
}

QTabBar* PanelTitle::use_tabs(const QStringList& names) {
  auto* tabs = new QTabBar(this);
  tabs->setExpanding(false);
  tabs->setDrawBase(false);
  for (const QString& name : names) tabs->addTab(name);
  name_->hide();
  row_->setContentsMargins(4, 0, 6, 0);
  row_->insertWidget(0, tabs);
  return tabs;
}

void PanelTitle::set_marks(bool edited, bool changed) {
  for (const auto& [widget, on] : {std::pair{edited_, edited}, std::pair{changed_, changed}}) {
    auto* mark = static_cast<ChangeMark*>(widget);
    mark->set_on(on);
    mark->setFocusPolicy(Qt::NoFocus);  // it says what is inside; there is nothing to take back at once
    mark->setVisible(on);
  }
}
void PanelTitle::set_facts(const QString& text) { facts_->setText(text); }
QString PanelTitle::facts() const { return facts_->text(); }

void PanelTitle::serve(QDockWidget* dock) {
  const auto button = [&](const QString& icon, const QString& tip) {
    auto* made = new QToolButton(this);
    made->setIconSize({14, 14});
    made->setToolTip(tip);
    made->setAccessibleName(tip);
    made->setAutoRaise(true);
    made->setFocusPolicy(Qt::NoFocus);
    const auto paint = [this, made, icon] { made->setIcon(theme_.icon(icon)); };
    paint();
    connect(&theme_, &Theme::changed, made, paint);
    row_->addWidget(made);
    return made;
  };
  row_->setSpacing(4);
  connect(button("float", tr("Float or dock %1").arg(dock->windowTitle())), &QToolButton::clicked, dock,
          [dock] { dock->setFloating(!dock->isFloating()); });
  connect(button("close", tr("Hide %1 (View menu shows it again)").arg(dock->windowTitle())), &QToolButton::clicked,
          dock, &QDockWidget::close);
}

}  // namespace attn::ui
