// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/link/settings_history.h"

#include <QObject>
#include <QString>
#include <vector>

namespace attn::ui {

/// How far one call of a route was from exact attention on the same tensors.
struct MeasuredRoute {
  trace::RouteRow route;   ///< what the call was, and the backend and kernel that served it
  SettingsPoint settings;  ///< in force for it
  double relative_l1 = 0.0;
  double cosine = 1.0;
  QString note;  ///< who measured it and on how much of the call
};

/// Measures routes against exact attention. Members and signals belong to the GUI thread.
class ErrorService : public QObject {
  Q_OBJECT

 public:
  using QObject::QObject;
  /// Computes one call of a route with the settings of its run and exactly, as a job: JobControl::stop() stops it,
  /// measured() follows when it finishes. Error: a job runs, or the call cannot be made.
  [[nodiscard]] virtual Expected<void> measure(const trace::RouteRow& route, const SettingsPoint& settings) = 0;

 signals:
  /// Also from the levers, for whose rows exact attention is computed anyway.
  void measured(const std::vector<attn::ui::MeasuredRoute>& routes);
};

}  // namespace attn::ui
