// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/call_list/call_model.h"
#include "ui/route_table/table_list.h"
#include "ui/selection/selection.h"

class QStackedWidget;

namespace attn::ui {

/// The single calls of the run. New calls are followed while the end of the list is in view.
class CallList final : public TableList {
  Q_OBJECT

 public:
  CallList(Selection& selection, const Theme& theme, QWidget* parent = nullptr);

  void set_calls(const trace::CallView& calls);
  void set_filter(const Filter& filter);
  /// Shows the columns that compare with a run; null: hides them again.
  void set_changes(std::shared_ptr<const CallChanges> changes);
  void find(const Filter& filter, bool backwards) override;
  void reset_columns() override;
  void save(QSettings& settings) override;
  [[nodiscard]] CallModel& model() noexcept { return model_; }
  /// "1 000 of 1 609 calls · sorting"
  [[nodiscard]] QString facts() const;

 signals:
  void facts_changed();

 protected:
  [[nodiscard]] QString filter_of(const QModelIndex& cell) const override;
  [[nodiscard]] QString plain_text(const QModelIndex& cell) const override;
  [[nodiscard]] bool offers(int column) const override;

 private:
  void choose(const QModelIndex& current);
  void show_selection();
  void keep_place();
  void restore_place();
  void show_page();
  void show_changes();
  void hide_changes();
  [[nodiscard]] bool at_end() const;

  Selection& selection_;
  CallModel model_;
  QStackedWidget* stack_;
  bool compares_ = false;
  bool showing_ = false;   ///< the selection is being shown: what the view then says is not a person's choice
  std::int64_t top_ = -1;  ///< call in the first visible row before a reset; -1: the list was empty
};

}  // namespace attn::ui
