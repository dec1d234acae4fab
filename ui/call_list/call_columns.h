// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "trace/calls/call_log.h"
#include "ui/compare/call_changes.h"
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
  // Against a baseline; empty without one.
  backend_then,
  time_change,
};
inline constexpr int kCallColumnCount = 19;

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

[[nodiscard]] bool is_change(CallColumn column) noexcept;

/// A call's number, record and kind, and what its like was in a baseline.
struct CallAt {
  std::size_t index = 0;
  const trace::CallRecord& call;
  const trace::CallKind& kind;
  const CallChanges* changes = nullptr;
};

/// Seconds now less seconds of such a call in the baseline, on average; nullopt where one of them has no time.
[[nodiscard]] std::optional<double> time_change(const trace::CallRecord& call, const RouteThen& then);
/// -1 faster, 1 slower, 0 neither or not known.
[[nodiscard]] int change_tone(const CallAt& at, CallColumn column);
/// A change for a narrow cell; empty where it cannot be shorter.
[[nodiscard]] QString brief_text(const CallAt& at, CallColumn column);
/// A sentence about where such calls went in the baseline; empty without one.
[[nodiscard]] QString change_tip(const CallAt& at);

/// As it is shown.
[[nodiscard]] QString cell_text(const CallAt& at, CallColumn column);
/// Plain numbers in SI units and texts without signs, for CSV.
[[nodiscard]] QString plain_text(const CallAt& at, CallColumn column);
/// The filter that a cell stands for; empty when there is none for it.
[[nodiscard]] QString cell_filter(const CallAt& at, CallColumn column);
/// Every text of a kind, for free words.
[[nodiscard]] QString kind_words(const trace::CallKind& kind);

}  // namespace attn::ui
