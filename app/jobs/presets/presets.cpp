// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/presets/presets.h"

#include "app/jobs/exchange/exchange.h"
#include "app/jobs/files/atomic_file.h"
#include "app/jobs/nearest.h"
#include "app/jobs/resources.h"
#include "core/policy/words.h"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

namespace attn::app {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::size_t kLargestFile = std::size_t{1} << 20;

const ExchangeFormat& profile_format() {
  // The profile is one of the formats of this program, so it is found.
  return **find_exchange_format("profile");
}

bool same_name(std::string_view a, std::string_view b) { return lowered(a) == lowered(b); }

std::string member(const Json& json, const char* key) {
  const auto at = json.is_object() ? json.find(key) : json.end();
  return at != json.end() && at->is_string() ? at->get<std::string>() : std::string();
}

Preset read_file(const fs::path& path, bool shipped) {
  Preset preset;
  preset.shipped = shipped;
  preset.path = path;
  preset.name = path.stem().string();
  Expected<std::string> text = read_text(path, kLargestFile);
  if (!text) {
    preset.problem = text.error();
    return preset;
  }
  preset.text = *std::move(text);
  const Json json = Json::parse(preset.text, nullptr, false);
  if (json.is_discarded()) preset.problem = path.string() + " is not JSON";
  if (std::string name = member(json, "name"); !name.empty()) preset.name = std::move(name);
  preset.about = member(json, "about");
  return preset;
}

std::vector<Preset> read_folder(const fs::path& folder, bool shipped) {
  std::vector<Preset> presets;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".json") presets.push_back(read_file(entry.path(), shipped));
  }
  std::sort(presets.begin(), presets.end(),
            [](const Preset& a, const Preset& b) { return lowered(a.name) < lowered(b.name); });
  return presets;
}

const Preset* named(const std::vector<Preset>& presets, std::string_view name) {
  const auto at =
      std::find_if(presets.begin(), presets.end(), [name](const Preset& one) { return same_name(one.name, name); });
  return at == presets.end() ? nullptr : &*at;
}

/// A file name that every system takes.
std::string file_stem(const std::string& name) {
  std::string stem;
  for (const char letter : name) {
    const bool plain = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                       (letter >= '0' && letter <= '9') || letter == '-' || letter == '_';
    stem += plain ? letter : '-';
  }
  return stem;
}

fs::path free_path(const fs::path& folder, const std::string& name) {
  const std::string stem = file_stem(name);
  std::error_code ignored;
  fs::path path = folder / (stem + ".json");
  for (int i = 2; fs::exists(path, ignored); ++i) path = folder / (stem + "-" + std::to_string(i) + ".json");
  return path;
}

}  // namespace

fs::path own_presets_folder() {
  if (const char* folder = std::getenv("ATTNSCOPE_PRESETS"); folder != nullptr && *folder != '\0') return folder;
  const char* data = std::getenv("XDG_DATA_HOME");
  if (data != nullptr && *data != '\0') return fs::path(data) / "attnscope" / "presets";
  const char* home = std::getenv("HOME");
  return fs::path(home != nullptr ? home : "") / ".local" / "share" / "attnscope" / "presets";
}

PresetShelf::PresetShelf() : PresetShelf(resource_path("presets"), own_presets_folder()) {}

PresetShelf::PresetShelf(fs::path shipped, fs::path own) : shipped_(std::move(shipped)), own_(std::move(own)) {}

std::vector<Preset> PresetShelf::list() const {
  std::vector<Preset> presets = read_folder(shipped_, true);
  for (Preset& preset : read_folder(own_, false)) presets.push_back(std::move(preset));
  return presets;
}

Expected<Preset> PresetShelf::find(std::string_view name) const {
  const std::vector<Preset> presets = list();
  if (const Preset* preset = named(presets, name)) return *preset;
  std::vector<std::string> names;
  for (const Preset& preset : presets) names.push_back("\"" + preset.name + "\"");
  return fail("there is no preset \"" + quotable(name) + "\"; there are " + joined(names));
}

Expected<Preset> PresetShelf::own(const std::string& name) const {
  Expected<Preset> preset = find(name);
  if (preset && preset->shipped) {
    return fail("the preset \"" + preset->name + "\" comes with the program and stays as it is; save a copy instead");
  }
  return preset;
}

