// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/program.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <iostream>

namespace attn::cli {

int say(Exit code, std::string_view sentence) {
  std::cerr << "attnctl: " << sentence << std::endl;
  return code;
}

void print(const Json& json) {
  // Text from a file or the command line may hold bytes that are not UTF-8.
  std::cout << json.dump(2, ' ', false, Json::error_handler_t::replace) << "\n" << std::flush;
}

void print_table(const std::vector<std::string>& headings, const std::vector<std::vector<std::string>>& rows,
                 const std::vector<std::size_t>& right) {
  std::vector<std::size_t> widths;
  for (const std::string& heading : headings) widths.push_back(heading.size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string text;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string pad(widths[i] - cells[i].size(), ' ');
      const bool flush_right = std::find(right.begin(), right.end(), i) != right.end();
      if (i > 0) text += "  ";
      text += flush_right ? pad + cells[i] : cells[i] + pad;
    }
    text.erase(text.find_last_not_of(' ') + 1);
    std::cout << text << "\n";
  };
  line(headings);
  for (const auto& row : rows) line(row);
  std::cout << std::flush;
}

std::string seconds_text(double seconds) {
  std::array<char, 32> text{};
  if (seconds < 1e-3) {
    std::snprintf(text.data(), text.size(), "%.3g us", seconds * 1e6);
  } else if (seconds < 1.0) {
    std::snprintf(text.data(), text.size(), "%.3g ms", seconds * 1e3);
  } else if (seconds < 120.0) {
    std::snprintf(text.data(), text.size(), "%.3g s", seconds);
  } else if (seconds < 7200.0) {
    std::snprintf(text.data(), text.size(), "%.0f min %02.0f s", std::floor(seconds / 60.0), std::fmod(seconds, 60.0));
  } else {
    std::snprintf(text.data(), text.size(), "%.0f h %02.0f min", std::floor(seconds / 3600.0),
                  std::floor(std::fmod(seconds, 3600.0) / 60.0));
  }
  return text.data();
}

std::string number_text(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g", value);
  return text.data();
}

}  // namespace attn::cli
