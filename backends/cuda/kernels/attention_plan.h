// SPDX-License-Identifier: GPL-3.0-or-later
// Which kernels a task runs, in which order, and where their intermediate results lie. The same for the device and for
// blocks that run on the host: a Launcher has `LaunchStatus launch<Kernel>(const Kernel::Params&, GridSize)`.
#pragma once

#include "backends/cuda/grid/grid_size.h"
#include "backends/cuda/kernels/attention_kernel.h"
#include "backends/cuda/kernels/kernels.h"
#include "backends/cuda/kernels/mean_kernel.h"
#include "backends/cuda/kernels/pack_kernel.h"
#include "backends/cuda/kernels/quantise_kernel.h"

namespace attn::cuda {

/// Hands out parts of a workspace; with a null base it only counts.
class WorkspaceParts {
 public:
  explicit WorkspaceParts(void* base) : base_(static_cast<unsigned char*>(base)) {}
  template <class T>
  [[nodiscard]] T* take(std::int64_t count) {
    unsigned char* part = base_ == nullptr ? nullptr : base_ + bytes_;
    bytes_ += (count * static_cast<std::int64_t>(sizeof(T)) + 255) / 256 * 256;
    return reinterpret_cast<T*>(part);
  }
  [[nodiscard]] std::int64_t bytes() const noexcept { return bytes_; }

 private:
  unsigned char* base_;
  std::int64_t bytes_ = 0;
};

[[nodiscard]] inline int tiles_of(int tokens, int tile) noexcept { return (tokens + tile - 1) / tile; }

/// Channels of the widest rows, which are taken in parts of kWidePart: as far as the sums of INT8 products are exact.
inline constexpr int kMostChannels = 512;
inline constexpr int kMostInt8Channels = 256;
inline constexpr int kWidePart = 128;

[[nodiscard]] inline int wide_parts(int channels) noexcept { return tiles_of(channels, kWidePart); }

/// Channels that a kernel's tiles have: 64 or 128; 0 where none has that many.
[[nodiscard]] inline int tile_channels(int channels) noexcept {
  return channels <= 64 ? 64 : channels <= 128 ? 128 : 0;
}

/// Whether asynchronous copies can read a tensor's rows where they are.
[[nodiscard]] inline bool copies_directly(const DeviceTensor& tensor, DType dtype) noexcept {
  bool direct =
      tensor.dtype == dtype && tensor.stride[3] == 1 && reinterpret_cast<std::uintptr_t>(tensor.data) % 16 == 0;
  for (int i = 0; i < 3; ++i) direct = direct && tensor.stride[i] % kChunk == 0;
  return direct;
}

/// Rows of 16-bit elements: the tensor's own, or a packed copy of them.
struct PackedRows {
  CopyRows rows;
  void* copy = nullptr;
  bool is_copy = false;
};

[[nodiscard]] inline PackedRows packed_rows(const DeviceTensor& tensor, DType dtype, int batch, int heads, int tokens,
                                            int channels, int wide, WorkspaceParts& parts) {
  PackedRows packed;
  packed.is_copy = !copies_directly(tensor, dtype);
  if (packed.is_copy) {
    packed.copy = parts.take<std::uint16_t>(static_cast<std::int64_t>(batch) * heads * tokens * wide);
    const std::int64_t row = 2LL * wide;
    packed.rows = {static_cast<const unsigned char*>(packed.copy), row * tokens * heads, row * tokens, row, 2 * wide};
  } else {
    packed.rows = {static_cast<const unsigned char*>(tensor.data), 2 * tensor.stride[0], 2 * tensor.stride[1],
                   2 * tensor.stride[2], 2 * channels};
  }
  return packed;
}

/// What a task's intermediate results take, and where they are.
struct Int8Workspace {
  Int8Workspace(const AttentionTask& task, const Int8Options& options, WorkspaceParts& parts) {
    const CallShape& s = task.shape;
    const int widest = s.value_dim > s.head_dim ? s.value_dim : s.head_dim;
    const int rotated = options.rotation_group >= 4 ? options.rotated_channels : 0;
    channels = tile_channels(widest > rotated ? widest : rotated);
    score_channels = channels == 0 ? kMostInt8Channels : channels;
    value_channels = channels == 0 ? wide_parts(s.value_dim) * kWidePart : channels;
    // At least one tile, which a call without keys looks at.
    padded_queries = (tiles_of(s.query_tokens, kQueryTile) + (s.query_tokens == 0 ? 1 : 0)) * kQueryTile;
    padded_keys = (tiles_of(s.key_tokens, kQueryTile) + (s.key_tokens == 0 ? 1 : 0)) * kQueryTile;
    const std::int64_t queries = static_cast<std::int64_t>(s.batch) * s.heads * padded_queries;
    const std::int64_t keys = static_cast<std::int64_t>(s.batch) * s.kv_heads * padded_keys;
    const std::int64_t heads = static_cast<std::int64_t>(s.batch) * s.kv_heads;
    query_numbers = parts.take<std::uint32_t>(queries * score_channels / 4);
    query_factors = parts.take<float>(queries);
    key_numbers = parts.take<std::uint32_t>(keys * score_channels / 4);
    key_factors = parts.take<float>(keys);
    smooth = options.smooth_keys && s.key_tokens > 0;
    if (smooth) {
      partial = parts.take<float>(heads * tiles_of(s.key_tokens, kMeanTokens) * score_channels);
      mean = parts.take<float>(heads * score_channels);
      if (task.log_sum_exp != nullptr) mean_products = parts.take<float>(queries);
    }
    values =
        packed_rows(task.value, options.value, s.batch, s.kv_heads, s.key_tokens, s.value_dim, value_channels, parts);
  }

