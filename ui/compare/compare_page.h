// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/compare/run_comparison.h"
#include "ui/compare/run_list.h"
#include "ui/preview/preview_service.h"
#include "ui/theme/theme.h"

#include <QWidget>
#include <optional>

class QAction;
class QLabel;
class QPushButton;
class QStackedWidget;
class QTabBar;
class QTableView;

namespace attn::ui {

class ChainDiffRow;
class ElidedLabel;
class EmptyState;
class FactTable;

/// The runs of the window, and one of them against the baseline: what was set differently, who serves now what
/// another served, time by role and by step, and how far the pictures are apart.
class ComparePage final : public QWidget {
  Q_OBJECT

 public:
  ComparePage(RunArchive& archive, const Engine& engine, const JobControl& jobs, PreviewService& pictures,
              const Theme& theme, QWidget* parent = nullptr);

  /// For the title strip: "3 runs · baseline #2".
  [[nodiscard]] QString facts() const;
  [[nodiscard]] QTableView& runs() noexcept { return *list_; }
  [[nodiscard]] const RunListModel& model() const noexcept { return model_; }
  /// What is shown; nullopt while there is nothing to compare.
  [[nodiscard]] const std::optional<RunComparison>& comparison() const noexcept { return comparison_; }

  /// "compare.show"; "compare.keep_baseline": the newest run; "compare.keep_selected": the one chosen in the list;
  /// "compare.drop_baseline", "compare.copy_report", "compare.copy_csv".
  [[nodiscard]] const QList<QAction*>& actions_of_page() const noexcept { return actions_; }
  /// Makes a run the baseline, or says why it cannot be one.
  void keep(int number);

 signals:
  void facts_changed(const QString& facts);
  /// Something is said here that a person has to see.
  void shown_wanted();

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  QWidget* make_bar();
  QWidget* make_runs(QWidget* parent);
  QWidget* make_pages(QWidget* parent);
  QWidget* make_summary(QWidget* parent);
  void make_actions();
  void fit_runs();
  void refresh();
  void show_comparison();
  void show_summary();
  void show_empty();
  void show_picture();
  void take_picture(const PictureComparison& comparison);
  void say(const QString& text, const char* look = "dim");
  [[nodiscard]] RunValue chosen() const;

  RunArchive& archive_;
  const Engine& engine_;
  const JobControl& jobs_;
  PreviewService& pictures_;
  const Theme& theme_;
  RunListModel model_;
  std::optional<RunComparison> comparison_;
  std::optional<PictureComparison> picture_;
  std::pair<int, int> pictures_of_{0, 0};  ///< numbers of the runs that picture_ compares
  bool follows_ = true;                    ///< the newest run is the one that is compared
  bool filling_ = false;

  QTableView* list_ = nullptr;
  QPushButton* keep_ = nullptr;
  ElidedLabel* state_ = nullptr;
  QStackedWidget* stack_ = nullptr;
  QLabel* empty_headline_ = nullptr;
  QLabel* empty_advice_ = nullptr;
  QTabBar* tabs_ = nullptr;
  QStackedWidget* pages_ = nullptr;
  QLabel* titles_ = nullptr;
  QLabel* sentence_ = nullptr;
  ChainDiffRow* chain_ = nullptr;
  FactTable* totals_ = nullptr;
  FactTable* settings_ = nullptr;
  FactTable* moved_ = nullptr;
  FactTable* parts_ = nullptr;
  QAction* keep_newest_ = nullptr;
  QAction* keep_selected_ = nullptr;
  QAction* drop_ = nullptr;
  QAction* copy_report_ = nullptr;
  QAction* copy_csv_ = nullptr;
  QList<QAction*> actions_;
};

}  // namespace attn::ui
