// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/sparse/sparse_stage.h"
#include "trace/routes/route_table.h"

#include <QString>
#include <QStringList>
#include <string_view>
#include <vector>

namespace attn::ui {

/// What a person can do about calls that the stage left dense for `reason`; empty when nothing should be done.
/// `tokens` is the length of the longest such call.
[[nodiscard]] QString remedy_for(std::string_view reason, std::int64_t tokens);

/// "1 596 of 1 596 calls stayed dense: below the minimum sequence", one line for each reason, most calls first.
[[nodiscard]] QStringList skip_lines(const trace::RouteRow& route);

/// The reasons of all routes added up, most calls first.
[[nodiscard]] std::vector<trace::StageSkip> skips_of(const trace::TraceSnapshot& run);

/// Why the stage, which was asked, left every call dense, with the remedy; empty when it was never asked.
[[nodiscard]] QString dense_reason(const trace::TraceSnapshot& run);

}  // namespace attn::ui
