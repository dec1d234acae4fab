// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/timeline/timeline_panel.h"

#include "ui/format/format.h"
#include "ui/panel/empty_state.h"
#include "ui/timeline/backend_legend.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QStackedWidget>
#include <QToolButton>
#include <algorithm>

namespace attn::ui {

TimelinePanel::TimelinePanel(Selection& selection, const Theme& theme, QWidget* parent) : QWidget(parent) {
  setObjectName("timeline");
  set_look(this, "panel");
  auto* page = new QWidget(this);
  auto* rows = new QVBoxLayout(page);
  rows->setContentsMargins(0, 4, 0, 4);
  rows->setSpacing(0);
  auto* bar = new QHBoxLayout;
  bar->setContentsMargins(12, 2, 12, 0);
  bar->setSpacing(6);
  view_ = new TimelineView(selection, theme, page);
  axis_ = new QComboBox(page);
  axis_->setObjectName("timeline_axis");
  axis_->setAccessibleName(tr("Axis of the timeline"));
  axis_->addItems({tr("Time"), tr("Call number")});
  set_look(axis_, "compact");
  const auto button = [&](const char* name, const QString& text, const QString& tip) {
    auto* made = new QToolButton(page);
    made->setObjectName(name);
    made->setText(text);
    made->setToolTip(tip);
    made->setAccessibleName(tip);
    set_look(made, "button_small");
    made->setFixedHeight(axis_->sizeHint().height());
    return made;
  };
  follow_ = button("timeline_follow", tr("Follow"), tr("Go to the newest call and stay with it (End)"));
  auto* out = button("timeline_out", QStringLiteral("−"), tr("Zoom out (S)"));
  auto* in = button("timeline_in", QStringLiteral("+"), tr("Zoom in (W)"));
  auto* fit = button("timeline_fit", tr("Fit"), tr("Show the whole run (F)"));
  legend_ = new BackendLegend(theme, page);
  bar->addWidget(axis_);
  bar->addWidget(legend_, 1);
  for (QToolButton* one : {follow_, out, in, fit}) bar->addWidget(one);
  follow_->hide();
  rows->addLayout(bar);
  rows->addWidget(view_, 1);
  stack_ = new QStackedWidget(this);
  stack_->addWidget(new EmptyState(tr("No calls yet"),
                                   tr("A run draws every attention call here, a lane for each role, coloured by the "
                                      "backend that served it."),
                                   stack_));
  stack_->addWidget(page);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->addWidget(stack_);
  connect(axis_, &QComboBox::activated, this, [this](int choice) {
    axis_chosen_ = true;
    view_->set_axis(static_cast<TimelineAxis>(choice));
  });
  connect(follow_, &QToolButton::clicked, view_, &TimelineView::follow);
  connect(out, &QToolButton::clicked, view_, [this] { view_->zoom(1.5); });
  connect(in, &QToolButton::clicked, view_, [this] { view_->zoom(1.0 / 1.5); });
  connect(fit, &QToolButton::clicked, view_, &TimelineView::fit);
  connect(view_, &TimelineView::follow_changed, follow_, [this](bool follows) { follow_->setVisible(!follows); });
}

void TimelinePanel::set_calls(const trace::CallView& calls) {
  newest_ = calls;
  if (isVisible()) take();
}

void TimelinePanel::showEvent(QShowEvent* event) {
  take();
  QWidget::showEvent(event);
}

void TimelinePanel::take() {
  const bool another = newest_.run() != view_->lanes().calls().run();
  view_->set_calls(newest_);
  stack_->setCurrentIndex(newest_.empty() ? 0 : 1);
  if (another || known_kinds_ != newest_.kinds()) show_legend();
  if (!axis_chosen_ || another) choose_axis();
  emit facts_changed(facts());
}

void TimelinePanel::show_legend() {
  known_kinds_ = newest_.kinds();
  std::vector<QString> backends;
  for (std::size_t i = 0; i < known_kinds_; ++i) {
    const QString name = text_of(newest_.kind(i).route.id.backend);
    if (std::find(backends.begin(), backends.end(), name) == backends.end()) backends.push_back(name);
  }
  legend_->set_backends(std::move(backends));
}

void TimelinePanel::choose_axis() {
  // Calls that were only planned have no time: on an axis of time they would be nowhere.
  const bool time = newest_.all_timed() && !newest_.empty() && view_->lanes().timed();
  if (axis_chosen_ && time) return;
  axis_->setCurrentIndex(time ? 0 : 1);
  view_->set_axis(time ? TimelineAxis::time : TimelineAxis::number);
}

void TimelinePanel::set_note(const QString& note) {
  if (note == note_) return;
  note_ = note;
  emit facts_changed(facts());
}

QString TimelinePanel::facts() const {
  if (newest_.empty()) return {};
  // Both do not fit into one line of a small window, and who compares knows the keys.
  if (!note_.isEmpty()) return note_;
  return tr("W S zoom · A D move · F fits · , . from call to call");
}

}  // namespace attn::ui
