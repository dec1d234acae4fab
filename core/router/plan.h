// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/registry/registry.h"
#include "core/sparse/sparse_stage.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace attn {

/// What became of a backend when the plan was built.
enum class BackendState : std::uint8_t {
  ready,        ///< in the chain
  disabled,     ///< its label is not among the overrides
  unavailable,  ///< enabled, but not on this platform
  failed,       ///< enabled, but prepare() said why not
  skipped,      ///< enabled, but prepare() had nothing to serve
};
/// "ready", "disabled", "unavailable", "failed", "skipped".
[[nodiscard]] std::string_view name_of(BackendState state) noexcept;

/// A backend in the chain.
struct PlanEntry {
  std::string_view name;  ///< lives as long as the registry
  Gate gate;              ///< may be narrower than declared, when the kernel failed a conformance probe
  Capabilities capabilities;
  std::shared_ptr<const AttentionKernel> kernel;
};

/// What the plan says about every registered backend, in the chain or not.
struct BackendReport {
  std::string name;
  std::string label;
  BackendState state = BackendState::disabled;
  std::string reason;  ///< the sentence for unavailable and failed; a narrowing for ready; for disabled what more than
                       ///< the override is missing; else empty
  bool terminal = false;
};

/// What to build a chain from.
struct PlanRequest {
  std::vector<std::string> labels;  ///< the overrides, matched exactly; unknown ones are kept and do nothing
  Target target;
  OptionValues options;
  std::function<std::shared_ptr<const std::atomic<double>>(std::string_view key)> live;
  std::map<std::string, std::string, std::less<>> barred{};  ///< backends that must not serve, with the sentence
};

/// An immutable chain. Built once, swapped as a whole, shared between threads. The registry must outlive it.
class Plan {
 public:
  /// Visits the backends by ascending priority, prepares the enabled ones and keeps those that can serve. Never
  /// fails: a backend that cannot serve leaves the rest alone and says so in log() and reports().
  [[nodiscard]] static std::shared_ptr<const Plan> build(const Registry& registry, PlanRequest request);

  /// Highest priority first; the terminal is not among them.
  [[nodiscard]] const std::vector<PlanEntry>& entries() const noexcept { return entries_; }
  [[nodiscard]] const PlanEntry* terminal() const noexcept { return terminal_ ? &*terminal_ : nullptr; }
  [[nodiscard]] const PlanEntry& original() const noexcept { return original_; }
  /// The terminal if there is one, else the original sdpa.
  [[nodiscard]] const PlanEntry& last() const noexcept { return terminal_ ? *terminal_ : original_; }

  [[nodiscard]] const std::vector<std::string>& labels() const noexcept { return request_.labels; }
  [[nodiscard]] const Target& target() const noexcept { return request_.target; }
  /// The values that the chain was built with.
  [[nodiscard]] const OptionValues& captured() const noexcept { return request_.options; }
  /// False when there is nothing to route and the original stays in place.
  [[nodiscard]] bool installs_router() const noexcept { return !entries_.empty() || terminal_.has_value(); }
  /// Every registered backend, in the order in which the router would meet it.
  [[nodiscard]] const std::vector<BackendReport>& reports() const noexcept { return reports_; }
  /// The name that was asked for first: the enabled backend of highest priority, ready or not; "sdpa" for none.
  [[nodiscard]] std::string_view requested() const noexcept { return requested_; }
  /// "sdnq>sage>sdpa"
  [[nodiscard]] const std::string& chain() const noexcept { return chain_; }
  /// Lines that building the plan logs, in order.
  [[nodiscard]] const std::vector<LogLine>& log() const noexcept { return log_; }
  /// The debug line that installing the plan logs.
  [[nodiscard]] std::string chain_line(bool sparse) const;

 private:
  Plan() = default;
  struct Outcome {
    BackendState state;
    std::string reason;
  };
  void visit(const BackendSpec& spec);
  Outcome prepare(const BackendSpec& spec, PlanEntry& entry);
  static std::string platforms_text(const BackendSpec& spec);

  PlanRequest request_;
  std::vector<PlanEntry> entries_;
  std::optional<PlanEntry> terminal_;
  PlanEntry original_;
  std::vector<BackendReport> reports_;
  std::vector<LogLine> log_;
  std::string_view requested_;
  std::string chain_;
};

}  // namespace attn
