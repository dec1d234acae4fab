// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/main_window/status_line.h"

#include "ui/format/format.h"
#include "ui/theme/theme.h"

#include <QLabel>
#include <QThread>

namespace attn::ui {

StatusLine::StatusLine(QWidget* parent) : QStatusBar(parent) {
  setSizeGripEnabled(false);
  setContentsMargins(8, 0, 8, 0);
  chain_ = add("mono");
  chain_->setObjectName("status_chain");
  chain_->setToolTip(tr("The chain in force: asked from left to right, the last one takes what is left"));
  role_ = add("dim");
  step_ = add("dim");
  speed_ = add("dim");
  dropped_ = add("dim");
  dropped_->setObjectName("status_dropped");
  dropped_->setToolTip(
      tr("Events that did not fit into the trace's buffer. The job never waits for the window; what "
         "is dropped is missing from the counts."));
  auto* host = new QLabel(tr("host %1 threads").arg(QThread::idealThreadCount()), this);
  set_look(host, "dim");
  addPermanentWidget(host);
  show_dropped(0);
}

QLabel* StatusLine::add(const char* look) {
  auto* label = new QLabel(this);
  label->setContentsMargins(4, 0, 8, 0);
  set_look(label, look);
  addWidget(label);
  return label;
}

void StatusLine::show_chain(const QString& chain) { chain_->setText(chain); }

void StatusLine::show_progress(const RunProgress& progress, double calls_per_second) {
  role_->setText(progress.role == Role::none ? QString() : tr("role %1").arg(text_of(name_of(progress.role))));
  step_->setText(progress.steps > 0
                     ? tr("step %1 of %2").arg(std::min(progress.step + 1, progress.steps)).arg(progress.steps)
                     : QString());
  const bool calls = progress.noun == RunProgress().noun;
  speed_->setText(calls ? tr("%1 calls/s").arg(count_text(qRound64(calls_per_second))) : QString());
}

void StatusLine::show_dropped(std::uint64_t dropped) {
  dropped_->setText(tr("%1 dropped").arg(count_text(static_cast<qint64>(dropped))));
  set_look(dropped_, dropped > 0 ? "pending" : "dim");
}

}  // namespace attn::ui
