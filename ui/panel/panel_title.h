// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/theme/theme.h"

#include <QFrame>

class QDockWidget;
class QHBoxLayout;
class QLabel;
class QTabBar;

namespace attn::ui {

/// The title strip of a panel: a name or tabs on the left, facts on the right, and for a dock its two buttons.
class PanelTitle final : public QFrame {
  Q_OBJECT

 public:
  static constexpr int kHeight = 30;
  PanelTitle(const QString& title, const Theme& theme, QWidget* parent = nullptr);

  /// Tabs instead of the name.
  QTabBar* use_tabs(const QStringList& names);
  /// The marks of something inside: amber for edited and not applied, blue for not the default.
  void set_marks(bool edited, bool changed);
  void set_facts(const QString& text);
  [[nodiscard]] QString facts() const;
  /// Buttons to float and to hide the dock that this is the title of.
  void serve(QDockWidget* dock);

 private:
  const Theme& theme_;
  QHBoxLayout* row_;
  QLabel* name_;
  QWidget* edited_;
  QWidget* changed_;
  QLabel* facts_;
};

}  // namespace attn::ui
