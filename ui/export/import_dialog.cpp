// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/export/import_dialog.h"

#include "ui/export/file_drop.h"
#include "ui/export/format_options.h"
#include "ui/format/format.h"
#include "ui/panel/empty_state.h"
#include "ui/panel/fact_table.h"

#include <QComboBox>
#include <QFileDialog>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QStackedWidget>
#include <QVBoxLayout>

namespace attn::ui {

namespace {

QString shown_value(const QString& value) { return value.isEmpty() ? ImportDialog::tr("empty") : value; }

}  // namespace

ImportDialog::ImportDialog(ExportService& service, const Theme& theme, QWidget* parent)
    : QDialog(parent), service_(service) {
  setObjectName("import_dialog");
  setWindowTitle(tr("Import"));
  resize(820, 560);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(16, 14, 16, 14);
  column->setSpacing(8);
  make_fields();
  make_lists(theme);
  make_buttons();
  new FileDrop(this, [this](const QString& path) { set_path(path); });

  typing_.setSingleShot(true);
  typing_.setInterval(250);
  connect(&typing_, &QTimer::timeout, this, &ImportDialog::ask_preview);
  connect(path_, &QLineEdit::textChanged, this, [this] {
    apply_->setEnabled(false);
    typing_.start();
  });
  connect(format_, &QComboBox::currentIndexChanged, this, [this] {
    options_->show_for(chosen());
    ask_preview();
  });
  connect(options_, &FormatOptions::changed, this, &ImportDialog::ask_preview);
  connect(&service_, &ExportService::import_previewed, this, &ImportDialog::show_preview);
  connect(&service_, &ExportService::imported, this, &ImportDialog::show_result);
  ask_preview();
}

void ImportDialog::make_fields() {
  auto* grid = new QGridLayout;
  grid->setHorizontalSpacing(FormatOptions::kGap);
  grid->setColumnMinimumWidth(0, FormatOptions::kLabelWidth);
  grid->setVerticalSpacing(8);
  path_ = new QLineEdit(this);
  path_->setObjectName("import_path");
  path_->setClearButtonEnabled(true);
  path_->setPlaceholderText(tr("A file, or drop one here"));
  auto* label = new QLabel(tr("&File"), this);
  label->setBuddy(path_);
  auto* browse_button = new QPushButton(tr("Browse…"), this);
  browse_button->setAutoDefault(false);
  connect(browse_button, &QPushButton::clicked, this, &ImportDialog::browse);
  format_ = new QComboBox(this);
  format_->setObjectName("import_format");
  format_->addItem(tr("as the file looks"));
  for (const ExchangeFormat& format : exchange_formats()) format_->addItem(title_of(format), text_of(format.name));
  auto* format_label = new QLabel(tr("Forma&t"), this);
  format_label->setBuddy(format_);
  grid->addWidget(label, 0, 0);
  grid->addWidget(path_, 0, 1);
  grid->addWidget(browse_button, 0, 2);
  grid->addWidget(format_label, 1, 0);
  grid->addWidget(format_, 1, 1, 1, 2);
  auto* column = static_cast<QVBoxLayout*>(layout());
  column->addLayout(grid);
  options_ = new FormatOptions(FormatOptions::Way::read, nullptr, this);
  options_->show_for(nullptr);
  column->addWidget(options_);
  summary_ = new QLabel(this);
  summary_->setObjectName("import_summary");
  summary_->setWordWrap(true);
  column->addWidget(summary_);
}

void ImportDialog::make_lists(const Theme& theme) {
  stack_ = new QStackedWidget(this);
  stack_->addWidget(new EmptyState(tr("Nothing to show yet"),
                                   tr("Choose a file: what it would change is listed here before it is applied."),
                                   stack_));
  changes_ = new FactTable(theme, {tr("Setting"), tr("Now"), tr("Becomes")}, stack_);
  changes_->setObjectName("import_changes");
  stack_->addWidget(changes_);
  notes_ = new FactTable(theme, {tr("What else there is to know")}, this);
  notes_->setObjectName("import_notes");
  notes_->limit_height(150);
  notes_->hide();
  auto* column = static_cast<QVBoxLayout*>(layout());
  column->addWidget(stack_, 1);
  column->addWidget(notes_);
}

void ImportDialog::make_buttons() {
  auto* buttons = new QHBoxLayout;
  buttons->setSpacing(8);
  put_back_ = new QPushButton(tr("&Put back"), this);
  put_back_->setObjectName("import_put_back");
  put_back_->setAutoDefault(false);
  put_back_->setEnabled(false);
  put_back_->setToolTip(tr("The settings as they were before the last import"));
  auto* close = new QPushButton(tr("Close"), this);
  close->setAutoDefault(false);
  apply_ = new QPushButton(tr("Apply"), this);
  apply_->setObjectName("import_run");
  apply_->setDefault(true);
  apply_->setEnabled(false);
  set_look(apply_, "primary");
  buttons->addWidget(put_back_);
  buttons->addStretch(1);
  buttons->addWidget(close);
  buttons->addWidget(apply_);
  static_cast<QVBoxLayout*>(layout())->addLayout(buttons);
  connect(close, &QPushButton::clicked, this, &QDialog::reject);
  connect(put_back_, &QPushButton::clicked, this, [this] {
    put_back_->setEnabled(false);
    putting_back_ = true;
    service_.put_back();
  });
  connect(apply_, &QPushButton::clicked, this, [this] {
    apply_->setEnabled(false);
    service_.apply(shown_);
  });
}

const ExchangeFormat* ImportDialog::chosen() const {
  const int at = format_->currentIndex();
  return at <= 0 ? nullptr : &exchange_formats()[static_cast<std::size_t>(at) - 1];
}

void ImportDialog::set_path(const QString& path) {
  path_->setText(path);
  ask_preview();
}

void ImportDialog::set_steps(int steps) { options_->set_steps(steps); }

void ImportDialog::browse() {
  auto* dialog = new QFileDialog(this, tr("Import settings"), path_->text(), tr("All files (*)"));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setFileMode(QFileDialog::ExistingFile);
  connect(dialog, &QFileDialog::fileSelected, this, &ImportDialog::set_path);
  dialog->open();
}

void ImportDialog::ask_preview() {
  typing_.stop();
  apply_->setEnabled(false);
  const QString path = path_->text().trimmed();
  if (!path.isEmpty()) {
    service_.read({path, chosen(), options_->options()});
    return;
  }
  say(tr("The attention settings of a file replace those of this window, all of them or none."), "dim");
  stack_->setCurrentIndex(0);
  notes_->hide();
}

void ImportDialog::show_changes(const std::vector<ImportChange>& changes) {
  std::vector<FactRow> rows;
  for (const ImportChange& change : changes) {
    QString after = shown_value(change.after);
    if (!change.stored.isEmpty()) {
      after += tr(" (default: %1 does not hold)").arg(change.stored);
    } else if (change.left_out) {
      after += tr(" (default: not in the file)");
    }
    rows.push_back({{change.name},
                    {shown_value(change.before), Ink::dim},
                    {after, change.stored.isEmpty() ? Ink::ok : Ink::pending}});
  }
  changes_->set_rows(std::move(rows));
  stack_->setCurrentIndex(changes.empty() ? 0 : 1);
}

void ImportDialog::show_preview(const ImportPreview& preview) {
  if (preview.path != path_->text().trimmed()) return;
  shown_ = preview;
  // Where nobody chose, what the text looks like decides which options make sense.
  if (format_->currentIndex() == 0) {
    format_->setItemText(0, preview.format == nullptr ? tr("as the file looks")
                                                      : tr("as the file looks: %1").arg(title_of(*preview.format)));
    options_->show_for(preview.format);
  }
  std::vector<FactRow> notes;
  for (const QString& problem : preview.problems) notes.push_back({{problem, Ink::bad}});
  for (const QString& value : preview.wrong) notes.push_back({{value, Ink::pending}});
  for (const QString& note : preview.notes) notes.push_back({{note, Ink::dim}});
  notes_->setVisible(!notes.empty());
  notes_->set_rows(std::move(notes));
  show_changes(preview.problems.isEmpty() ? preview.changes : std::vector<ImportChange>());
  apply_->setEnabled(preview.problems.isEmpty() && !preview.changes.empty());
  if (!preview.problems.isEmpty()) {
    say(tr("Nothing can be imported: %1.").arg(counted(preview.problems.size(), tr("problem"))), "bad");
  } else if (!preview.wrong.isEmpty()) {
    const qint64 wrong = preview.wrong.size();
    say(tr("%1 would change. %2")
            .arg(counted(static_cast<qint64>(preview.changes.size()), tr("setting")),
                 wrong == 1 ? tr("One value of the file does not hold; its default counts.")
                            : tr("%1 values of the file do not hold; their defaults count.").arg(wrong)),
        "pending");
  } else if (preview.changes.empty()) {
    say(tr("The file holds the settings of this window already."), "ok");
  } else {
    say(tr("%1 would change.").arg(counted(static_cast<qint64>(preview.changes.size()), tr("setting"))), "pending");
  }
}

void ImportDialog::show_result(const ImportResult& result) {
  const bool back = putting_back_;
  putting_back_ = false;
  if (!result.error.isEmpty()) {
    say(tr("Nothing was imported: %1").arg(result.error), "bad");
    return;
  }
  show_changes(result.changes);
  put_back_->setEnabled(!back && !result.changes.empty());
  const QString count = counted(static_cast<qint64>(result.changes.size()), tr("setting"));
  say(back ? tr("Put back: %1 changed.").arg(count) : tr("Imported: %1 changed.").arg(count), "ok");
}

void ImportDialog::say(const QString& text, const char* look) {
  summary_->setText(text);
  set_look(summary_, look);
}

}  // namespace attn::ui
