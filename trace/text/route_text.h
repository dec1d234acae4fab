// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "trace/routes/route_table.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attn::trace {

/// "Attention route: backend=... role=... step=... q=[..] k=[..] dtype=torch.... mask=... contiguous=..."
[[nodiscard]] std::string route_line(const RouteIdentity& id, std::int32_t step);
/// The same with "calls=N" at the end; both have "bypassed=True" behind contiguous where a dispatcher served.
[[nodiscard]] std::string routes_line(const RouteRow& row);

/// What a line of a log says about a route, from this program or from the systems mirrored.
struct ParsedRoute {
  RouteIdentity id;
  std::optional<std::int32_t> step;   ///< present on "Attention route:"
  std::optional<std::int64_t> calls;  ///< present on "Attention routes:"
  bool contiguity_known = true;       ///< false: an older build, which does not print it; id says contiguous then
};
/// What a line says about a chain.
struct ParsedChain {
  std::vector<std::string> entries;
  std::optional<std::vector<std::string>> overrides;  ///< absent in the single-selector form
  std::string platform;
  std::optional<bool> sparse;
};

/// Reads a line with or without the prefix of a log file, of its verbose form, of a console (colours included) or
/// of the in-memory JSON form. nullopt when it is no such line, or one cut short. Any thread.
[[nodiscard]] std::optional<ParsedRoute> parse_route(std::string_view line);
[[nodiscard]] std::optional<ParsedChain> parse_chain(std::string_view line);

}  // namespace attn::trace
