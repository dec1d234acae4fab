// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/theme/colors.h"

#include <algorithm>
#include <cmath>

namespace attn::ui {

namespace {

struct InkRow {
  Ink ink;
  std::string_view name;
  QRgb dark;
  QRgb light;
};

constexpr std::array<InkRow, kInks> kInkTable{{
    {Ink::window, "window", 0xff1b1d21, 0xfff4f5f7},
    {Ink::panel, "panel", 0xff22252a, 0xffffffff},
    {Ink::raised, "raised", 0xff2a2e34, 0xfff0f2f5},
    {Ink::hover, "hover", 0xff333840, 0xffe4e8ed},
    {Ink::line, "line", 0xff3a4049, 0xffd3d8df},
    {Ink::text, "text", 0xffdfe3e8, 0xff1f2328},
    {Ink::dim, "dim", 0xffa6aeb9, 0xff59636f},
    {Ink::faint, "faint", 0xff6f7884, 0xff8b95a1},
    {Ink::accent, "accent", 0xff5aa9ff, 0xff0b66d0},
    {Ink::accent_fill, "accent_fill", 0xff1f6fd0, 0xff0b66d0},
    {Ink::on_accent, "on_accent", 0xffffffff, 0xffffffff},
    {Ink::selection, "selection", 0xff2b405c, 0xffcfe1f7},
    {Ink::pending, "pending", 0xfff2b134, 0xff8f5600},
    {Ink::applied, "applied", 0xff5aa9ff, 0xff0b66d0},
    {Ink::ok, "ok", 0xff4cc38a, 0xff127045},
    {Ink::bad, "bad", 0xffff7a6e, 0xffc02a1e},
    {Ink::tile_chosen, "tile_chosen", 0xff4f9df0, 0xff2b7cd8},
    {Ink::tile_diagonal, "tile_diagonal", 0xfff0e442, 0xffe3c400},
    {Ink::tile_pinned, "tile_pinned", 0xff2bb58b, 0xff00855c},
    {Ink::tile_dropped, "tile_dropped", 0xffd98299, 0xffb0375c},
}};

struct BackendRow {
  std::string_view name;
  QRgb dark;
  QRgb light;
};

constexpr std::array<BackendRow, 8> kBackendTable{{
    {"sdnq", 0xffe69f00, 0xffb87900},
    {"sage", 0xff56b4e9, 0xff1f88c9},
    {"flash", 0xff2bb58b, 0xff00855c},
    {"triton", 0xfff0e442, 0xff8a7d00},
    {"flex", 0xffcc79a7, 0xffa94d80},
    {"dynamic", 0xffe3651a, 0xffb84c00},
    {"sdpa", 0xff8fa3ff, 0xff4a5fd0},
    {"cudnn", 0xff9fd356, 0xff4f7a12},
}};

double linear(double channel) {
  return channel <= 0.04045 ? channel / 12.92 : std::pow((channel + 0.055) / 1.055, 2.4);
}

double luminance(const QColor& color) {
  return 0.2126 * linear(color.redF()) + 0.7152 * linear(color.greenF()) + 0.0722 * linear(color.blueF());
}

}  // namespace

std::string_view name_of(Ink ink) noexcept { return kInkTable[static_cast<std::size_t>(ink)].name; }

Colors Colors::dark() {
  Colors colors;
  colors.dark_ = true;
  for (const InkRow& row : kInkTable) colors.inks_[static_cast<std::size_t>(row.ink)] = QColor(row.dark);
  return colors;
}

Colors Colors::light() {
  Colors colors;
  for (const InkRow& row : kInkTable) colors.inks_[static_cast<std::size_t>(row.ink)] = QColor(row.light);
  return colors;
}

QColor Colors::backend(QStringView name) const {
  const qsizetype plus = name.indexOf(QChar('+'));
  const QStringView base = plus < 0 ? name : name.left(plus);
  for (const BackendRow& row : kBackendTable) {
    if (base == QLatin1String(row.name.data(), static_cast<qsizetype>(row.name.size()))) {
      return QColor(dark_ ? row.dark : row.light);
    }
  }
  return (*this)[Ink::dim];
}

const std::array<std::string_view, 8>& Colors::backends() noexcept {
  static constexpr auto kNames = [] {
    std::array<std::string_view, 8> names;
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = kBackendTable[i].name;
    return names;
  }();
  return kNames;
}

double contrast(const QColor& a, const QColor& b) {
  const double first = luminance(a);
  const double second = luminance(b);
  return (std::max(first, second) + 0.05) / (std::min(first, second) + 0.05);
}

}  // namespace attn::ui
