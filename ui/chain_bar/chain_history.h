// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/link/settings_diff.h"
#include "ui/link/settings_history.h"

#include <QDateTime>
#include <QElapsedTimer>
#include <QObject>
#include <vector>

namespace attn::ui {

/// A chain that was in force since the window was opened, and the settings that made it.
struct ChainMoment {
  QDateTime since;
  std::vector<QString> names;  ///< in the order in which they are asked, the last one always there
  SettingsPoint settings;
  std::vector<SettingChange> changes;  ///< against the moment before; none for the first

  /// "sdnq › flash › sdpa"
  [[nodiscard]] QString chain() const;
  /// What led here, in one line.
  [[nodiscard]] QString words() const;
};

/// "+ sage, − flash": who came into a chain and who left it; empty where nobody did.
[[nodiscard]] QString chain_change(const std::vector<QString>& before, const std::vector<QString>& after);

/// The chains since start, oldest first. Edits of one number that follow each other fast are one moment. GUI thread.
class ChainHistory final : public QObject {
  Q_OBJECT

 public:
  static constexpr std::size_t kMost = 200;  ///< moments; the oldest go first

  explicit ChainHistory(SettingsHistory& settings, QObject* parent = nullptr);

  [[nodiscard]] const std::vector<ChainMoment>& moments() const noexcept { return moments_; }
  /// What going back to a moment would change.
  [[nodiscard]] std::vector<SettingChange> changes_from_now(std::size_t at) const;
  /// Puts a moment's settings in force again, as one step that can be undone.
  void go_back(std::size_t at);

 signals:
  void changed();

 private:
  void record();

  SettingsHistory& settings_;
  std::vector<ChainMoment> moments_;
  QElapsedTimer clock_;
  qint64 recorded_at_ = 0;  ///< milliseconds on the clock
};

}  // namespace attn::ui
