// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cudnn/sdpa_graph.h"

namespace attn::cudnn {
namespace {

constexpr std::int64_t kAlignment = 16;      // bytes; device buffers are aligned to more
constexpr std::int64_t kFirstVirtual = 100;  // ids of tensors that never reach memory

DataType data_type_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::float16:
      return DataType::float16;
    case DType::bfloat16:
      return DataType::bfloat16;
    default:
      return DataType::float32;
  }
}

Dims packed(const Dims& size) noexcept { return {size[1] * size[2] * size[3], size[2] * size[3], size[3], 1}; }

class Writer {
 public:
  Writer(Maker& maker, const SdpaProblem& problem) : maker_(maker), p_(problem) {}

  SdpaGraph write() {
    if (p_.block_mask) {
      attend_by_tiles();
    } else {
      attend();
    }
    SdpaGraph result;
    result.graph = maker_.begin(Kind::graph, "the attention graph");
    maker_.set(result.graph, Attribute::graph_operations, Type::descriptor,
               static_cast<std::int64_t>(operations_.size()), operations_.data());
    maker_.finish(result.graph);
    result.parts = std::move(parts_);
    return result;
  }

 private:
  using Part = std::size_t;  ///< place in parts_

  Part keep(Descriptor descriptor) {
    parts_.push_back(std::move(descriptor));
    return parts_.size() - 1;
  }

  enum class Place { device, virtual_only, host };

  Part tensor(std::int64_t id, const Dims& size, const Dims& stride, DataType type, Place place = Place::device) {
    Descriptor made = maker_.begin(Kind::tensor, "a tensor of the attention graph");
    maker_.set_integers(made, Attribute::tensor_id, std::span(&id, 1));
    maker_.set_enumeration(made, Attribute::tensor_data_type, Type::data_type, type);
    maker_.set_integers(made, Attribute::tensor_dimensions, size);
    maker_.set_integers(made, Attribute::tensor_strides, stride);
    maker_.set_integers(made, Attribute::tensor_alignment, std::span(&kAlignment, 1));
    maker_.set_flag(made, Attribute::tensor_virtual, place == Place::virtual_only);
    maker_.set_flag(made, Attribute::tensor_by_value, place == Place::host);
    maker_.finish(made);
    return keep(std::move(made));
  }
  Part between(const Dims& size, DataType type = DataType::float32) {
    return tensor(next_virtual_++, size, packed(size), type, Place::virtual_only);
  }
  Part number(std::int64_t id) { return tensor(id, {1, 1, 1, 1}, {1, 1, 1, 1}, DataType::float32, Place::host); }

  void operation(Descriptor made) {
    maker_.finish(made);
    operations_.push_back(made.raw());
    keep(std::move(made));
  }

  void bind(const Descriptor& at, Attribute attribute, Part part) {
    maker_.set_descriptor(at, attribute, parts_[part]);
  }

  /// What a pointwise step takes beside x.
  struct Operands {
    std::optional<Part> b{};
    std::optional<Part> chosen_by{};
    DataType precision = DataType::float32;
    std::optional<std::int64_t> axis{};
  };

  void pointwise(Pointwise mode, Part x, Part y, const Operands& more) {
    Descriptor how = maker_.begin(Kind::pointwise, "a pointwise step of the attention graph");
    maker_.set_enumeration(how, Attribute::pointwise_mode, Type::pointwise_mode, mode);
    maker_.set_enumeration(how, Attribute::pointwise_precision, Type::data_type, more.precision);
    if (more.axis) maker_.set_integers(how, Attribute::pointwise_axis, std::span(&*more.axis, 1));
    maker_.finish(how);
    Descriptor made = maker_.begin(Kind::pointwise_operation, "a pointwise step of the attention graph");
    maker_.set_descriptor(made, Attribute::pointwise_descriptor, how);
    keep(std::move(how));
    bind(made, Attribute::pointwise_x, x);
    if (more.b) bind(made, Attribute::pointwise_b, *more.b);
    if (more.chosen_by) bind(made, Attribute::pointwise_t, *more.chosen_by);
    bind(made, Attribute::pointwise_y, y);
    operation(std::move(made));
  }

  void reduce(Reduction by, Part x, Part y) {
    Descriptor how = maker_.begin(Kind::reduction, "a reduction of the attention graph");
    maker_.set_enumeration(how, Attribute::reduction_operator, Type::reduction_operator, by);
    maker_.set_enumeration(how, Attribute::reduction_precision, Type::data_type, DataType::float32);
    maker_.finish(how);
    Descriptor made = maker_.begin(Kind::reduction_operation, "a reduction of the attention graph");
    maker_.set_descriptor(made, Attribute::reduction_descriptor, how);
    keep(std::move(how));
    bind(made, Attribute::reduction_x, x);
    bind(made, Attribute::reduction_y, y);
    operation(std::move(made));
  }

  void multiply(Part a, Part b, Part c) {
    Descriptor how = maker_.begin(Kind::matmul, "a product of the attention graph");
    maker_.set_enumeration(how, Attribute::matmul_precision, Type::data_type, DataType::float32);
    maker_.finish(how);
    Descriptor made = maker_.begin(Kind::matmul_operation, "a product of the attention graph");
    maker_.set_descriptor(made, Attribute::matmul_descriptor, how);
    keep(std::move(how));
    bind(made, Attribute::matmul_a, a);
    bind(made, Attribute::matmul_b, b);
    bind(made, Attribute::matmul_c, c);
    operation(std::move(made));
  }

