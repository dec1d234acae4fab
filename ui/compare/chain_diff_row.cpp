// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/compare/chain_diff_row.h"

#include "ui/chain_bar/chain_chip.h"
#include "ui/chain_bar/chain_diff.h"
#include "ui/format/format.h"
#include "ui/panel/flow_layout.h"

namespace attn::ui {

ChainDiffRow::ChainDiffRow(const Registry& registry, const Theme& theme, QWidget* parent)
    : QWidget(parent), registry_(registry), theme_(theme) {
  setObjectName("compare_chain");
  auto* flow = new FlowLayout(6, 6);
  flow->setContentsMargins(0, 0, 0, 0);
  setLayout(flow);
  connect(&theme_, &Theme::changed, this, [this] {
    for (QWidget* chip : chips_) chip->update();
  });
}

void ChainDiffRow::show_chains(const RunComparison& comparison, const trace::TraceSnapshot& then,
                               const trace::TraceSnapshot& now) {
  for (QWidget* chip : chips_) delete chip;
  chips_.clear();
  std::vector<ChainLink> links = chain_links(registry_, comparison.chain_then, comparison.chain_now, now);
  QStringList words;
  for (ChainLink& link : links) {
    if (link.state == ChainLink::State::joins) link.note = tr("new in this run");
    if (link.state == ChainLink::State::leaves) {
      qint64 calls = 0;
      for (const trace::RouteRow& row : then.routes) calls += text_of(row.executed) == link.name ? row.calls : 0;
      link.note = tr("baseline only · %1").arg(counted(calls, tr("call")));
    }
    auto* chip = new ChainChip(theme_, this);
    chip->set_link(link, link.name);
    layout()->addWidget(chip);
    chip->show();
    chips_.push_back(chip);
    words << link.name + (link.note.isEmpty() ? QString() : ' ' + link.note);
  }
  setAccessibleName(tr("Chain: %1").arg(words.join(", ")));
  updateGeometry();
}

}  // namespace attn::ui
