// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/workspace/workspace.h"

#include <string>
#include <string_view>

namespace attn::ui {

/// A workspace as JSON (UTF-8), an object with
///   "attnscope": "workspace", "version": 1
///   "file"       text, autosaved ones only: the person's own file
///   "target"     name of a machine: "rtx-3090"
///   "profile"    settings and choices, as a profile's file holds them
///   "required"   list of backends that must serve the denoiser
///   "workload"   {"model": id, "work": "planned" | "representatives" | "all" | "compiled", "inputs": {key: number},
///                 "picture": {"prompt", "negative_prompt", "seed" (text: 64 bits), "width", "height", "steps",
///                 "guidance", "dtype", "trimmed_text", "step_hook", "compiled", "second": {"width", "height", "steps",
///                 "strength", "through_image"} or left out}; left out for a model that does not draw}
///   "filter"     the filter line
///   "layout"     {"geometry", "docks", "center": Base64 of what Qt keeps, "chart", "side": tabs from 0}
///   "view"       {key: true or false, number, text, list of texts, or "base64:..."}; keys that no panel has are left
///   be "run"        {"state": "running" | "finished" | "stopped" | "failed", "model", "work", "calls_done",
///                 "calls_total", "step", "steps"}; left out before the first run
///   "selection"  {"role", "step"}; each may be left out
/// Required are the first two, target, profile and workload. What else is left out is empty.
[[nodiscard]] std::string write_workspace(const Workspace& workspace);

/// Reads what write_workspace() wrote. Strict: a member that is not known, of a wrong kind or out of range is an error.
/// Error: one sentence with the member's path, what stands there, and what would be right; for a text that is no JSON
/// the line and column. Whether the settings suit the target is not looked at.
[[nodiscard]] Expected<Workspace> read_workspace(std::string_view text);

/// Whether a text says of itself that it is a workspace, whatever else is wrong with it. A beginning suffices.
[[nodiscard]] bool looks_like_workspace(std::string_view text);

/// What a person saves: settings, target, workload and filter, without arrangement, run and selection. Equal texts are
/// equal contents.
[[nodiscard]] std::string content_of(const Workspace& workspace);

}  // namespace attn::ui
