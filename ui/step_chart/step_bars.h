// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "trace/routes/route_table.h"

#include <QRectF>
#include <QString>
#include <vector>

namespace attn::ui {

/// What one bar of the chart stands for: a step of the transformer, or everything of another role.
struct StepBar {
  struct Part {
    QString backend;
    double value = 0.0;  ///< seconds or calls
    friend bool operator==(const Part&, const Part&) = default;
  };
  Role role = Role::transformer;
  int step = 0;
  std::vector<Part> parts;  ///< in the order of first sighting in the run
  double total = 0.0;
  double budget = 0.0;  ///< share of the tiles kept by the sparse calls of the step; 0: it had none
  friend bool operator==(const StepBar&, const StepBar&) = default;
};

/// The bars of a run, text encoders first, then the steps, then the VAE; and where they lie in a rectangle.
/// Plain data, no widget.
class StepBars {
 public:
  StepBars() = default;
  explicit StepBars(const trace::TraceSnapshot& run);

  [[nodiscard]] const std::vector<StepBar>& bars() const noexcept { return bars_; }
  [[nodiscard]] const std::vector<QString>& backends() const noexcept { return backends_; }
  /// Every route was timed, if only by one of its calls; else bars count calls.
  [[nodiscard]] bool in_seconds() const noexcept { return in_seconds_; }
  /// Seconds are scaled from calls that stand for others.
  [[nodiscard]] bool scaled() const noexcept { return scaled_; }
  [[nodiscard]] double peak() const noexcept { return peak_; }

  /// Keeps room for bars that are still to come, so that those that are there do not move when they come.
  void expect(std::size_t bars) noexcept { expected_ = bars; }

  /// Steps of the run that have no bar yet, as far as they are known.
  [[nodiscard]] std::size_t missing() const noexcept { return expected_ > bars_.size() ? expected_ - bars_.size() : 0; }
  /// The bar of a step of the transformer, or of another role; -1 for none.
  [[nodiscard]] int find(Role role, int step) const;

  /// Left edge and width of bar `at` in `plot`, whatever its height. `at` may be one of the missing().
  [[nodiscard]] QRectF column(std::size_t at, const QRectF& plot) const;
  /// Index of the bar whose column holds x; -1 for none.
  [[nodiscard]] int at(double x, const QRectF& plot) const;

 private:
  [[nodiscard]] double pitch(const QRectF& plot) const;

  std::vector<StepBar> bars_;
  std::vector<QString> backends_;
  bool in_seconds_ = false;
  bool scaled_ = false;
  double peak_ = 0.0;
  std::size_t expected_ = 0;
};

}  // namespace attn::ui