Expected<void> PresetShelf::put(const std::string& name, const std::string& profile) const {
  const std::string trimmed_name(trimmed(name));
  if (trimmed_name.empty()) return fail("a preset needs a name");
  Json json = Json::parse(profile, nullptr, false);
  if (!json.is_object()) return fail("the preset \"" + trimmed_name + "\" is no JSON object");
  json["name"] = trimmed_name;
  std::error_code error;
  fs::create_directories(own_, error);
  if (error) return fail("cannot make the folder " + own_.string() + ": " + error.message());
  const std::vector<Preset> presets = list();
  const Preset* taken = named(presets, trimmed_name);
  if (taken != nullptr && taken->shipped) {
    return fail("the name \"" + taken->name + "\" is that of a preset which comes with the program; choose another");
  }
  return write_atomically(taken != nullptr ? taken->path : free_path(own_, trimmed_name), json.dump(2) + "\n");
}

Expected<void> PresetShelf::save(const std::string& name, const Engine& engine) const {
  ProductionSettings settings = production_settings(engine);
  settings.quarantine.clear();  // found out about a machine, not chosen
  const Expected<ExportText> made = profile_format().write(settings, {});
  if (!made) return fail(made.error());
  return put(name, made->text);
}

Expected<void> PresetShelf::rename(const std::string& from, const std::string& to) const {
  const Expected<Preset> preset = own(from);
  if (!preset) return fail(preset.error());
  const std::vector<Preset> presets = list();
  if (const Preset* taken = named(presets, trimmed(to)); taken != nullptr && taken->path != preset->path) {
    return fail("the name \"" + taken->name + "\" is taken; choose another");
  }
  Json json = Json::parse(preset->text, nullptr, false);
  const std::string name(trimmed(to));
  if (name.empty()) return fail("a preset needs a name");
  if (!json.is_object()) return fail(preset->problem);
  json["name"] = name;
  return write_atomically(preset->path, json.dump(2) + "\n");
}

Expected<void> PresetShelf::remove(const std::string& name) const {
  const Expected<Preset> preset = own(name);
  if (!preset) return fail(preset.error());
  std::error_code error;
  if (fs::remove(preset->path, error)) return {};
  return fail("cannot remove " + preset->path.string() + (error ? ": " + error.message() : ""));
}

Expected<std::string> PresetShelf::add(const fs::path& file) const {
  const Preset read = read_file(file, false);
  if (!read.problem.empty()) return fail(read.problem);
  if (guess_exchange_format(read.text).name != profile_format().name) {
    return fail(file.string() + " is no profile of Attnscope; File > Import reads other formats");
  }
  const std::vector<Preset> presets = list();
  std::string name = read.name;
  for (int i = 2; named(presets, name) != nullptr; ++i) name = read.name + " " + std::to_string(i);
  if (auto done = put(name, read.text); !done) return fail(done.error());
  return name;
}

Expected<void> PresetShelf::write(const std::string& name, const fs::path& file) const {
  const Expected<Preset> preset = find(name);
  if (!preset) return fail(preset.error());
  return write_atomically(file, preset->text, Backup::keep);
}

Expected<ImportText> read_preset(const Preset& preset, const ProductionSettings& settings) {
  const std::string where = "preset \"" + preset.name + "\": ";
  if (!preset.problem.empty()) return fail(where + preset.problem);
  Expected<ImportText> read = profile_format().read(preset.text, settings, {});
  if (!read) return fail(where + read.error());
  return read;
}

Expected<void> apply_preset(const Preset& preset, Engine& engine) {
  const Expected<ImportText> read = read_preset(preset, production_settings(engine));
  if (!read) return fail(read.error());
  auto taken = take_import(*read, engine);
  if (!taken) return fail("preset \"" + preset.name + "\": " + taken.error());
  return {};
}

bool holds(const Preset& preset, const ProductionSettings& settings) {
  const Expected<ImportText> read = read_preset(preset, settings);
  return read && read->problems.empty() && changes_of(*read, settings).empty();
}

}  // namespace attn::app
