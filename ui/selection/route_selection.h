// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "trace/routes/route_table.h"

#include <QObject>
#include <optional>

namespace attn::ui {

/// The one selection that all panels share. Chosen anywhere, it is chosen everywhere; a run that does not have
/// the route keeps the choice, so that it is there again when the route is.
class RouteSelection final : public QObject {
  Q_OBJECT

 public:
  using QObject::QObject;

  [[nodiscard]] const std::optional<trace::RouteRow>& route() const noexcept { return route_; }
  /// `origin` does not need to hear of it again.
  void choose(std::optional<trace::RouteRow> route, const QObject* origin) {
    if (!route && !route_) return;
    if (route && route_ && route->id == route_->id) return;
    route_ = std::move(route);
    emit changed(origin);
  }

 signals:
  void changed(const QObject* origin);

 private:
  std::optional<trace::RouteRow> route_;
};

}  // namespace attn::ui
