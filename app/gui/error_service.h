// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/gui/job_control.h"
#include "app/gui/levers_service.h"
#include "ui/compare/error_service.h"
#include "ui/link/postbox.h"

namespace attn::app {

/// Errors of routes for the window, measured by a job or taken from the levers' measurements.
class GuiErrorService final : public ui::ErrorService {
  Q_OBJECT

 public:
  /// `jobs` and `levers` outlive this.
  GuiErrorService(GuiJobControl& jobs, GuiLeversService& levers, QObject* parent = nullptr);

  [[nodiscard]] Expected<void> measure(const trace::RouteRow& route, const ui::SettingsPoint& settings) override;

 private:
  void take_levers();

  GuiJobControl& jobs_;
  GuiLeversService& levers_;
  std::size_t lever_rows_ = 0;  ///< of the levers' table that were told already
  ui::Postbox postbox_;
};

}  // namespace attn::app
