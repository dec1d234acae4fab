// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/levers/levers_service.h"
#include "ui/theme/theme.h"

#include <QAbstractTableModel>
#include <QHash>

namespace attn::ui {

/// The variants as rows, with a box each for whether it is to be measured. A row without figures has a sentence
/// instead, in the first figure's place, for a view that lets it span the others.
class LeversModel final : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { variant, seconds, speedup, memory, psnr, ssim, relative_l1, cosine };
  static constexpr int kColumns = 8;
  explicit LeversModel(const Theme& theme, QObject* parent = nullptr);

  void set_rows(const std::vector<LeverFact>& rows);
  [[nodiscard]] const std::vector<LeverFact>& rows() const noexcept { return rows_; }
  /// -1 where there is none of that name.
  [[nodiscard]] int row_of(const QString& name) const;
  /// Names of those with a tick, in order.
  [[nodiscard]] QStringList ticked() const;
  /// Every one of a group, or of all groups where `group` is empty.
  void tick(const QString& group, bool on);

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  bool setData(const QModelIndex& index, const QVariant& value, int role) override;
  [[nodiscard]] Qt::ItemFlags flags(const QModelIndex& index) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 signals:
  void ticks_changed();

 private:
  [[nodiscard]] bool is_ticked(const LeverFact& row) const;
  [[nodiscard]] QString figure(const LeverFact& row, int column) const;

  const Theme& theme_;
  std::vector<LeverFact> rows_;
  QHash<QString, bool> ticks_;  ///< where somebody said otherwise
};

/// "skipped: ...", "measuring …"; empty for a measured row and one that waits.
[[nodiscard]] QString outcome_of(const LeverFact& row);

/// "transformer: 1 596 calls, 25.4 s (baseline 30.1 s), relative L1 0.0071, cosine 0.99998" for each role.
[[nodiscard]] QString role_lines(const LeverFact& row);

}  // namespace attn::ui
