// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/cli/program.h"
#include "core/engine/engine.h"

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

namespace attn::cli {

/// The dispatcher in front of the router, and what is known about the machine's kernels.
struct AttentionOptions {
  std::optional<std::string> attention_backend;
  std::optional<std::string> speed;
  std::string strict;
  std::string probe_result;

  void add_speed(CLI::App& command);
  void add(CLI::App& command);

  [[nodiscard]] bool speed_active() const;
  /// Puts what is stated into the engine, over what it holds. Error: an unknown backend, role or speed.
  [[nodiscard]] Expected<void> apply(Engine& engine) const;
  /// Notes on the target whether only the math kernel runs there: as stated, else probed where its hardware is here.
  /// Error: a result that is not known.
  [[nodiscard]] Expected<void> note_kernels(const Registry& registry, Target& target) const;
};

/// A decision as `explain`, `plan` and `run` give it.
[[nodiscard]] Json attention_json(const Explanation::Dispatch& dispatch);
/// "sage (explicit for all): asked for by name ..."; empty where nobody chose and nothing is bypassed.
[[nodiscard]] std::string attention_text(const Explanation::Dispatch& dispatch);

}  // namespace attn::cli
