// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/engine/engine.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attn::app {

/// What kind of lever a variant pulls.
enum class LeverGroup : std::uint8_t {
  baseline,    ///< plain sdpa, dense, nothing compiled: exact
  backend,     ///< one override backend alone
  chain,       ///< all of them, or all but one
  dispatcher,  ///< an attention backend in front of the router
  kernels,     ///< some of sdpa's kernels switched off
  sparse,      ///< a budget, perhaps with a schedule, on a backend that takes a block mask
  compiled,    ///< routes chosen once per call site
  option,      ///< one backend alone with one of its own options changed; measured when asked for by name
  as_set,      ///< the settings as they are given
};
/// "baseline", "backend", "chain", "dispatcher", "kernels", "sparse", "compiled", "option", "as-set".
[[nodiscard]] std::string_view name_of(LeverGroup group) noexcept;
[[nodiscard]] std::optional<LeverGroup> parse_lever_group(std::string_view text) noexcept;

using SettingList = std::vector<std::pair<std::string, OptionValue>>;

/// One way to run a job.
struct LeverVariant {
  std::string
      name{};  ///< unique: "baseline", "backend:sage", "chain", "chain-without:sage", "dispatcher:cudnn",
               ///< "kernels:Flash", "kernels-without:Flash", "sparse:flex:30", "sparse:flex:30+30x2" (30 points
               ///< more in 2 steps at both ends), "compiled", "compiled:chain", "option:sdnq:KEY=VALUE", "as-set"
  LeverGroup group = LeverGroup::baseline;
  std::string what{};                      ///< in words
  SettingList settings{};                  ///< what differs from the baseline's settings
  std::optional<std::string> attention{};  ///< request to the dispatcher; nullopt: none
  bool compiled = false;

  friend bool operator==(const LeverVariant&, const LeverVariant&) = default;
};

/// Every variant for an engine's registry and target, the baseline first, the settings as given last. Derived from the
/// registry, the option specs and the list of attention backends, so that a new backend, kernel or alias is in it.
/// `backends` are the labels of the override backends that are tried; for none, those that the settings name, and all
/// where they stand at the target's default or name none. `can_compile`: the job can be compiled.
[[nodiscard]] std::vector<LeverVariant> lever_variants(const Engine& as_set, bool can_compile,
                                                       const OptionList& backends = {});
/// Where the baseline stands for each key that a lever moves: no overrides, every kernel, dense, no dispatcher.
[[nodiscard]] SettingList baseline_settings(const std::vector<OptionSpec>& specs);

/// The variants whose names match one of `globs` (* and ?, or a group's name), in their order; for no glob all but
/// group option. The baseline always stays. Error: a glob that matches nothing, with the nearest names.
[[nodiscard]] Expected<std::vector<LeverVariant>> narrow_variants(const std::vector<LeverVariant>& all,
                                                                  const std::vector<std::string>& globs);

/// The part of a list that falls to one of several machines; they take turns, so that long groups are spread. Shards
/// count from 1. The baseline falls to each.
struct LeverShard {
  int index = 1;
  int count = 1;
  friend bool operator==(const LeverShard&, const LeverShard&) = default;
};
/// Reads "2/8". Error: what is right.
[[nodiscard]] Expected<LeverShard> read_shard(std::string_view text);
[[nodiscard]] std::vector<LeverVariant> shard_of(const std::vector<LeverVariant>& all, LeverShard shard);

/// A new engine in the state that a variant asks for, with the registry, target and every other setting of `as_set`:
/// nothing of an earlier engine, chain, stage or context is in it. Error: a value that the target does not take.
[[nodiscard]] Expected<std::unique_ptr<Engine>> lever_engine(const Engine& as_set, const LeverVariant& variant);

}  // namespace attn::app
