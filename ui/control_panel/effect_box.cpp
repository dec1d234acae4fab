// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/control_panel/effect_box.h"

#include "ui/format/format.h"

#include <QLabel>
#include <QVBoxLayout>

namespace attn::ui {

namespace {

constexpr std::size_t kShownMoves = 4;

QLabel* line(const char* name, QWidget* parent, QVBoxLayout* column) {
  auto* label = new QLabel(parent);
  label->setObjectName(name);
  label->setWordWrap(true);
  column->addWidget(label);
  return label;
}

}  // namespace

EffectBox::EffectBox(EngineLink& link, const Theme& theme, QWidget* parent)
    : QFrame(parent), link_(link), theme_(theme), watch_(link) {
  setObjectName("effect");
  set_look(this, "banner");
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(12, 8, 12, 9);
  column->setSpacing(3);
  edits_ = line("effect_edits", this, column);
  set_look(edits_, "pending");
  moves_ = line("effect_moves", this, column);
  memory_ = line("effect_memory", this, column);
  connect(&watch_, &EffectWatch::changed, this, &EffectBox::refresh);
  connect(&link_, &EngineLink::job_running_changed, this, &EffectBox::refresh);
  connect(&theme_, &Theme::changed, this, &EffectBox::refresh);
  refresh();
}

QString EffectBox::moves_html(const Effect& effect) const {
  if (effect.calls == 0) return tr("Nothing has run yet that could be planned anew.");
  if (effect.moves.empty()) {
    return tr("None of the %1 of this run would be served by another backend.")
        .arg(counted(effect.calls, tr("call")).toHtmlEscaped());
  }
  const auto named = [this](const QString& name) {
    return QStringLiteral("<span style='color:%1'>●</span>&nbsp;%2")
        .arg(theme_.backend(name).name(), name.toHtmlEscaped());
  };
  QStringList lines;
  std::int64_t rest = 0;
  for (std::size_t i = 0; i < effect.moves.size(); ++i) {
    const EffectMove& move = effect.moves[i];
    if (i >= kShownMoves) {
      rest += move.calls;
      continue;
    }
    lines << QStringLiteral("<b>%1</b> %2 → %3")
                 .arg(counted(move.calls, tr("call")).replace(' ', QStringLiteral("&nbsp;")), named(move.from),
                      named(move.to));
  }
  if (rest > 0) lines << tr("and %1 more").arg(counted(rest, tr("call")));
  return lines.join("<br>");
}

void EffectBox::refresh() {
  const qint64 edits = watch_.edits();
  setVisible(edits > 0);
  if (edits == 0) return;
  edits_->setText(link_.engine().job_running() ? tr("%1 pending, after this job:").arg(counted(edits, tr("edit")))
                                               : tr("%1 pending, would change:").arg(counted(edits, tr("edit"))));
  edits_->setToolTip(tr("What a run like the last one would do with the chain that is wanted: planned, not measured."));
  const std::optional<Effect>& effect = watch_.effect();
  moves_->setText(effect ? moves_html(*effect) : tr("Planning …"));
  moves_->setAccessibleName(effect ? move_texts(*effect).join(". ") : QString());
  QStringList facts;
  if (effect && effect->memory_after > 0) {
    facts
        << (effect->memory_after == effect->memory_before
                ? tr("Largest call: %1, as now").arg(bytes_text(effect->memory_after))
                : tr("Largest call: %1 → %2").arg(bytes_text(effect->memory_before), bytes_text(effect->memory_after)));
    if (effect->over_memory()) facts << tr("over the %1 of the target").arg(bytes_text(*effect->target_memory));
  }
  if (effect && effect->unknown > 0) facts << tr("%1 cannot be planned anew").arg(counted(effect->unknown, tr("call")));
  memory_->setText(facts.join(", "));
  memory_->setVisible(!facts.isEmpty());
  memory_->setToolTip(tr("Most memory that one call of the run takes beyond its tensors, estimated"));
  set_look(memory_, effect && effect->over_memory() ? "bad" : "dim");
  setAccessibleName(tr("Effect of the pending edits"));
}

}  // namespace attn::ui
