// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/call_list/call_order.h"
#include "ui/call_list/newest_worker.h"
#include "ui/link/postbox.h"
#include "ui/route_table/cell_roles.h"

#include <QAbstractTableModel>
#include <QElapsedTimer>
#include <QTimer>
#include <memory>
#include <vector>

namespace attn::ui {

/// The single calls of a run, millions of them. The model owns its order: an array of call numbers that is made on a
/// thread of its own and taken over whole, so that sorting and filtering never hold the window; there is no proxy.
/// Calls that arrive are added in one go where the order is theirs; a sorted list is made again a few times a second.
/// Text is made when it is shown.
class CallModel final : public QAbstractTableModel, public CellRoles {
  Q_OBJECT

 public:
  /// Calls that are filtered at once as they arrive; more of them go to the other thread.
  static constexpr std::size_t kAtOnce = 20'000;

  explicit CallModel(QObject* parent = nullptr);

  void set_calls(const trace::CallView& calls);
  void set_filter(const Filter& filter);
  /// What the last columns compare with; null: nothing.
  void set_changes(std::shared_ptr<const CallChanges> changes);
  /// What a view calls for a click on a header; -1: as they were made.
  void sort(int column, Qt::SortOrder order) override;
  /// Looks for a row from `row` on; found() answers.
  void find(const Filter& filter, int row, bool backwards);

  [[nodiscard]] const trace::CallView& calls() const noexcept { return calls_; }
  /// The number of the call in a row, and the row of a call; -1: the list does not have it.
  [[nodiscard]] std::size_t call_at(int row) const;
  [[nodiscard]] int row_of(std::size_t call) const;
  [[nodiscard]] CallAt at(int row) const;
  [[nodiscard]] bool is_plain() const noexcept { return query_.is_plain(); }
  [[nodiscard]] bool is_sorted() const noexcept { return query_.column.has_value(); }
  /// The order that was asked for is being made; what is shown is the one before.
  [[nodiscard]] bool is_busy() const noexcept { return busy_; }

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                    int role = Qt::DisplayRole) const override;

 signals:
  void busy_changed(bool busy);
  /// Row -1: none matches.
  void found(int row, qint64 place, qint64 count);

 private:
  void ask();
  void take(const trace::CallView& calls, std::vector<std::uint32_t> order);
  void append(const trace::CallView& calls);
  void start_over(const trace::CallView& calls);
  void set_busy(bool busy);

  trace::CallView calls_;   ///< what is shown
  trace::CallView newest_;  ///< what is known
  CallQuery query_;
  bool ordered_ = false;  ///< order_ holds the rows; else all calls are, as they were made
  std::vector<std::uint32_t> order_;
  std::unique_ptr<CallFilter> live_filter_;
  std::uint64_t question_ = 0;  ///< number of the newest one; answers to others are dropped
  bool busy_ = false;
  QTimer again_;  ///< when a sorted list takes in what came since
  QElapsedTimer asked_;
  Postbox postbox_;
  NewestWorker finder_;
  NewestWorker worker_;  ///< last: ends before what it posts to
};

}  // namespace attn::ui
