// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/services.h"
#include "ui/theme/theme.h"

#include <QDialog>
#include <QTimer>

class QComboBox;
class QLabel;
class QLineEdit;
class QPushButton;
class QStackedWidget;

namespace attn::ui {

class FactTable;
class FormatOptions;

/// Takes settings out of a file of any format: what would change is shown first, then applied, all or nothing, and can
/// be put back. What is wrong is listed by name. A file may be dropped onto it.
class ImportDialog final : public QDialog {
  Q_OBJECT

 public:
  ImportDialog(ExportService& service, const Theme& theme, QWidget* parent = nullptr);

  void set_path(const QString& path);
  void set_steps(int steps);

 private:
  void make_fields();
  void make_lists(const Theme& theme);
  void make_buttons();
  void browse();
  void ask_preview();
  void show_preview(const ImportPreview& preview);
  void show_result(const ImportResult& result);
  void show_changes(const std::vector<ImportChange>& changes);
  void say(const QString& text, const char* look);
  [[nodiscard]] const ExchangeFormat* chosen() const;

  ExportService& service_;
  ImportPreview shown_;
  bool putting_back_ = false;
  QLineEdit* path_;
  QComboBox* format_;
  FormatOptions* options_;
  QLabel* summary_;
  QStackedWidget* stack_;
  FactTable* changes_;
  FactTable* notes_;
  QPushButton* put_back_;
  QPushButton* apply_;
  QTimer typing_;
};

}  // namespace attn::ui
