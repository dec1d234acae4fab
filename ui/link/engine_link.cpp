// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/link/engine_link.h"

#include "ui/format/format.h"

#include <QTimer>

namespace attn::ui {

EngineLink::EngineLink(Engine& engine, QObject* parent)
    : QObject(parent), engine_(engine), states_(option_states(engine)), postbox_(this) {
  subscription_ = engine.subscribe(
      [this, address = postbox_.address()](const EngineEvent& event) { address.post([this, event] { take(event); }); });
}

bool EngineLink::set(std::string_view key, OptionValue value) {
  const Expected<bool> done = engine_.set(key, std::move(value));
  if (done) {
    refresh_soon();
  } else {
    emit refused(text_of(key), text_of(done.error()));
  }
  return done.has_value();
}

void EngineLink::set_target(Target target) {
  engine_.set_target(std::move(target));
  refresh_soon();
}

void EngineLink::take(const EngineEvent& event) {
  switch (event.kind) {
    case EngineEvent::Kind::chain_rebuilt:
      refresh();
      emit chain_rebuilt(text_of(event.old_chain), text_of(event.new_chain));
      return;
    case EngineEvent::Kind::job_started:
      emit job_running_changed(true);
      break;
    case EngineEvent::Kind::job_ended:
      emit job_running_changed(false);
      break;
    case EngineEvent::Kind::setting_changed:
    case EngineEvent::Kind::pending_changed:
    case EngineEvent::Kind::target_changed:
    case EngineEvent::Kind::attention_changed:
      break;
  }
  refresh_soon();
}

void EngineLink::refresh_soon() {
  if (refresh_queued_) return;
  refresh_queued_ = true;
  QTimer::singleShot(0, this, [this] {
    if (refresh_queued_) refresh();
  });
}

void EngineLink::refresh() {
  refresh_queued_ = false;
  states_ = option_states(engine_);
  emit settings_changed();
}

}  // namespace attn::ui
