// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <optional>
#include <vector>

namespace attn::cuda {

/// What this program was built with.
struct Toolkit {
  int version = 0;                 ///< as cuDriverGetVersion counts: 13000 is 13.0
  std::vector<int> architectures;  ///< with machine code, ascending: 80, 90, 100, 120; the last also as PTX
};

/// nullopt in a build without the CUDA toolkit.
[[nodiscard]] std::optional<Toolkit> built_toolkit();

}  // namespace attn::cuda
