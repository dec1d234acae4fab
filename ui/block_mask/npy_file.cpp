// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/block_mask/npy_file.h"

#include <QRegularExpression>
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

Expected<NpyBools> bools_of_npy(const QByteArray& bytes) {
  if (!bytes.startsWith("\x93NUMPY") || bytes.size() < 12) return fail("it is no NumPy array");
  const auto byte = [&](qsizetype at) { return static_cast<qsizetype>(static_cast<unsigned char>(bytes[at])); };
  const bool first = byte(6) == 1;  // the header's length has two bytes, later four
  const qsizetype begin = first ? 10 : 12;
  const qsizetype length = byte(8) | byte(9) << 8 | (first ? 0 : byte(10) << 16 | byte(11) << 24);
  if (length > bytes.size() - begin) return fail("its header does not fit into the file");
  const QString header = QString::fromLatin1(bytes.mid(begin, length));
  static const QRegularExpression kDtype("'descr': *'([^']*)'");
  static const QRegularExpression kShape("'shape': *\\(([0-9, ]*)\\)");
  const QString dtype = kDtype.match(header).captured(1);
  if (dtype != "|b1" && dtype != "|u1" && dtype != "|i1") {
    return fail("its elements are " + (dtype.isEmpty() ? "unknown" : dtype.toStdString()) + ", a mask has bool (|b1)");
  }
  if (header.contains("'fortran_order': True")) return fail("it is in Fortran order, a mask is in C order");
  NpyBools out;
  qsizetype count = 1;
  for (const QString& size : kShape.match(header).captured(1).split(',', Qt::SkipEmptyParts)) {
    if (size.trimmed().isEmpty()) continue;
    out.shape.push_back(size.trimmed().toLongLong());
    if (out.shape.back() <= 0 || out.shape.back() > bytes.size()) return fail("its shape does not fit its data");
    count *= out.shape.back();
    if (count > bytes.size()) return fail("its shape does not fit its data");
  }
  const QByteArray data = bytes.mid(begin + length);
  if (out.shape.empty() || count != data.size()) return fail("its shape does not fit its data");
  for (const char value : data) {
    if (value != 0 && value != 1) return fail("it holds other numbers than 0 and 1");
    out.values.push_back(static_cast<std::uint8_t>(value));
  }
  return out;
}

Expected<void> write_whole_file(const QString& path, const QByteArray& bytes) {
  QSaveFile file(path);
  if (file.open(QIODevice::WriteOnly) && file.write(bytes) == bytes.size() && file.commit()) return {};
  return fail("cannot write " + path.toStdString() + ": " + file.errorString().toStdString());
}

}  // namespace attn::ui
