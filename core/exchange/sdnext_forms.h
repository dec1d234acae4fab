// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/exchange/json_text.h"
#include "core/exchange/sdnext_config.h"
#include "core/registry/option.h"

#include <string>
#include <string_view>
#include <vector>

namespace attn::sdnext {

/// Keys that mean something else in each form, or that only one form has.
inline constexpr std::string_view kMinTokens = "sparse_attention_min_tokens";
inline constexpr std::string_view kExclude = "sparse_attention_exclude";

/// The form that a parsed text is in; see detect_sdnext_form().
[[nodiscard]] SdNextForm form_of(const JsonText& text);

/// The override's label as the selector form writes it ("Triton Flash attention" -> "Triton AMD Flash attention"), and
/// back. Empty: that form has no such backend.
[[nodiscard]] std::string_view selector_label(std::string_view override_label) noexcept;
[[nodiscard]] std::string_view override_label(std::string_view selector_label) noexcept;

/// The one method that stands for a list of overrides and the method beside it. `by_priority` holds every override,
/// highest priority first. What it cannot say is added to `losses`, unless that is null.
[[nodiscard]] std::string selector_method(const OptionList& overrides, const std::string& method,
                                          const std::vector<std::string>& by_priority,
                                          std::vector<std::string>* losses);

/// A stored value in this program's terms: spellings of other versions, and numbers that the form gives another
/// meaning. Each thing understood is said in `notes`, unless that is null.
[[nodiscard]] OptionValue understood(SdNextForm form, const OptionSpec& spec, OptionValue stored,
                                     std::vector<std::string>* notes);

/// A value of this program as the form stores it; what it cannot store goes to `losses`, what a person should know
/// to `notes`.
[[nodiscard]] OptionValue stored(SdNextForm form, const OptionSpec& spec, OptionValue value, ExportResult& result);

/// Kernel names in the spelling of older versions: "Flash" -> "Flash attention".
[[nodiscard]] OptionList old_kernel_names(OptionList names);
/// Whether a list holds such a name.
[[nodiscard]] bool has_old_kernel_names(const OptionList& names);

/// "a", "a and b", "a, b and c"
[[nodiscard]] std::string listed(const std::vector<std::string>& words);

}  // namespace attn::sdnext
