// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/chain_bar/chain_history.h"

#include "ui/chain_bar/chain_diff.h"

#include <QStringList>
#include <algorithm>

namespace attn::ui {

namespace {

/// Whether a change goes on with the number that the last one began with.
bool same_number(const std::vector<SettingChange>& last, const std::vector<SettingChange>& next,
                 const OptionStates& states) {
  if (last.size() != 1 || next.size() != 1 || last.front().key != next.front().key || next.front().key.isEmpty()) {
    return false;
  }
  const OptionState* state = find_state(states, next.front().key.toStdString());
  return state != nullptr && (state->spec.type == OptionType::integer || state->spec.type == OptionType::real);
}

}  // namespace

QString ChainMoment::chain() const { return QStringList(names.begin(), names.end()).join(QStringLiteral(" › ")); }

QString ChainMoment::words() const {
  QStringList parts;
  for (const SettingChange& change : changes) parts << change.words;
  return parts.join(", ");
}

QString chain_change(const std::vector<QString>& before, const std::vector<QString>& after) {
  const auto has = [](const std::vector<QString>& names, const QString& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  QStringList parts;
  for (const QString& name : after) {
    if (!has(before, name)) parts << QStringLiteral("+ ") + name;
  }
  for (const QString& name : before) {
    if (!has(after, name)) parts << QStringLiteral("− ") + name;
  }
  return parts.join(", ");
}

ChainHistory::ChainHistory(SettingsHistory& settings, QObject* parent) : QObject(parent), settings_(settings) {
  clock_.start();
  record();
  connect(&settings_.link(), &EngineLink::chain_rebuilt, this, &ChainHistory::record);
}

std::vector<SettingChange> ChainHistory::changes_from_now(std::size_t at) const {
  return changes_between(settings_.link().engine().specs(), settings_.point(), moments_[at].settings);
}

void ChainHistory::record() {
  const Engine& engine = settings_.link().engine();
  ChainMoment next{QDateTime::currentDateTime(), chain_names(*engine.plan()), settings_.point(), {}};
  if (!moments_.empty()) {
    if (next.settings == moments_.back().settings && next.names == moments_.back().names) return;
    next.changes = changes_between(engine.specs(), moments_.back().settings, next.settings);
    const bool goes_on = clock_.elapsed() - recorded_at_ <= History<SettingsPoint>::kPause.count() &&
                         same_number(moments_.back().changes, next.changes, settings_.link().states());
    if (goes_on && moments_.size() > 1) {
      moments_.pop_back();
      next.changes = changes_between(engine.specs(), moments_.back().settings, next.settings);
    }
  }
  recorded_at_ = clock_.elapsed();
  // A number that was dragged back to where it began is no new chain.
  if (moments_.empty() || !(next.settings == moments_.back().settings) || next.names != moments_.back().names) {
    moments_.push_back(std::move(next));
  }
  if (moments_.size() > kMost) moments_.erase(moments_.begin());
  emit changed();
}

void ChainHistory::go_back(std::size_t at) {
  if (at >= moments_.size()) return;
  const ChainMoment moment = moments_[at];
  settings_.restore(moment.settings, tr("back to the chain of %1").arg(moment.since.toString("HH:mm:ss")));
}

}  // namespace attn::ui
