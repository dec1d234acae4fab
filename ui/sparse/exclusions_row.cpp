// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/sparse/exclusions_row.h"

#include "ui/format/format.h"
#include "ui/panel/flow_layout.h"
#include "ui/sparse/exclusion_chip.h"

#include <QAbstractItemView>
#include <QCompleter>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QStandardItemModel>
#include <QToolButton>
#include <QVBoxLayout>

namespace attn::ui {

namespace {

constexpr std::size_t kChips = 40;  ///< a list of thousands must not become thousands of widgets at once
constexpr int kNameRole = Qt::UserRole + 1;

}  // namespace

ExclusionsRow::ExclusionsRow(EngineLink& link, const Theme& theme, const OptionState& state, QWidget* parent)
    : ValueRow(link, theme, state, parent), most_shown_(kChips) {
  add_ = new QLineEdit(this);
  add_->setObjectName("exclusion_add");
  add_->setPlaceholderText(tr("+ add model…"));
  add_->setFixedWidth(200);
  set_look(add_, "compact");
  add_->setToolTip(
      tr("An architecture, a pipeline class or a denoiser class, in any case; several apart by commas.\n"
         "A name that no known model has is kept and marked."));
  more_ = new QToolButton(this);
  more_->setFocusPolicy(Qt::StrongFocus);
  set_look(more_, "dim");
  verdict_ = new QLabel(this);
  verdict_->setObjectName("exclusion_verdict");
  verdict_->setWordWrap(true);
  set_look(verdict_, "dim");
  flow_ = new FlowLayout(6, 5);
  auto* column = new QVBoxLayout;
  column->setSpacing(4);
  column->addWidget(add_label(add_));
  column->addLayout(flow_);
  column->addWidget(verdict_);
  row_->addLayout(column, 1);
  connect(add_, &QLineEdit::returnPressed, this, &ExclusionsRow::add_typed);
  connect(more_, &QToolButton::clicked, this, [this] {
    most_shown_ += 200;
    show_chips();
  });
}

void ExclusionsRow::set_models(const std::vector<ModelNames>& models, const ModelNames* loaded) {
  const QString id = loaded != nullptr ? loaded->id : QString();
  if (models_.size() == models.size() && id == loaded_id_) return;
  const bool new_names = models_.size() != models.size();
  models_ = models;
  loaded_id_ = id;
  if (new_names) {
    auto* names = new QStandardItemModel(this);
    for (const KnownName& known : known_names(models_)) {
      auto* item = new QStandardItem(known.name + "   " + known.what);
      item->setData(known.name, kNameRole);
      names->appendRow(item);
    }
    auto* completer = new QCompleter(names, add_);
    completer->setCompletionRole(kNameRole);
    completer->setCaseSensitivity(Qt::CaseInsensitive);
    completer->setFilterMode(Qt::MatchContains);
    completer->setMaxVisibleItems(12);
    set_look(completer->popup(), "popup");
    completer->popup()->setMinimumWidth(420);
    add_->setCompleter(completer);
    // Queued: the completer writes the line once more after it has said so.
    connect(completer, qOverload<const QString&>(&QCompleter::activated), this, &ExclusionsRow::add_typed,
            Qt::QueuedConnection);
  }
  shown_.clear();
  show_chips();
  show_verdict();
}

void ExclusionsRow::set_counts(std::int64_t excluded, std::int64_t calls) {
  if (excluded == excluded_ && calls == calls_) return;
  excluded_ = excluded;
  calls_ = calls;
  show_verdict();
}

void ExclusionsRow::show_value(const OptionValue& value) {
  text_ = text_of(value_text(value));
  show_chips();
  show_verdict();
}

void ExclusionsRow::show_chips() {
  const ModelNames* loaded = nullptr;
  for (const ModelNames& model : models_) {
    if (model.id == loaded_id_) loaded = &model;
  }
  std::vector<Exclusion> all = exclusions_of(text_, models_, loaded);
  const std::size_t count = all.size();
  // What holds for the loaded model is always seen.
  std::stable_partition(all.begin(), all.end(), [](const Exclusion& entry) { return entry.matches; });
  if (all.size() > most_shown_) all.resize(most_shown_);
  if (all == shown_ && flow_->count() > 0) return;
  shown_ = std::move(all);
  while (QLayoutItem* item = flow_->takeAt(0)) {
    if (auto* chip = qobject_cast<ExclusionChip*>(item->widget())) {
      chip->hide();
      chip->deleteLater();  // this may run inside its own click
    }
    delete item;
  }
  for (const Exclusion& entry : shown_) {
    auto* chip = new ExclusionChip(entry, theme_, this);
    connect(chip, &ExclusionChip::removed, this, &ExclusionsRow::remove);
    flow_->addWidget(chip);
    chip->show();
  }
  const auto hidden = static_cast<qint64>(count - shown_.size());
  more_->setText(tr("%1 more…").arg(count_text(hidden)));
  more_->setVisible(hidden > 0);
  flow_->addWidget(more_);
  flow_->addWidget(add_);
  updateGeometry();
}

void ExclusionsRow::show_verdict() {
  const auto loaded = std::find_if(models_.begin(), models_.end(), [&](const auto& m) { return m.id == loaded_id_; });
  if (loaded == models_.end()) {
    verdict_->hide();
    return;
  }
  const auto match = std::find_if(shown_.begin(), shown_.end(), [](const Exclusion& entry) { return entry.matches; });
  QString text = match == shown_.end() ? tr("%1 matches no entry").arg(loaded->name)
                                       : tr("%1 matches %2").arg(loaded->name, match->text);
  if (calls_ > 0) text += tr(" — %1 of %2 excluded").arg(count_text(excluded_), counted(calls_, tr("call")));
  verdict_->setText(text);
  verdict_->show();
}

void ExclusionsRow::add_typed() {
  const QString typed = add_->text();
  if (exclusion_texts(typed).isEmpty()) return;
  add_->clear();
  const QString wanted = with_exclusions(text_, typed);
  if (wanted != text_) commit(utf8_of(wanted));
}

void ExclusionsRow::remove(const QString& text) {
  QStringList texts = exclusion_texts(text_);
  texts.removeOne(text);
  commit(utf8_of(exclusion_option(texts)));
  add_->setFocus(Qt::OtherFocusReason);
}

}  // namespace attn::ui
