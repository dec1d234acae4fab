// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/text/route_text.h"

#include "trace/text/line_reader.h"

namespace attn::trace {
namespace {

constexpr std::string_view kRoute = "Attention route: ";
constexpr std::string_view kRoutes = "Attention routes: ";
constexpr std::string_view kOldChain = "Torch attention: chain=";
constexpr std::string_view kChain = "Attention: chain=";

std::string shape_text(const EventShape& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.rank; ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(shape.size[i]);
  }
  return text + "]";
}

std::string_view python(bool value) noexcept { return value ? "True" : "False"; }

std::string head(std::string_view kind, const RouteIdentity& id) {
  std::string text(kind);
  text += "backend=";
  text += id.backend;
  text += " role=";
  text += name_of(id.role);
  return text;
}

std::string tail(const RouteIdentity& id) {
  std::string text = " q=" + shape_text(id.query) + " k=" + shape_text(id.key) + " dtype=torch.";
  text += name_of(id.dtype);
  text += " mask=";
  text += python(id.masked);
  text += " contiguous=";
  text += python(id.contiguous);
  if (id.bypassed) text += " bypassed=True";
  return text;
}

/// Fields of both kinds of route line up to the mask; false where one is missing or unreadable.
bool read_identity(LineReader& line, ParsedRoute& route) {
  const auto backend = line.field("backend=");
  const auto role = line.field("role=");
  if (!backend || !role) return false;
  route.id.backend = *backend;
  route.id.role = parse_role(*role).value_or(Role::other);
  if (line.take("step=")) {
    route.step = line.number<std::int32_t>();
    if (!route.step) return false;
  }
  const auto query = line.take("q=") ? line.shape() : std::nullopt;
  const auto key = line.take("k=") ? line.shape() : std::nullopt;
  if (!query || !key || !line.take("dtype=")) return false;
  line.take("torch.");
  const auto dtype = parse_dtype(line.word());
  const auto masked = line.take("mask=") ? line.boolean() : std::nullopt;
  if (!dtype || !masked) return false;
  route.id.query = *query;
  route.id.key = *key;
  route.id.dtype = *dtype;
  route.id.masked = *masked;
  return true;
}

}  // namespace

std::string route_line(const RouteIdentity& id, std::int32_t step) {
  return head(kRoute, id) + " step=" + std::to_string(step) + tail(id);
}

std::string routes_line(const RouteRow& row) {
  return head(kRoutes, row.id) + tail(row.id) + " calls=" + std::to_string(row.calls);
}

std::optional<ParsedRoute> parse_route(std::string_view text) {
  LineReader line(text);
  const bool summary = line.skip_to(kRoutes);
  if (!summary && !line.skip_to(kRoute)) return std::nullopt;
  ParsedRoute route;
  if (!read_identity(line, route)) return std::nullopt;
  if (line.take("contiguous=")) {
    const auto contiguous = line.boolean();
    if (!contiguous) return std::nullopt;
    route.id.contiguous = *contiguous;
  } else {
    route.contiguity_known = false;
  }
  if (line.take("bypassed=")) {
    const auto bypassed = line.boolean();
    if (!bypassed) return std::nullopt;
    route.id.bypassed = *bypassed;
  }
  if (line.take("calls=")) {
    route.calls = line.number<std::int64_t>();
    if (!route.calls) return std::nullopt;
  }
  if (!line.at_end() || route.step.has_value() == summary || route.calls.has_value() != summary) return std::nullopt;
  return route;
}

std::optional<ParsedChain> parse_chain(std::string_view text) {
  LineReader line(text);
  if (!line.skip_to(kOldChain) && !line.skip_to(kChain)) return std::nullopt;
  ParsedChain chain;
  std::string_view names = line.word();
  while (true) {
    const std::size_t end = names.find('>');
    if (end == 0 || names.empty()) return std::nullopt;
    chain.entries.emplace_back(names.substr(0, end));
    if (end == std::string_view::npos) break;
    names.remove_prefix(end + 1);
  }
  if (line.take("overrides=")) {
    chain.overrides = line.labels();
    if (!chain.overrides) return std::nullopt;
  }
  const auto platform = line.field("backend=");
  if (!platform) return std::nullopt;
  chain.platform = *platform;
  if (line.take("sparse=")) {
    chain.sparse = line.boolean();
    if (!chain.sparse) return std::nullopt;
  }
  if (!line.at_end()) return std::nullopt;
  return chain;
}

}  // namespace attn::trace
