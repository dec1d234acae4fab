// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/chain_bar/chain_diff.h"

#include "ui/format/format.h"

#include <QCoreApplication>
#include <algorithm>
#include <map>

namespace attn::ui {

namespace {

bool contains(const std::vector<QString>& names, const QString& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

const PlanEntry* entry_named(const Plan& plan, const QString& name) {
  for (const PlanEntry& entry : plan.entries()) {
    if (text_of(entry.name) == name) return &entry;
  }
  return text_of(plan.last().name) == name ? &plan.last() : nullptr;
}

QString join_note(const Plan& wanted, const QString& name) {
  const PlanEntry* entry = entry_named(wanted, name);
  if (entry == nullptr) return {};
  if (&wanted.last() == entry) return QCoreApplication::translate("ChainBar", "joins · takes the rest");
  if (entry->capabilities.block_mask) return QCoreApplication::translate("ChainBar", "joins · takes a block mask");
  return QCoreApplication::translate("ChainBar", "joins");
}

}  // namespace

std::vector<QString> chain_names(const Plan& plan) {
  std::vector<QString> names;
  for (const PlanEntry& entry : plan.entries()) names.push_back(text_of(entry.name));
  names.push_back(text_of(plan.last().name));
  return names;
}

std::vector<ChainLink> chain_links(const Registry& registry, const std::vector<QString>& now,
                                   const std::vector<QString>& then, const trace::TraceSnapshot& run) {
  std::map<QString, qint64> calls;
  for (const trace::RouteRow& row : run.routes) calls[text_of(row.executed)] += row.calls;

  std::vector<QString> order;
  const std::vector<BackendSpec>& ascending = registry.ascending();
  for (auto spec = ascending.rbegin(); spec != ascending.rend(); ++spec) order.push_back(text_of(spec->name));
  order.push_back(text_of(registry.original().name));

  std::vector<ChainLink> links;
  for (const QString& name : order) {
    const bool is_in = contains(now, name);
    const bool will_be = contains(then, name);
    if (!is_in && !will_be) continue;
    ChainLink link;
    link.name = name;
    if (!will_be) link.state = ChainLink::State::leaves;
    if (!is_in) link.state = ChainLink::State::joins;
    link.calls = calls[name];
    link.share = run.calls > 0 ? static_cast<double>(link.calls) / static_cast<double>(run.calls) : 0.0;
    links.push_back(std::move(link));
  }
  return links;
}

std::vector<ChainLink> chain_links(const Registry& registry, const Plan& applied, const Plan& wanted,
                                   const trace::TraceSnapshot& run) {
  std::vector<ChainLink> links = chain_links(registry, chain_names(applied), chain_names(wanted), run);
  for (ChainLink& link : links) {
    if (link.state == ChainLink::State::joins) link.note = join_note(wanted, link.name);
  }
  return links;
}

}  // namespace attn::ui
