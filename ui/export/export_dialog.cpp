// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/export/export_dialog.h"

#include "ui/export/diff_view.h"
#include "ui/format/format.h"

#include <QComboBox>
#include <QFileDialog>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QVBoxLayout>

namespace attn::ui {

ExportDialog::ExportDialog(ExportService& service, const Theme& theme, QWidget* parent)
    : QDialog(parent), service_(service) {
  setObjectName("export_dialog");
  setWindowTitle(tr("Export to SD.Next"));
  resize(760, 560);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(16, 14, 16, 14);
  column->setSpacing(10);

  auto* grid = new QGridLayout;
  grid->setHorizontalSpacing(10);
  grid->setVerticalSpacing(8);
  path_ = new QLineEdit(this);
  path_->setObjectName("export_path");
  path_->setPlaceholderText(tr("Path of a config.json, there or not"));
  auto* browse_button = new QPushButton(tr("Browse…"), this);
  form_ = new QComboBox(this);
  form_->setObjectName("export_form");
  form_->addItem(tr("as the file has it"), static_cast<int>(ConfigForm::as_file));
  form_->addItem(tr("overrides: sdp_overrides, several backends"), static_cast<int>(ConfigForm::overrides));
  form_->addItem(tr("selector: cross_attention_optimization, one backend"), static_cast<int>(ConfigForm::selector));
  form_->setToolTip(tr("Newer versions of SD.Next keep one attention method instead of a list of overrides"));
  auto* path_label = new QLabel(tr("&File"), this);
  path_label->setBuddy(path_);
  auto* form_label = new QLabel(tr("F&orm"), this);
  form_label->setBuddy(form_);
  grid->addWidget(path_label, 0, 0);
  grid->addWidget(path_, 0, 1);
  grid->addWidget(browse_button, 0, 2);
  grid->addWidget(form_label, 1, 0);
  grid->addWidget(form_, 1, 1, 1, 2);
  column->addLayout(grid);

  summary_ = new QLabel(tr("Choose a file to see what would change."), this);
  summary_->setObjectName("export_summary");
  set_look(summary_, "dim");
  column->addWidget(summary_);
  diff_ = new DiffView(theme, this);
  diff_->setObjectName("export_diff");
  diff_->setAccessibleName(tr("What would change"));
  column->addWidget(diff_, 1);
  losses_ = new QLabel(this);
  losses_->setObjectName("export_losses");
  losses_->setWordWrap(true);
  set_look(losses_, "pending");
  losses_->hide();
  column->addWidget(losses_);
  message_ = new QLabel(this);
  message_->setObjectName("export_message");
  message_->setWordWrap(true);
  message_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  message_->hide();
  column->addWidget(message_);

  auto* buttons = new QHBoxLayout;
  buttons->setSpacing(8);
  buttons->addStretch(1);
  auto* close = new QPushButton(tr("Close"), this);
  close->setAutoDefault(false);
  write_ = new QPushButton(tr("Write"), this);
  write_->setObjectName("export_write");
  write_->setEnabled(false);
  write_->setDefault(true);
  write_->setToolTip(tr("Writes the file in one step, with a copy of it as it was beside it"));
  set_look(write_, "primary");
  buttons->addWidget(close);
  buttons->addWidget(write_);
  column->addLayout(buttons);

  typing_.setSingleShot(true);
  typing_.setInterval(250);
  connect(&typing_, &QTimer::timeout, this, &ExportDialog::ask_preview);
  connect(path_, &QLineEdit::textChanged, this, [this] {
    write_->setEnabled(false);
    typing_.start();
  });
  connect(form_, &QComboBox::currentIndexChanged, this, &ExportDialog::ask_preview);
  connect(browse_button, &QPushButton::clicked, this, &ExportDialog::browse);
  connect(close, &QPushButton::clicked, this, &QDialog::reject);
  connect(write_, &QPushButton::clicked, this, [this] {
    write_->setEnabled(false);
    service_.write(path(), form());
  });
  connect(&service_, &ExportService::previewed, this, &ExportDialog::show_preview);
  connect(&service_, &ExportService::written, this, &ExportDialog::show_written);
}

void ExportDialog::set_path(const QString& path) {
  path_->setText(path);
  typing_.stop();
  ask_preview();
}

QString ExportDialog::path() const { return path_->text().trimmed(); }

ConfigForm ExportDialog::form() const { return static_cast<ConfigForm>(form_->currentData().toInt()); }

void ExportDialog::browse() {
  auto* dialog = new QFileDialog(this, tr("SD.Next config.json"), path(), tr("JSON (*.json);;All files (*)"));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setFileMode(QFileDialog::AnyFile);
  dialog->setLabelText(QFileDialog::Accept, tr("Choose"));
  connect(dialog, &QFileDialog::fileSelected, this, &ExportDialog::set_path);
  dialog->open();
}

void ExportDialog::ask_preview() {
  write_->setEnabled(false);
  if (path().isEmpty()) {
    summary_->setText(tr("Choose a file to see what would change."));
    diff_->clear();
    losses_->hide();
    message_->hide();
    return;
  }
  service_.preview(path(), form());
}

void ExportDialog::show_preview(const ExportPreview& preview) {
  if (preview.path != path()) return;
  diff_->setPlainText(preview.diff);
  QStringList said;
  for (const QString& loss : preview.losses) said << "⚠ " + loss;
  losses_->setVisible(!preview.losses.isEmpty() || !preview.notes.isEmpty());
  losses_->setText((said + preview.notes).join('\n'));
  set_look(losses_, preview.losses.isEmpty() ? "dim" : "pending");
  if (!preview.error.isEmpty()) {
    summary_->setText(tr("Nothing can be written."));
    say(preview.error, "bad");
    return;
  }
  const QString form_name = preview.form == ConfigForm::selector ? tr("selector form") : tr("overrides form");
  const qsizetype changed = preview.diff.startsWith("+ ") + preview.diff.count("\n+ ");
  if (preview.diff.isEmpty()) {
    summary_->setText(tr("The file says all of this already: nothing to write."));
  } else if (preview.new_file) {
    summary_->setText(tr("A new file with these lines, %1.").arg(form_name));
  } else {
    summary_->setText(tr("%1 would be written, %2; every other byte of the file stays.")
                          .arg(counted(changed, tr("line")), form_name));
  }
  write_->setEnabled(!preview.diff.isEmpty());
  message_->hide();
}

void ExportDialog::show_written(const ExportResult& result) {
  if (!result.error.isEmpty()) {
    say(result.error, "bad");
    write_->setEnabled(true);
    return;
  }
  diff_->clear();
  losses_->hide();
  summary_->setText(tr("The file says all of this already: nothing to write."));
  say(result.backup.isEmpty() ? tr("Written: %1").arg(result.path)
                              : tr("Written: %1\nThe file as it was: %2").arg(result.path, result.backup),
      "ok");
}

void ExportDialog::say(const QString& text, const char* look) {
  message_->setText(text);
  set_look(message_, look);
  message_->show();
}

}  // namespace attn::ui
