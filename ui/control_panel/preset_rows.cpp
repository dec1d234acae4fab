// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/control_panel/preset_rows.h"

#include <QComboBox>
#include <QFileDialog>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QStandardItemModel>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

namespace attn::ui {

PresetRows::PresetRows(PresetService& service, const Theme& theme, QWidget* parent)
    : QWidget(parent), service_(service), theme_(theme) {
  setObjectName("presets");
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(26, 2, 12, 4);
  column->setSpacing(4);
  auto* row = new QHBoxLayout;
  row->setSpacing(6);
  list_ = new QComboBox(this);
  list_->setObjectName("preset_list");
  list_->setAccessibleName(tr("Preset"));
  list_->setPlaceholderText(tr("Choose a preset"));
  list_->setMinimumContentsLength(10);
  list_->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  more_ = new QToolButton(this);
  more_->setObjectName("preset_more");
  more_->setText(QStringLiteral("⋯"));
  more_->setAccessibleName(tr("Save, rename, delete, import or export a preset"));
  more_->setToolTip(more_->accessibleName());
  more_->setPopupMode(QToolButton::InstantPopup);
  more_->setFocusPolicy(Qt::StrongFocus);
  set_look(more_, "menu");
  more_->setFixedWidth(32);
  row->addWidget(list_, 1);
  row->addWidget(more_);
  column->addLayout(row);
  about_ = new QLabel(this);
  about_->setObjectName("preset_about");
  about_->setWordWrap(true);
  set_look(about_, "small");
  column->addWidget(about_);
  make_question();
  column->addWidget(question_);
  problem_ = new QLabel(this);
  problem_->setObjectName("preset_problem");
  problem_->setWordWrap(true);
  set_look(problem_, "bad");
  column->addWidget(problem_);
  make_menu();
  connect(list_, &QComboBox::activated, this, [this](int at) { service_.choose(list_->itemData(at).toString()); });
  connect(&service_, &PresetService::changed, this, &PresetRows::refresh);
  refresh();
}

void PresetRows::make_menu() {
  auto* menu = new QMenu(more_);
  const auto add = [&](const QString& text, const char* name, auto&& work) {
    QAction* action = menu->addAction(text);
    action->setObjectName(name);
    connect(action, &QAction::triggered, this, std::forward<decltype(work)>(work));
    return action;
  };
  save_ = add(tr("&Save"), "preset_save", [this] { service_.save(service_.state().chosen); });
  add(tr("Save &as…"), "preset_save_as", [this] { ask(Asking::save_as); });
  rename_ = add(tr("&Rename…"), "preset_rename", [this] { ask(Asking::rename); });
  remove_ = add(tr("&Delete…"), "preset_remove", [this] { ask(Asking::remove); });
  menu->addSeparator();
  add(tr("&Import a preset…"), "preset_import", [this] { choose_file(true); });
  export_ = add(tr("&Export this preset…"), "preset_export", [this] { choose_file(false); });
  more_->setMenu(menu);
}

void PresetRows::make_question() {
  question_ = new QWidget(this);
  auto* column = new QVBoxLayout(question_);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(4);
  prompt_ = new QLabel(question_);
  prompt_->setWordWrap(true);
  name_ = new QLineEdit(question_);
  name_->setObjectName("preset_name");
  name_->setAccessibleName(tr("Name of the preset"));
  prompt_->setBuddy(name_);
  auto* buttons = new QHBoxLayout;
  buttons->setSpacing(6);
  yes_ = new QPushButton(tr("OK"), question_);
  yes_->setObjectName("preset_yes");
  set_look(yes_, "primary");
  auto* no = new QPushButton(tr("Cancel"), question_);
  buttons->addWidget(yes_);
  buttons->addWidget(no);
  buttons->addStretch(1);
  column->addWidget(prompt_);
  column->addWidget(name_);
  column->addLayout(buttons);
  question_->hide();
  connect(yes_, &QPushButton::clicked, this, &PresetRows::answer);
  connect(name_, &QLineEdit::returnPressed, this, &PresetRows::answer);
  connect(name_, &QLineEdit::textChanged, this,
          [this](const QString& text) { yes_->setEnabled(!text.trimmed().isEmpty()); });
  connect(no, &QPushButton::clicked, this, [this] { ask(Asking::nothing); });
}

const PresetFact* PresetRows::chosen() const {
  const std::vector<PresetFact>& presets = service_.state().presets;
  const auto at = std::find_if(presets.begin(), presets.end(),
                               [this](const PresetFact& one) { return one.name == service_.state().chosen; });
  return at == presets.end() ? nullptr : &*at;
}

QString PresetRows::note() const {
  const PresetFact* fact = chosen();
  if (fact == nullptr) return {};
  return service_.state().modified ? fact->name + QStringLiteral(" *") : fact->name;
}

bool PresetRows::matches(const QString& needle) const {
  if (tr("presets").contains(needle)) return true;
  const std::vector<PresetFact>& presets = service_.state().presets;
  return std::any_of(presets.begin(), presets.end(), [&needle](const PresetFact& one) {
    return one.name.toLower().contains(needle) || one.about.toLower().contains(needle);
  });
}

void PresetRows::refresh() {
  fill_list();
  const PresetFact* fact = chosen();
  const bool own = fact != nullptr && !fact->shipped;
  save_->setEnabled(own && service_.state().modified);
  rename_->setEnabled(own);
  remove_->setEnabled(own);
  export_->setEnabled(fact != nullptr);
  const QString star = service_.state().modified ? tr("* The settings differ from it now.") : QString();
  QStringList about;
  if (fact != nullptr && !fact->about.isEmpty()) about << fact->about;
  if (fact != nullptr && !star.isEmpty()) about << star;
  about_->setText(about.join(' '));
  about_->setVisible(!about.isEmpty());
  problem_->setText(service_.state().said);
  problem_->setVisible(!service_.state().said.isEmpty());
  emit changed();
}

void PresetRows::fill_list() {
  const PresetState& state = service_.state();
  QStringList wanted;
  for (const PresetFact& one : state.presets) {
    wanted << one.name + (one.name == state.chosen && state.modified ? QStringLiteral(" *") : QString()) +
                  (one.problem.isEmpty() ? QString() : QStringLiteral("\n")) + (one.shipped ? "s" : "o");
  }
  if (wanted != listed_) {
    listed_ = wanted;
    list_->clear();
    bool shipped = true;
    for (const PresetFact& one : state.presets) {
      if (shipped && !one.shipped && list_->count() > 0) list_->insertSeparator(list_->count());
      shipped = one.shipped;
      const bool starred = one.name == state.chosen && state.modified;
      list_->addItem(starred ? one.name + QStringLiteral(" *") : one.name, one.name);
      const int at = list_->count() - 1;
      list_->setItemData(at, one.problem.isEmpty() ? one.about : one.problem, Qt::ToolTipRole);
      if (one.problem.isEmpty()) continue;
      if (auto* model = qobject_cast<QStandardItemModel*>(list_->model())) model->item(at)->setEnabled(false);
    }
  }
  list_->setCurrentIndex(state.chosen.isEmpty() ? -1 : list_->findData(state.chosen));
}

void PresetRows::ask(Asking what) {
  asking_ = what;
  question_->setVisible(what != Asking::nothing);
  if (what == Asking::nothing) {
    more_->setFocus();
    return;
  }
  const QString name = service_.state().chosen;
  const bool removes = what == Asking::remove;
  name_->setVisible(!removes);
  prompt_->setText(
      removes ? tr("Delete the preset “%1”? The settings stay as they are.").arg(name)
              : (what == Asking::rename ? tr("New name of “%1”").arg(name) : tr("Save the present settings as")));
  yes_->setText(removes ? tr("Delete") : (what == Asking::rename ? tr("Rename") : tr("Save")));
  name_->setText(what == Asking::rename ? name : QString());
  yes_->setEnabled(removes || !name_->text().isEmpty());
  if (removes) {
    yes_->setFocus();
  } else {
    name_->setFocus();
    name_->selectAll();
  }
}

void PresetRows::answer() {
  const QString name = name_->text().trimmed();
  const QString chosen_name = service_.state().chosen;
  if (asking_ == Asking::remove) {
    service_.remove(chosen_name);
  } else if (name.isEmpty()) {
    return;
  } else if (asking_ == Asking::rename) {
    service_.rename(chosen_name, name);
  } else {
    service_.save(name);
  }
  ask(Asking::nothing);
}

void PresetRows::choose_file(bool import) {
  auto* dialog = new QFileDialog(window(), import ? tr("Import a preset") : tr("Export the preset"));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setNameFilter(tr("Profiles of Attnscope (*.json)"));
  dialog->setDefaultSuffix("json");
  dialog->setAcceptMode(import ? QFileDialog::AcceptOpen : QFileDialog::AcceptSave);
  if (import) dialog->setFileMode(QFileDialog::ExistingFile);
  const QString name = service_.state().chosen;
  if (!import) dialog->selectFile(name + ".json");
  connect(dialog, &QFileDialog::fileSelected, this, [this, import, name](const QString& path) {
    if (import) {
      service_.import_file(path);
    } else {
      service_.export_file(name, path);
    }
  });
  dialog->open();
}

}  // namespace attn::ui
