// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/gui/worker.h"
#include "core/engine/engine.h"
#include "ui/link/postbox.h"
#include "ui/services.h"

#include <atomic>
#include <cstdint>

namespace attn::app {

/// SD.Next config.json files for the window. Files are read and written on a worker thread.
class GuiExportService final : public ui::ExportService {
  Q_OBJECT

 public:
  /// `engine` outlives this.
  explicit GuiExportService(Engine& engine, QObject* parent = nullptr);
  ~GuiExportService() override;

  void preview(const QString& path, ui::ConfigForm form) override;
  void write(const QString& path, ui::ConfigForm form) override;
  void import(const QString& path) override;

 private:
  Engine& engine_;
  std::atomic<std::uint64_t> newest_preview_{0};
  ui::Postbox postbox_;
  Worker worker_;  ///< last: ends first
};

}  // namespace attn::app
