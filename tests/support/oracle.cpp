// SPDX-License-Identifier: GPL-3.0-or-later
#include "support/oracle.h"

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

namespace attn::test {

std::string file_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::cerr << "cannot read " << path << "\n";
    std::exit(2);
  }
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return std::move(bytes).str();
}

nlohmann::json oracle(std::string_view name) {
  return nlohmann::json::parse(file_bytes(std::string(ATTN_ORACLES) + "/" + std::string(name)));
}

bool bit_at(std::string_view hex, std::size_t i) {
  const auto digit = [hex](std::size_t at) {
    const char c = hex[at];
    return c <= '9' ? c - '0' : c - 'a' + 10;
  };
  const std::size_t byte = i / 8;
  const int value = digit(2 * byte) * 16 + digit(2 * byte + 1);
  return ((value >> (i % 8)) & 1) != 0;
}

}  // namespace attn::test
