// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/timeline/timeline_view.h"

#include <QWidget>

class QComboBox;
class QStackedWidget;
class QToolButton;

namespace attn::ui {

class BackendLegend;

/// The timeline with its few buttons.
class TimelinePanel final : public QWidget {
  Q_OBJECT

 public:
  TimelinePanel(Selection& selection, const Theme& theme, QWidget* parent = nullptr);

  /// While the panel is hidden the newest calls wait for it.
  void set_calls(const trace::CallView& calls);
  [[nodiscard]] TimelineView& view() noexcept { return *view_; }
  /// What the run is against another one, shown beside the keys; empty: nothing.
  void set_note(const QString& note);
  /// For the title strip.
  [[nodiscard]] QString facts() const;

 signals:
  void facts_changed(const QString& facts);

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  void take();
  void show_legend();
  void choose_axis();

  trace::CallView newest_;
  QString note_;
  QStackedWidget* stack_;
  TimelineView* view_;
  BackendLegend* legend_;
  QComboBox* axis_;
  QToolButton* follow_;
  std::size_t known_kinds_ = 0;
  bool axis_chosen_ = false;  ///< by the person; else time where every call has one
};

}  // namespace attn::ui
