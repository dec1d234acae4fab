// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/levers/levers_model.h"
#include "ui/levers/levers_service.h"
#include "ui/services.h"
#include "ui/theme/theme.h"

#include <QWidget>

class QLabel;
class QMenu;
class QProgressBar;
class QPushButton;
class QSpinBox;
class QStackedWidget;
class QTableView;

namespace attn::ui {

class ElidedLabel;
class LeversPlot;
class TuneDialog;

/// What each lever brings the workload: variants with a tick each, measured as a job; a table, time against quality
/// beside it, and the settings of a row to take.
class LeversPage final : public QWidget {
  Q_OBJECT

 public:
  LeversPage(LeversService& service, JobControl& jobs, const Theme& theme, QWidget* parent = nullptr);

  [[nodiscard]] LeversModel& model() noexcept { return model_; }
  [[nodiscard]] LeversPlot& plot() noexcept { return *plot_; }
  [[nodiscard]] QTableView& table() noexcept { return *table_; }
  /// For the title strip: "FLUX.1 dev · 4 of 31 measured".
  [[nodiscard]] QString facts() const;
  TuneDialog* open_tune();
  void save_to(const QString& path);

 signals:
  void facts_changed(const QString& facts);

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  void make_bar();
  void make_body();
  void make_table(QWidget* parent);
  void fill_tick_menu();
  void measure(bool resume);
  void browse_save();
  void refresh();
  void show_state();
  void show_detail();
  [[nodiscard]] const LeverFact* selected() const;
  QPushButton* button(const char* name, const QString& text, const QString& tip);

  LeversService& service_;
  JobControl& jobs_;
  const Theme& theme_;
  LeversModel model_;
  QPushButton* run_;
  QPushButton* stop_;
  QPushButton* resume_;
  QPushButton* ticks_;
  QMenu* tick_menu_;
  QSpinBox* repeat_;
  QPushButton* use_;
  QPushButton* back_;
  QPushButton* save_;
  QPushButton* tune_;
  ElidedLabel* state_;
  QProgressBar* bar_;
  QStackedWidget* stack_;
  QTableView* table_;
  LeversPlot* plot_;
  QLabel* detail_;
  QString refused_;
  TuneDialog* dialog_ = nullptr;
};

}  // namespace attn::ui
