// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "trace/collector.h"
#include "ui/link/postbox.h"
#include "ui/services.h"

#include <atomic>

namespace attn::app {

/// Brings the collector's news to the GUI thread; news that comes while the window is still busy with the last is one
/// piece of news.
class GuiTraceSource final : public ui::TraceSource {
  Q_OBJECT

 public:
  explicit GuiTraceSource(QObject* parent = nullptr) : ui::TraceSource(parent), postbox_(this) {}

  void watch(const trace::Collector* collector) noexcept { collector_ = collector; }
  /// For Collector::Options::on_change. Any thread.
  void announce() {
    if (queued_.exchange(true)) return;
    postbox_.address().post([this] {
      queued_ = false;
      emit changed();
    });
  }
  [[nodiscard]] trace::TraceSnapshot snapshot() const override {
    return collector_ != nullptr ? collector_->snapshot() : trace::TraceSnapshot{};
  }
  [[nodiscard]] trace::CallView calls() const override {
    return collector_ != nullptr ? collector_->calls() : trace::CallView{};
  }

 private:
  const trace::Collector* collector_ = nullptr;
  std::atomic<bool> queued_{false};
  ui::Postbox postbox_;
};

}  // namespace attn::app