  int channels = 0;  ///< of a tile; 0: the rows are wide and are taken in parts
  int score_channels = 0;
  int value_channels = 0;
  int padded_queries = 0;
  int padded_keys = 0;
  bool smooth = false;
  std::uint32_t* query_numbers = nullptr;
  float* query_factors = nullptr;
  std::uint32_t* key_numbers = nullptr;
  float* key_factors = nullptr;
  float* partial = nullptr;
  float* mean = nullptr;
  float* mean_products = nullptr;
  PackedRows values;
};

struct ExactWorkspace {
  ExactWorkspace(const AttentionTask& task, WorkspaceParts& parts) {
    const CallShape& s = task.shape;
    channels = tile_channels(s.value_dim > s.head_dim ? s.value_dim : s.head_dim);
    score_channels = channels == 0 ? wide_parts(s.head_dim) * kWidePart : channels;
    value_channels = channels == 0 ? wide_parts(s.value_dim) * kWidePart : channels;
    const DType dtype = task.query.dtype;
    query = packed_rows(task.query, dtype, s.batch, s.heads, s.query_tokens, s.head_dim, score_channels, parts);
    key = packed_rows(task.key, dtype, s.batch, s.kv_heads, s.key_tokens, s.head_dim, score_channels, parts);
    value = packed_rows(task.value, dtype, s.batch, s.kv_heads, s.key_tokens, s.value_dim, value_channels, parts);
  }

  int channels = 0;  ///< of a tile; 0: the rows are wide and are taken in parts
  int score_channels = 0;
  int value_channels = 0;
  PackedRows query;
  PackedRows key;
  PackedRows value;
};

/// The launches of one task on one launcher. The first failure ends it.
template <class Launcher>
class AttentionLaunches {
 public:
  AttentionLaunches(Launcher& launcher, const AttentionTask& task) : launcher_(launcher), t_(task), s_(task.shape) {}

  [[nodiscard]] LaunchStatus int8(const Int8Options& options, void* workspace) {
    if (nothing_to_do()) return {};
    WorkspaceParts parts(workspace);
    const Int8Workspace w(t_, options, parts);
    if (w.channels == 0) return int8<kMostInt8Channels>(options, w);
    return w.channels == 64 ? int8<64>(options, w) : int8<128>(options, w);
  }

  [[nodiscard]] LaunchStatus exact(void* workspace) {
    if (nothing_to_do()) return {};
    WorkspaceParts parts(workspace);
    const ExactWorkspace w(t_, parts);
    if (w.channels == 0) return wide(w);
    return w.channels == 64 ? exact<64>(w) : exact<128>(w);
  }

 private:
  [[nodiscard]] bool nothing_to_do() const noexcept { return s_.batch == 0 || s_.heads == 0 || s_.query_tokens == 0; }

  template <class Kernel>
  void launch(const typename Kernel::Params& params, GridSize grid) {
    if (status_.ok()) status_ = launcher_.template launch<Kernel>(params, grid);
  }

