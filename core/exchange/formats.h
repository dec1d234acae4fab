// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/exchange/sdnext_config.h"
#include "core/policy/precedence.h"
#include "core/policy/quarantine.h"
#include "core/registry/option.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// Everything that goes to production.
struct ProductionSettings {
  std::vector<OptionSpec> specs;
  OptionValues values;
  AttentionChoices attention;  ///< its `dispatcher` is not looked at: that is the setting `hf_attention`
  Quarantine quarantine{};     ///< what was found out about backends
};

/// What an export needs beside the settings.
struct ExportOptions {
  std::string existing;            ///< the text that is there; what is not about attention stays byte for byte
  std::optional<SdNextForm> form;  ///< of SD.Next; else as the text is
  std::int64_t steps = 0;          ///< of a generation, where dense steps become a window; 0: not known
  bool old_spelling = false;       ///< names that the target had before it renamed them
  std::string selection = "sla";   ///< how ComfyUI's node chooses keys
  std::string target;              ///< machine that the settings were made for, for a profile
  std::string model_path;          ///< for a load request
};

/// What an export comes to. Each loss begins with the setting's key and a colon and names what comes nearest.
struct ExportText {
  std::string text;
  std::vector<std::string> losses;
  std::vector<std::string> notes;
  SdNextForm form = SdNextForm::overrides;  ///< SD.Next only
  std::vector<ConfigChange> changes;        ///< SD.Next's config.json only
};

/// What an import says. With any problem there are neither values nor choices.
struct ImportText {
  using Values = ImportResult::Values;
  Values values;
  Values absent;                              ///< left out, which means their default there
  std::optional<AttentionChoices> attention;  ///< when the text says something about it
  std::string target;                         ///< of a profile
  Quarantine quarantine;                      ///< of a profile
  std::vector<std::string> notes;
  std::vector<std::string> problems;
  SdNextForm form = SdNextForm::overrides;  ///< SD.Next only
};

/// Which of ExportOptions a format looks at.
struct FormatUses {
  bool existing = false;  ///< false: what a file held before is replaced as a whole
  bool form = false;
  bool steps = false;
  bool spelling = false;
  bool target = false;
  bool model_path = false;
};

/// One format that settings are exchanged in.
struct ExchangeFormat {
  std::string_view name;   ///< as `--format` takes it
  std::string_view title;  ///< "config.json of SD.Next"
  std::string_view file;   ///< what such a file is usually called
  Expected<ExportText> (*write)(const ProductionSettings&, const ExportOptions&) = nullptr;
  /// `settings` gives the option specs, and the choices that the text says nothing about.
  Expected<ImportText> (*read)(std::string_view text, const ProductionSettings& settings,
                               const ExportOptions&) = nullptr;
  FormatUses uses{};
};

/// All of them, SD.Next's first.
[[nodiscard]] std::span<const ExchangeFormat> exchange_formats() noexcept;
/// Error: the name and those that there are.
[[nodiscard]] Expected<const ExchangeFormat*> find_exchange_format(std::string_view name);
/// The format that a text looks like; SD.Next's config.json for a JSON object that looks like nothing else.
[[nodiscard]] const ExchangeFormat& guess_exchange_format(std::string_view text);

}  // namespace attn
