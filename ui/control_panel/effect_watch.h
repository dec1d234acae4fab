// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/control_panel/effect.h"
#include "ui/link/engine_link.h"

#include <QObject>
#include <QThreadPool>
#include <QTimer>
#include <optional>

namespace attn::ui {

/// Knows what the pending edits would do to the run that is shown. Plans off the GUI thread, one question at a time;
/// everything else here belongs to the GUI thread.
class EffectWatch final : public QObject {
  Q_OBJECT

 public:
  explicit EffectWatch(EngineLink& link, QObject* parent = nullptr);
  ~EffectWatch() override;

  /// `run` and what it published beside its calls. While a run like the one before is under way, the one before is
  /// planned anew: it shows the whole of what is to come.
  void set_run(const trace::TraceSnapshot& run, const RunFacts& facts);
  /// Nullopt: nothing is pending, or the answer is not known yet.
  [[nodiscard]] const std::optional<Effect>& effect() const noexcept { return effect_; }
  /// Edits that wait for a rebuild.
  [[nodiscard]] qint64 edits() const noexcept { return edits_; }

 signals:
  void changed();

 private:
  void look();
  void ask();
  void take(const Effect& effect);

  EngineLink& link_;
  trace::TraceSnapshot run_;  ///< that is planned anew
  RunFacts facts_;
  std::optional<Effect> effect_;
  qint64 edits_ = 0;
  bool asked_ = false;  ///< an answer is on its way
  bool stale_ = false;  ///< something changed since it was asked for
  QTimer pause_;        ///< a run that goes on is asked about a few times a second
  Postbox postbox_;
  QThreadPool pool_;
};

}  // namespace attn::ui