  [[nodiscard]] Dims query_size() const { return {p_.batch, p_.heads, p_.query_tokens, p_.head_dim}; }
  [[nodiscard]] Dims score_size() const { return {p_.batch, p_.heads, p_.query_tokens, p_.key_tokens}; }
  [[nodiscard]] Dims row_size() const { return {p_.batch, p_.heads, p_.query_tokens, 1}; }
  Part query() { return tensor(TensorId::query, query_size(), p_.query_stride, data_type_of(p_.dtype)); }
  Part value() {
    return tensor(TensorId::value, {p_.batch, p_.kv_heads, p_.key_tokens, p_.value_dim}, p_.value_stride,
                  data_type_of(p_.dtype));
  }
  Part output() {
    return tensor(TensorId::output, {p_.batch, p_.heads, p_.query_tokens, p_.value_dim}, p_.output_stride,
                  data_type_of(p_.dtype));
  }

  void attend() {
    const Part q = query();
    // The product wants the key as (head_dim, tokens): the same memory with the last two strides exchanged.
    const Dims& stride = p_.key_stride;
    const Part k = tensor(TensorId::key, {p_.batch, p_.kv_heads, p_.head_dim, p_.key_tokens},
                          {stride[0], stride[1], stride[3], stride[2]}, data_type_of(p_.dtype));
    const Part products = between(score_size());
    multiply(q, k, products);
    Part scores = between(score_size());
    pointwise(Pointwise::multiply, products, scores, {number(TensorId::scale)});
    if (p_.bias) scores = add_bias(scores);
    if (p_.is_causal) scores = hide_later_keys(scores);
    const Part probabilities = soften(scores);
    const Part v = value();
    multiply(probabilities, v, output());
  }

  Part add_bias(Part scores) {
    const Part bias = tensor(TensorId::bias, p_.bias->size, p_.bias->stride, data_type_of(p_.bias->dtype));
    const Part sum = between(score_size());
    pointwise(Pointwise::add, scores, sum, {bias});
    return sum;
  }

  Part hide_later_keys(Part scores) {
    const Part row = between(score_size(), DataType::int32);
    const Part column = between(score_size(), DataType::int32);
    const Part allowed = between(score_size(), DataType::boolean);
    const Part hidden = between(score_size());
    pointwise(Pointwise::index, scores, row, {.axis = 2});
    pointwise(Pointwise::index, scores, column, {.axis = 3});
    pointwise(Pointwise::greater_equal, row, allowed, {.b = column, .precision = DataType::boolean});
    pointwise(Pointwise::select, scores, hidden, {.b = number(TensorId::minus_infinity), .chosen_by = allowed});
    return hidden;
  }

  /// exp(s - max) / sum. The log-sum-exp is written down although nobody reads it: cuDNN 9.19 recognises the fused
  /// pattern by it, and as a virtual tensor it costs nothing.
  Part soften(Part scores) {
    const Part largest = between(row_size());
    reduce(Reduction::maximum, scores, largest);
    const Part lowered = between(score_size());
    pointwise(Pointwise::subtract, scores, lowered, {largest});
    const Part weights = between(score_size());
    pointwise(Pointwise::exponential, lowered, weights, {});
    const Part sum = between(row_size());
    reduce(Reduction::sum, weights, sum);
    const Part logarithm = between(row_size());
    pointwise(Pointwise::logarithm, sum, logarithm, {});
    pointwise(Pointwise::add, largest, between(row_size()), {logarithm});
    const Part probabilities = between(score_size(), data_type_of(p_.dtype));
    pointwise(Pointwise::divide, weights, probabilities, {sum});
    return probabilities;
  }

  void attend_by_tiles() {
    const Part q = query();
    const Part k = tensor(TensorId::key, {p_.batch, p_.kv_heads, p_.key_tokens, p_.head_dim}, p_.key_stride,
                          data_type_of(p_.dtype));
    const Part v = value();
    const Part o = output();
    const auto tiles = [](std::int64_t tokens) { return (tokens + kMaskTile - 1) / kMaskTile; };
    const Dims size{p_.batch, p_.heads, tiles(p_.query_tokens),
                    (tiles(p_.key_tokens) + kTilesPerByte - 1) / kTilesPerByte};
    const Part mask = tensor(TensorId::block_mask, size, packed(size), DataType::uint8);
    const Part scale = number(TensorId::scale);
    Descriptor made = maker_.begin(Kind::sdpa_operation, "the attention operation");
    bind(made, Attribute::sdpa_query, q);
    bind(made, Attribute::sdpa_key, k);
    bind(made, Attribute::sdpa_value, v);
    bind(made, Attribute::sdpa_output, o);
    bind(made, Attribute::sdpa_scale, scale);
    bind(made, Attribute::sdpa_block_mask, mask);
    operation(std::move(made));
  }

  Maker& maker_;
  const SdpaProblem& p_;
  std::vector<Descriptor> parts_;
  std::vector<RawDescriptor> operations_;
  std::int64_t next_virtual_ = kFirstVirtual;
};

}  // namespace

SdpaGraph build_sdpa_graph(Maker& maker, const SdpaProblem& problem) { return Writer(maker, problem).write(); }

}  // namespace attn::cudnn
