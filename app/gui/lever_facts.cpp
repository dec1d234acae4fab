// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/lever_facts.h"

#include "ui/format/format.h"

#include <algorithm>

namespace attn::app {

namespace {

using State = ui::LeverFact::State;

QStringList texts_of(const std::vector<std::string>& sentences) {
  QStringList out;
  for (const std::string& sentence : sentences) out << ui::text_of(sentence);
  return out;
}

ui::LeverFact waiting_fact(const LeverVariant& variant) {
  ui::LeverFact fact;
  fact.name = ui::text_of(variant.name);
  fact.group = ui::text_of(name_of(variant.group));
  fact.what = ui::text_of(variant.what);
  fact.by_default = variant.group != LeverGroup::option;
  return fact;
}

void add_measure(const LeverResult& result, const LeverRow& row, ui::LeverFact& fact) {
  fact.seconds = row.seconds();
  fact.relative_time = row.relative_time();
  fact.noise = result.noise(row);
  fact.memory_bytes = row.measure.memory_bytes;
  if (row.measure.host_bytes) fact.host_bytes = *row.measure.host_bytes;
  if (row.measure.picture) {
    fact.psnr = row.measure.picture->psnr;
    fact.ssim = row.measure.picture->ssim;
  }
  fact.relative_l1 = row.worst_relative_l1();
  fact.cosine = row.worst_cosine();
  for (const LeverRole& role : row.roles()) {
    fact.roles.push_back({ui::text_of(name_of(role.role)), role.calls, role.seconds, role.baseline_seconds,
                          role.relative_l1, role.cosine});
  }
}

void add_row(const LeverResult& result, const LeverRow& row, ui::LeverFact& fact) {
  fact.chain = ui::text_of(row.chain);
  fact.notes = texts_of(row.notes);
  fact.reason = ui::text_of(row.reason);
  switch (row.state) {
    case LeverState::measured:
      fact.state = State::measured;
      add_measure(result, row, fact);
      break;
    case LeverState::skipped:
      fact.state = State::skipped;
      break;
    case LeverState::failed:
      fact.state = State::failed;
      break;
  }
}

}  // namespace

std::vector<ui::LeverFact> lever_facts(const std::vector<LeverVariant>& variants, const LeverResult& result,
                                       const QString& running) {
  std::vector<ui::LeverFact> facts;
  std::vector<std::string> front;
  for (const std::size_t at : pareto_front(result)) front.push_back(result.rows[at].variant.name);
  const auto add = [&](const LeverVariant& variant) {
    ui::LeverFact fact = waiting_fact(variant);
    if (const LeverRow* row = result.find(variant.name)) add_row(result, *row, fact);
    fact.on_front = std::find(front.begin(), front.end(), variant.name) != front.end();
    if (fact.state == State::waiting && fact.name == running) fact.state = State::running;
    facts.push_back(std::move(fact));
  };
  for (const LeverVariant& variant : variants) add(variant);
  // A row may be of settings that gave other variants than the present ones.
  for (const LeverRow& row : result.rows) {
    const bool listed = std::any_of(variants.begin(), variants.end(),
                                    [&row](const LeverVariant& one) { return one.name == row.variant.name; });
    if (!listed) add(row.variant);
  }
  return facts;
}

ui::TuneFacts tune_facts(const TuneResult& result) {
  ui::TuneFacts facts;
  facts.chosen = ui::text_of(result.chosen);
  facts.changed = result.changed;
  facts.gain = result.gain;
  facts.noise = result.noise;
  facts.reason = ui::text_of(result.reason);
  for (const TunePick& pick : result.picks) {
    facts.picks.push_back({ui::text_of(pick.call), ui::text_of(name_of(pick.role)), pick.calls,
                           ui::text_of(pick.backend), ui::text_of(name_of(pick.level)), ui::text_of(pick.reason)});
  }
  facts.refused = texts_of(result.refused);
  facts.kept = texts_of(result.kept);
  facts.change = ui::text_of(result.change.text());
  return facts;
}

}  // namespace attn::app
