// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/filter/filter.h"
#include "ui/theme/theme.h"

#include <QTableView>
#include <QWidget>
#include <vector>

class QMenu;
class QSettings;
class QStyledItemDelegate;

namespace attn::ui {

/// What a column of a list begins with.
struct ListColumn {
  bool shown = true;
  int least = 60;  ///< pixels at 96 dpi
};

/// A table with everything that the tables of the window have in common: columns that are chosen, moved and kept, rows
/// that are copied as text or CSV, and a menu on each cell that filters by it.
class TableList : public QWidget {
  Q_OBJECT

 public:
  /// Rows that one copy takes at most, so that it stays a matter of a moment.
  static constexpr int kMostCopied = 5000;

  [[nodiscard]] QTableView* view() const noexcept { return view_; }
  /// Selected rows of the shown columns with a header line, to the clipboard: tab-separated as shown, or CSV (RFC 4180)
  /// with plain numbers.
  void copy_text() const;
  void copy_csv() const;
  /// The columns with a mark on each that is shown, into `menu`.
  void fill_columns_menu(QMenu* menu);
  virtual void reset_columns();
  virtual void save(QSettings& settings);
  void restore(const QSettings& settings);

  /// Selects the next or the previous row that `filter` matches, round the end.
  virtual void find(const Filter& filter, bool backwards) = 0;

 signals:
  /// A person wants to see only what a cell stands for, or anything but it.
  void filter_wanted(const QString& term, bool exclude);
  /// What a search came to: "3 of 17 …", or that there is none.
  void found(const QString& sentence);

 protected:
  TableList(const QString& name, QWidget* parent);
  void use(QAbstractItemModel* model, QStyledItemDelegate* delegate, std::vector<ListColumn> columns);
  /// Makes columns wide enough for what is there, once; where that is more than the room, `flexible` gives way down to
  /// its least.
  void fit_columns(int flexible);
  /// Shows a column behind another one, as wide as what is in it.
  void show_column(int column, int behind);
  /// Takes from the flexible column, down to its least, what the columns are wider than the room.
  void give_way();
  /// Whether a column can be chosen at present.
  [[nodiscard]] virtual bool offers(int column) const;
  [[nodiscard]] virtual QString filter_of(const QModelIndex& cell) const = 0;
  /// The plain value of a cell, for CSV.
  [[nodiscard]] virtual QString plain_text(const QModelIndex& cell) const = 0;
  /// More entries for the menu of a cell.
  virtual void add_entries(QMenu* menu, const QModelIndex& cell);
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  [[nodiscard]] std::vector<int> shown_columns() const;
  [[nodiscard]] std::vector<int> selected_rows() const;
  void show_menu(const QModelIndex& cell, const QPoint& where);

  QString name_;
  QTableView* view_;
  std::vector<ListColumn> columns_;
  int flexible_ = 0;
  bool fitted_ = false;  ///< widths were made for rows once; afterwards they belong to the person
};

}  // namespace attn::ui
