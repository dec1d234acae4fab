// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/selection/selection.h"

#include <QAction>
#include <QApplication>
#include <QMouseEvent>
#include <QWidget>

namespace attn::ui {

namespace {

bool has_step(const trace::RouteRow& route, Role role, int step) {
  return route.id.role == role && step >= route.first_step && step <= route.last_step;
}

bool same_call(const std::optional<SelectedCall>& a, const std::optional<SelectedCall>& b) {
  if (!a || !b) return !a && !b;
  return a->run == b->run && a->index == b->index;
}

}  // namespace

bool Selected::same_as(const Selected& other) const {
  const bool same_route = route.has_value() == other.route.has_value() && (!route || route->id == other.route->id);
  return same_route && same_call(call, other.call) && role == other.role && step == other.step;
}

Selection::Selection(QObject* parent)
    : QObject(parent), back_(new QAction(tr("&Back"), this)), forward_(new QAction(tr("&Forward"), this)) {
  back_->setObjectName("selection.back");
  back_->setShortcut(QKeySequence(tr("Alt+Left")));
  back_->setToolTip(tr("To what was selected before"));
  forward_->setObjectName("selection.forward");
  forward_->setShortcut(QKeySequence(tr("Alt+Right")));
  forward_->setToolTip(tr("To what was selected after"));
  connect(back_, &QAction::triggered, this, &Selection::go_back);
  connect(forward_, &QAction::triggered, this, &Selection::go_forward);
  show_actions();
}

void Selection::choose(std::optional<trace::RouteRow> route, const QObject* origin) {
  Selected next;
  if (route) {
    next.role = route->id.role;
    if (now_.step && has_step(*route, now_.role.value_or(Role::none), *now_.step)) next.step = now_.step;
  }
  next.route = std::move(route);
  // A call of the same route is the narrower choice and stays.
  if (next.route && now_.call && now_.route && next.route->id == now_.route->id) next.call = now_.call;
  choose(std::move(next), origin);
}

void Selection::choose_in_step(const trace::RouteRow& route, int step, const QObject* origin) {
  choose(Selected{route, {}, route.id.role, step}, origin);
}

void Selection::choose_call(const SelectedCall& call, const trace::RouteRow& route, const QObject* origin) {
  choose(Selected{route, call, route.id.role, call.record.step}, origin);
}

void Selection::choose_step(Role role, int step, const QObject* origin) {
  Selected next{{}, {}, role, step};
  if (now_.route && has_step(*now_.route, role, step)) next.route = now_.route;
  choose(std::move(next), origin);
}

void Selection::choose_role(Role role, const QObject* origin) {
  Selected next{{}, {}, role, {}};
  if (now_.route && now_.route->id.role == role) next.route = now_.route;
  choose(std::move(next), origin);
}

void Selection::choose(Selected next, const QObject* origin) {
  if (next.same_as(now_)) return;
  now_ = std::move(next);
  trail_.resize(at_ + 1);
  trail_.push_back(now_);
  if (trail_.size() > kMostSteps) trail_.erase(trail_.begin());
  at_ = trail_.size() - 1;
  show_actions();
  emit changed(origin);
}

void Selection::set_run(std::uint64_t run) {
  run_ = run;
  if (!now_.call || now_.call->run == run) return;
  now_.call.reset();
  emit changed(nullptr);
}

void Selection::go(int steps) {
  const auto to = static_cast<std::ptrdiff_t>(at_) + steps;
  if (to < 0 || to >= static_cast<std::ptrdiff_t>(trail_.size())) return;
  at_ = static_cast<std::size_t>(to);
  now_ = trail_[at_];
  if (now_.call && now_.call->run != run_) now_.call.reset();
  show_actions();
  emit changed(nullptr);
}

void Selection::show_actions() {
  back_->setEnabled(can_go_back());
  forward_->setEnabled(can_go_forward());
}

void Selection::serve(QWidget* window) {
  window_ = window;
  window->addActions({back_, forward_});
  qApp->installEventFilter(this);
}

bool Selection::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::MouseButtonPress && watched->isWidgetType() &&
      static_cast<QWidget*>(watched)->window() == window_) {
    const Qt::MouseButton button = static_cast<QMouseEvent*>(event)->button();
    if (button == Qt::BackButton || button == Qt::ForwardButton) {
      go(button == Qt::BackButton ? -1 : 1);
      return true;
    }
  }
  return QObject::eventFilter(watched, event);
}

}  // namespace attn::ui
