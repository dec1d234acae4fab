// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/policy/policy_service.h"
#include "ui/theme/theme.h"

#include <QWidget>
#include <vector>

class QCheckBox;
class QComboBox;
class QGridLayout;
class QLabel;

namespace attn::ui {

class ChangeMark;

/// What is asked of `attention_backend`: for all and by role, with its strictness, the speed profile, and what each
/// choice comes to on the target, in words.
class PolicyRows final : public QWidget {
  Q_OBJECT

 public:
  PolicyRows(PolicyService& service, const Theme& theme, QWidget* parent = nullptr);

  /// Edited: the running job began with something else. Changed: not the default.
  [[nodiscard]] bool is_edited() const;
  [[nodiscard]] bool is_changed() const;
  /// For the heading.
  [[nodiscard]] QString note() const;
  /// Whether the rows say anything of `needle`, which is lower case.
  [[nodiscard]] bool matches(const QString& needle) const;

 private:
  struct Row {
    std::optional<Role> role;  ///< nullopt: all
    ChangeMark* edited;
    ChangeMark* changed;
    QComboBox* backend;
    QComboBox* strict;
    QLabel* outcome;  ///< null for all
    QLabel* detail;   ///< null for all
  };
  void add_row(QGridLayout* grid, std::optional<Role> role);
  void add_speed(QGridLayout* grid);
  void refresh();
  void show_row(Row& row);
  void choose(const AttentionChoices& choices);
  void choose_backend(const Row& row, const QString& name);
  void choose_strict(const Row& row, int at);
  /// What stands in `from` for a row, put into `to`.
  static void copy_row(const Row& row, const AttentionChoices& from, AttentionChoices& to);

  PolicyService& service_;
  const Theme& theme_;
  std::vector<Row> rows_;
  ChangeMark* speed_edited_ = nullptr;
  ChangeMark* speed_changed_ = nullptr;
  QCheckBox* speed_ = nullptr;
  QLabel* pending_;
  QLabel* refused_;
};

}  // namespace attn::ui
