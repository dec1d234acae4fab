// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/registry/constraints.h"

#include <QString>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace attn::test {

/// The parsed text of tests/oracles/<name>; stops the test program with a sentence when it cannot be read.
[[nodiscard]] nlohmann::json oracle(std::string_view name);

/// The bytes of a file; stops the test program with a sentence when it cannot be read.
[[nodiscard]] std::string file_bytes(const std::string& path);

/// Bit `i` of an oracle's hex bitset: two digits a byte, bit i in byte i/8 at position i%8.
[[nodiscard]] bool bit_at(std::string_view hex, std::size_t i);

/// The constraints as plans.json writes them.
[[nodiscard]] Constraints constraints_of(const nlohmann::json& c);

[[nodiscard]] inline QString q(std::string_view text) {
  return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

}  // namespace attn::test
