// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/tensor/expected.h"

#include <QObject>
#include <QString>
#include <QStringList>
#include <optional>
#include <vector>

namespace attn::ui {

struct RunRequest;

enum class LeverPhase { none, running, stopped, finished, failed };

/// The calls of one role under a variant; errors are the worst call's.
struct LeverRoleFact {
  QString role;
  qint64 calls = 0;
  double seconds = 0.0;
  double baseline_seconds = 0.0;
  double relative_l1 = 0.0;
  double cosine = 1.0;
};

/// One way to run the job, and what it brings.
struct LeverFact {
  enum class State { waiting, running, measured, skipped, failed };
  QString name;  ///< "backend:sage", "sparse:flex:30+30x2"; unique
  QString group;
  QString what;            ///< in words
  bool by_default = true;  ///< measured unless somebody says otherwise
  State state = State::waiting;
  QString reason;  ///< of skipped and failed
  QString chain;
  QStringList notes;
  double seconds = 0.0;        ///< of one generation, the median
  double relative_time = 1.0;  ///< share of the baseline's
  double noise = 0.0;          ///< that relative_time may be off by
  qint64 memory_bytes = 0;     ///< on the target
  std::optional<qint64> host_bytes;
  std::optional<double> psnr;  ///< decibels; infinite for equal pictures
  std::optional<double> ssim;
  double relative_l1 = 0.0;
  double cosine = 1.0;
  bool on_front = false;  ///< no other is faster without a larger error
  std::vector<LeverRoleFact> roles;
};

/// What a choice by measurement may not do, and what it is made of.
struct TuneWish {
  double min_cosine = 0.99;
  std::optional<double> max_seconds;
  std::optional<qint64> max_memory;
  std::optional<double> min_psnr;
  bool by_route = false;
  bool keep_what_is_set = true;
  int repeat = 5;
  QStringList variants;  ///< empty: all
};

/// Who serves one kind of call after tuning, and why.
struct TunePickFact {
  QString call;
  QString role;
  qint64 calls = 0;
  QString backend;
  QString level;
  QString reason;
};

/// A choice by measurement.
struct TuneFacts {
  LeverPhase phase = LeverPhase::none;
  QString error;
  QString chosen;
  bool changed = false;  ///< false: the default stays
  double gain = 0.0;
  double noise = 0.0;
  QString reason;
  std::vector<TunePickFact> picks;
  QStringList refused;
  QStringList kept;
  QString change;  ///< "- key: value" and "+ key: value" lines
  bool applied = false;
};

/// What is known of the levers so far.
struct LeversState {
  QString job;         ///< the model's name
  bool draws = false;  ///< results are pictures
  LeverPhase phase = LeverPhase::none;
  std::vector<LeverFact> rows;
  qint64 done = 0;
  qint64 total = 0;
  QString variant;     ///< that runs
  double share = 0.0;  ///< of it
  std::optional<double> seconds_left;
  QString error;
  bool can_resume = false;
  bool stale = false;  ///< the rows were measured with other settings than the present ones
  QString opened;      ///< the rows are of a file: its name, job and target; empty: measured here
  QString used;        ///< the variant whose settings were taken last; empty: none
  TuneFacts tune;
};

/// Measures what each lever brings the workload. Members and signals belong to the GUI thread.
class LeversService : public QObject {
  Q_OBJECT

 public:
  using QObject::QObject;
  [[nodiscard]] virtual const LeversState& state() const = 0;
  virtual void set_workload(const RunRequest& request) = 0;
  /// Measures the named variants as a job; JobControl::stop() stops it. `resume` keeps the rows that are there.
  /// Error: a job runs, or the workload cannot be measured.
  [[nodiscard]] virtual Expected<void> measure(const QStringList& names, int repeat, bool resume) = 0;
  /// Takes a variant's settings.
  virtual void use(const QString& name) = 0;
  /// Settings and choices as they were before the first use() since the last put_back().
  virtual void put_back() = 0;
  /// Shows the rows of a results file instead of what was measured here; state().error says what is wrong with it.
  virtual void open(const QString& path) = 0;
  /// As JSON, CSV or SVG, by the path's ending; saved() follows.
  virtual void save(const QString& path) = 0;
  [[nodiscard]] virtual Expected<void> tune(const TuneWish& wish) = 0;
  virtual void apply_tune() = 0;
  virtual void undo_tune() = 0;

 signals:
  void changed();
  /// Settings are about to be taken for this reason, "levers: backend:sage"; applied() follows.
  void applying(const QString& name);
  void applied();
  /// `error` is empty when it worked.
  void saved(const QString& path, const QString& error);
};

}  // namespace attn::ui
