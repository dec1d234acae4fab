// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace attn::cuda {

/// Blocks along x, y and z.
struct GridSize {
  int x = 1;
  int y = 1;
  int z = 1;
};

}  // namespace attn::cuda
