// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "trace/calls/call_log.h"
#include "ui/filter/filter_field.h"

#include <QString>
#include <cstdint>
#include <optional>

namespace attn::ui {

/// Columns of the list of calls, in their first order.
enum class CallColumn : std::uint8_t {
  number,
  begin,
  role,
  step,
  executed,
  requested,
  selected,
  query,
  key,
  value,
  dtype,
  mask,
  strides,
  time,
  kept,
  finite,
  reason,
};
inline constexpr int kCallColumnCount = 17;

struct CallColumnSpec {
  const char* title;
  const char* tip;
  bool number;   ///< right aligned, largest first
  bool shown;    ///< until the person chooses
  bool of_kind;  ///< the same for all calls of a kind
  int least;     ///< pixels at 96 dpi
  std::optional<FilterField> field;
};
[[nodiscard]] const CallColumnSpec& spec_of(CallColumn column) noexcept;

/// A call's number, record and kind.
struct CallAt {
  std::size_t index = 0;
  const trace::CallRecord& call;
  const trace::CallKind& kind;
};

/// As it is shown.
[[nodiscard]] QString cell_text(const CallAt& at, CallColumn column);
/// Plain numbers in SI units and texts without signs, for CSV.
[[nodiscard]] QString plain_text(const CallAt& at, CallColumn column);
/// The filter that a cell stands for; empty when there is none for it.
[[nodiscard]] QString cell_filter(const CallAt& at, CallColumn column);
/// Every text of a kind, for free words.
[[nodiscard]] QString kind_words(const trace::CallKind& kind);

}  // namespace attn::ui
