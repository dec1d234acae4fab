// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QObject>
#include <QPointer>
#include <QString>
#include <vector>

class QWidget;

namespace attn::ui {

/// The panels of a window in the order in which F6 goes round them. Each remembers which of its widgets had the focus.
class PanelRing final : public QObject {
  Q_OBJECT

 public:
  explicit PanelRing(QWidget* window);

  void add(QWidget* panel, const QString& name);
  /// To the next panel that is in sight and has something to focus, or to the one before.
  void go(bool backwards);
  /// The panel that has the focus; null: none has.
  [[nodiscard]] QWidget* current() const;
  [[nodiscard]] QString current_name() const;
  /// What Tab does: through the panels one after the other, inside of each as one reads, wherever a widget came from.
  /// False: there is nothing to focus.
  bool tab(bool backwards);

 private:
  struct Panel {
    QPointer<QWidget> widget;
    QString name;
    QPointer<QWidget> last;
  };
  void note(QWidget* focused);
  [[nodiscard]] int panel_of(const QWidget* widget) const;

  QWidget* window_;
  std::vector<Panel> panels_;
};

/// Whether a person can reach this widget with Tab now.
[[nodiscard]] bool takes_tab(const QWidget& widget);

}  // namespace attn::ui
