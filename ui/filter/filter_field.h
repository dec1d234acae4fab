// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace attn::ui {

/// What a filter can ask about a route or a call.
enum class FilterField : std::uint8_t {
  role,
  step,
  backend,
  kernel,
  requested,
  selected,
  executed,
  fallback,
  sparse,
  query,
  key,
  heads,
  dim,
  batch,
  dtype,
  mask,
  strides,
  calls,
  time,
  share,
  error,
  kept,
  nan,
  inf,
};
inline constexpr std::size_t kFilterFields = 24;

enum class FieldKind : std::uint8_t { text, number, flag };
enum class FieldUnit : std::uint8_t { none, seconds, percent };

/// One row of the one list of fields.
struct FieldSpec {
  FilterField field;
  const char* name;   ///< as it is written and shown
  const char* alias;  ///< another spelling; empty: none
  FieldKind kind;
  FieldUnit unit;
  const char* help;     ///< one line for completion
  const char* example;  ///< "q>8192"
};

/// In the order in which completion shows them; the place of a field is its number.
[[nodiscard]] std::span<const FieldSpec> filter_fields() noexcept;
[[nodiscard]] const FieldSpec& spec_of(FilterField field) noexcept;
/// By name or alias, whatever the case; null when there is no such field.
[[nodiscard]] const FieldSpec* find_field(QStringView name);
/// The field whose name is nearest to a misspelt one; null when none is near.
[[nodiscard]] const FieldSpec* nearest_field(QStringView name);

}  // namespace attn::ui
