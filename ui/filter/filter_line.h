// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/filter/filter_completion.h"
#include "ui/filter/filter_parser.h"
#include "ui/theme/theme.h"

#include <QTimer>
#include <QWidget>

class QCompleter;
class QLineEdit;
class QStandardItemModel;

namespace attn::ui {

class ElidedLabel;

/// A field for a filter with completion: fields are coloured, an error is underlined where it is and said below in one
/// sentence, and what was right last stays in force until the line is right again.
class FilterLine final : public QWidget {
  Q_OBJECT

 public:
  /// `name` becomes the field's object name.
  FilterLine(const QString& name, const QString& placeholder, const Theme& theme, QWidget* parent = nullptr);

  [[nodiscard]] QString line() const;
  /// Takes effect at once.
  void set_line(const QString& line);
  /// Adds a term to what is written, or its opposite.
  void add_term(const QString& term, bool exclude);
  /// Values that completion offers; asked when they are needed.
  void set_values(ValuesOf values) { values_ = std::move(values); }
  [[nodiscard]] const Filter& filter() const noexcept { return filter_; }
  [[nodiscard]] const std::optional<FilterError>& error() const noexcept { return error_; }
  [[nodiscard]] QLineEdit& field() noexcept { return *field_; }
  void focus();
  /// The sentence about an error, for a layout with more room for it than below the field.
  [[nodiscard]] QWidget* take_message();

 signals:
  /// A line without error took effect.
  void filter_changed(const attn::ui::Filter& filter);
  /// Return was pressed; with Shift, backwards.
  void confirmed(bool backwards);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void apply();
  void show_formats(const ParsedFilter& parsed);
  void offer();
  void take_choice(const QModelIndex& choice);

  const Theme& theme_;
  QLineEdit* field_;
  ElidedLabel* message_;
  QCompleter* completer_;
  QStandardItemModel* choices_;
  FilterCompletion completion_;
  ValuesOf values_;
  Filter filter_;
  std::optional<FilterError> error_;
  QTimer rest_;  ///< a line takes effect when the keys have rested a moment
};

}  // namespace attn::ui
