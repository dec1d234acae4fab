// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/start/examples.h"
#include "ui/theme/theme.h"

#include <QWidget>

class QHBoxLayout;

namespace attn::ui {

/// What a person sees where charts and lists will be, before anything has run: three examples, one click each.
class StartPage final : public QWidget {
  Q_OBJECT

 public:
  explicit StartPage(const Theme& theme, QWidget* parent = nullptr);

 signals:
  /// An example was chosen.
  void wanted(const QString& id);
  void closed();

 private:
  QWidget* make_card(const Example& example, const Theme& theme);
};

}  // namespace attn::ui
