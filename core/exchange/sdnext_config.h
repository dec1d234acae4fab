// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/registry/option.h"
#include "core/tensor/expected.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attn {

/// The two forms of SD.Next's attention settings. They differ in three keys:
///   - overrides: `sdp_overrides` lists any number of backends; `sparse_attention_min_tokens` 0 stands for 8192;
///     there is no `sparse_attention_exclude`.
///   - selector (newer): `cross_attention_optimization` names one backend or none; 0 tokens means every sequence.
enum class SdNextForm : std::uint8_t { overrides, selector };
/// "overrides", "selector".
[[nodiscard]] std::string_view name_of(SdNextForm form) noexcept;
[[nodiscard]] std::optional<SdNextForm> parse_sdnext_form(std::string_view text) noexcept;

/// The form of a config.json's text: selector when its method is a backend of that form or it has an exclusion list,
/// else overrides. A left-over `sdp_overrides`, which a newer server keeps in the file and does not read, changes
/// nothing about that. Error: the text is no JSON object; empty text is an object without members.
[[nodiscard]] Expected<SdNextForm> detect_sdnext_form(std::string_view text);

/// One value that an export changes, as JSON text. `before` is empty where the key is new, `after` where it goes.
struct ConfigChange {
  std::string key;
  std::string before;
  std::string after;
};

/// What an export writes.
struct ExportResult {
  SdNextForm form = SdNextForm::overrides;
  std::string text;
  std::vector<ConfigChange> changes;  ///< empty: the text says all of it already
  std::vector<std::string> losses;    ///< what the form cannot express, each with the nearest thing that was written
  std::vector<std::string> notes;     ///< what else a person should know
};

/// Writes `values` into the text of a config.json (empty: a new one). Every byte outside the changed values stays;
/// a value that means the same already keeps its spelling. Keys that are absent and at their default stay absent.
/// Without `form` the text's own is used; with the other one, the keys that only the old form has go.
/// Error: the text is no JSON object (with line and column).
[[nodiscard]] Expected<ExportResult> export_config(std::string_view existing, const std::vector<OptionSpec>& specs,
                                                   const OptionValues& values,
                                                   std::optional<SdNextForm> form = std::nullopt);

/// What a config.json says.
struct ImportResult {
  using Values = std::vector<std::pair<std::string, OptionValue>>;  ///< as Engine::set_all takes them
  SdNextForm form = SdNextForm::overrides;
  Values values;                      ///< of the options that the text holds, in the order of the specs
  Values absent;                      ///< the options that it leaves out, with the default that this means
  std::vector<std::string> notes;     ///< old spellings understood, keys ignored and why
  std::vector<std::string> problems;  ///< each names key, value, line and what would be right; values is empty then
};

/// Reads the attention settings out of the text of a config.json. All or nothing: with any problem there are no
/// values. Error: the text is no JSON object (with line and column).
[[nodiscard]] Expected<ImportResult> import_config(std::string_view text, const std::vector<OptionSpec>& specs,
                                                   std::optional<SdNextForm> form = std::nullopt);

}  // namespace attn
