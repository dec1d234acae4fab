// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/filter/saved_filters.h"

#include <QInputDialog>
#include <QMenu>
#include <QSettings>
#include <algorithm>

namespace attn::ui {

namespace {

struct Shipped {
  const char* name;
  const char* line;
};
constexpr Shipped kShipped[] = {
    {QT_TRANSLATE_NOOP("SavedFilters", "Served by another than requested"), "fallback:yes"},
    {QT_TRANSLATE_NOOP("SavedFilters", "Sparse"), "sparse:yes"},
    {QT_TRANSLATE_NOOP("SavedFilters", "Denoiser left dense"), "role:transformer sparse:no"},
    {QT_TRANSLATE_NOOP("SavedFilters", "NaN or Inf in the output"), "nan>0 OR inf>0"},
    {QT_TRANSLATE_NOOP("SavedFilters", "With a mask"), "-mask:none"},
    {QT_TRANSLATE_NOOP("SavedFilters", "Not contiguous"), "-strides=contiguous"},
};

}  // namespace

SavedFilters::SavedFilters(FilterLine& line, QWidget* parent) : QToolButton(parent), line_(line) {
  setObjectName("saved_filters");
  setText(tr("Saved"));
  setToolTip(tr("Filters with a name"));
  setPopupMode(QToolButton::InstantPopup);
  setFocusPolicy(Qt::TabFocus);
  setMenu(new QMenu(this));
  connect(menu(), &QMenu::aboutToShow, this, &SavedFilters::make_menu);
}

bool SavedFilters::keep(const QString& name, const QString& line) {
  if (name.trimmed().isEmpty() || line.trimmed().isEmpty() || parse_filter(line).error) return false;
  const auto at = std::find_if(saved_.begin(), saved_.end(), [&](const SavedFilter& one) { return one.name == name; });
  if (at == saved_.end()) {
    saved_.push_back({name.trimmed(), line.trimmed()});
  } else {
    at->line = line.trimmed();
  }
  return true;
}

void SavedFilters::forget(const QString& name) {
  std::erase_if(saved_, [&](const SavedFilter& one) { return one.name == name; });
}

void SavedFilters::make_menu() {
  menu()->clear();
  const auto add = [this](const QString& name, const QString& written) {
    QAction* action = menu()->addAction(name + '\t' + written);
    connect(action, &QAction::triggered, this, [this, written] { line_.set_line(written); });
  };
  for (const SavedFilter& one : saved_) add(one.name, one.line);
  if (!saved_.empty()) menu()->addSeparator();
  for (const Shipped& one : kShipped) add(tr(one.name), QString::fromLatin1(one.line));
  menu()->addSeparator();
  QAction* keep_this = menu()->addAction(tr("Save this filter…"));
  keep_this->setEnabled(!line_.line().trimmed().isEmpty() && !line_.error());
  connect(keep_this, &QAction::triggered, this, &SavedFilters::ask_name);
  QMenu* forget_menu = menu()->addMenu(tr("Forget"));
  forget_menu->setEnabled(!saved_.empty());
  for (const SavedFilter& one : saved_) {
    connect(forget_menu->addAction(one.name), &QAction::triggered, this, [this, name = one.name] { forget(name); });
  }
}

void SavedFilters::ask_name() {
  auto* dialog = new QInputDialog(this);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setObjectName("filter_name");
  dialog->setWindowTitle(tr("Save filter"));
  dialog->setLabelText(tr("Name for %1").arg(line_.line()));
  connect(dialog, &QInputDialog::textValueSelected, this,
          [this, line = line_.line()](const QString& name) { keep(name, line); });
  dialog->open();
}

void SavedFilters::save(QSettings& settings) const {
  settings.beginWriteArray("filters", static_cast<int>(saved_.size()));
  for (std::size_t i = 0; i < saved_.size(); ++i) {
    settings.setArrayIndex(static_cast<int>(i));
    settings.setValue("name", saved_[i].name);
    settings.setValue("line", saved_[i].line);
  }
  settings.endArray();
}

void SavedFilters::restore(const QSettings& settings) {
  // Reading an array moves the group of the settings, which are not ours to change.
  for (int i = 1; settings.contains(QStringLiteral("filters/%1/name").arg(i)); ++i) {
    keep(settings.value(QStringLiteral("filters/%1/name").arg(i)).toString(),
         settings.value(QStringLiteral("filters/%1/line").arg(i)).toString());
  }
}

}  // namespace attn::ui
