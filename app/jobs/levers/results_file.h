// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/levers/levers.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace attn::app {

/// The table as JSON, with everything that read_levers() needs and, for people, each row's figures.
[[nodiscard]] std::string levers_json(const LeverResult& result);
/// Reads what levers_json() wrote. Error: where the text is not that.
[[nodiscard]] Expected<LeverResult> read_levers(std::string_view text);

/// One line per row under a line of names. Texts are quoted as RFC 4180 says; a figure that is not there is empty.
[[nodiscard]] std::string levers_csv(const LeverResult& result);

/// A results file. Error: the file and what is wrong.
[[nodiscard]] Expected<LeverResult> load_levers(const std::filesystem::path& path);
[[nodiscard]] Expected<void> save_levers(const std::filesystem::path& path, const LeverResult& result);

/// How two headers differ, one sentence each; empty when their rows belong together.
[[nodiscard]] std::vector<std::string> header_differences(const LeverHeader& a, const LeverHeader& b);

/// One table out of several. A variant that is in more than one of them is taken from the first that measured it.
/// Error: no table, or rows that do not belong together; with `mixed` the differences are listed in the result instead,
/// and relative times stay each row's own. `names` are said in errors.
[[nodiscard]] Expected<LeverResult> merge_levers(const std::vector<LeverResult>& parts,
                                                 const std::vector<std::string>& names, bool mixed = false);

}  // namespace attn::app
