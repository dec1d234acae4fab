// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/workspace/notice_banner.h"

#include <QAccessible>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>

namespace attn::ui {

NoticeBanner::NoticeBanner(QWidget* parent) : QFrame(parent) {
  setObjectName("notice_banner");
  set_look(this, "banner");
  row_ = new QHBoxLayout(this);
  row_->setContentsMargins(12, 8, 12, 8);
  row_->setSpacing(8);
  sentence_ = new QLabel(this);
  sentence_->setObjectName("notice_sentence");
  sentence_->setWordWrap(true);
  sentence_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  row_->addWidget(sentence_, 1);
  hide();
}

void NoticeBanner::say(const QString& sentence, const char* look, std::vector<Answer> answers) {
  for (QPushButton* button : buttons_) button->deleteLater();
  buttons_.clear();
  sentence_->setText(sentence);
  set_look(sentence_, look);
  setAccessibleName(sentence);
  if (answers.empty()) answers.push_back({"notice_dismiss", tr("Dismiss"), {}});
  for (const Answer& answer : answers) {
    auto* button = new QPushButton(answer.text, this);
    button->setObjectName(answer.id);
    connect(button, &QPushButton::clicked, this, [this, work = answer.work] {
      hide();
      if (work) work();
    });
    row_->addWidget(button);
    buttons_.push_back(button);
  }
  show();
  emit shown();
  QAccessibleEvent said(this, QAccessible::Alert);
  QAccessible::updateAccessibility(&said);
}

QString NoticeBanner::sentence() const { return isHidden() ? QString() : sentence_->text(); }

}  // namespace attn::ui
