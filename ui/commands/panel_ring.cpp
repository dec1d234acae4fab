// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/commands/panel_ring.h"

#include <QApplication>
#include <QWidget>
#include <algorithm>

namespace attn::ui {

namespace {

/// Whether one reads `a` before `b`: above it, or in the same line to the left.
bool is_read_before(const QRect& a, const QRect& b) {
  if (a.bottom() < b.top()) return true;
  if (b.bottom() < a.top()) return false;
  return a.left() < b.left();
}

/// What Tab reaches at and below a widget, as one reads. The order in which widgets were made says nothing: rows come
/// and go.
void collect_stops(QWidget* widget, std::vector<QWidget*>& stops) {
  if (!widget->isVisible() || !widget->isEnabled()) return;
  if (takes_tab(*widget)) stops.push_back(widget);
  std::vector<QWidget*> children;
  for (QObject* object : widget->children()) {
    auto* child = qobject_cast<QWidget*>(object);
    if (child == nullptr || child->isWindow()) continue;
    // By insertion: "before" is no order of all widgets, only of those that stand in rows and columns.
    auto at = children.end();
    while (at != children.begin() && is_read_before(child->geometry(), (*std::prev(at))->geometry())) --at;
    children.insert(at, child);
  }
  for (QWidget* child : children) collect_stops(child, stops);
}

std::vector<QWidget*> stops_in(QWidget* panel) {
  std::vector<QWidget*> stops;
  collect_stops(panel, stops);
  return stops;
}

}  // namespace

bool takes_tab(const QWidget& widget) {
  return widget.isVisible() && widget.isEnabled() && (widget.focusPolicy() & Qt::TabFocus) != 0 &&
         widget.focusProxy() == nullptr;
}

PanelRing::PanelRing(QWidget* window) : QObject(window), window_(window) {
  connect(qApp, &QApplication::focusChanged, this, [this](QWidget*, QWidget* now) { note(now); });
}

void PanelRing::add(QWidget* panel, const QString& name) { panels_.push_back({panel, name, {}}); }

int PanelRing::panel_of(const QWidget* widget) const {
  if (widget == nullptr) return -1;
  for (std::size_t i = 0; i < panels_.size(); ++i) {
    const QWidget* panel = panels_[i].widget;
    if (panel != nullptr && (panel == widget || panel->isAncestorOf(widget))) return static_cast<int>(i);
  }
  return -1;
}

void PanelRing::note(QWidget* focused) {
  if (const int at = panel_of(focused); at >= 0) panels_[static_cast<std::size_t>(at)].last = focused;
}

void PanelRing::go(bool backwards) {
  const int count = static_cast<int>(panels_.size());
  const int from = panel_of(QApplication::focusWidget());
  for (int step = 1; step <= count; ++step) {
    const int start = from < 0 ? (backwards ? count : -1) : from;
    const int at = ((start + (backwards ? -step : step)) % count + count) % count;
    Panel& panel = panels_[static_cast<std::size_t>(at)];
    if (panel.widget == nullptr || !panel.widget->isVisible() || panel.widget->visibleRegion().isEmpty()) continue;
    QWidget* to = panel.last != nullptr && takes_tab(*panel.last) ? panel.last.data() : nullptr;
    if (to == nullptr) {
      const std::vector<QWidget*> stops = stops_in(panel.widget);
      if (stops.empty()) continue;
      to = stops.front();
    }
    to->window()->activateWindow();
    to->setFocus(Qt::TabFocusReason);
    return;
  }
}

QWidget* PanelRing::current() const {
  const int at = panel_of(QApplication::focusWidget());
  return at < 0 ? nullptr : panels_[static_cast<std::size_t>(at)].widget.data();
}

QString PanelRing::current_name() const {
  const int at = panel_of(QApplication::focusWidget());
  return at < 0 ? QString() : panels_[static_cast<std::size_t>(at)].name;
}

bool PanelRing::tab(bool backwards) {
  std::vector<QWidget*> stops;
  for (const Panel& panel : panels_) {
    // A floating panel is a window of its own.
    if (panel.widget != nullptr && panel.widget->window() == window_) collect_stops(panel.widget, stops);
  }
  if (stops.empty()) return false;
  const auto count = static_cast<std::ptrdiff_t>(stops.size());
  const auto at = std::find(stops.begin(), stops.end(), QApplication::focusWidget());
  std::ptrdiff_t to = backwards ? count - 1 : 0;
  if (at != stops.end()) to = (at - stops.begin() + (backwards ? -1 : 1) + count) % count;
  stops[static_cast<std::size_t>(to)]->setFocus(backwards ? Qt::BacktabFocusReason : Qt::TabFocusReason);
  return true;
}

}  // namespace attn::ui
