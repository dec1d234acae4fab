// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/selftest/selftest_calls.h"

#include "core/sparse/selector.h"
#include "core/sparse/tile_geometry.h"
#include "core/tensor/half.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <utility>

namespace attn::app {
namespace {

constexpr std::int64_t kQueryTile = 128;  // of the own kernels' selections
constexpr std::int64_t kKeyTile = 64;
constexpr std::size_t kPeriod = 1U << 20U;  // elements after which large tensors repeat

/// Offset of an element (b, h, i, d) of a view of rank 4.
std::int64_t offset(const TensorView& view, std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t d) {
  return b * view.step(0) + h * view.step(1) + i * view.step(2) + d * view.step(3);
}

void fill(const HostTensor& tensor, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  const auto elements = static_cast<std::size_t>(tensor.view().elements());
  const std::size_t period = std::min(elements, kPeriod);
  for (std::size_t i = 0; i < period; ++i) {
    store_element(tensor.view(), static_cast<std::int64_t>(i), normal(random));
  }
  const std::size_t bytes = size_of(tensor.view().dtype);
  auto* data = static_cast<std::byte*>(tensor.view().data);
  for (std::size_t at = period; at < elements; at += period) {
    std::memcpy(data + at * bytes, data, std::min(period, elements - at) * bytes);
  }
}

TensorView lay(const HostTensor& tensor, bool transposed) {
  TensorView view = tensor.view();
  if (!transposed) return view;
  std::swap(view.shape[1], view.shape[2]);
  std::swap(view.stride[1], view.stride[2]);
  return view;
}

HostTensor make(const SelftestCall& c, std::int64_t heads, std::int64_t tokens, unsigned seed) {
  const std::array<std::int64_t, 4> shape{c.batch, c.transposed ? tokens : heads, c.transposed ? heads : tokens,
                                          c.head_dim};
  HostTensor tensor(shape, c.dtype);
  if (seed != 0) fill(tensor, seed);
  return tensor;
}

BlockSelection select(const SelftestCall& c) {
  BlockSelection selection;
  selection.heads = c.heads;
  selection.query_tiles = (c.query_tokens + kQueryTile - 1) / kQueryTile;
  selection.key_tiles = (c.key_tokens + kKeyTile - 1) / kKeyTile;
  selection.block_q = kQueryTile;
  selection.block_kv = kKeyTile;
  selection.budget = c.kept;
  if (c.on_device) {
    const TileGrid grid{c.query_tokens, c.key_tokens, kQueryTile, kKeyTile};
    selection.rule.marks = std::make_shared<const MaskTiles>(*MaskTiles::make(grid, 1, {}, {}));
    selection.batch = c.batch;
    selection.density = selection_totals(*selection.rule.marks, c.kept).density();
    return selection;
  }
  selection.keep.assign(static_cast<std::size_t>(c.heads * selection.query_tiles * selection.key_tiles), 0);
  std::mt19937 random(9);
  std::bernoulli_distribution keeps(c.kept);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < selection.keep.size(); ++i) {
    const bool first = i % static_cast<std::size_t>(selection.key_tiles) == 0;
    selection.keep[i] = first || keeps(random) ? 1 : 0;
    kept += selection.keep[i];
  }
  selection.density = static_cast<double>(kept) / static_cast<double>(selection.keep.size());
  return selection;
}

}  // namespace

std::vector<SelftestCall> selftest_checks() {
  using Mask = SelftestCall::Mask;
  std::vector<SelftestCall> calls;
  for (const DType dtype : {DType::bfloat16, DType::float16}) {
    const std::string in = std::string(short_name_of(dtype));
    const auto add = [&](SelftestCall call) {
      call.name = in + ", " + call.name;
      call.dtype = dtype;
      calls.push_back(std::move(call));
    };
    add({.name = "plain"});
    add({.name = "head_dim 128", .head_dim = 128});
    add({.name = "head_dim 160", .head_dim = 160});
    add({.name = "head_dim 512, causal", .heads = 1, .kv_heads = 1, .head_dim = 512, .is_causal = true});
    add({.name = "head_dim 40, odd lengths", .query_tokens = 97, .key_tokens = 77, .head_dim = 40});
    add({.name = "causal", .is_causal = true});
    add({.name = "causal, fewer keys", .query_tokens = 150, .key_tokens = 70, .is_causal = true});
    add({.name = "boolean mask", .mask = Mask::boolean});
    add({.name = "bias, causal", .is_causal = true, .mask = Mask::bias});
    add({.name = "grouped heads", .heads = 4});
    add({.name = "one key head, expanded", .expanded = true});
    add({.name = "transposed memory, batch 2", .batch = 2, .transposed = true});
    add({.name = "one query", .query_tokens = 1});
    add({.name = "half of the tiles", .query_tokens = 300, .key_tokens = 500, .kept = 0.5});
    add({.name = "tiles chosen on the device", .query_tokens = 300, .key_tokens = 500, .kept = 0.4, .on_device = true});
  }
  return calls;
}

