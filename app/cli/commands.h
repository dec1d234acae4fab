// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/cli/program.h"
#include "app/jobs/profile/profile.h"

#include <CLI/CLI.hpp>
#include <functional>

namespace attn::cli {

/// What the command line asked for, run after everything is parsed; returns the exit code.
using Command = std::function<int()>;

/// Reads the profiles when a subcommand needs them; once.
using Profiles = std::function<const Expected<app::ProfileLibrary>&()>;

// Each declares one subcommand; when it is the chosen one, its callback puts what to do into `command`.
void add_backends(CLI::App& program, Command& command);
void add_targets(CLI::App& program, Command& command);
void add_models(CLI::App& program, Command& command, const Profiles& profiles);
void add_explain(CLI::App& program, Command& command);
void add_plan(CLI::App& program, Command& command, const Profiles& profiles, bool with_inputs);
void add_run(CLI::App& program, Command& command, const Profiles& profiles, bool with_inputs);
void add_compare(CLI::App& program, Command& command, const Profiles& profiles, bool with_inputs);
void add_probe(CLI::App& program, Command& command, const Profiles& profiles, bool with_inputs);
void add_tune(CLI::App& program, Command& command, const Profiles& profiles, bool with_inputs);
void add_policy(CLI::App& program, Command& command);
void add_platform(CLI::App& program, Command& command);
void add_generate(CLI::App& program, Command& command);
void add_export(CLI::App& program, Command& command);
void add_import(CLI::App& program, Command& command);
void add_report(CLI::App& program, Command& command);
void add_selftest(CLI::App& program, Command& command);
void add_sparse(CLI::App& program, Command& command);
void add_gui(CLI::App& program, Command& command);

}  // namespace attn::cli
