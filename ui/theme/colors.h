// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QColor>
#include <QString>
#include <QStringView>
#include <array>
#include <string_view>

namespace attn::ui {

/// What a colour is for. The one table behind palette, style sheet, icons and painting.
enum class Ink {
  window,       ///< behind everything; fields
  panel,        ///< panels
  raised,       ///< titles, cards, buttons
  hover,        ///< a raised thing under the pointer
  line,         ///< borders
  text,         ///< what is read first
  dim,          ///< what is read second; still 4.5:1
  faint,        ///< arrows, grid, disabled; never the only carrier of a fact
  accent,       ///< focus, selection, links
  accent_fill,  ///< filled controls under on_accent
  on_accent,
  selection,  ///< selected row
  pending,    ///< edited, not applied
  applied,    ///< applied, not default
  ok,
  bad,
  tile_chosen,    ///< block mask: a candidate that is kept
  tile_diagonal,  ///< always kept
  tile_pinned,    ///< always kept
  tile_dropped,   ///< never kept
};
inline constexpr std::size_t kInks = 20;

/// Name of an ink in the style sheet template, without the @.
[[nodiscard]] std::string_view name_of(Ink ink) noexcept;

/// One theme's colours.
class Colors {
 public:
  [[nodiscard]] static Colors dark();
  [[nodiscard]] static Colors light();

  [[nodiscard]] bool is_dark() const noexcept { return dark_; }
  [[nodiscard]] QColor operator[](Ink ink) const { return inks_[static_cast<std::size_t>(ink)]; }
  /// The backend's one colour, after the Okabe-Ito set that colour-blind eyes tell apart. "sdnq+sparse" is sdnq's.
  /// A backend without a colour of its own gets the dim one.
  [[nodiscard]] QColor backend(QStringView name) const;
  [[nodiscard]] static const std::array<std::string_view, 8>& backends() noexcept;

 private:
  std::array<QColor, kInks> inks_;
  bool dark_ = false;
};

/// WCAG 2 contrast of two opaque colours, 1 to 21.
[[nodiscard]] double contrast(const QColor& a, const QColor& b);

}  // namespace attn::ui
