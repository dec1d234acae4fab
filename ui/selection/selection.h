// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "trace/calls/call_log.h"

#include <QObject>
#include <cstddef>
#include <optional>
#include <vector>

class QAction;
class QWidget;

namespace attn::ui {

/// A single call of a run.
struct SelectedCall {
  std::uint64_t run = 0;
  std::size_t index = 0;  ///< in the run's CallView
  trace::CallRecord record;
};

/// What is selected. A narrow part brings the wider ones: a call has its route, its step and its role.
struct Selected {
  std::optional<trace::RouteRow> route;
  std::optional<SelectedCall> call;
  std::optional<Role> role;
  std::optional<int> step;

  [[nodiscard]] bool same_as(const Selected& other) const;
  [[nodiscard]] bool nothing() const noexcept { return !route && !call && !role && !step; }
};

/// The one selection that all panels share, with the ones before it. Chosen anywhere, it is chosen everywhere; a run
/// that does not have the route keeps the choice, so that it is there again when the route is. GUI thread.
class Selection final : public QObject {
  Q_OBJECT

 public:
  static constexpr std::size_t kMostSteps = 200;

  explicit Selection(QObject* parent = nullptr);

  [[nodiscard]] const std::optional<trace::RouteRow>& route() const noexcept { return now_.route; }
  [[nodiscard]] const std::optional<SelectedCall>& call() const noexcept { return now_.call; }
  [[nodiscard]] const std::optional<Role>& role() const noexcept { return now_.role; }
  [[nodiscard]] const std::optional<int>& step() const noexcept { return now_.step; }

  /// A route; the step stays where the route has it. `origin` does not need to hear of it again.
  void choose(std::optional<trace::RouteRow> route, const QObject* origin);
  /// A route in one of its steps.
  void choose_in_step(const trace::RouteRow& route, int step, const QObject* origin);
  /// A single call of `route`.
  void choose_call(const SelectedCall& call, const trace::RouteRow& route, const QObject* origin);
  /// A step of a role; the route stays where it has that step.
  void choose_step(Role role, int step, const QObject* origin);
  void choose_role(Role role, const QObject* origin);

  /// Another run is shown: a call of the one before is none of this one, its route and step may well be.
  void set_run(std::uint64_t run);

  [[nodiscard]] bool can_go_back() const noexcept { return at_ > 0; }
  [[nodiscard]] bool can_go_forward() const noexcept { return at_ + 1 < trail_.size(); }
  void go_back() { go(-1); }
  void go_forward() { go(+1); }

  /// The actions "selection.back" and "selection.forward", Alt+Left and Alt+Right.
  [[nodiscard]] QAction* back_action() const noexcept { return back_; }
  [[nodiscard]] QAction* forward_action() const noexcept { return forward_; }
  /// Lets the actions and the mouse's two side buttons work everywhere in a window.
  void serve(QWidget* window);

 signals:
  /// `origin` caused it and shows it already; null when nobody does.
  void changed(const QObject* origin);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void choose(Selected next, const QObject* origin);
  void go(int steps);
  void show_actions();

  Selected now_;
  std::vector<Selected> trail_{Selected{}};  ///< what was selected, oldest first; now_ at at_
  std::size_t at_ = 0;
  std::uint64_t run_ = 0;
  QAction* back_;
  QAction* forward_;
  QWidget* window_ = nullptr;
};

}  // namespace attn::ui
