// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/route_table/find_bar.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLineEdit>

namespace attn::ui {

FindBar::FindBar(const Theme& theme, QWidget* parent) : QWidget(parent) {
  setObjectName("find_bar");
  line_ = new FilterLine("find_line", tr("Find: words or conditions, role:vae q>8192"), theme, this);
  result_ = new QLabel(this);
  result_->setObjectName("find_result");
  set_look(result_, "dim");
  result_->setMinimumWidth(96);
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(6);
  row->addWidget(line_, 1);
  row->addWidget(result_);
  const auto button = [&](const QString& text, const QString& tip, const char* name) {
    auto* made = new QToolButton(this);
    made->setObjectName(name);
    made->setText(text);
    made->setToolTip(tip);
    made->setAccessibleName(tip);
    set_look(made, "button");
    row->addWidget(made, 0, Qt::AlignTop);
    return made;
  };
  connect(button(tr("Previous"), tr("Previous match (Shift+F3)"), "find_previous"), &QToolButton::clicked, this,
          [this] { go(true); });
  connect(button(tr("Next"), tr("Next match (F3)"), "find_next"), &QToolButton::clicked, this, [this] { go(false); });
  connect(button(QStringLiteral("×"), tr("Close (Esc)"), "find_close"), &QToolButton::clicked, this,
          &FindBar::close_bar);
  connect(line_, &FilterLine::confirmed, this, &FindBar::go);
  connect(line_, &FilterLine::filter_changed, result_, &QLabel::clear);
  hide();
}

void FindBar::open() {
  show();
  line_->focus();
}

void FindBar::close_bar() {
  hide();
  emit closed();
}

void FindBar::say(const QString& sentence) { result_->setText(sentence); }

void FindBar::go(bool backwards) {
  if (line_->filter().is_empty()) {
    open();
    return;
  }
  if (!line_->error()) emit wanted(line_->filter(), backwards);
}

void FindBar::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Escape) {
    close_bar();
    return;
  }
  QWidget::keyPressEvent(event);
}

}  // namespace attn::ui
