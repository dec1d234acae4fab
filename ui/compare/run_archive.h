// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/compare/route_match.h"
#include "ui/link/settings_history.h"
#include "ui/preview/preview_service.h"
#include "ui/services.h"

#include <QDateTime>
#include <QObject>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace attn::ui {

/// A run of the window that has ended, with everything that made it. Never changed afterwards.
struct ArchivedRun {
  int number = 0;  ///< from 1, counted over all runs of the window
  RunRequest request;
  QString model;               ///< its name
  SettingsPoint settings;      ///< as the run began with
  std::vector<QString> chain;  ///< in the order in which it was asked, the last one too
  trace::TraceSnapshot trace;
  CallTime time;        ///< of all its calls
  MadePicture picture;  ///< no image where the run did not draw or did not finish
  QDateTime ended;
  RunEnd end;
  QString where;  ///< of a run that did not finish: "stopped at step 5 of 20"

  [[nodiscard]] bool finished() const noexcept { return end.outcome == RunEnd::Outcome::finished; }
  /// "#3 FLUX.1 dev · sage, flash · 2.31 s"; where it stopped instead of a time that is none.
  [[nodiscard]] QString title() const;
  /// "2.31 s", "≈ 25.4 s" from representatives, "planned", "stopped at step 5 of 20", "failed: …".
  [[nodiscard]] QString outcome() const;
  /// "sage, flash": without the last one, which takes what the others declined.
  [[nodiscard]] QString chain_names() const;
  /// Memory that it takes, about.
  [[nodiscard]] std::size_t bytes() const;
};
using RunValue = std::shared_ptr<const ArchivedRun>;

/// Every run of the window that has ended, the newest last, and the one that others are compared with. Bounded by
/// count and by memory: the oldest that is neither the baseline nor the newest goes first. GUI thread.
class RunArchive final : public QObject {
  Q_OBJECT

 public:
  static constexpr std::size_t kMostRuns = 64;
  static constexpr std::size_t kMostBytes = std::size_t{96} << 20;

  /// Everything referred to outlives this. `most_runs` and `most_bytes` are for tests.
  RunArchive(const Engine& engine, const JobControl& jobs, const TraceSource& trace, const PreviewService& pictures,
             QObject* parent = nullptr, std::size_t most_runs = kMostRuns, std::size_t most_bytes = kMostBytes);

  /// A run of this request has just been started: the next end of a job is its end.
  void begin(const RunRequest& request);

  [[nodiscard]] const std::deque<RunValue>& runs() const noexcept { return runs_; }
  /// Null: no run has this number, or no longer.
  [[nodiscard]] RunValue find(int number) const;
  /// The run that is in view or was last; null before the first has ended.
  [[nodiscard]] RunValue newest() const { return runs_.empty() ? nullptr : runs_.back(); }
  /// The settings of the run in view, also while it runs; nullopt before the first.
  [[nodiscard]] const std::optional<SettingsPoint>& settings_in_view() const noexcept { return in_view_; }
  [[nodiscard]] const RunValue& baseline() const noexcept { return baseline_; }
  /// Error: a sentence that says why this run cannot be one.
  [[nodiscard]] Expected<void> keep(int number);
  /// The run that made this picture becomes the baseline; where none is known there is no baseline run.
  void keep_picture(const MadePicture& picture);
  void drop_baseline();
  /// Why a run cannot be a baseline: a sentence; empty when it can.
  [[nodiscard]] static QString problem_of(const ArchivedRun& run);

 signals:
  /// A run was added, and perhaps older ones went.
  void changed();
  void baseline_changed();

 private:
  void take_end(const RunEnd& end);
  [[nodiscard]] QString where_it_was(const ArchivedRun& run) const;
  void make_room();

  const Engine& engine_;
  const JobControl& jobs_;
  const TraceSource& trace_;
  const PreviewService& pictures_;
  const std::size_t most_runs_;
  const std::size_t most_bytes_;
  std::optional<ArchivedRun> running_;
  RunProgress progress_;
  std::optional<SettingsPoint> in_view_;
  std::deque<RunValue> runs_;
  RunValue baseline_;
  int last_number_ = 0;
};

}  // namespace attn::ui
