// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/theme/theme.h"

#include <QFrame>
#include <functional>
#include <vector>

class QHBoxLayout;
class QLabel;
class QPushButton;

namespace attn::ui {

/// One sentence above everything else, with what can be done about it. Never modal: it waits until somebody answers, or
/// until there is something newer to say.
class NoticeBanner final : public QFrame {
  Q_OBJECT

 public:
  struct Answer {
    QString id;  ///< the button's object name
    QString text;
    std::function<void()> work;  ///< may be empty: the answer only takes the sentence away
  };

  explicit NoticeBanner(QWidget* parent);

  /// `look` is that of a label: "pending", "bad", "ok". A last button that only dismisses is always there unless
  /// `answers` has one that does.
  void say(const QString& sentence, const char* look, std::vector<Answer> answers = {});
  [[nodiscard]] QString sentence() const;

 signals:
  /// It is in sight from now on.
  void shown();

 private:
  QHBoxLayout* row_;
  QLabel* sentence_;
  std::vector<QPushButton*> buttons_;
};

}  // namespace attn::ui
