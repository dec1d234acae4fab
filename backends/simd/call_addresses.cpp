// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/simd/call_addresses.h"

#include "core/tensor/half.h"

#include <limits>
#include <string>

namespace attn {
namespace {

template <class T>
float as_float(T value) noexcept {
  return static_cast<float>(value);
}
float as_float(Float16 value) noexcept { return to_float(value); }
float as_float(BFloat16 value) noexcept { return to_float(value); }

/// Calls `body` with a typed pointer to the view's data.
template <class Body>
void with_type(const TensorView& view, Body body) {
  switch (view.dtype) {
    case DType::float32:
      return body(static_cast<const float*>(view.data));
    case DType::float64:
      return body(static_cast<const double*>(view.data));
    case DType::float16:
      return body(static_cast<const Float16*>(view.data));
    case DType::bfloat16:
      return body(static_cast<const BFloat16*>(view.data));
    case DType::int8:
      return body(static_cast<const std::int8_t*>(view.data));
    case DType::boolean:
      return body(static_cast<const std::uint8_t*>(view.data));
  }
}

/// Step of dim `i`, 0 where the view repeats along it.
std::int64_t broadcast_step(const TensorView& view, int i) noexcept { return view.size(i) == 1 ? 0 : view.step(i); }

bool floating(DType dtype) noexcept { return dtype != DType::int8 && dtype != DType::boolean; }

bool lacks_data(const TensorView& view) noexcept { return !view.has_data() && view.elements() != 0; }

std::int64_t tiles(std::int64_t tokens, std::int64_t block) noexcept { return (tokens + block - 1) / block; }

bool output_fits(const AttentionCall& call) noexcept {
  const TensorView& out = call.output;
  return out.size(-1) == call.value_dim() && out.size(-2) == call.query_tokens() && out.size(-3) == call.heads() &&
         out.size(-4) == call.query.size(-4) && out.size(-5) == call.query.size(-5);
}

}  // namespace

CallSizes sizes_of(const AttentionCall& call) noexcept {
  return {call.query.size(-5) * call.query.size(-4),
          call.heads(),
          call.kv_heads(),
          call.query_tokens(),
          call.key_tokens(),
          call.head_dim(),
          call.value_dim()};
}

std::int64_t head_offset(const TensorView& view, std::int64_t batch, std::int64_t head) noexcept {
  const std::int64_t inner = view.size(-4);
  return batch / inner * view.step(-5) + batch % inner * view.step(-4) + head * view.step(-3);
}

std::int64_t mask_offset(const TensorView& mask, const AttentionCall& call, std::int64_t batch, std::int64_t head,
                         std::int64_t query) noexcept {
  const std::int64_t inner = call.query.size(-4);
  return batch / inner * broadcast_step(mask, -5) + batch % inner * broadcast_step(mask, -4) +
         head * broadcast_step(mask, -3) + query * broadcast_step(mask, -2);
}

void apply_mask(const TensorView& mask, std::int64_t offset, std::int64_t first, std::int64_t count, float* scores) {
  const std::int64_t step = broadcast_step(mask, -1);
  if (mask.dtype == DType::boolean) {
    const auto* allowed = static_cast<const std::uint8_t*>(mask.data) + offset + first * step;
    for (std::int64_t j = 0; j < count; ++j) {
      scores[j] = allowed[j * step] != 0 ? scores[j] : -std::numeric_limits<float>::infinity();
    }
    return;
  }
  with_type(mask, [&](const auto* data) {
    const auto* row = data + offset + first * step;
    for (std::int64_t j = 0; j < count; ++j) scores[j] += as_float(row[j * step]);
  });
}

void load_rows(const TensorView& view, std::int64_t offset, std::int64_t first_row, std::int64_t rows, float* out,
               std::int64_t step) {
  const std::int64_t columns = view.size(-1);
  const std::int64_t along_row = view.step(-1);
  with_type(view, [&](const auto* data) {
    for (std::int64_t i = 0; i < rows; ++i) {
      const auto* row = data + offset + (first_row + i) * view.step(-2);
      float* to = out + i * step;
      if (along_row == 1) {
        for (std::int64_t d = 0; d < columns; ++d) to[d] = as_float(row[d]);
      } else {
        for (std::int64_t d = 0; d < columns; ++d) to[d] = as_float(row[d * along_row]);
      }
    }
  });
}

void store_row(const TensorView& view, std::int64_t offset, std::int64_t row, const float* values) {
  const std::int64_t columns = view.size(-1);
  const std::int64_t step = view.step(-1);
  const std::int64_t at = offset + row * view.step(-2);
  switch (view.dtype) {
    case DType::float32: {
      auto* to = static_cast<float*>(view.data) + at;
      for (std::int64_t d = 0; d < columns; ++d) to[d * step] = values[d];
      return;
    }
    case DType::float16: {
      auto* to = static_cast<Float16*>(view.data) + at;
      for (std::int64_t d = 0; d < columns; ++d) to[d * step] = to_float16(values[d]);
      return;
    }
    case DType::bfloat16: {
      auto* to = static_cast<BFloat16*>(view.data) + at;
      for (std::int64_t d = 0; d < columns; ++d) to[d * step] = to_bfloat16(values[d]);
      return;
    }
    case DType::float64: {
      auto* to = static_cast<double*>(view.data) + at;
      for (std::int64_t d = 0; d < columns; ++d) to[d * step] = static_cast<double>(values[d]);
      return;
    }
    case DType::int8:
    case DType::boolean:
      return;
  }
}

std::string_view refusal(const AttentionCall& call, const BlockSelection* selection) {
  if (!check_call(call)) return "the shapes of query, key, value and attn_mask do not belong together";
  if (!floating(call.query.dtype) || !floating(call.key.dtype) || !floating(call.value.dtype)) {
    return "query, key and value must be floating point";
  }
  if (call.dropout_p != 0.0) return "dropout_p is not 0; these kernels compute inference only";
  if (!output_fits(call)) return "the output is not (batch, heads, query tokens, value_dim)";
  if (!floating(call.output.dtype)) return "the output must be floating point";
  if (lacks_data(call.output)) return "the output has no data";
  const bool empty = call.output.elements() == 0;
  if (!empty && (lacks_data(call.query) || lacks_data(call.key) || lacks_data(call.value) ||
                 (call.attn_mask && lacks_data(*call.attn_mask)))) {
    return "the call has no data";
  }
  if (selection == nullptr) return {};
  if (!check_selection(call, *selection)) return "the block selection has another geometry than the call";
  if (!selection->has_tiles()) return "the block selection has no tiles";
  return {};
}

Expected<void> check_selection(const AttentionCall& call, const BlockSelection& selection) {
  const CallSizes sizes = sizes_of(call);
  if (selection.block_q <= 0 || selection.block_kv <= 0) return fail("a block selection's tiles must hold tokens");
  if (selection.query_tiles != tiles(sizes.query_tokens, selection.block_q) ||
      selection.key_tiles != tiles(sizes.key_tokens, selection.block_kv)) {
    return fail("block selection covers " + std::to_string(selection.query_tiles * selection.block_q) + " x " +
                std::to_string(selection.key_tiles * selection.block_kv) + " tokens, the call has " +
                std::to_string(sizes.query_tokens) + " x " + std::to_string(sizes.key_tokens));
  }
  if ((selection.batch != 1 && selection.batch != sizes.batch) ||
      (selection.heads != 1 && selection.heads != sizes.heads)) {
    return fail("block selection is for " + std::to_string(selection.batch) + " batches and " +
                std::to_string(selection.heads) + " heads, the call has " + std::to_string(sizes.batch) + " and " +
                std::to_string(sizes.heads) + "; 1 or the same are right");
  }
  const auto flags =
      static_cast<std::size_t>(selection.batch * selection.heads * selection.query_tiles * selection.key_tiles);
  if (selection.has_tiles() && selection.keep.size() != flags) {
    return fail("block selection holds " + std::to_string(selection.keep.size()) + " flags, its geometry needs " +
                std::to_string(flags));
  }
  return {};
}

}  // namespace attn
