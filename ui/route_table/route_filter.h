// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QSortFilterProxyModel>
#include <QStringList>

namespace attn::ui {

/// Keeps rows that contain every word of a filter line, in any column, and none of the words written with a minus.
/// Distinct routes are few, so a sorting proxy is right here.
class RouteFilter final : public QSortFilterProxyModel {
  Q_OBJECT

 public:
  explicit RouteFilter(QObject* parent = nullptr);
  void set_line(const QString& line);

 protected:
  [[nodiscard]] bool filterAcceptsRow(int row, const QModelIndex& parent) const override;

 private:
  QStringList wanted_;
  QStringList unwanted_;
};

}  // namespace attn::ui
