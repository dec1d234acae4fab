// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/filter/filter.h"

namespace attn::ui {

/// A number with its unit as a person writes it: "8k", "1.5ms", "30%"; nullopt when it is none of the field's.
[[nodiscard]] std::optional<double> number_of(QStringView text, FieldUnit unit);

/// A number, or a range "a..b" of which one end may be left out; nullopt when it is neither, or upside down.
[[nodiscard]] std::optional<FilterTerm::Range> range_of(QStringView text, FieldUnit unit);

}  // namespace attn::ui
