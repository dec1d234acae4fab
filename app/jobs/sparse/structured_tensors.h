// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/call/attention_call.h"
#include "core/layout/token_layout.h"
#include "core/tensor/host_buffer.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace attn::app {

/// What structure to generate.
struct StructureOptions {
  std::uint64_t seed = 0;
  /// Which tokens are text; absent: all of them lie on the grid. Its length must be the call's.
  std::optional<TokenLayout> layout;
  /// (height, width) or (frames, height, width) of the tokens that are not text, in raster order; empty: the most
  /// square grid of two dims that has exactly as many.
  std::vector<std::int64_t> grid;
  std::int64_t clusters = 6;  ///< kinds of things in the picture
};

/// Tensors of a call, contiguous. Move only; `call` stays valid after a move.
struct StructuredTensors {
  AttentionCall call;
  HostTensor query, key, value, output;
  std::vector<std::int64_t> grid;  ///< the grid that was used
};

/// Query, key and value that attend as those of a diffusion transformer do: mostly to what is near on the picture's
/// grid and to what is of the same kind, wherever it lies; some heads hardly to anything in particular.
///
/// The grid is cut into regions around 2 * clusters random centres (nearest centre; rows count double, so regions are
/// wider than high, as things in pictures are); regions take the `clusters` kinds in turn, so a kind appears in places
/// far apart. A text token has a kind and no place. Half of head_dim holds the kind: one random code per kind, so
/// tokens of one kind score C and others about 0. The other half holds the place as rotary embeddings do (Su et al.,
/// RoFormer, 2021, an axis each): cosines and sines of geometric frequencies from 0.7 radians a token to half a turn
/// over the axis, so two tokens at one place score A and less the farther apart they are along each axis. Key heads
/// take turns at four mixtures: local (A 9, C 1), semantic (A 0.5, C 7), both (A 4, C 5) and diffuse (A 1.5, C 1.5),
/// times log(tokens) / log(4096), because a longer sequence needs higher scores for the same contrast. Both tensors
/// carry noise of 0.7 per channel. Values are the kind's code, a wave over the grid and noise. Batch elements share the
/// picture and differ in their noise. The scores hold for a scale of 1 / sqrt(head_dim).
///
/// The result depends on nothing but the call's shapes and dtypes and the options; works on all threads.
/// Error: no self attention of rank 4, a mask, tensors that are not contiguous, a layout of another length, a grid that
/// does not hold the tokens, or head_dim below 8.
[[nodiscard]] Expected<StructuredTensors> structured_tensors(const AttentionCall& call,
                                                             const StructureOptions& options);

/// (height, width) with height * width = tokens and height <= width, as square as there is.
[[nodiscard]] std::vector<std::int64_t> square_grid(std::int64_t tokens);

}  // namespace attn::app
