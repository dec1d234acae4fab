// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/compare/run_comparison.h"
#include "ui/panel/fact_table.h"
#include "ui/preview/preview_service.h"

#include <optional>

namespace attn::ui {

/// A comparison as rows of the page's tables, each with its headings.
[[nodiscard]] QStringList total_headings();
[[nodiscard]] std::vector<FactRow> total_rows(const RunComparison& comparison, const ArchivedRun& then,
                                              const ArchivedRun& now, const std::optional<PictureComparison>& picture);
[[nodiscard]] std::vector<FactRow> setting_rows(const RunComparison& comparison);
[[nodiscard]] QStringList moved_headings();
[[nodiscard]] std::vector<FactRow> moved_rows(const RunComparison& comparison);
/// All calls, the roles, and the steps of the denoiser.
[[nodiscard]] QStringList part_headings();
[[nodiscard]] std::vector<FactRow> part_rows(const RunComparison& comparison);

}  // namespace attn::ui
