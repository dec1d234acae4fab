// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/theme/theme.h"

#include <QAbstractTableModel>
#include <QTableView>
#include <vector>

namespace attn::ui {

/// One cell of a table of facts.
struct Fact {
  QString text;
  Ink ink = Ink::text;
  QString tip{};
  bool strong = false;
  bool number = false;  ///< right aligned
  friend bool operator==(const Fact&, const Fact&) = default;
};
using FactRow = std::vector<Fact>;

/// Rows of text under headings.
class FactModel final : public QAbstractTableModel {
  Q_OBJECT

 public:
  FactModel(const Theme& theme, QStringList headings, QObject* parent = nullptr);

  void set_rows(std::vector<FactRow> rows);
  [[nodiscard]] const std::vector<FactRow>& rows() const noexcept { return rows_; }

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  const Theme& theme_;
  QStringList headings_;
  std::vector<FactRow> rows_;
};

/// A read-only table whose texts are wrapped, never cut. Columns are as wide as their texts within a share of the
/// room; the last one takes what is left, or the first where the last holds numbers. Ctrl+C copies the selected rows.
class FactTable final : public QTableView {
  Q_OBJECT

 public:
  FactTable(const Theme& theme, const QStringList& headings, QWidget* parent = nullptr);

  void set_rows(std::vector<FactRow> rows);
  [[nodiscard]] const std::vector<FactRow>& rows() const noexcept { return model_.rows(); }
  /// As high as all its rows, for a page that scrolls; otherwise at most `pixels` high and as low as its rows.
  void show_all_rows();
  void limit_height(int pixels);
  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override { return {160, 60}; }

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  void fit();
  [[nodiscard]] std::vector<int> wishes() const;
  [[nodiscard]] int longest_word(int column) const;
  [[nodiscard]] int rows_height() const;

  FactModel model_;
  int most_ = 0;      ///< pixels; 0: no limit of its own
  bool all_ = false;  ///< no scroll bar of its own
};

}  // namespace attn::ui
