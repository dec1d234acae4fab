// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/engine/engine.h"
#include "core/exchange/formats.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace attn::app {

/// Settings under a name: a profile of Attnscope with the members "name" and "about".
struct Preset {
  std::string name;
  std::string about;  ///< what it does and what it costs; may be empty
  bool shipped = false;
  std::filesystem::path path;
  std::string text;     ///< the profile
  std::string problem;  ///< why the file is no profile; then it cannot be applied
};

/// Where a person's own presets are: $ATTNSCOPE_PRESETS when that is set, else presets/ below attnscope/ in
/// $XDG_DATA_HOME or ~/.local/share. May not be there yet.
[[nodiscard]] std::filesystem::path own_presets_folder();

/// The presets that come with the program and a person's own, a file each. Reads and writes files on the calling
/// thread; keeps nothing. Names are told apart without regard to case.
class PresetShelf {
 public:
  PresetShelf();  ///< the usual two folders
  PresetShelf(std::filesystem::path shipped, std::filesystem::path own);

  /// The shipped ones, then the own ones, each by name.
  [[nodiscard]] std::vector<Preset> list() const;
  /// Error: the name, and those that there are.
  [[nodiscard]] Expected<Preset> find(std::string_view name) const;

  /// Keeps what the engine would take to production; an own preset of that name is replaced. Error: an empty name, a
  /// shipped preset's, or a file that cannot be written.
  [[nodiscard]] Expected<void> save(const std::string& name, const Engine& engine) const;
  /// Error: a shipped preset, or a name that is taken.
  [[nodiscard]] Expected<void> rename(const std::string& from, const std::string& to) const;
  [[nodiscard]] Expected<void> remove(const std::string& name) const;
  /// Takes a profile's file among the own presets and returns the name that it got: its own, or the file's, with a
  /// number where that is taken.
  [[nodiscard]] Expected<std::string> add(const std::filesystem::path& file) const;
  /// Writes a preset to a file of somebody's choice.
  [[nodiscard]] Expected<void> write(const std::string& name, const std::filesystem::path& file) const;

 private:
  [[nodiscard]] Expected<Preset> own(const std::string& name) const;
  [[nodiscard]] Expected<void> put(const std::string& name, const std::string& profile) const;

  std::filesystem::path shipped_;
  std::filesystem::path own_;
};

/// What a preset says on the engine's target. Error: it is no profile. `problems` holds values that the target does
/// not take.
[[nodiscard]] Expected<ImportText> read_preset(const Preset& preset, const ProductionSettings& settings);
/// Puts a preset in force, all or none. Error: a sentence that names it.
[[nodiscard]] Expected<void> apply_preset(const Preset& preset, Engine& engine);
/// Whether the settings are just what the preset says.
[[nodiscard]] bool holds(const Preset& preset, const ProductionSettings& settings);

}  // namespace attn::app
