// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/filter/filter_line.h"

#include <QToolButton>

class QSettings;

namespace attn::ui {

/// A filter with a name.
struct SavedFilter {
  QString name;
  QString line;
  friend bool operator==(const SavedFilter&, const SavedFilter&) = default;
};

/// The button beside a filter line: filters that everybody needs now and then, those that the person saved, and the
/// way to save and to forget one.
class SavedFilters final : public QToolButton {
  Q_OBJECT

 public:
  SavedFilters(FilterLine& line, QWidget* parent = nullptr);

  [[nodiscard]] const std::vector<SavedFilter>& saved() const noexcept { return saved_; }
  /// Keeps a line under a name; one of that name before is replaced. A line with an error is not kept.
  bool keep(const QString& name, const QString& line);
  void forget(const QString& name);
  void save(QSettings& settings) const;
  void restore(const QSettings& settings);

 private:
  void make_menu();
  void ask_name();

  FilterLine& line_;
  std::vector<SavedFilter> saved_;
};

}  // namespace attn::ui
