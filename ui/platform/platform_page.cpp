// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/platform/platform_page.h"

#include "ui/control_panel/section.h"
#include "ui/format/format.h"
#include "ui/panel/fact_table.h"

#include <QCheckBox>
#include <QFileDialog>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QVBoxLayout>

namespace attn::ui {

namespace {

constexpr int kSide = 12;

Fact state_fact(const PackageFact& package) {
  switch (package.state) {
    case PackageFact::State::works:
      return {PlatformPage::tr("✓ works"), Ink::ok};
    case PackageFact::State::fails:
      return {PlatformPage::tr("✕ installed but fails"), Ink::bad};
    case PackageFact::State::not_installed:
      return {PlatformPage::tr("not installed"), Ink::dim};
    case PackageFact::State::unknown:
      break;
  }
  return {PlatformPage::tr("unknown"), Ink::dim};
}

Fact runs_fact(const KernelRow& row) {
  const Ink ink = row.runs == Support::supported       ? Ink::ok
                  : row.runs == Support::not_supported ? (row.switched_on ? Ink::bad : Ink::dim)
                                                       : Ink::dim;
  QString words = runs_text(row.runs).words;
  if (!row.reason.empty()) words += ": " + text_of(row.reason);
  return {words, ink};
}

QString short_number(double value) { return QString::number(value, 'g', 4); }

}  // namespace

RunsText runs_text(Support runs) {
  switch (runs) {
    case Support::supported:
      return {PlatformPage::tr("✓ runs"), "ok"};
    case Support::not_supported:
      return {PlatformPage::tr("✕ does not run"), "bad"};
    case Support::unknown:
      break;
  }
  return {PlatformPage::tr("unknown"), "dim"};
}

PlatformPage::PlatformPage(PlatformService& service, const Theme& theme, QWidget* parent)
    : QScrollArea(parent), service_(service), theme_(theme) {
  setObjectName("platform_page");
  setWidgetResizable(true);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setFocusPolicy(Qt::NoFocus);
  auto* content = new QWidget(this);
  column_ = new QVBoxLayout(content);
  column_->setContentsMargins(0, 4, 0, 12);
  column_->setSpacing(2);
  setWidget(content);
  make_kernels();
  make_packages();
  make_incidents();
  make_quarantine();
  make_repeats();
  column_->addStretch(1);
  connect(&service_, &PlatformService::changed, this, &PlatformPage::refresh);
  refresh();
}

Section* PlatformPage::add_section(const QString& title) {
  auto* section = new Section(title, theme_, widget());
  column_->addWidget(section);
  return section;
}

QLabel* PlatformPage::add_note(Section* section, const char* name, const char* look) {
  auto* label = new QLabel(section);
  label->setObjectName(name);
  label->setWordWrap(true);
  label->setContentsMargins(kSide, 2, kSide, 4);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  set_look(label, look);
  section->add(label);
  return label;
}

FactTable* PlatformPage::add_table(Section* section, const char* name, const QStringList& headings) {
  auto* table = new FactTable(theme_, headings, section);
  table->setObjectName(name);
  table->show_all_rows();
  set_look(table, "");
  section->add(table);
  return table;
}

QPushButton* PlatformPage::add_button(Section* section, const char* name, const QString& text, const QString& tip) {
  auto* line = new QWidget(section);
  auto* row = new QHBoxLayout(line);
  row->setContentsMargins(kSide, 4, kSide, 6);
  auto* button = new QPushButton(text, line);
  button->setObjectName(name);
  button->setToolTip(tip);
  row->addWidget(button);
  row->addStretch(1);
  section->add(line);
  return button;
}

void PlatformPage::make_kernels() {
  kernels_section_ = add_section(tr("Torch kernels"));
  kernels_note_ = add_note(kernels_section_, "platform_kernels_note", "dim");
  kernels_ = add_table(kernels_section_, "platform_kernels", {tr("Kernel"), tr("Switch"), tr("Runs here")});
  math_only_ = new QCheckBox(tr("Only the math kernel runs there"), kernels_section_);
  math_only_->setObjectName("platform_math_only");
  math_only_->setToolTip(
      tr("What a probe on that machine showed. Then the memory that it takes is said before a job runs."));
  auto* line = new QWidget(kernels_section_);
  auto* row = new QHBoxLayout(line);
  row->setContentsMargins(kSide, 4, kSide, 4);
  row->addWidget(math_only_);
  kernels_section_->add(line);
  forecast_ = add_note(kernels_section_, "platform_forecast", "bad");
  QPushButton* probe = add_button(kernels_section_, "platform_probe", tr("&Probe"),
                                  tr("A tiny call through each kernel, and every package again"));
  connect(probe, &QPushButton::clicked, this, [this] { service_.probe(); });
  connect(math_only_, &QCheckBox::clicked, this, [this](bool only) { service_.state_math_only(only); });
}

void PlatformPage::make_packages() {
  packages_section_ = add_section(tr("Packages"));
  auto* line = new QWidget(packages_section_);
  auto* row = new QHBoxLayout(line);
  row->setContentsMargins(kSide, 2, kSide, 2);
  row->setSpacing(8);
  python_ = new QLineEdit(line);
  python_->setObjectName("platform_python");
  python_->setToolTip(tr("The Python of the server, such as venv/bin/python. Every import has a process of its own."));
  auto* label = new QLabel(tr("P&ython"), line);
  label->setBuddy(python_);
  auto* browse = new QPushButton(tr("Browse…"), line);
  row->addWidget(label);
  row->addWidget(python_, 1);
  row->addWidget(browse);
  packages_section_->add(line);
  packages_note_ = add_note(packages_section_, "platform_packages_note", "dim");
  dead_ = add_note(packages_section_, "platform_dead", "bad");
  packages_ = add_table(packages_section_, "platform_packages", {tr("Package"), tr("State"), tr("What was found")});
  connect(browse, &QPushButton::clicked, this, &PlatformPage::browse_python);
  connect(python_, &QLineEdit::editingFinished, this, [this] {
    if (python_->text().trimmed() != service_.state().chosen_python) service_.choose_python(python_->text());
  });
}

void PlatformPage::make_incidents() {
  Section* section = add_section(tr("Incidents of a log"));
  incidents_note_ = add_note(section, "platform_incidents_note", "dim");
  incidents_ = add_table(section, "platform_incidents", {tr("Incident"), tr("What is dead")});
  show_override_ = add_button(section, "platform_show_override", tr("Show the override"),
                              tr("Where the override is switched on, in the control panel"));
  QPushButton* read = add_button(section, "platform_read_log", tr("Read a &log…"),
                                 tr("A server's log: installs that failed and modules that it did not find"));
  connect(read, &QPushButton::clicked, this, &PlatformPage::browse_log);
  connect(show_override_, &QPushButton::clicked, this, [this] {
    for (const IncidentFact& incident : service_.state().incidents) {
      if (incident.enabled) return emit override_wanted(incident.override);
    }
  });
}

void PlatformPage::make_quarantine() {
  Section* section = add_section(tr("Quarantine"));
  quarantine_note_ = add_note(section, "platform_quarantine_note", "dim");
  quarantine_ = add_table(section, "platform_quarantine", {tr("Backend"), tr("Where"), tr("Accuracy")});
  lift_ = add_button(section, "platform_lift", tr("Lift"), tr("The selected backend may serve there again"));
  connect(quarantine_->selectionModel(), &QItemSelectionModel::selectionChanged, this,
          [this] { lift_->setEnabled(quarantine_->selectionModel()->hasSelection()); });
  connect(lift_, &QPushButton::clicked, this, [this] {
    const QModelIndexList chosen = quarantine_->selectionModel()->selectedRows();
    if (!chosen.isEmpty()) service_.lift_quarantine(chosen.front().row());
  });
}

void PlatformPage::make_repeats() {
  repeats_section_ = add_section(tr("Determinism"));
  repeats_note_ = add_note(repeats_section_, "platform_repeats_note", "dim");
  repeats_ = add_table(repeats_section_, "platform_repeats", {tr("Backend"), tr("Same bits"), tr("Call")});
  repeat_ = add_button(repeats_section_, "platform_repeat", tr("&Repeat"),
                       tr("Computes every distinct call of the workload three times on the same tensors"));
  connect(repeat_, &QPushButton::clicked, this, [this] {
    const Expected<void> started = service_.repeat();
    if (started) return;
    repeats_note_->setText(text_of(started.error()));
    set_look(repeats_note_, "bad");
  });
}

void PlatformPage::showEvent(QShowEvent* event) {
  QScrollArea::showEvent(event);
  service_.need_packages();
}

void PlatformPage::browse_python() {
  auto* dialog = new QFileDialog(this, tr("Python of the server"), python_->text());
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setFileMode(QFileDialog::ExistingFile);
  connect(dialog, &QFileDialog::fileSelected, this, [this](const QString& path) { service_.choose_python(path); });
  dialog->open();
}

void PlatformPage::browse_log() {
  auto* dialog =
      new QFileDialog(this, tr("Log of a server"), service_.state().log, tr("Logs (*.log *.txt);;All files (*)"));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setFileMode(QFileDialog::ExistingFile);
  connect(dialog, &QFileDialog::fileSelected, this, &PlatformPage::read_log);
  dialog->open();
}

void PlatformPage::read_log(const QString& path) { service_.read_log(path); }

void PlatformPage::refresh() {
  show_kernels();
  show_packages();
  show_incidents();
  show_quarantine();
  show_repeats();
}

void PlatformPage::show_kernels() {
  const PlatformState& state = service_.state();
  std::vector<FactRow> rows;
  for (const KernelRow& row : state.kernels) {
    const QString option = row.option.empty() ? tr("no switch") : row.switched_on ? tr("on") : tr("off");
    rows.push_back({{text_of(row.kernel)}, {option, Ink::dim}, runs_fact(row)});
  }
  kernels_->set_rows(std::move(rows));
  const bool only = state.math_only == Support::supported;
  kernels_section_->header()->set_note(only                                  ? tr("math only")
                                       : state.math_only == Support::unknown ? tr("unknown")
                                                                             : tr("fused kernels run"));
  kernels_note_->setText(
      !state.kernels_asked ? tr("Trying a tiny call through each kernel …")
      : only ? tr("Only the math kernel runs on %1: its memory grows with the square of the tokens.").arg(state.target)
      : state.present ? tr("A tiny call went through each kernel of %1.").arg(state.target)
                      : tr("%1 is not in this machine, so nobody can try its kernels.").arg(state.target));
  set_look(kernels_note_, only ? "pending" : "dim");
  math_only_->setVisible(!state.present);
  math_only_->setChecked(state.math_only_stated);
  forecast_->setVisible(!state.forecast.isEmpty());
  forecast_->setText(state.forecast);
  set_look(forecast_, state.forecast_over ? "bad" : "dim");
}

void PlatformPage::show_packages() {
  const PlatformState& state = service_.state();
  python_->setPlaceholderText(state.present ? tr("python3 of this machine") : tr("a Python to look in"));
  if (!python_->hasFocus()) python_->setText(state.chosen_python);
  packages_note_->setText(state.packages_busy ? tr("Importing every package, each in a process of its own …")
                                              : state.python);
  packages_note_->setVisible(!packages_note_->text().isEmpty());
  dead_->setText(state.dead.join('\n'));
  dead_->setVisible(!state.dead.isEmpty());
  std::vector<FactRow> rows;
  int working = 0;
  bool known = false;
  for (const PackageFact& package : state.packages) {
    known |= package.state != PackageFact::State::unknown;
    working += package.state == PackageFact::State::works ? 1 : 0;
    const QString serves =
        package.override.isEmpty() ? tr("Serves the dispatcher only") : tr("Serves %1").arg(package.override);
    const QString found = package.found.isEmpty() || package.step.contains(package.found) ? package.step
                          : package.step.isEmpty()                                        ? package.found
                                                   : package.found + "\n" + package.step;
    rows.push_back({{package.name, Ink::text, serves, package.enabled}, state_fact(package), {found, Ink::dim}});
  }
  // Nine times the same sentence says less than once.
  packages_->setVisible(known);
  packages_->set_rows(std::move(rows));
  packages_section_->header()->set_note(known ? tr("%1 of %2 work").arg(working).arg(state.packages.size())
                                              : tr("unknown"));
}

void PlatformPage::show_incidents() {
  const PlatformState& state = service_.state();
  std::vector<FactRow> rows;
  bool any_dead = false;
  for (const IncidentFact& incident : state.incidents) {
    any_dead |= incident.enabled;
    QString words = incident.title + tr(" (%1)").arg(counted(incident.lines, tr("line")));
    if (!incident.detail.isEmpty()) words += '\n' + incident.detail;
    const Fact dead = incident.enabled ? Fact{tr("%1, which is switched on").arg(incident.override), Ink::bad}
                      : incident.override.isEmpty() ? Fact{tr("no override"), Ink::dim}
                                                    : Fact{tr("%1, which is off").arg(incident.override), Ink::dim};
    rows.push_back({{words}, dead});
  }
  incidents_->setVisible(!rows.empty());
  incidents_->set_rows(std::move(rows));
  show_override_->parentWidget()->setVisible(any_dead);
  const bool bad = !state.log_error.isEmpty();
  incidents_note_->setText(bad                   ? state.log_error
                           : state.log.isEmpty() ? tr("A server's log tells which installs failed and which modules "
                                                      "were not found.")
                           : state.incidents.empty() ? tr("%1 names no missing package.").arg(state.log)
                                                     : state.log);
  set_look(incidents_note_, bad ? "bad" : "dim");
}

void PlatformPage::show_quarantine() {
  const PlatformState& state = service_.state();
  std::vector<FactRow> rows;
  for (const QuarantineFact& fact : state.quarantine) {
    rows.push_back({{fact.backend, fact.here ? Ink::bad : Ink::text},
                    {fact.place + (fact.here ? tr(" (this target)") : QString()), Ink::dim},
                    {tr("cosine %1, below %2").arg(short_number(fact.cosine), short_number(fact.threshold))}});
  }
  quarantine_->setVisible(!rows.empty());
  quarantine_note_->setVisible(rows.empty());
  quarantine_note_->setText(
      tr("No backend gave wrong numbers so far. A comparison below its least cosine puts one here, "
         "for that architecture only."));
  lift_->parentWidget()->setVisible(!rows.empty());
  quarantine_->set_rows(std::move(rows));
  lift_->setEnabled(quarantine_->selectionModel()->hasSelection());
}

void PlatformPage::show_repeats() {
  const PlatformState& state = service_.state();
  std::vector<FactRow> rows;
  bool all = true;
  for (const RepeatFact& fact : state.repeats) {
    all &= fact.identical;
    const QString backend =
        fact.kernel.isEmpty() || fact.kernel == fact.backend ? fact.backend : fact.backend + "\n" + fact.kernel;
    rows.push_back({{backend}, {fact.verdict, fact.identical ? Ink::ok : Ink::bad}, {fact.call, Ink::dim}});
  }
  repeats_section_->header()->set_note(rows.empty() ? tr("unknown")
                                       : all        ? tr("✓ deterministic")
                                                    : tr("✕ not deterministic"));
  repeats_->setVisible(!rows.empty());
  repeats_note_->setVisible(rows.empty());
  repeats_note_->setText(!state.repeat_error.isEmpty() ? state.repeat_error
                         : state.repeating             ? tr("Computing every distinct call three times …")
                                           : tr("Repeat computes the workload's calls on the same tensors and "
                                                "compares the bits."));
  set_look(repeats_note_, state.repeat_error.isEmpty() ? "dim" : "bad");
  repeat_->setEnabled(!state.repeating);
  repeats_->set_rows(std::move(rows));
}

}  // namespace attn::ui
