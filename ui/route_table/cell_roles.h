// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <Qt>

namespace attn::ui {

/// What the models of routes and of calls know about a cell besides its text, for the delegate that paints both.
struct CellRoles {
  enum Roles {
    sort_role = Qt::UserRole,  ///< the raw number or text
    backend_role,              ///< executed: "sdnq" for the colour
    variant_role,              ///< executed: what stands behind the name
    differs_role,              ///< requested: true when somebody else served
    share_role,                ///< share: 0..1
    header_role,               ///< any: true for the row of a group
    bad_role,                  ///< executed: true when an output was not finite
    bypassed_role,             ///< executed: true when a dispatcher served and the chain was not asked
    brief_role,                ///< a change, said shorter, for where the whole has no room
    tone_role,                 ///< of a change: -1 better, 1 worse, 0 neither
  };
};

}  // namespace attn::ui
