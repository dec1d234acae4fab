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

namespace attn::ui {

class DiffView;

/// Writes the settings into an SD.Next config.json: the file, the form, what would change, what cannot be said, and
/// nothing is written before the button is pressed. Every other key of the file is kept.
class ExportDialog final : public QDialog {
  Q_OBJECT

 public:
  ExportDialog(ExportService& service, const Theme& theme, QWidget* parent = nullptr);

  void set_path(const QString& path);
  [[nodiscard]] QString path() const;

 private:
  void browse();
  void ask_preview();
  void show_preview(const ExportPreview& preview);
  void show_written(const ExportResult& result);
  void say(const QString& text, const char* look);
  [[nodiscard]] ConfigForm form() const;

  ExportService& service_;
  QLineEdit* path_;
  QComboBox* form_;
  QLabel* summary_;
  DiffView* diff_;
  QLabel* losses_;
  QLabel* message_;
  QPushButton* write_;
  QTimer typing_;
};

}  // namespace attn::ui
