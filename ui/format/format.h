// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "trace/routes/route_table.h"

#include <QString>
#include <QStringList>
#include <cstdint>
#include <string_view>

namespace attn::ui {

/// UTF-8 text of core as Qt text.
[[nodiscard]] QString text_of(std::string_view utf8);
[[nodiscard]] std::string utf8_of(const QString& text);

/// "1×24×4608×128"
[[nodiscard]] QString shape_text(const trace::EventShape& shape);
/// "1 596", with narrow no-break spaces.
[[nodiscard]] QString count_text(qint64 count);
/// "1 call", "1 596 calls": the noun takes an s where it is not one.
[[nodiscard]] QString counted(qint64 count, const QString& noun);
/// "88 ms", "25.4 s", "1 min 04 s".
[[nodiscard]] QString seconds_text(double seconds);
/// "64 MiB"
[[nodiscard]] QString bytes_text(std::int64_t bytes);
/// "99.2 %", "< 0.1 %"
[[nodiscard]] QString share_text(double share);
/// "3" or "0–12"
[[nodiscard]] QString steps_text(int first, int last);
/// Where a role stands in a generation: text encoders, denoiser, VAE, others, nobody known.
[[nodiscard]] int rank_of(Role role) noexcept;
/// "bf16", or "q f32, k f32, v bf16" where they differ.
[[nodiscard]] QString dtype_text(const trace::RouteRow& row);
/// Another backend served than was asked for first.
[[nodiscard]] bool is_fallback(const trace::RouteRow& row);
/// "none", "causal", and of an attn_mask what it says where that was seen, else its type: "key padding", "all true",
/// "arbitrary, additive", "bool, causal".
[[nodiscard]] QString mask_text(const trace::RouteRow& row);
/// One word when query, key and value lie alike, else "q transposed, k expanded, v contiguous".
[[nodiscard]] QString strides_text(const trace::RouteRow& row);

/// The call of a route in the written notation, which parse_call() reads back.
[[nodiscard]] std::string written_call(const trace::RouteRow& row, bool on_cpu);

}  // namespace attn::ui
