// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/control_panel/effect_watch.h"

#include <algorithm>

namespace attn::ui {

namespace {

constexpr int kPauseMs = 200;

bool same_kind(const trace::RouteRow& a, const trace::RouteRow& b) {
  return a.id.role == b.id.role && a.id.query == b.id.query && a.id.key == b.id.key && a.id.masked == b.id.masked;
}

/// Whether `run` is the beginning of one like `whole`: the same pipeline and steps, and no call of another kind.
bool is_begun(const trace::TraceSnapshot& run, const RunFacts& facts, const trace::TraceSnapshot& whole,
              const RunFacts& whole_facts) {
  if (facts.steps != whole_facts.steps || facts.pipeline.has_value() != whole_facts.pipeline.has_value()) return false;
  if (facts.pipeline && facts.pipeline->pipeline_class != whole_facts.pipeline->pipeline_class) return false;
  return std::all_of(run.routes.begin(), run.routes.end(), [&whole](const trace::RouteRow& row) {
    return std::any_of(whole.routes.begin(), whole.routes.end(),
                       [&row](const trace::RouteRow& known) { return same_kind(row, known); });
  });
}

}  // namespace

EffectWatch::EffectWatch(EngineLink& link, QObject* parent) : QObject(parent), link_(link), postbox_(this) {
  pool_.setMaxThreadCount(1);
  pause_.setSingleShot(true);
  connect(&pause_, &QTimer::timeout, this, &EffectWatch::ask);
  connect(&link_, &EngineLink::settings_changed, this, &EffectWatch::look);
  look();
}

EffectWatch::~EffectWatch() { pool_.waitForDone(); }

void EffectWatch::set_run(const trace::TraceSnapshot& run, const RunFacts& facts) {
  if (run.calls < run_.calls && is_begun(run, facts, run_, facts_)) return;
  run_ = run;
  facts_ = facts;
  if (edits_ > 0 && !pause_.isActive()) pause_.start(kPauseMs);
}

void EffectWatch::look() {
  edits_ = static_cast<qint64>(link_.engine().pending().size());
  if (edits_ == 0) {
    effect_.reset();
    pause_.stop();
    emit changed();
    return;
  }
  emit changed();
  ask();
}

void EffectWatch::ask() {
  stale_ = asked_;
  if (asked_) return;
  asked_ = true;
  pool_.start([this, run = run_, facts = facts_, address = postbox_.address()] {
    const Engine& engine = link_.engine();
    const Effect found = predict_effect(engine.registry(), *engine.plan(), *engine.wanted_plan(), run, facts);
    address.post([this, found] { take(found); });
  });
}

void EffectWatch::take(const Effect& effect) {
  asked_ = false;
  if (edits_ > 0 && effect_ != effect) {
    effect_ = effect;
    emit changed();
  }
  if (stale_ && edits_ > 0) ask();
  stale_ = false;
}

}  // namespace attn::ui
