// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/link/settings_history.h"

#include "ui/format/format.h"
#include "ui/link/settings_diff.h"
#include "ui/services.h"

#include <QAction>

namespace attn::ui {

namespace {

/// The number option whose steps merge; empty for anything else.
std::string merging_key(const OptionStates& states, const SettingsPoint& before, const SettingsPoint& after) {
  if (before.target.name != after.target.name || before.required != after.required ||
      !(before.attention == after.attention)) {
    return {};
  }
  const std::vector<std::string> keys = differing_keys(before.values, after.values);
  const OptionState* state = keys.size() == 1 ? find_state(states, keys.front()) : nullptr;
  const bool number =
      state != nullptr && (state->spec.type == OptionType::integer || state->spec.type == OptionType::real);
  return number ? keys.front() : std::string();
}

}  // namespace

bool operator==(const SettingsPoint& a, const SettingsPoint& b) {
  return a.target.name == b.target.name && a.required == b.required && a.attention == b.attention &&
         a.values.all().size() == b.values.all().size() && differing_keys(a.values, b.values).empty();
}

SettingsPoint settings_point(const Engine& engine, const JobControl& jobs) {
  return {engine.target(), engine.values(), engine.attention(), jobs.required()};
}

QString step_text(const OptionStates& states, const SettingsPoint& before, const SettingsPoint& after) {
  if (before.target.name != after.target.name) {
    return SettingsHistory::tr("target %1")
        .arg(text_of(after.target.label.empty() ? after.target.name : after.target.label));
  }
  const std::vector<std::string> keys = differing_keys(before.values, after.values);
  if (keys.empty()) {
    return before.attention == after.attention ? SettingsHistory::tr("prefer or require")
                                               : SettingsHistory::tr("attention backend");
  }
  const OptionState* state = find_state(states, keys.front());
  if (keys.size() > 1 || state == nullptr)
    return counted(static_cast<qint64>(keys.size()), SettingsHistory::tr("setting"));
  const OptionValue& old_value = *before.values.find(keys.front());
  const OptionValue& new_value = *after.values.find(keys.front());
  if (const QStringList items = item_changes(old_value, new_value); items.size() == 1) return items.front();
  const QString values =
      setting_text(state->spec, old_value) + QStringLiteral(" → ") + setting_text(state->spec, new_value);
  constexpr qsizetype kReadable = 40;
  const QString label = text_of(short_label(state->spec));
  return values.size() > kReadable ? label : label + ' ' + values;
}

SettingsHistory::SettingsHistory(EngineLink& link, JobControl& jobs, QObject* parent)
    : QObject(parent), link_(link), jobs_(jobs), history_(point()) {
  clock_.start();
  undo_ = new QAction(this);
  undo_->setObjectName("edit.undo");
  undo_->setShortcut(QKeySequence(tr("Ctrl+Z")));
  redo_ = new QAction(this);
  redo_->setObjectName("edit.redo");
  redo_->setShortcuts({QKeySequence(tr("Ctrl+Shift+Z")), QKeySequence(tr("Ctrl+Y"))});
  connect(undo_, &QAction::triggered, this, [this] {
    record();  // what has just been set and not been told yet
    if (history_.can_undo()) go(history_.undo());
  });
  connect(redo_, &QAction::triggered, this, [this] {
    record();
    if (history_.can_redo()) go(history_.redo());
  });
  connect(&link_, &EngineLink::settings_changed, this, &SettingsHistory::record);
  connect(&jobs_, &JobControl::required_changed, this, &SettingsHistory::record);
  // A result belongs to the values that it was made with: they stay within reach.
  connect(&link_, &EngineLink::job_running_changed, this, [this] { history_.seal(); });
  show_actions();
}

void SettingsHistory::begin(const QString& name) {
  record();
  if (groups_++ == 0) group_ = name;
}

void SettingsHistory::end() {
  if (groups_ == 0 || --groups_ > 0) return;
  history_.record(point(), {}, utf8_of(group_), History<SettingsPoint>::Time(clock_.elapsed()));
  show_actions();
}

void SettingsHistory::restore(const SettingsPoint& to, const QString& name) {
  begin(name);
  go(to);
  end();
}

SettingsPoint SettingsHistory::point() const { return settings_point(link_.engine(), jobs_); }

void SettingsHistory::record() {
  if (groups_ > 0) return;
  SettingsPoint next = point();
  if (next == history_.now()) return;
  // A tuned choice sets options and attention backend one after the other. No hand does that so fast.
  constexpr qint64 kOneAction = 100;
  SettingsPoint but_attention = history_.now();
  but_attention.attention = next.attention;
  const bool late = but_attention == next && clock_.elapsed() - stepped_at_ <= kOneAction;
  stepped_at_ = clock_.elapsed();
  if (late && history_.amend(next)) {
    show_actions();
    return;
  }
  std::string what = merging_key(link_.states(), history_.now(), next);
  history_.record(std::move(next), std::move(what), {}, History<SettingsPoint>::Time(clock_.elapsed()));
  show_actions();
}

void SettingsHistory::go(const SettingsPoint& to) {
  const SettingsPoint wanted = to;
  if (link_.engine().target().name != wanted.target.name) link_.set_target(wanted.target);
  std::vector<std::pair<std::string, OptionValue>> changes;
  const OptionValues now = link_.engine().values();
  for (const std::string& key : differing_keys(now, wanted.values)) changes.emplace_back(key, *wanted.values.find(key));
  link_.set_all(changes);
  AttentionChoices attention = wanted.attention;
  attention.dispatcher.clear();
  (void)link_.engine().set_attention(std::move(attention));  // its names were known a moment ago
  jobs_.require(wanted.required);
  show_actions();
}

void SettingsHistory::show_actions() {
  const auto show = [](QAction* action, const QString& verb, const QString& what) {
    action->setEnabled(!what.isEmpty());
    action->setText(what.isEmpty() ? verb : verb + ' ' + what);
  };
  const auto named = [this](const std::string& name, const SettingsPoint& before, const SettingsPoint& after) {
    return name.empty() ? step_text(link_.states(), before, after) : text_of(name);
  };
  show(undo_, tr("&Undo"),
       history_.can_undo() ? named(history_.undo_name(), history_.before(), history_.now()) : QString());
  show(redo_, tr("&Redo"),
       history_.can_redo() ? named(history_.redo_name(), history_.now(), history_.after()) : QString());
}

}  // namespace attn::ui
