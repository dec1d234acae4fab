// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/chain_bar/chain_bar.h"

#include "ui/chain_bar/chain_chip.h"
#include "ui/chain_bar/history_popup.h"
#include "ui/format/format.h"
#include "ui/panel/elided_label.h"

#include <QAction>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QToolButton>

namespace attn::ui {

ChainBar::ChainBar(SettingsHistory& settings, const Theme& theme, QWidget* parent)
    : QFrame(parent), link_(settings.link()), history_(settings), theme_(theme) {
  set_look(this, "bar");
  setObjectName("chain_bar");
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(12, 8, 12, 8);
  row->setSpacing(8);
  auto* caption = new QLabel(tr("Chain"), this);
  set_look(caption, "dim");
  row->addWidget(caption);
  row->addSpacing(4);
  chip_row_ = new QHBoxLayout;
  chip_row_->setSpacing(6);
  row->addLayout(chip_row_);
  row->addStretch(1);

  pending_ = new ElidedLabel(this);
  pending_->setObjectName("pending_sentence");
  pending_->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
  set_look(pending_, "pending");
  pending_->setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Preferred);
  row->addWidget(pending_);
  revert_ = new QPushButton(tr("Revert"), this);
  revert_->setObjectName("revert");
  revert_->setToolTip(tr("Put the pending edits back to what the chain in force was built with"));
  rebuild_ = new QPushButton(tr("Rebuild"), this);
  rebuild_->setObjectName("rebuild");
  make_history();
  history_button_->setFixedHeight(revert_->sizeHint().height());
  row->addWidget(history_button_);
  row->addWidget(revert_);
  row->addWidget(rebuild_);

  connect(revert_, &QPushButton::clicked, this, [this] { link_.engine().revert_pending(); });
  connect(rebuild_, &QPushButton::clicked, this, [this] { link_.engine().rebuild(); });
  connect(&link_, &EngineLink::settings_changed, this, &ChainBar::refresh);
  connect(&link_, &EngineLink::job_running_changed, this, &ChainBar::show_pending);
  connect(&theme_, &Theme::changed, this, [this] {
    for (ChainChip* chip : chips_) chip->update();
  });
  refresh();
}

void ChainBar::make_history() {
  history_button_ = new QToolButton(this);
  history_button_->setObjectName("chain_history_button");
  history_button_->setFocusPolicy(Qt::StrongFocus);
  history_button_->setAccessibleName(tr("Chains since start"));
  history_button_->setToolTip(tr("The chains since start: what each change did, and the way back to it"));
  set_look(history_button_, "button");
  show_history_ = new QAction(tr("Chain &history"), this);
  show_history_->setObjectName("chain.history");
  connect(show_history_, &QAction::triggered, this, [this] {
    if (popup_ == nullptr) popup_ = new HistoryPopup(history_, theme_, this);
    popup_->open_under(*history_button_);
  });
  connect(history_button_, &QToolButton::clicked, show_history_, &QAction::trigger);
  const auto count = [this] { history_button_->setText(tr("History %1 ▾").arg(history_.moments().size())); };
  connect(&history_, &ChainHistory::changed, this, count);
  count();
}

void ChainBar::set_run(const trace::TraceSnapshot& run) {
  run_ = run;
  show_links();
}

QString ChainBar::chain_text() const {
  QStringList names;
  for (const ChainLink& link : links_) {
    if (link.state != ChainLink::State::joins) names << link.name;
  }
  return names.join(" › ");
}

void ChainBar::refresh() {
  applied_ = link_.engine().plan();
  wanted_ = link_.engine().is_pending() ? link_.engine().wanted_plan() : applied_;
  show_links();
  show_pending();
}

void ChainBar::show_links() {
  const Registry& registry = link_.engine().registry();
  std::vector<ChainLink> links = chain_links(registry, *applied_, *wanted_, run_);
  if (links == links_) return;
  links_ = std::move(links);
  while (chips_.size() < links_.size()) {
    if (!chips_.empty()) {
      auto* arrow = new QLabel("›", this);
      set_look(arrow, "dim");
      arrow->setAccessibleName(tr("then"));
      chip_row_->addWidget(arrow);
      arrows_.push_back(arrow);
    }
    auto* chip = new ChainChip(theme_, this);
    chip_row_->addWidget(chip);
    chips_.push_back(chip);
  }
  for (std::size_t i = 0; i < chips_.size(); ++i) {
    const bool used = i < links_.size();
    chips_[i]->setVisible(used);
    if (i > 0) arrows_[i - 1]->setVisible(used);
    if (!used) continue;
    const std::string name = utf8_of(links_[i].name);
    const BackendSpec* spec = registry.by_name(name);
    const BackendSpec& shown = spec != nullptr ? *spec : registry.original();
    chips_[i]->set_link(links_[i],
                        shown.help.empty() ? text_of(shown.label) : text_of(shown.label) + ": " + text_of(shown.help));
  }
  setAccessibleName(tr("Chain %1").arg(chain_text()));
}

void ChainBar::show_pending() {
  const bool running = link_.engine().job_running();
  const auto edits = static_cast<qint64>(link_.engine().pending().size());
  pending_->setVisible(edits > 0);
  if (edits > 0) {
    pending_->setText("● " + counted(edits, tr("edit")) +
                      (running ? tr(" pending — applied when this job ends") : tr(" pending — not applied yet")));
    pending_->set_tip(tr("The control panel shows what they would do to the calls of this run."));
  }
  revert_->setEnabled(edits > 0);
  rebuild_->setText(running ? tr("Rebuild between jobs") : tr("Rebuild"));
  rebuild_->setToolTip(running ? tr("Build the chain anew when the running job has ended")
                               : tr("Build the chain anew from the present settings, now"));
  set_look(rebuild_, edits > 0 ? "primary" : "");
}

}  // namespace attn::ui
