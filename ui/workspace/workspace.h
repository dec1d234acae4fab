// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/services.h"

#include <QByteArray>
#include <QString>
#include <QStringList>
#include <QVariant>
#include <map>
#include <optional>

namespace attn::ui {

/// Where everything stands in the window.
struct LayoutState {
  QByteArray geometry;  ///< QWidget::saveGeometry(); empty: the window's size is left alone
  QByteArray docks;     ///< QMainWindow::saveState()
  QByteArray center;    ///< QSplitter::saveState() of charts and lists
  int chart = 0;        ///< tab of the charts
  int side = 0;         ///< tab beside the lists: explain, block mask, preview
  friend bool operator==(const LayoutState&, const LayoutState&) = default;
};

/// The run that was on screen. Its results are no part of a workspace.
struct RunContext {
  enum class State { running, finished, stopped, failed };
  State state = State::finished;
  QString model;  ///< id of its profile
  Work work = Work::planned;
  qint64 calls_done = 0;
  qint64 calls_total = 0;  ///< 0: not known yet
  int step = 0;            ///< that runs, or ran last, from 0
  int steps = 0;
  friend bool operator==(const RunContext&, const RunContext&) = default;
};

/// Everything that a person arranged, as one value.
struct Workspace {
  QString file;     ///< the person's own file that it belongs to; only autosaved ones say it
  QString target;   ///< name of the machine
  QString profile;  ///< settings and choices, a profile's text (core/exchange)
  QStringList required;
  RunRequest workload;
  QString filter;
  LayoutState layout;
  std::map<QString, QVariant> view;  ///< columns, grouping, open sections, by the keys of the panels
  std::optional<RunContext> run;
  std::optional<Role> role;  ///< that is selected
  std::optional<int> step;   ///< of it
};

}  // namespace attn::ui