  template <int kDim>
  [[nodiscard]] LaunchStatus int8(const Int8Options& o, const Int8Workspace& w) {
    const RowReader keys = reader(t_.key, s_.key_tokens, s_.head_dim);
    if (w.smooth) mean<kDim>(keys, w);
    QuantiseParams q = quantise_params(o);
    q.from = keys;
    q.keys = true;
    q.heads = s_.kv_heads;
    q.padded_tokens = w.padded_keys;
    q.block = o.key_block;
    q.mean = w.mean;
    q.numbers = w.key_numbers;
    q.factors = w.key_factors;
    quantise<kDim>(q);
    q = quantise_params(o);
    q.from = reader(t_.query, s_.query_tokens, s_.head_dim);
    q.heads = s_.heads;
    q.padded_tokens = w.padded_queries;
    q.block = o.query_block;
    q.negate = t_.scale < 0.0;
    q.multiplier = static_cast<float>((t_.scale < 0.0 ? -t_.scale : t_.scale) * 1.4426950408889634);
    q.least_factor = kLeastRowFactor;
    if (w.mean_products != nullptr) {
      q.mean = w.mean;
      q.heads_per_mean = s_.heads / s_.kv_heads;
      q.mean_products = w.mean_products;
    }
    q.numbers = w.query_numbers;
    q.factors = w.query_factors;
    quantise<kDim>(q);
    constexpr bool kWide = kDim > kWidePart;
    constexpr int kTile = kWide ? kWidePart : kDim;
    pack_parts<kTile>(w.values, t_.value, o.value, s_.kv_heads, s_.key_tokens, s_.value_dim, w.value_channels);

    AttentionParams p = attention_params();
    p.query = numbers(w.query_numbers, s_.heads, w.padded_queries, kDim);
    p.key = numbers(w.key_numbers, s_.kv_heads, w.padded_keys, kDim);
    p.value = w.values.rows;
    p.query_factors = w.query_factors;
    p.key_factors = w.key_factors;
    p.mean_products = w.mean_products;
    p.padded_queries = w.padded_queries;
    p.padded_keys = w.padded_keys;
    if (kWide) p.score_chunks = kDim / kWidePart;
    if (kWide) p.value_chunks = wide_parts(s_.value_dim);
    o.value == DType::float16 ? attention<kTile, Int8Numbers, HalfNumbers, kWide>(p)
                              : attention<kTile, Int8Numbers, BfloatNumbers, kWide>(p);
    return status_;
  }

  template <int kDim>
  [[nodiscard]] LaunchStatus exact(const ExactWorkspace& w) {
    const DType dtype = t_.query.dtype;
    pack<kDim>(w.query, t_.query, dtype, s_.heads, s_.query_tokens, s_.head_dim);
    pack<kDim>(w.key, t_.key, dtype, s_.kv_heads, s_.key_tokens, s_.head_dim);
    pack<kDim>(w.value, t_.value, dtype, s_.kv_heads, s_.key_tokens, s_.value_dim);
    AttentionParams p = attention_params();
    p.query = w.query.rows;
    p.key = w.key.rows;
    p.value = w.value.rows;
    dtype == DType::float16 ? attention<kDim, HalfNumbers, HalfNumbers>(p)
                            : attention<kDim, BfloatNumbers, BfloatNumbers>(p);
    return status_;
  }

  [[nodiscard]] LaunchStatus wide(const ExactWorkspace& w) {
    const DType dtype = t_.query.dtype;
    pack_parts<kWidePart>(w.query, t_.query, dtype, s_.heads, s_.query_tokens, s_.head_dim, w.score_channels);
    pack_parts<kWidePart>(w.key, t_.key, dtype, s_.kv_heads, s_.key_tokens, s_.head_dim, w.score_channels);
    pack_parts<kWidePart>(w.value, t_.value, dtype, s_.kv_heads, s_.key_tokens, s_.value_dim, w.value_channels);
    AttentionParams p = attention_params();
    p.query = w.query.rows;
    p.key = w.key.rows;
    p.value = w.value.rows;
    p.score_chunks = tiles_of(s_.head_dim, kWidePart / 2);
    p.value_chunks = wide_parts(s_.value_dim);
    dtype == DType::float16 ? attention<kWidePart, HalfNumbers, HalfNumbers, true>(p)
                            : attention<kWidePart, BfloatNumbers, BfloatNumbers, true>(p);
    return status_;
  }
  template <int kDim>
  void pack_parts(const PackedRows& packed, const DeviceTensor& tensor, DType dtype, int heads, int tokens,
                  int channels, int packed_channels) {
    for (int first = 0; first < packed_channels; first += kDim) {
      pack<kDim>(packed, tensor, dtype, heads, tokens, channels, packed_channels, first);
    }
  }

