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

/// An array of bytes that each are 0 or 1.
struct NpyBools {
  std::vector<std::uint8_t> values;
  std::vector<std::int64_t> shape;
};
/// Reads such an array, of any version of the format, dtype bool (or one byte), C order. Error: what is wrong with it.
[[nodiscard]] Expected<NpyBools> bools_of_npy(const QByteArray& bytes);

/// Writes the whole file or nothing. Error: a sentence with the path and the reason.
[[nodiscard]] Expected<void> write_whole_file(const QString& path, const QByteArray& bytes);

}  // namespace attn::ui
