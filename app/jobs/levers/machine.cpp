// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/levers/machine.h"

#include "app/jobs/exchange/exchange.h"
#include "app/jobs/targets/targets.h"

#include <thread>

namespace attn::app {

std::string program_version() { return ATTN_VERSION; }

std::string machine_kind() {
  return cpu_target().label + ", " + std::to_string(std::thread::hardware_concurrency()) + " threads";
}

std::string settings_text(const Engine& engine) {
  ExportOptions options;
  options.target = engine.target().name;
  const auto made = (*find_exchange_format("profile"))->write(production_settings(engine), options);
  return made ? made->text : std::string();
}

}  // namespace attn::app
