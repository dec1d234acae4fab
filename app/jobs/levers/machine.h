// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/engine/engine.h"

#include <string>

namespace attn::app {

/// "0.1.0".
[[nodiscard]] std::string program_version();

/// The processor's name and its threads: "AMD EPYC 9654 96-Core Processor, 8 threads". Equal on machines that measure
/// alike.
[[nodiscard]] std::string machine_kind();

/// An engine's settings, choices and quarantine as the text of an Attnscope profile.
[[nodiscard]] std::string settings_text(const Engine& engine);

}  // namespace attn::app
