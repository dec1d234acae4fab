// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/services.h"

#include <QDialog>

class QLabel;
class QLineEdit;
class QPlainTextEdit;
class QPushButton;

namespace attn::ui {

/// Takes the settings out of an SD.Next config.json. All or nothing; what is wrong is listed by name.
class ImportDialog final : public QDialog {
  Q_OBJECT

 public:
  explicit ImportDialog(ExportService& service, QWidget* parent = nullptr);

 private:
  void browse();
  void show_result(const ImportResult& result);

  ExportService& service_;
  QLineEdit* path_;
  QLabel* summary_;
  QPlainTextEdit* lines_;
  QPushButton* import_;
};

}  // namespace attn::ui
