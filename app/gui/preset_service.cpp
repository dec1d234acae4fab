// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/preset_service.h"

#include "app/jobs/exchange/exchange.h"
#include "ui/format/format.h"

#include <filesystem>

namespace attn::app {

namespace {

std::filesystem::path path_of(const QString& path) { return {path.toStdU16String()}; }

ui::PresetState look_at(const PresetShelf& shelf, const Engine& engine, const QString& chosen) {
  ui::PresetState seen;
  const ProductionSettings settings = production_settings(engine);
  for (const Preset& preset : shelf.list()) {
    const Expected<ImportText> read = read_preset(preset, settings);
    QString problem;
    if (!read) problem = ui::text_of(read.error());
    if (read && !read->problems.empty()) problem = ui::text_of(read->problems.front());
    const QString name = ui::text_of(preset.name);
    if (name == chosen) {
      seen.chosen = name;
      seen.modified = !holds(preset, settings);
    }
    seen.presets.push_back({name, ui::text_of(preset.about), preset.shipped, problem});
  }
  return seen;
}

}  // namespace

GuiPresetService::GuiPresetService(Engine& engine, QObject* parent)
    : ui::PresetService(parent), engine_(engine), postbox_(this) {
  subscription_ = engine_.subscribe([this, address = postbox_.address()](const EngineEvent& event) {
    const bool matters = event.kind == EngineEvent::Kind::setting_changed ||
                         event.kind == EngineEvent::Kind::attention_changed ||
                         event.kind == EngineEvent::Kind::target_changed;
    if (matters) address.post([this] { look(); });
  });
  look();
}

GuiPresetService::~GuiPresetService() = default;

void GuiPresetService::look() {
  stale_ = looking_;
  if (looking_) return;
  looking_ = true;
  worker_.post([this, chosen = state_.chosen, address = postbox_.address()] {
    address.post([this, seen = look_at(shelf_, engine_, chosen)] { take(seen); });
  });
}

void GuiPresetService::take(const ui::PresetState& seen) {
  looking_ = false;
  const bool newer_asked = stale_ || seen.chosen != state_.chosen;
  state_.presets = seen.presets;
  if (!newer_asked) state_.modified = seen.modified;
  emit changed();
  const bool gone = seen.chosen.isEmpty() && !state_.chosen.isEmpty() && !stale_;
  if (gone) state_.chosen.clear();
  stale_ = false;
  if (newer_asked && !gone) look();
  if (gone) emit changed();
}

void GuiPresetService::act(std::function<Expected<std::string>()> work) {
  worker_.post([this, work = std::move(work), address = postbox_.address()] {
    address.post([this, done = work()] {
      state_.said = done ? QString() : ui::text_of(done.error());
      if (done && !done->empty()) state_.chosen = ui::text_of(*done);
      emit changed();
      look();
    });
  });
}

void GuiPresetService::choose(const QString& name) {
  emit applying(name);
  worker_.post([this, wanted = ui::utf8_of(name), address = postbox_.address()] {
    const Expected<Preset> preset = shelf_.find(wanted);
    const Expected<void> done = preset ? apply_preset(*preset, engine_) : fail(preset.error());
    address.post([this, done, found = preset ? ui::text_of(preset->name) : QString()] {
      state_.said = done ? QString() : ui::text_of(done.error());
      if (done) {
        state_.chosen = found;
        state_.modified = false;
      }
      emit applied();
      emit changed();
      look();
    });
  });
}

void GuiPresetService::save(const QString& name) {
  act([this, wanted = ui::utf8_of(name.trimmed())]() -> Expected<std::string> {
    if (auto done = shelf_.save(wanted, engine_); !done) return fail(done.error());
    return wanted;
  });
}

void GuiPresetService::rename(const QString& from, const QString& to) {
  const bool is_chosen = from == state_.chosen;
  act([this, old = ui::utf8_of(from), wanted = ui::utf8_of(to.trimmed()), is_chosen]() -> Expected<std::string> {
    if (auto done = shelf_.rename(old, wanted); !done) return fail(done.error());
    return is_chosen ? wanted : std::string();
  });
}

void GuiPresetService::remove(const QString& name) {
  act([this, wanted = ui::utf8_of(name)]() -> Expected<std::string> {
    if (auto done = shelf_.remove(wanted); !done) return fail(done.error());
    return std::string();
  });
}

void GuiPresetService::import_file(const QString& path) {
  act([this, file = path_of(path)]() -> Expected<std::string> {
    const Expected<std::string> name = shelf_.add(file);
    if (!name) return fail(name.error());
    return std::string();  // it lies on the shelf and is not in force
  });
}

void GuiPresetService::export_file(const QString& name, const QString& path) {
  act([this, wanted = ui::utf8_of(name), file = path_of(path)]() -> Expected<std::string> {
    if (auto done = shelf_.write(wanted, file); !done) return fail(done.error());
    return std::string();
  });
}

}  // namespace attn::app
