// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/start/examples.h"
#include "ui/theme/theme.h"

#include <QWidget>

class QBoxLayout;

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

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  /// One example: a column with a drawing, or a row without where there is little room.
  struct Card {
    QWidget* frame;
    QBoxLayout* layout;
    std::vector<QWidget*> roomy;  ///< what only a column shows
  };
  Card make_card(const Example& example, const Theme& theme);
  void show_rows(bool rows);

  QWidget* page_;
  QBoxLayout* row_;
  std::vector<Card> cards_;
  bool rows_ = false;
};

}  // namespace attn::ui
