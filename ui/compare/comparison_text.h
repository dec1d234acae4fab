// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/compare/run_comparison.h"
#include "ui/preview/preview_service.h"

#include <QString>
#include <optional>

namespace attn::ui {

/// "25.4 s", "≈ 25.4 s" from representatives, "–" where nobody measured it or there was no call.
[[nodiscard]] QString time_text(const CallTime& time, std::int64_t calls);
/// "−1.2 s (−12 %)", marked where one side is scaled; "–" where a time is missing.
[[nodiscard]] QString time_change_text(const CallTime& then, std::int64_t calls_then, const CallTime& now,
                                       std::int64_t calls_now);
[[nodiscard]] QString time_change_text(const PartChange& part);
/// "PSNR 31.2 dB, SSIM 0.9812, largest difference 41", or the sentence that there is instead.
[[nodiscard]] QString picture_text(const PictureComparison& comparison);

/// Everything as a report that is read in a mail or an issue.
[[nodiscard]] QString report_text(const RunComparison& comparison, const std::optional<PictureComparison>& picture);
/// The tables one below the other as CSV (RFC 4180), the first column naming the table; seconds as plain numbers.
[[nodiscard]] QString report_csv(const RunComparison& comparison, const std::optional<PictureComparison>& picture);

}  // namespace attn::ui