  // --- steps --------------------------------------------------------------------------------------------------------

  [[nodiscard]] static RowReader reader(const DeviceTensor& tensor, int tokens, int channels) {
    return {tensor, tokens, channels, RowReader::reads_whole(tensor, channels)};
  }
  [[nodiscard]] static CopyRows numbers(const std::uint32_t* data, int heads, int tokens, int channels) {
    const std::int64_t head = static_cast<std::int64_t>(tokens) * channels;
    return {reinterpret_cast<const unsigned char*>(data), head * heads, head, channels, channels};
  }
  [[nodiscard]] static QuantiseParams quantise_params(const Int8Options& o) {
    QuantiseParams q;
    q.group = o.group;
    q.warp_rows = o.warp_rows;
    q.least_largest = o.least_largest;
    q.added = o.added;
    q.half_away = o.half_away;
    q.rotated_channels = o.rotation_group >= 4 ? o.rotated_channels : 0;
    q.rotation_group = o.rotation_group;
    return q;
  }

  template <int kDim>
  void mean(const RowReader& keys, const Int8Workspace& w) {
    const MeanParams params{keys, s_.kv_heads, tiles_of(s_.key_tokens, kMeanTokens), w.partial, w.mean};
    launch<PartialMeanKernel<kDim>>(params, {params.chunks, s_.kv_heads, s_.batch});
    launch<MeanKernel<kDim>>(params, {1, s_.kv_heads, s_.batch});
  }

  template <int kDim>
  void quantise(const QuantiseParams& params) {
    const GridSize grid{params.padded_tokens / QuantiseKernel<kDim, false>::kTokens, params.heads, s_.batch};
    params.rotated_channels > 0 ? launch<QuantiseKernel<kDim, true>>(params, grid)
                                : launch<QuantiseKernel<kDim, false>>(params, grid);
  }

  /// kDim channels from `first` on, of rows that have `packed_channels` when they are packed.
  template <int kDim>
  void pack(const PackedRows& packed, const DeviceTensor& tensor, DType dtype, int heads, int tokens, int channels,
            int packed_channels = kDim, int first = 0) {
    if (!packed.is_copy || tokens == 0) return;
    const PackParams params{reader(tensor, tokens, channels), heads,         dtype, packed.copy,
                            packed_channels / kChunk,         first / kChunk};
    launch<PackKernel<kDim>>(params, {tiles_of(tokens, PackKernel<kDim>::kTokens), heads, s_.batch});
  }

  [[nodiscard]] AttentionParams attention_params() const {
    AttentionParams p;
    p.shape = s_;
    p.scale = static_cast<float>(t_.scale * 1.4426950408889634);
    p.mask = t_.mask;
    p.output = t_.output;
    bool pairs = t_.output.dtype != DType::float32 && t_.output.stride[3] == 1 &&
                 reinterpret_cast<std::uintptr_t>(t_.output.data) % 4 == 0;
    for (int i = 0; i < 3; ++i) pairs = pairs && t_.output.stride[i] % 2 == 0;
    p.pairs = pairs;
    p.log_sum_exp = t_.log_sum_exp;
    p.is_causal = t_.is_causal;
    p.selection = t_.selection;
    return p;
  }

  template <int kDim, class ScoreNumbers, class ValueNumbers, bool kWide = false>
  void attention(const AttentionParams& p) {
    const GridSize grid{tiles_of(s_.query_tokens, kQueryTile), s_.heads, s_.batch * p.value_chunks};
    p.mask.data != nullptr ? launch<AttentionKernel<kDim, ScoreNumbers, ValueNumbers, true, kWide>>(p, grid)
                           : launch<AttentionKernel<kDim, ScoreNumbers, ValueNumbers, false, kWide>>(p, grid);
  }

  Launcher& launcher_;
  const AttentionTask& t_;
  const CallShape& s_;
  LaunchStatus status_;
};

}  // namespace attn::cuda
