// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/link/engine_link.h"

#include "ui/format/format.h"

#include <QTimer>

namespace attn::ui {

EngineLink::EngineLink(Engine& engine, QObject* parent)
    : QObject(parent), engine_(engine), states_(option_states(engine)), postbox_(this) {
  subscription_ = engine.subscribe([this, address = postbox_.address()](const EngineEvent& event) {
    // Asked on the job's thread: by the time that the window hears of the job, somebody may have edited on.
    if (event.kind == EngineEvent::Kind::job_started) {
      address.post([this, values = engine_.values()] { take_job(values); });
    }
    if (event.kind == EngineEvent::Kind::job_ended) address.post([this] { take_job(std::nullopt); });
    address.post([this, event] { take(event); });
  });
}

bool EngineLink::set(std::string_view key, OptionValue value) {
  return set_all({{std::string(key), std::move(value)}});
}

bool EngineLink::set_all(const std::vector<std::pair<std::string, OptionValue>>& changes) {
  const Expected<bool> done = engine_.set_all(changes);
  if (done) {
    refresh_soon();
  } else {
    emit refused(changes.size() == 1 ? text_of(changes.front().first) : QString(), text_of(done.error()));
  }
  return done.has_value();
}

void EngineLink::take_job(std::optional<OptionValues> began_with) { job_began_with_ = std::move(began_with); }

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
  states_ = option_states(engine_, job_began_with_ ? &*job_began_with_ : nullptr);
  emit settings_changed();
}

}  // namespace attn::ui
