// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/tensor/expected.h"

#include <QByteArray>
#include <QString>
#include <cstdint>
#include <span>
#include <vector>

namespace attn::ui {

/// NumPy's .npy format, version 1.0, dtype bool, C order: magic, version, a padded header dict, then one byte each.
/// See numpy.lib.format in NumPy's manual. `values` holds the product of `shape` bytes, each 0 or 1.
[[nodiscard]] QByteArray npy_of_bools(std::span<const std::uint8_t> values, const std::vector<std::int64_t>& shape);

/// Writes the whole file or nothing. Error: a sentence with the path and the reason.
[[nodiscard]] Expected<void> write_whole_file(const QString& path, const QByteArray& bytes);

}  // namespace attn::ui