std::vector<SelftestCall> selftest_shapes() {
  const auto shape = [](const char* name, std::int64_t batch, std::int64_t heads, std::int64_t queries,
                        std::int64_t keys, std::int64_t head_dim, bool causal = false, double kept = 1.0,
                        bool on_device = false) {
    return SelftestCall{.name = name,
                        .batch = batch,
                        .heads = heads,
                        .kv_heads = heads,
                        .query_tokens = queries,
                        .key_tokens = keys,
                        .head_dim = head_dim,
                        .is_causal = causal,
                        .kept = kept,
                        .on_device = on_device};
  };
  return {shape("flux", 1, 24, 4608, 4608, 128),
          shape("small", 1, 24, 1024, 1024, 64),
          shape("sd15", 2, 8, 4096, 4096, 40),
          shape("sdxl", 2, 10, 4096, 4096, 64),
          shape("video", 1, 12, 8192, 8192, 128),
          shape("vae", 1, 1, 9216, 9216, 512),
          shape("cross", 2, 8, 4096, 77, 40),
          shape("causal", 1, 16, 4096, 4096, 128, true),
          shape("16k", 1, 4, 16384, 16384, 128),
          shape("long video", 1, 56, 38222, 38222, 128),
          shape("long video at 30 %", 1, 56, 38222, 38222, 128, false, 0.3),
          shape("long video at 30 %, chosen on the device", 1, 56, 38222, 38222, 128, false, 0.3, true)};
}

FilledCall::FilledCall(const SelftestCall& c)
    : query_(make(c, c.heads, c.query_tokens, 1)),
      key_(make(c, c.expanded ? 1 : c.kv_heads, c.key_tokens, 2)),
      value_(make(c, c.expanded ? 1 : c.kv_heads, c.key_tokens, 3)),
      output_(make(c, c.heads, c.query_tokens, 0)) {
  call_.query = lay(query_, c.transposed);
  call_.key = lay(key_, c.transposed);
  call_.value = lay(value_, c.transposed);
  call_.output = lay(output_, c.transposed);
  if (c.expanded) {
    for (TensorView* view : {&call_.key, &call_.value}) {
      view->shape[1] = c.kv_heads;
      view->stride[1] = 0;
    }
  }
  call_.is_causal = c.is_causal;
  call_.enable_gqa = c.heads != c.kv_heads;
  if (c.mask != SelftestCall::Mask::none) {
    const bool boolean = c.mask == SelftestCall::Mask::boolean;
    mask_ = HostTensor({1, 1, c.query_tokens, c.key_tokens}, boolean ? DType::boolean : DType::float32);
    if (boolean) {
      auto* allowed = static_cast<std::uint8_t*>(mask_.view().data);
      // Row 3 has no key at all: its output is 0.
      for (std::int64_t i = 0; i < c.query_tokens * c.key_tokens; ++i) {
        allowed[i] = i / c.key_tokens != 3 && i * 7 % 5 != 0 ? 1 : 0;
      }
    } else {
      fill(mask_, 4);
    }
    call_.attn_mask = mask_.view();
  }
  if (c.kept < 1.0) selection_ = select(c);
}

std::vector<double> FilledCall::reference() const {
  const AttentionCall& c = call_;
  std::optional<BlockSelection> chosen = selection_;
  if (chosen && !choose_planned_tiles(c, {}, *chosen)) return {};
  std::vector<double> out;
  std::vector<double> scores(static_cast<std::size_t>(c.key_tokens()));
  const auto value_at = [](const TensorView& view, std::int64_t at) {
    return static_cast<double>(load_element(view, at));
  };
  for (std::int64_t b = 0; b < c.batch(); ++b) {
    for (std::int64_t h = 0; h < c.heads(); ++h) {
      const std::int64_t kv = h / (c.heads() / c.kv_heads());
      for (std::int64_t i = 0; i < c.query_tokens(); ++i) {
        double largest = -std::numeric_limits<double>::infinity();
        for (std::int64_t j = 0; j < c.key_tokens(); ++j) {
          double score = 0.0;
          for (std::int64_t d = 0; d < c.head_dim(); ++d) {
            score += value_at(c.query, offset(c.query, b, h, i, d)) * value_at(c.key, offset(c.key, b, kv, j, d));
          }
          score *= c.effective_scale();
          bool allowed = !c.is_causal || j <= i;
          if (chosen) allowed = allowed && chosen->kept(b, h, i / kQueryTile, j / kKeyTile);
          if (c.attn_mask) {
            const std::int64_t at = i * c.key_tokens() + j;
            if (c.attn_mask->dtype == DType::boolean) {
              allowed = allowed && static_cast<const std::uint8_t*>(c.attn_mask->data)[at] != 0;
            } else {
              score += value_at(*c.attn_mask, at);
            }
          }
          scores[static_cast<std::size_t>(j)] = allowed ? score : -std::numeric_limits<double>::infinity();
          largest = std::max(largest, scores[static_cast<std::size_t>(j)]);
        }
        double sum = 0.0;
        for (double& score : scores) {
          score = std::isinf(largest) ? 0.0 : std::exp(score - largest);
          sum += score;
        }
        for (std::int64_t d = 0; d < c.value_dim(); ++d) {
          double total = 0.0;
          for (std::int64_t j = 0; j < c.key_tokens(); ++j) {
            total += scores[static_cast<std::size_t>(j)] * value_at(c.value, offset(c.value, b, kv, j, d));
          }
          out.push_back(sum == 0.0 ? 0.0 : total / sum);
        }
      }
    }
  }
  return out;
}

double FilledCall::error(const std::vector<double>& reference) const {
  double far = 0.0;
  double size = 0.0;
  std::size_t at = 0;
  for (std::int64_t b = 0; b < call_.batch(); ++b) {
    for (std::int64_t h = 0; h < call_.heads(); ++h) {
      for (std::int64_t i = 0; i < call_.query_tokens(); ++i) {
        for (std::int64_t d = 0; d < call_.value_dim(); ++d, ++at) {
          const auto got = static_cast<double>(load_element(call_.output, offset(call_.output, b, h, i, d)));
          if (!std::isfinite(got)) return std::numeric_limits<double>::infinity();
          far += std::abs(got - reference[at]);
          size += std::abs(reference[at]);
        }
      }
    }
  }
  return size == 0.0 ? far : far / size;
}

}  // namespace attn::app
