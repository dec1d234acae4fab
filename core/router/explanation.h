// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/context/generation_context.h"
#include "core/router/plan.h"
#include "core/router/router.h"

#include <string>
#include <vector>

namespace attn {

/// What one backend says about a call.
struct BackendVerdict {
  std::string backend;
  std::string label;
  BackendState state = BackendState::disabled;
  std::string state_reason;  ///< why unavailable or failed, or what a probe narrowed
  bool accepts = false;      ///< every check holds; for a backend outside the chain: it would accept
  bool serves = false;
  bool terminal = false;
  std::vector<Verdict> checks;
  std::string reason;  ///< the first failing check's clause, or the state's sentence; empty when it accepts
};

/// The decision record of one call: the same checks that routed it, with their numbers.
struct Explanation {
  std::string chain;
  std::string target;
  std::string emulation{};  ///< "emulated on this host: <why>"; empty where the target is present or nobody looked
  std::string requested;
  std::string selected;
  std::string executed;  ///< what the kernel says it would run as
  std::string kernel;    ///< the variant
  std::string reason;    ///< why this one serves, in a sentence
  bool sparse = false;
  std::vector<BackendVerdict> entries;  ///< every registered backend in the router's order, then the original
  std::vector<Verdict> kernel_choices;  ///< why this variant
  struct Stage {
    bool consulted = false;
    bool selects = false;
    std::string reason;
    double budget = 0.0;
    double density = 1.0;
  } stage;
  /// What the dispatcher in front of the router does with the call.
  struct Dispatch {
    std::string requested;  ///< the attention backend that was asked for
    std::string level;      ///< who decided: "explicit for all", ...
    std::string backend;    ///< the dispatcher's name; "native": the call goes through the router
    std::string state;      ///< "engaged", "default", "rejected", "unverified"
    std::string reason;
    bool strict = false;    ///< a choice that cannot be met is an error
    bool bypassed = false;  ///< served directly, the chain is not asked
    std::string error;      ///< not empty: the call must not run
  } dispatch;
  std::int64_t memory_bytes = 0;
  std::vector<std::string> warnings;
  std::vector<std::string> to_move;  ///< what would have to change for each backend that declined
};

/// Whether an explanation may wait for a library's answer.
enum class Patience : std::uint8_t { none, waits };

/// Explains how `plan` serves `call`. Needs no data and runs nothing.
[[nodiscard]] Explanation explain_route(const Registry& registry, const Plan& plan, const AttentionCall& call,
                                        const GenerationContext& context, SelectionStage* stage,
                                        Patience patience = Patience::none);

}  // namespace attn
