// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/start/start_page.h"

#include "ui/start/vignette.h"

#include <QCoreApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QResizeEvent>
#include <QScrollArea>
#include <QVBoxLayout>

namespace attn::ui {

namespace {

constexpr int kCardWidth = 300;
constexpr QSize kLeastForColumns(720, 460);

QString translated(const char* text) { return QCoreApplication::translate("Examples", text); }

QLabel* label(const QString& text, const char* look, QWidget* parent) {
  auto* made = new QLabel(text, parent);
  made->setWordWrap(true);
  set_look(made, look);
  return made;
}

}  // namespace

StartPage::StartPage(const Theme& theme, QWidget* parent) : QWidget(parent) {
  setObjectName("start_page");
  set_look(this, "panel");
  auto* outer = new QVBoxLayout(this);
  outer->setContentsMargins(0, 0, 0, 0);
  auto* area = new QScrollArea(this);
  area->setAccessibleName(tr("Examples"));
  area->setFrameShape(QFrame::NoFrame);
  area->setWidgetResizable(true);
  area->setFocusPolicy(Qt::NoFocus);
  area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  auto* page = page_ = new QWidget(area);
  auto* column = new QVBoxLayout(page);
  column->setContentsMargins(24, 24, 24, 24);
  column->setSpacing(6);
  column->addStretch(2);
  auto* title = label(tr("Begin with an example"), "headline", page);
  title->setAlignment(Qt::AlignHCenter);
  auto* advice =
      label(tr("Each sets the model, the machine and the settings, and runs. Your own begins above: choose a "
               "model and press Run, or drop a file on this window."),
            "dim", page);
  advice->setAlignment(Qt::AlignHCenter);
  column->addWidget(title);
  column->addWidget(advice);
  column->addSpacing(14);
  row_ = new QHBoxLayout;
  row_->setSpacing(14);
  row_->addStretch(1);
  for (const Example& example : examples()) {
    cards_.push_back(make_card(example, theme));
    row_->addWidget(cards_.back().frame, 8);
  }
  row_->addStretch(1);
  column->addLayout(row_);
  column->addSpacing(10);
  auto* close = new QPushButton(tr("Show the empty tables instead"), page);
  close->setObjectName("start_close");
  close->setToolTip(tr("Help > Examples brings this page back"));
  set_look(close, "flat");
  connect(close, &QPushButton::clicked, this, &StartPage::closed);
  column->addWidget(close, 0, Qt::AlignHCenter);
  column->addStretch(3);
  area->setWidget(page);
  outer->addWidget(area);
}

StartPage::Card StartPage::make_card(const Example& example, const Theme& theme) {
  auto* frame = new QFrame(this);
  set_look(frame, "card");
  frame->setMaximumWidth(kCardWidth);
  auto* layout = new QBoxLayout(QBoxLayout::TopToBottom, frame);
  layout->setContentsMargins(14, 14, 14, 14);
  layout->setSpacing(10);
  auto* drawing = new Vignette(example.show, theme, frame);
  auto* what = label(translated(example.what), "dim", frame);
  auto* texts = new QVBoxLayout;
  texts->setSpacing(6);
  texts->addWidget(label(translated(example.title), "title", frame));
  texts->addWidget(what);
  texts->addStretch(1);
  texts->addWidget(label(translated(example.facts), "small", frame));
  auto* open = new QPushButton(tr("Open and run"), frame);
  open->setObjectName(example.id);
  open->setAccessibleName(tr("Open and run: %1").arg(translated(example.title)));
  open->setAccessibleDescription(translated(example.what));
  open->setToolTip(translated(example.what));
  connect(open, &QPushButton::clicked, this, [this, id = QString(example.id)] { emit wanted(id); });
  layout->addWidget(drawing);
  layout->addLayout(texts, 1);
  layout->addWidget(open);
  return {frame, layout, {drawing, what}};
}

void StartPage::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  show_rows(width() < kLeastForColumns.width() || height() < kLeastForColumns.height());
}

void StartPage::show_rows(bool rows) {
  if (rows == rows_) return;
  rows_ = rows;
  row_->setDirection(rows ? QBoxLayout::TopToBottom : QBoxLayout::LeftToRight);
  row_->setSpacing(rows ? 8 : 14);
  page_->layout()->setContentsMargins(24, rows ? 8 : 24, 24, rows ? 8 : 24);
  for (const Card& card : cards_) {
    card.layout->setDirection(rows ? QBoxLayout::LeftToRight : QBoxLayout::TopToBottom);
    card.layout->setContentsMargins(14, rows ? 8 : 14, 14, rows ? 8 : 14);
    card.frame->setMaximumWidth(rows ? QWIDGETSIZE_MAX : kCardWidth);
    for (QWidget* widget : card.roomy) widget->setVisible(!rows);
  }
}

}  // namespace attn::ui
