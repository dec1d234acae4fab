// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/export/export_dialog.h"

#include "ui/export/diff_view.h"
#include "ui/export/format_options.h"
#include "ui/format/format.h"
#include "ui/panel/fact_table.h"

#include <QApplication>
#include <QClipboard>
#include <QFileDialog>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPushButton>
#include <QSettings>
#include <QStackedWidget>
#include <QTabBar>
#include <QVBoxLayout>

namespace attn::ui {

namespace {

/// "key: why; nearest is this" as what it names, why, and what comes nearest.
FactRow loss_row(const QString& loss) {
  static const QString kNearest = QStringLiteral("nearest");
  const qsizetype colon = loss.indexOf(": ");
  QString why = colon < 0 ? loss : loss.mid(colon + 2);
  QString nearest = ExportDialog::tr("as written");
  if (const qsizetype at = why.indexOf(kNearest); at >= 0) {
    nearest = why.mid(at + kNearest.size()).trimmed();
    if (nearest.startsWith("is ")) nearest = nearest.mid(3);
    why.truncate(at);
    while (!why.isEmpty() && QStringLiteral("; ,").contains(why.back())) why.chop(1);
  }
  return {{colon < 0 ? ExportDialog::tr("lost") : loss.left(colon), Ink::pending}, {why}, {nearest, Ink::dim}};
}

}  // namespace

QString title_of(const ExchangeFormat& format) {
  QString title = text_of(format.title);
  for (const char* article : {"the ", "a ", "an "}) {
    if (title.startsWith(QLatin1String(article))) title = title.mid(static_cast<qsizetype>(qstrlen(article)));
  }
  // A file's name keeps its spelling.
  if (!title.section(' ', 0, 0).contains('.')) title[0] = title[0].toUpper();
  return title;
}

ExportDialog::ExportDialog(ExportService& service, const TargetList& targets, const Theme& theme, QWidget* parent)
    : QDialog(parent), service_(service), targets_(targets) {
  setObjectName("export_dialog");
  setWindowTitle(tr("Export"));
  resize(980, 680);
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(16, 14, 16, 14);
  row->setSpacing(16);
  auto* left = new QWidget(this);
  auto* right = new QWidget(this);
  make_left(left);
  make_right(right, theme);
  row->addWidget(left);
  row->addWidget(right, 1);
  connect_all();
  formats_->setCurrentRow(0);
}

void ExportDialog::make_left(QWidget* parent) {
  auto* column = new QVBoxLayout(parent);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(6);
  formats_ = new QListWidget(parent);
  formats_->setObjectName("export_formats");
  formats_->setFixedWidth(254);
  formats_->setWordWrap(true);
  formats_->setTextElideMode(Qt::ElideNone);
  formats_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  formats_->setAccessibleName(tr("Format"));
  set_look(formats_, "list");
  for (const ExchangeFormat& format : exchange_formats()) {
    auto* item = new QListWidgetItem(title_of(format), formats_);
    item->setData(Qt::UserRole, text_of(format.name));
    item->setToolTip(tr("attnctl export --format %1").arg(text_of(format.name)));
  }
  auto* label = new QLabel(tr("Forma&t"), parent);
  label->setBuddy(formats_);
  set_look(label, "dim");
  column->addWidget(label);
  column->addWidget(formats_, 1);
}

void ExportDialog::make_right(QWidget* parent, const Theme& theme) {
  auto* column = new QVBoxLayout(parent);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(8);
  options_ = new FormatOptions(FormatOptions::Way::write, &targets_, parent);
  column->addWidget(options_);
  auto* file = new QHBoxLayout;
  file->setSpacing(FormatOptions::kGap);
  path_ = new QLineEdit(parent);
  path_->setObjectName("export_path");
  path_->setClearButtonEnabled(true);
  browse_ = new QPushButton(tr("Browse…"), parent);
  auto* label = new QLabel(tr("&File"), parent);
  label->setBuddy(path_);
  label->setMinimumWidth(FormatOptions::kLabelWidth);
  file->addWidget(label);
  file->addWidget(path_, 1);
  file->addWidget(browse_);
  column->addLayout(file);

  summary_ = new QLabel(parent);
  summary_->setObjectName("export_summary");
  summary_->setWordWrap(true);
  set_look(summary_, "dim");
  column->addWidget(summary_);
  tabs_ = new QTabBar(parent);
  tabs_->setObjectName("export_tabs");
  tabs_->setExpanding(false);
  tabs_->addTab(tr("Changes"));
  tabs_->addTab(tr("Whole text"));
  tabs_->setAccessibleName(tr("What is shown of the text"));
  auto* box = new QVBoxLayout;
  box->setSpacing(0);
  box->addWidget(tabs_);
  pages_ = new QStackedWidget(parent);
  diff_ = new DiffView(theme, pages_);
  diff_->setObjectName("export_diff");
  diff_->setAccessibleName(tr("What would change"));
  text_ = new QPlainTextEdit(pages_);
  text_->setObjectName("export_text");
  text_->setAccessibleName(tr("The whole text"));
  text_->setReadOnly(true);
  text_->setLineWrapMode(QPlainTextEdit::NoWrap);
  text_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  text_->setFont(theme.fixed_font());
  text_->document()->setDefaultFont(theme.fixed_font());
  text_->document()->setDocumentMargin(8);
  set_look(text_, "diff");
  pages_->addWidget(diff_);
  pages_->addWidget(text_);
  box->addWidget(pages_, 1);
  column->addLayout(box, 1);
  remarks_ = new FactTable(theme, {tr("Setting"), tr("Cannot be said because"), tr("Nearest")}, parent);
  remarks_->setObjectName("export_losses");
  remarks_->limit_height(190);
  remarks_->hide();
  column->addWidget(remarks_);
  message_ = new QLabel(parent);
  message_->setObjectName("export_message");
  message_->setWordWrap(true);
  message_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  message_->hide();
  column->addWidget(message_);
  auto* buttons = new QWidget(parent);
  make_buttons(buttons);
  column->addWidget(buttons);
}

void ExportDialog::make_buttons(QWidget* parent) {
  auto* row = new QHBoxLayout(parent);
  row->setContentsMargins(0, 2, 0, 0);
  row->setSpacing(8);
  copy_ = new QPushButton(tr("&Copy text"), parent);
  copy_->setObjectName("export_copy");
  copy_->setAutoDefault(false);
  copy_->setToolTip(tr("The whole text to the clipboard"));
  close_ = new QPushButton(tr("Close"), parent);
  close_->setAutoDefault(false);
  write_ = new QPushButton(tr("Write file"), parent);
  write_->setObjectName("export_write");
  write_->setEnabled(false);
  write_->setDefault(true);
  write_->setToolTip(tr("Writes the file in one step, with a copy of it as it was beside it"));
  set_look(write_, "primary");
  row->addWidget(copy_);
  row->addStretch(1);
  row->addWidget(close_);
  row->addWidget(write_);
}

void ExportDialog::connect_all() {
  typing_.setSingleShot(true);
  typing_.setInterval(250);
  connect(&typing_, &QTimer::timeout, this, &ExportDialog::ask_preview);
  connect(path_, &QLineEdit::textChanged, this, [this](const QString& path) {
    paths_[text_of(format().name)] = path;
    write_->setEnabled(false);
    typing_.start();
  });
  connect(options_, &FormatOptions::changed, this, &ExportDialog::ask_preview);
  connect(formats_, &QListWidget::currentRowChanged, this, &ExportDialog::take_format);
  connect(tabs_, &QTabBar::currentChanged, pages_, &QStackedWidget::setCurrentIndex);
  connect(browse_, &QPushButton::clicked, this, &ExportDialog::browse);
  connect(copy_, &QPushButton::clicked, this, &ExportDialog::copy);
  connect(close_, &QPushButton::clicked, this, &QDialog::reject);
  connect(write_, &QPushButton::clicked, this, [this] {
    write_->setEnabled(false);
    service_.write(request());
  });
  connect(&service_, &ExportService::previewed, this, &ExportDialog::show_preview);
  connect(&service_, &ExportService::written, this, &ExportDialog::show_written);
}

const ExchangeFormat& ExportDialog::format() const {
  return exchange_formats()[static_cast<std::size_t>(std::max(0, formats_->currentRow()))];
}

bool ExportDialog::choose_format(std::string_view name) {
  const auto formats = exchange_formats();
  for (std::size_t i = 0; i < formats.size(); ++i) {
    if (formats[i].name != name) continue;
    formats_->setCurrentRow(static_cast<int>(i));
    return true;
  }
  return false;
}

void ExportDialog::take_format() {
  options_->show_for(&format());
  path_->setText(paths_.value(text_of(format().name)));
  path_->setPlaceholderText(tr("Optional: a file, there or not, usually called %1").arg(text_of(format().file)));
  message_->hide();
  ask_preview();
}

void ExportDialog::set_path(const QString& path) {
  path_->setText(path);
  ask_preview();
}

QString ExportDialog::path() const { return path_->text().trimmed(); }

void ExportDialog::set_steps(int steps) { options_->set_steps(steps); }

ExportRequest ExportDialog::request() const { return {&format(), path(), options_->options()}; }

void ExportDialog::refresh() {
  if (isVisible()) ask_preview();
}

void ExportDialog::browse() {
  const QString place = path().isEmpty() ? text_of(format().file) : path();
  auto* dialog = new QFileDialog(this, title_of(format()), place, tr("All files (*)"));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setFileMode(QFileDialog::AnyFile);
  dialog->setLabelText(QFileDialog::Accept, tr("Choose"));
  connect(dialog, &QFileDialog::fileSelected, this, &ExportDialog::set_path);
  dialog->open();
}

void ExportDialog::ask_preview() {
  typing_.stop();
  write_->setEnabled(false);
  service_.preview(request());
}

QString ExportDialog::summary_of(const ExportPreview& preview) const {
  const QString form = !format().uses.form                    ? QString()
                       : preview.form == SdNextForm::selector ? tr(", selector form")
                                                              : tr(", overrides form");
  const qsizetype changed = preview.diff.startsWith("+ ") + preview.diff.count("\n+ ");
  if (!preview.error.isEmpty()) return tr("Nothing can be written.");
  if (preview.path.isEmpty()) return tr("The text as it would be in a new file%1. Copy it, or name a file.").arg(form);
  if (preview.diff.isEmpty()) return tr("The file says all of this already: nothing to write.");
  if (preview.new_file) return tr("A new file with these lines%1.").arg(form);
  if (!format().uses.existing) return tr("The whole file would be replaced by this text.");
  return tr("%1 would be written%2; every other byte of the file stays.").arg(counted(changed, tr("line")), form);
}

void ExportDialog::show_preview(const ExportPreview& preview) {
  if (preview.path != path() || preview.format != &format()) return;
  diff_->setPlainText(preview.diff);
  text_->setPlainText(preview.text);
  const bool compared = !preview.path.isEmpty() && !preview.new_file && preview.error.isEmpty();
  tabs_->setVisible(compared && !preview.diff.isEmpty());
  if (tabs_->isHidden()) tabs_->setCurrentIndex(1);
  pages_->setCurrentIndex(tabs_->currentIndex());
  show_remarks(preview);
  summary_->setText(summary_of(preview));
  copy_->setEnabled(preview.error.isEmpty());
  write_->setEnabled(preview.error.isEmpty() && !preview.path.isEmpty() && !preview.diff.isEmpty());
  if (preview.error.isEmpty()) {
    message_->hide();
  } else {
    say(preview.error, "bad");
  }
}

void ExportDialog::show_remarks(const ExportPreview& preview) {
  std::vector<FactRow> rows;
  for (const QString& loss : preview.losses) rows.push_back(loss_row(loss));
  for (const QString& note : preview.notes) rows.push_back({{tr("note"), Ink::dim}, {note, Ink::dim}, {}});
  remarks_->setVisible(!rows.empty());
  remarks_->set_rows(std::move(rows));
}

void ExportDialog::show_written(const ExportResult& result) {
  if (result.path != path()) return;
  if (!result.error.isEmpty()) {
    say(result.error, "bad");
    write_->setEnabled(true);
    return;
  }
  summary_->setText(tr("The file says all of this already: nothing to write."));
  tabs_->hide();
  tabs_->setCurrentIndex(1);
  say(result.backup.isEmpty() ? tr("Written: %1").arg(result.path)
                              : tr("Written: %1\nThe file as it was: %2").arg(result.path, result.backup),
      "ok");
}

void ExportDialog::copy() {
  const QString text = text_->toPlainText();
  QApplication::clipboard()->setText(text);
  say(tr("Copied: %1.").arg(counted(text.count('\n'), tr("line"))), "ok");
}

void ExportDialog::say(const QString& text, const char* look) {
  message_->setText(text);
  set_look(message_, look);
  message_->show();
}

void ExportDialog::save(QSettings& settings) const {
  settings.setValue("export/format", text_of(format().name));
  for (auto at = paths_.begin(); at != paths_.end(); ++at) settings.setValue("export/paths/" + at.key(), at.value());
}

void ExportDialog::restore(const QSettings& settings) {
  for (const ExchangeFormat& one : exchange_formats()) {
    const QString name = text_of(one.name);
    paths_[name] = settings.value("export/paths/" + name).toString();
  }
  choose_format(utf8_of(settings.value("export/format").toString()));
  take_format();
}

}  // namespace attn::ui
