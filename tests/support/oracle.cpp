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

Constraints constraints_of(const nlohmann::json& c) {
  Constraints constraints;
  constraints.allow_cpu = c["allow_cpu"];
  constraints.allow_mask = c["allow_mask"];
  constraints.allow_float32 = c["allow_float32"];
  constraints.same_device = c["same_device"];
  constraints.min_ndim = c["min_ndim"];
  constraints.max_head_dim = c["max_head_dim"].is_null() ? 0 : c["max_head_dim"].get<int>();
  constraints.min_tokens = c["min_tokens"];
  constraints.min_long_side = c["min_long_side"];
  constraints.min_heads = c["min_heads"];
  if (!c["head_dims"].is_null()) {
    for (std::size_t i = 0; i < c["head_dims"].size(); ++i) constraints.head_dims[i] = c["head_dims"][i];
  }
  return constraints;
}

}  // namespace attn::test
