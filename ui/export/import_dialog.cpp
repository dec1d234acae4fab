// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/export/import_dialog.h"

#include "ui/format/format.h"
#include "ui/theme/theme.h"

#include <QFileDialog>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QVBoxLayout>

namespace attn::ui {

ImportDialog::ImportDialog(ExportService& service, QWidget* parent) : QDialog(parent), service_(service) {
  setObjectName("import_dialog");
  setWindowTitle(tr("Import from SD.Next"));
  resize(640, 400);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(16, 14, 16, 14);
  column->setSpacing(10);
  auto* row = new QHBoxLayout;
  row->setSpacing(10);
  path_ = new QLineEdit(this);
  path_->setObjectName("import_path");
  path_->setPlaceholderText(tr("Path of a config.json"));
  auto* label = new QLabel(tr("&File"), this);
  label->setBuddy(path_);
  auto* browse_button = new QPushButton(tr("Browse…"), this);
  row->addWidget(label);
  row->addWidget(path_, 1);
  row->addWidget(browse_button);
  column->addLayout(row);
  summary_ =
      new QLabel(tr("The attention settings of the file replace those of this window, all of them or none."), this);
  summary_->setObjectName("import_summary");
  summary_->setWordWrap(true);
  set_look(summary_, "dim");
  column->addWidget(summary_);
  lines_ = new QPlainTextEdit(this);
  lines_->setObjectName("import_lines");
  lines_->setReadOnly(true);
  lines_->setAccessibleName(tr("What the import did"));
  set_look(lines_, "diff");
  column->addWidget(lines_, 1);
  auto* buttons = new QHBoxLayout;
  buttons->setSpacing(8);
  buttons->addStretch(1);
  auto* close = new QPushButton(tr("Close"), this);
  close->setAutoDefault(false);
  import_ = new QPushButton(tr("Import"), this);
  import_->setObjectName("import_run");
  import_->setDefault(true);
  import_->setEnabled(false);
  set_look(import_, "primary");
  buttons->addWidget(close);
  buttons->addWidget(import_);
  column->addLayout(buttons);

  connect(path_, &QLineEdit::textChanged, this,
          [this](const QString& text) { import_->setEnabled(!text.trimmed().isEmpty()); });
  connect(browse_button, &QPushButton::clicked, this, &ImportDialog::browse);
  connect(close, &QPushButton::clicked, this, &QDialog::reject);
  connect(import_, &QPushButton::clicked, this, [this] {
    import_->setEnabled(false);
    service_.import(path_->text().trimmed());
  });
  connect(&service_, &ExportService::imported, this, &ImportDialog::show_result);
}

void ImportDialog::browse() {
  auto* dialog = new QFileDialog(this, tr("SD.Next config.json"), path_->text(), tr("JSON (*.json);;All files (*)"));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setFileMode(QFileDialog::ExistingFile);
  connect(dialog, &QFileDialog::fileSelected, path_, &QLineEdit::setText);
  dialog->open();
}

void ImportDialog::show_result(const ImportResult& result) {
  import_->setEnabled(true);
  if (!result.problems.isEmpty()) {
    set_look(summary_, "bad");
    summary_->setText(tr("Nothing was imported: %1.").arg(counted(result.problems.size(), tr("problem"))));
    lines_->setPlainText(result.problems.join('\n'));
    return;
  }
  set_look(summary_, "ok");
  summary_->setText(result.applied.isEmpty()
                        ? tr("The file holds the settings of this window already.")
                        : tr("Imported: %1 changed.").arg(counted(result.applied.size(), tr("setting"))));
  lines_->setPlainText((result.applied + result.notes).join('\n'));
}

}  // namespace attn::ui
