// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/control_panel/effect_watch.h"

namespace attn::ui {

namespace {

constexpr int kPauseMs = 200;

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
