// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace attn::cli {

using Json = nlohmann::ordered_json;

/// Exit codes of the command line contract.
enum Exit : int {
  done = 0,
  failed = 1,  ///< the job failed or was stopped, or a required backend could not serve
  wrong = 2,   ///< the input is wrong
};

/// "attnctl: sentence" on stderr; returns `code`.
int say(Exit code, std::string_view sentence);

/// The answer: JSON on stdout, two spaces deep, ending in a newline.
void print(const Json& json);

/// Rows under headings with columns as wide as needed; columns named in `right` are right-aligned.
void print_table(const std::vector<std::string>& headings, const std::vector<std::vector<std::string>>& rows,
                 const std::vector<std::size_t>& right = {});

/// "12.3 ms", "4.56 s", "1 h 02 min".
[[nodiscard]] std::string seconds_text(double seconds);
/// "0.00123", "1.2e-07": four digits.
[[nodiscard]] std::string number_text(double value);

}  // namespace attn::cli
