// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/theme/colors.h"

#include <QFont>
#include <QIcon>
#include <QObject>

class QApplication;
class QWidget;

namespace attn::ui {

enum class ThemeChoice { system, light, dark };

/// Colours, fonts and icons in force. apply() gives them to the whole application; widgets that paint listen to
/// changed(). GUI thread.
class Theme final : public QObject {
  Q_OBJECT

 public:
  explicit Theme(QObject* parent = nullptr);

  [[nodiscard]] ThemeChoice choice() const noexcept { return choice_; }
  /// Follows the system's window colour for ThemeChoice::system, as it was at the start.
  void choose(ThemeChoice choice);

  [[nodiscard]] const Colors& colors() const noexcept { return colors_; }
  [[nodiscard]] QColor operator[](Ink ink) const { return colors_[ink]; }
  [[nodiscard]] QColor backend(QStringView name) const { return colors_.backend(name); }

  /// The text face in its three uses, and the fixed face for shapes and the log.
  [[nodiscard]] QFont text_font() const { return text_; }
  [[nodiscard]] QFont small_font() const { return small_; }
  [[nodiscard]] QFont fixed_font() const { return fixed_; }

  /// An icon of resources/icons in the given colour, with a faint form for disabled controls.
  [[nodiscard]] QIcon icon(const QString& name, Ink ink = Ink::dim) const;

 signals:
  void changed();

 private:
  void apply();

  ThemeChoice choice_ = ThemeChoice::system;
  bool system_dark_ = false;
  Colors colors_;
  QFont text_;
  QFont small_;
  QFont fixed_;
};

/// Marks a label as second in rank, or as a state, for the style sheet: "dim", "small", "mono", "bad", "ok",
/// "pending", "title".
void set_look(QWidget* widget, const char* look);

/// The style sheet template of resources/themes with every @name replaced.
[[nodiscard]] QString style_sheet(const Colors& colors, const QFont& small, const QFont& fixed);

}  // namespace attn::ui
