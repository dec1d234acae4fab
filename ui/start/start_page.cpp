// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/start/start_page.h"

#include "ui/start/vignette.h"

#include <QCoreApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QVBoxLayout>

namespace attn::ui {

namespace {

constexpr int kCardWidth = 300;

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
  auto* page = new QWidget(area);
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
  auto* cards = new QHBoxLayout;
  cards->setSpacing(14);
  cards->addStretch(1);
  for (const Example& example : examples()) cards->addWidget(make_card(example, theme), 8);
  cards->addStretch(1);
  column->addLayout(cards);
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

QWidget* StartPage::make_card(const Example& example, const Theme& theme) {
  auto* card = new QFrame(this);
  set_look(card, "card");
  card->setMaximumWidth(kCardWidth);
  card->setMinimumWidth(150);
  card->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
  auto* column = new QVBoxLayout(card);
  column->setContentsMargins(14, 14, 14, 14);
  column->setSpacing(8);
  column->addWidget(new Vignette(example.show, theme, card));
  column->addWidget(label(translated(example.title), "title", card));
  column->addWidget(label(translated(example.what), "dim", card));
  column->addStretch(1);
  column->addWidget(label(translated(example.facts), "small", card));
  auto* open = new QPushButton(tr("Open and run"), card);
  open->setObjectName(example.id);
  open->setAccessibleName(tr("Open and run: %1").arg(translated(example.title)));
  open->setAccessibleDescription(translated(example.what));
  connect(open, &QPushButton::clicked, this, [this, id = QString(example.id)] { emit wanted(id); });
  column->addWidget(open);
  return card;
}

}  // namespace attn::ui
