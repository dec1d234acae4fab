// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/policy/target_probe.h"
#include "core/tensor/expected.h"

#include <QObject>
#include <QString>
#include <QStringList>
#include <optional>
#include <vector>

namespace attn::ui {

struct RunRequest;

/// One version of a package.
struct PackageFact {
  enum class State { unknown, not_installed, fails, works };
  QString name;      ///< "sage 2"
  QString override;  ///< the label that it serves; empty: only the dispatcher uses it
  State state = State::unknown;
  QString found;  ///< "sageattention 1.0.6"
  QString step;   ///< what exactly failed, or why nobody could look
  bool enabled = false;
};

/// What a log says is missing.
struct IncidentFact {
  QString title;
  QString detail;
  QString override;  ///< that is dead because of it; empty: none is
  bool enabled = false;
  int lines = 0;
};

/// A backend that gave wrong numbers somewhere.
struct QuarantineFact {
  QString backend;
  QString place;  ///< "cuda sm_90"
  double cosine = 0.0;
  double threshold = 0.0;
  bool here = false;  ///< it holds on the target in force
};

/// One call computed several times on the same tensors.
struct RepeatFact {
  QString backend;
  QString kernel;
  QString verdict;  ///< "bit-identical 3/3"
  QString call;
  bool identical = false;
};

/// What is known about the target's machine.
struct PlatformState {
  QString target;  ///< its label
  bool present = false;
  bool kernels_asked = false;
  std::vector<KernelRow> kernels;
  Support math_only = Support::unknown;
  bool math_only_stated = false;  ///< somebody said so of a machine that is not here

  QString forecast;  ///< what the math kernel would take for the workload; empty where others run
  bool forecast_over = false;

  bool packages_asked = false;
  bool packages_busy = false;
  QString chosen_python;  ///< empty: python3 where the target is in this machine
  QString python;         ///< its version, or why there is none
  std::vector<PackageFact> packages;
  QStringList dead;  ///< overrides that are switched on and that no version serves, a sentence each

  QString log;  ///< path of the log that was read
  QString log_error;
  std::vector<IncidentFact> incidents;

  std::vector<QuarantineFact> quarantine;

  bool repeating = false;
  std::vector<RepeatFact> repeats;
  QString repeat_error;
};

/// What really works on the target's machine. Members and signals belong to the GUI thread; looking happens off it.
class PlatformService : public QObject {
  Q_OBJECT

 public:
  using QObject::QObject;
  [[nodiscard]] virtual const PlatformState& state() const = 0;
  /// Tries the kernels and looks for the packages again.
  virtual void probe() = 0;
  /// Looks for the packages unless that has been done.
  virtual void need_packages() = 0;
  virtual void choose_python(const QString& program) = 0;
  virtual void read_log(const QString& path) = 0;
  /// What the forecast is for.
  virtual void set_workload(const RunRequest& request) = 0;
  /// Says of a target that is not in this machine that only its math kernel runs.
  virtual void state_math_only(bool only) = 0;
  /// By its place in PlatformState::quarantine.
  virtual void lift_quarantine(int at) = 0;
  /// Computes the workload's calls several times as a job. Error: a job runs, or the workload has no calls to plan.
  [[nodiscard]] virtual Expected<void> repeat() = 0;

 signals:
  void changed();
};

}  // namespace attn::ui
