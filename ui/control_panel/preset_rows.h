// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/control_panel/preset_service.h"
#include "ui/theme/theme.h"

#include <QWidget>

class QComboBox;
class QFileDialog;
class QLabel;
class QLineEdit;
class QPushButton;
class QToolButton;

namespace attn::ui {

/// The presets: one list to choose from, what the chosen one does, a star once the settings differ from it, and a menu
/// to save, rename, delete, import and export.
class PresetRows final : public QWidget {
  Q_OBJECT

 public:
  PresetRows(PresetService& service, const Theme& theme, QWidget* parent = nullptr);

  /// For the heading: "sparse 30 % *".
  [[nodiscard]] QString note() const;
  /// Whether the rows say anything of `needle`, which is lower case.
  [[nodiscard]] bool matches(const QString& needle) const;

 signals:
  void changed();

 private:
  enum class Asking { nothing, save_as, rename, remove };
  void make_menu();
  void make_question();
  void refresh();
  void fill_list();
  void ask(Asking what);
  void answer();
  void choose_file(bool import);
  [[nodiscard]] const PresetFact* chosen() const;

  PresetService& service_;
  const Theme& theme_;
  Asking asking_ = Asking::nothing;
  QStringList listed_;
  QComboBox* list_;
  QToolButton* more_;
  QLabel* about_;
  QWidget* question_;
  QLabel* prompt_;
  QLineEdit* name_;
  QPushButton* yes_;
  QLabel* problem_;
  QAction* save_;
  QAction* rename_;
  QAction* remove_;
  QAction* export_;
};

}  // namespace attn::ui
