// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/filter/filter.h"
#include "ui/theme/theme.h"

#include <QStringList>
#include <QTableView>
#include <QWidget>
#include <vector>

class QMenu;
class QSettings;

namespace attn::ui {

class RouteDelegate;

/// What a column of a list begins with.
struct ListColumn {
  bool shown = true;
  int least = 60;  ///< pixels at 96 dpi
};

/// What a table gives up where its columns are wider than its room.
struct GivesWay {
  int column = 0;
  int width = 0;  ///< it becomes as narrow as this; 0: it is left out
};

/// A table with everything that the tables of the window have in common: columns that are chosen, moved and kept, rows
/// that are copied as text or CSV, and a menu on each cell that filters by it. In a small window columns give way, in
/// an order that is set, rather than the table scrolling sideways; those that a person asks for stay.
class TableList : public QWidget {
  Q_OBJECT

 public:
  /// Rows that one copy takes at most, so that it stays a matter of a moment.
  static constexpr int kMostCopied = 5000;

  [[nodiscard]] QTableView* view() const noexcept { return view_; }
  /// Selected rows of the chosen columns, those without room too, with a header line, to the clipboard: tab-separated
  /// as shown, or CSV (RFC 4180) with plain numbers.
  void copy_text() const;
  void copy_csv() const;
  /// The columns with a mark on each that is shown, into `menu`.
  void fill_columns_menu(QMenu* menu);
  virtual void reset_columns();
  /// Whether a column is wanted, be there room for it or not.
  [[nodiscard]] bool is_chosen(int column) const { return chosen_[static_cast<std::size_t>(column)]; }
  /// Titles of chosen columns that have no room.
  [[nodiscard]] QStringList without_room() const;
  virtual void save(QSettings& settings);
  void restore(const QSettings& settings);

  /// Selects the next or the previous row that `filter` matches, round the end.
  virtual void find(const Filter& filter, bool backwards) = 0;

 signals:
  /// A person wants to see only what a cell stands for, or anything but it.
  void filter_wanted(const QString& term, bool exclude);
  /// What a search came to: "3 of 17 …", or that there is none.
  void found(const QString& sentence);
  /// without_room() is another.
  void room_changed();

 protected:
  TableList(const QString& name, QWidget* parent);
  void use(QAbstractItemModel* model, RouteDelegate* delegate, std::vector<ListColumn> columns);
  /// What gives way, the first first.
  void set_giving(std::vector<GivesWay> giving);
  /// Makes columns wide enough for what is there, once.
  void fit_columns();
  /// Chooses a column, behind another one, as wide as what is in it.
  void show_column(int column, int behind);
  void hide_column(int column);
  /// Makes a column at least so wide where there is room.
  void widen(int column, int width);
  /// Whether a column can be chosen at present.
  [[nodiscard]] virtual bool offers(int column) const;
  [[nodiscard]] virtual QString filter_of(const QModelIndex& cell) const = 0;
  /// The plain value of a cell, for CSV.
  [[nodiscard]] virtual QString plain_text(const QModelIndex& cell) const = 0;
  /// More entries for the menu of a cell.
  virtual void add_entries(QMenu* menu, const QModelIndex& cell);
  bool eventFilter(QObject* watched, QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  [[nodiscard]] std::vector<int> chosen_columns() const;
  void choose(int column, bool chosen);
  [[nodiscard]] int wished(int column) const;
  void fit_room();
  void show_all();
  [[nodiscard]] std::vector<int> selected_rows() const;
  void show_menu(const QModelIndex& cell, const QPoint& where);

  QString name_;
  QTableView* view_;
  std::vector<ListColumn> columns_;
  std::vector<GivesWay> giving_;
  std::vector<char> chosen_;
  std::vector<char> kept_;   ///< a person asked for it or set its width: it does not give way
  std::vector<int> widths_;  ///< where there is room
  bool fitted_ = false;      ///< widths were made for rows once; afterwards they belong to the person
  bool fitting_ = false;     ///< a width that changes now is not a person's
};

}  // namespace attn::ui
