// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cuda/kernels/selection_plan.h"

namespace attn::cuda {
namespace {

constexpr int kMostGridRows = 65535;  ///< blocks along y and z of a grid

bool is_half(DType dtype) noexcept { return dtype == DType::float16 || dtype == DType::bfloat16; }
bool is_float(DType dtype) noexcept { return dtype == DType::float32 || is_half(dtype); }
bool is_power_of_two(int number) noexcept { return number > 0 && (number & (number - 1)) == 0; }

std::string_view refuse_shape(const CallShape& s) noexcept {
  if (s.batch > kMostGridRows || s.heads > kMostGridRows) return "takes at most 65535 heads and batch items";
  if (s.kv_heads < 1 ? s.heads > 0 : s.heads % s.kv_heads != 0) return "needs query heads in multiples of key heads";
  return {};
}

std::string_view refuse_attention(const AttentionTask& task, int most_channels) noexcept {
  const CallShape& s = task.shape;
  if (const std::string_view why = refuse_shape(s); !why.empty()) return why;
  if (s.head_dim < 1 || s.value_dim < 1) return "needs a head_dim of 1 or more";
  if (s.head_dim > most_channels || s.value_dim > most_channels) {
    return most_channels == kMostChannels ? "takes a head_dim of at most 512" : "takes a head_dim of at most 256";
  }
  if (!is_float(task.output.dtype)) return "writes float32, float16 or bfloat16";
  const TileLists& lists = task.selection;
  if (lists.tiles != nullptr && (lists.query_tiles != tiles_of(s.query_tokens, kQueryTile) ||
                                 lists.key_tiles != tiles_of(s.key_tokens, kKeyTile))) {
    return "takes block selections of 128 by 64 tokens that cover the call";
  }
  return {};
}

}  // namespace

std::string_view refuse_int8_attention(const AttentionTask& task, const Int8Options& options) noexcept {
  if (const std::string_view why = refuse_attention(task, kMostInt8Channels); !why.empty()) return why;
  if (!is_float(task.query.dtype) || !is_float(task.key.dtype) || !is_float(task.value.dtype)) {
    return "takes float32, float16 and bfloat16";
  }
  if (!is_half(options.value)) return "multiplies values in float16 or bfloat16";
  const auto divides = [](int block) { return block >= 1 && kQueryTile % block == 0; };
  if (!divides(options.query_block) || !divides(options.key_block)) return "needs blocks that divide 128 tokens";
  if (options.warp_rows < 1) return "needs one row or more in a warp";
  const bool wide = tile_channels(task.shape.head_dim) == 0 || tile_channels(task.shape.value_dim) == 0;
  if (wide && options.group != FactorGroup::token)
    return "takes more than 128 channels with a factor for each token only";
  if (task.shape.batch > kMostGridRows / wide_parts(kMostChannels)) return "takes at most 16383 batch items";
  if (options.rotation_group < 4) return {};
  const bool fits = is_power_of_two(options.rotated_channels) && is_power_of_two(options.rotation_group) &&
                    options.rotation_group <= options.rotated_channels &&
                    options.rotated_channels >= task.shape.head_dim && options.rotated_channels <= kMostInt8Channels;
  return fits ? std::string_view() : "rotates powers of two of at most 256 channels";
}

std::string_view refuse_exact_attention(const AttentionTask& task) noexcept {
  if (const std::string_view why = refuse_attention(task, kMostChannels); !why.empty()) return why;
  if (task.shape.batch > kMostGridRows / wide_parts(kMostChannels)) return "takes at most 16383 batch items";
  const bool one = task.key.dtype == task.query.dtype && task.value.dtype == task.query.dtype;
  return one && is_half(task.query.dtype) ? std::string_view()
                                          : "takes query, key and value all in float16 or all in bfloat16";
}

std::int64_t int8_workspace_bytes(const AttentionTask& task, const Int8Options& options) noexcept {
  WorkspaceParts parts(nullptr);
  (void)Int8Workspace(task, options, parts);
  return parts.bytes();
}

std::int64_t exact_workspace_bytes(const AttentionTask& task) noexcept {
  WorkspaceParts parts(nullptr);
  (void)ExactWorkspace(task, parts);
  return parts.bytes();
}

std::string_view refuse_selection(const SelectionTask& task) noexcept {
  const CallShape& s = task.shape;
  if (const std::string_view why = refuse_shape(s); !why.empty()) return why;
  if (task.block_q < 1 || task.block_kv < 1) return "needs tiles of one token or more";
  if (tiles_of(s.key_tokens, task.block_kv) > kMostKeyTiles) return "takes at most 5120 key tiles";
  if (s.head_dim > kMostPooledChannels) return "takes a head_dim of at most 256";
  const int heads = task.head_shared ? 1 : s.heads;
  if (task.mark_heads != 1 && task.mark_heads != heads) return "needs marks for one head or for all that select";
  return {};
}

std::int64_t selection_workspace_bytes(const SelectionTask& task) noexcept {
  WorkspaceParts parts(nullptr);
  (void)SelectionWorkspace(task, parts);
  return parts.bytes();
}

}  // namespace attn::cuda
