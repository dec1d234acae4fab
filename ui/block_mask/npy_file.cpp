// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/block_mask/npy_file.h"

#include <QSaveFile>

namespace attn::ui {

QByteArray npy_of_bools(std::span<const std::uint8_t> values, const std::vector<std::int64_t>& shape) {
  constexpr qsizetype kPreamble = 10;  // magic, version and the header's length
  constexpr qsizetype kAlignment = 64;
  QByteArray header = "{'descr': '|b1', 'fortran_order': False, 'shape': (";
  for (const std::int64_t size : shape) header += QByteArray::number(static_cast<qlonglong>(size)) + ", ";
  if (shape.size() > 1) header.chop(2);
  header += "), }";
  // Spaces and a line end bring the data to a multiple of 64 bytes.
  const qsizetype past = (kPreamble + header.size() + 1) % kAlignment;
  header += QByteArray(past == 0 ? 0 : kAlignment - past, ' ') + '\n';
  QByteArray bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  bytes += header;
  bytes.append(reinterpret_cast<const char*>(values.data()), static_cast<qsizetype>(values.size()));
  return bytes;
}

Expected<void> write_whole_file(const QString& path, const QByteArray& bytes) {
  QSaveFile file(path);
  if (file.open(QIODevice::WriteOnly) && file.write(bytes) == bytes.size() && file.commit()) return {};
  return fail("cannot write " + path.toStdString() + ": " + file.errorString().toStdString());
}

}  // namespace attn::ui
