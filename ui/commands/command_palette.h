// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/commands/command_model.h"
#include "ui/theme/theme.h"

#include <QFrame>
#include <QPointer>

class QLabel;
class QLineEdit;
class QListView;
class QSettings;

namespace attn::ui {

/// A line over the window in which a few letters find any command: up and down choose, Return starts, Escape closes.
/// What was started last stands first.
class CommandPalette final : public QFrame {
  Q_OBJECT

 public:
  static constexpr int kMostRecent = 12;

  /// Shown over `window`.
  CommandPalette(CommandRegistry& commands, const Theme& theme, QWidget* window);

  void open();
  void close();
  [[nodiscard]] CommandModel& model() noexcept { return model_; }
  [[nodiscard]] const QStringList& recent() const noexcept { return recent_; }
  void save(QSettings& settings) const;
  void restore(const QSettings& settings);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void look();
  void place();
  void move(int rows);
  void start();
  void describe();
  void note(const QString& id);

  CommandRegistry& commands_;
  CommandModel model_;
  QStringList recent_;
  QLineEdit* line_;
  QListView* list_;
  QLabel* none_;
  QLabel* hint_;
  QPointer<QWidget> focused_before_;
};

}  // namespace attn::ui
