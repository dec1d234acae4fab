// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/gui/worker.h"
#include "core/engine/engine.h"
#include "ui/export/export_service.h"
#include "ui/link/postbox.h"

#include <atomic>
#include <cstdint>
#include <optional>

namespace attn::app {

/// Every format of core/exchange for the window. Files are read and written on a worker thread.
class GuiExportService final : public ui::ExportService {
  Q_OBJECT

 public:
  /// `engine` outlives this.
  explicit GuiExportService(Engine& engine, QObject* parent = nullptr);
  ~GuiExportService() override;

  void preview(const ui::ExportRequest& request) override;
  void write(const ui::ExportRequest& request) override;
  void read(const ui::ImportRequest& request) override;
  void apply(const ui::ImportPreview& preview) override;
  void put_back() override;

 private:
  [[nodiscard]] ui::ImportResult take(const QString& path, const ImportText& text);

  Engine& engine_;
  std::optional<ProductionSettings> before_;  ///< the worker's: as it was before the last apply()
  std::atomic<std::uint64_t> newest_preview_{0};
  std::atomic<std::uint64_t> newest_read_{0};
  ui::Postbox postbox_;
  Worker worker_;  ///< last: ends first
};

}  // namespace attn::app
