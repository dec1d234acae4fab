// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/format/format.h"

#include <QLocale>
#include <array>
#include <cmath>

namespace attn::ui {

namespace {

constexpr QChar kNarrowSpace{0x202F};

std::string bracketed(const char* name, const trace::EventShape& shape) {
  std::string out = name;
  out += '[';
  for (int i = 0; i < shape.rank; ++i) {
    if (i > 0) out += ',';
    out += std::to_string(shape.size[static_cast<std::size_t>(i)]);
  }
  return out + ']';
}

}  // namespace

QString text_of(std::string_view utf8) { return QString::fromUtf8(utf8.data(), static_cast<qsizetype>(utf8.size())); }
std::string utf8_of(const QString& text) { return text.toStdString(); }

QString shape_text(const trace::EventShape& shape) {
  QStringList parts;
  for (int i = 0; i < shape.rank; ++i) parts << QString::number(shape.size[static_cast<std::size_t>(i)]);
  return parts.join(QChar(0x00D7));
}

QString count_text(qint64 count) {
  QString digits = QString::number(std::abs(count));
  for (qsizetype at = digits.size() - 3; at > 0; at -= 3) digits.insert(at, kNarrowSpace);
  return count < 0 ? QChar(0x2212) + digits : digits;
}

QString counted(qint64 count, const QString& noun) {
  return count_text(count) + ' ' + noun + (count == 1 ? QString() : QStringLiteral("s"));
}

QString seconds_text(double seconds) {
  if (seconds <= 0.0) return QStringLiteral("0 s");
  if (seconds < 0.9995e-3) return QStringLiteral("%1 µs").arg(std::max(1.0, seconds * 1e6), 0, 'f', 0);
  if (seconds < 0.9995) return QStringLiteral("%1 ms").arg(seconds * 1e3, 0, 'f', seconds < 0.00995 ? 1 : 0);
  if (seconds < 99.95) return QStringLiteral("%1 s").arg(seconds, 0, 'f', 1);
  const auto whole = static_cast<qint64>(std::llround(seconds));
  if (whole < 3600) return QStringLiteral("%1 min %2 s").arg(whole / 60).arg(whole % 60, 2, 10, QChar('0'));
  return QStringLiteral("%1 h %2 min").arg(whole / 3600).arg(whole / 60 % 60, 2, 10, QChar('0'));
}

QString bytes_text(std::int64_t bytes) {
  static constexpr std::array<const char*, 4> kUnits{"B", "KiB", "MiB", "GiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024.0 && unit + 1 < kUnits.size()) {
    value /= 1024.0;
    ++unit;
  }
  const bool fraction = unit > 0 && value < 10.0 && value != std::floor(value);
  return QStringLiteral("%1 %2").arg(value, 0, 'f', fraction ? 1 : 0).arg(QLatin1String(kUnits[unit]));
}

QString share_text(double share) {
  if (share > 0.0 && share < 0.001) return QStringLiteral("< 0.1 %");
  if (share >= 0.9995) return QStringLiteral("100 %");
  return QStringLiteral("%1 %").arg(share * 100.0, 0, 'f', 1);
}

QString steps_text(int first, int last) {
  if (first == last) return QString::number(first);
  return QStringLiteral("%1–%2").arg(first).arg(last);
}

int rank_of(Role role) noexcept {
  switch (role) {
    case Role::te:
      return 0;
    case Role::transformer:
      return 1;
    case Role::vae:
      return 2;
    case Role::other:
      return 3;
    case Role::none:
      break;
  }
  return 4;
}

QString dtype_text(const trace::RouteRow& row) {
  const auto name = [](DType dtype) { return text_of(short_name_of(dtype)); };
  if (row.key_dtype == row.id.dtype && row.value_dtype == row.id.dtype) return name(row.id.dtype);
  return QStringLiteral("q %1, k %2, v %3").arg(name(row.id.dtype), name(row.key_dtype), name(row.value_dtype));
}

bool is_fallback(const trace::RouteRow& row) { return row.requested != row.executed; }

QString mask_text(const trace::RouteRow& row) {
  QStringList parts;
  switch (row.mask_pattern) {
    case trace::MaskPattern::unknown:
      break;
    case trace::MaskPattern::all_true:
      parts << QStringLiteral("all true");
      break;
    case trace::MaskPattern::key_padding:
      parts << QStringLiteral("key padding");
      break;
    case trace::MaskPattern::causal:
      parts << QStringLiteral("causal mask");
      break;
    case trace::MaskPattern::arbitrary:
      parts << QStringLiteral("arbitrary");
      break;
  }
  if (row.mask == trace::MaskKind::additive) parts << QStringLiteral("additive");
  if (row.mask == trace::MaskKind::boolean && parts.isEmpty()) parts << QStringLiteral("bool");
  if (row.causal) parts << QStringLiteral("causal");
  return parts.isEmpty() ? QStringLiteral("none") : parts.join(QStringLiteral(", "));
}

QString strides_text(const trace::RouteRow& row) {
  const auto name = [](Layout layout) { return text_of(name_of(layout)); };
  if (row.query_layout == row.key_layout && row.key_layout == row.value_layout) return name(row.query_layout);
  return QStringLiteral("q %1, k %2, v %3").arg(name(row.query_layout), name(row.key_layout), name(row.value_layout));
}

std::string written_call(const trace::RouteRow& row, bool on_cpu) {
  std::string out = bracketed("q", row.id.query) + ' ' + bracketed("k", row.id.key);
  if (row.value != row.id.key) out += ' ' + bracketed("v", row.value);
  if (row.key_dtype == row.id.dtype && row.value_dtype == row.id.dtype) {
    out += ' ' + std::string(short_name_of(row.id.dtype));
  } else {
    out += " q=" + std::string(short_name_of(row.id.dtype)) + " k=" + std::string(short_name_of(row.key_dtype)) +
           " v=" + std::string(short_name_of(row.value_dtype));
  }
  if (row.mask == trace::MaskKind::boolean) out += " mask=bool";
  if (row.mask == trace::MaskKind::additive) out += " mask=float";
  if (row.causal) out += " causal";
  if (row.gqa) out += " gqa";
  switch (row.query_layout) {
    case Layout::transposed:
      out += " strides=transposed";
      break;
    case Layout::fused_qkv:
      out += " strides=qkv";
      break;
    case Layout::expanded:
      out += " strides=expanded";
      break;
    case Layout::contiguous:
    case Layout::strided:
      break;
  }
  if (on_cpu) out += " device=cpu";
  if (row.id.role != Role::none && row.id.role != Role::other) out += " role=" + std::string(name_of(row.id.role));
  out += " step=" + std::to_string(row.first_step);
  return out;
}

}  // namespace attn::ui
