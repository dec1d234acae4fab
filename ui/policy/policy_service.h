// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/policy/precedence.h"
#include "core/registry/target.h"

#include <QObject>
#include <QString>
#include <map>
#include <optional>
#include <vector>

namespace attn::ui {

/// A value that may be asked for, and what would become of it on the target in force.
struct AskableBackend {
  QString name;  ///< an alias, "auto" among them
  SelectionState state = SelectionState::standard;
  QString reason;
};

/// What the choices come to for one role.
struct RoleOutcome {
  AttentionDecision decision;
  QString problem;  ///< why the backend that is decided for cannot serve here; empty when it can
};

/// Everything that is said about the attention backend, and what it comes to.
struct PolicyState {
  AttentionChoices wanted;
  AttentionChoices applied;  ///< what the running job began with; as wanted while none runs
  bool job_running = false;
  QString target;  ///< its label
  std::vector<AskableBackend> for_all;
  std::map<Role, std::vector<AskableBackend>> for_role;  ///< of kChoiceRoles
  std::vector<RoleOutcome> outcomes;                     ///< one for each of kChoiceRoles; empty until known

  [[nodiscard]] bool is_pending() const { return !(wanted == applied); }
};

/// The dispatcher in front of the router, for the window. Members and signals belong to the GUI thread; decisions are
/// made off it.
class PolicyService : public QObject {
  Q_OBJECT

 public:
  using QObject::QObject;
  [[nodiscard]] virtual const PolicyState& state() const = 0;
  /// Counts from the next job on. `choices.dispatcher` is left aside: it is a setting. Error: an unknown name.
  [[nodiscard]] virtual Expected<void> choose(AttentionChoices choices) = 0;

 signals:
  void changed();
};

}  // namespace attn::ui
