// SPDX-License-Identifier: GPL-3.0-or-later
// Compares api.h with cuDNN's own header, where the toolkit came with one.
#include "backends/cudnn/api.h"

#if __has_include(<cudnn_graph.h>)
#include <cudnn_graph.h>

namespace attn::cudnn {
namespace {

constexpr bool same(auto ours, auto theirs) { return static_cast<int>(ours) == static_cast<int>(theirs); }

static_assert(same(Kind::pointwise, CUDNN_BACKEND_POINTWISE_DESCRIPTOR));
static_assert(same(Kind::engine, CUDNN_BACKEND_ENGINE_DESCRIPTOR));
static_assert(same(Kind::engine_config, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
static_assert(same(Kind::heuristics, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR));
static_assert(same(Kind::plan, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR));
static_assert(same(Kind::pointwise_operation, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR));
static_assert(same(Kind::graph, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR));
static_assert(same(Kind::variant_pack, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR));
static_assert(same(Kind::tensor, CUDNN_BACKEND_TENSOR_DESCRIPTOR));
static_assert(same(Kind::matmul, CUDNN_BACKEND_MATMUL_DESCRIPTOR));
static_assert(same(Kind::matmul_operation, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR));
static_assert(same(Kind::reduction, CUDNN_BACKEND_REDUCTION_DESCRIPTOR));
static_assert(same(Kind::reduction_operation, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR));

static_assert(same(Attribute::pointwise_mode, CUDNN_ATTR_POINTWISE_MODE));
static_assert(same(Attribute::pointwise_precision, CUDNN_ATTR_POINTWISE_MATH_PREC));
static_assert(same(Attribute::pointwise_axis, CUDNN_ATTR_POINTWISE_AXIS));
static_assert(same(Attribute::heuristics_mode, CUDNN_ATTR_ENGINEHEUR_MODE));
static_assert(same(Attribute::heuristics_graph, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH));
static_assert(same(Attribute::heuristics_results, CUDNN_ATTR_ENGINEHEUR_RESULTS));
static_assert(same(Attribute::config_engine, CUDNN_ATTR_ENGINECFG_ENGINE));
static_assert(same(Attribute::plan_config, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG));
static_assert(same(Attribute::plan_workspace, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
static_assert(same(Attribute::pointwise_descriptor, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR));
static_assert(same(Attribute::pointwise_x, CUDNN_ATTR_OPERATION_POINTWISE_XDESC));
static_assert(same(Attribute::pointwise_b, CUDNN_ATTR_OPERATION_POINTWISE_BDESC));
static_assert(same(Attribute::pointwise_y, CUDNN_ATTR_OPERATION_POINTWISE_YDESC));
static_assert(same(Attribute::pointwise_t, CUDNN_ATTR_OPERATION_POINTWISE_TDESC));
static_assert(same(Attribute::graph_operations, CUDNN_ATTR_OPERATIONGRAPH_OPS));
static_assert(same(Attribute::tensor_alignment, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT));
static_assert(same(Attribute::tensor_data_type, CUDNN_ATTR_TENSOR_DATA_TYPE));
static_assert(same(Attribute::tensor_dimensions, CUDNN_ATTR_TENSOR_DIMENSIONS));
static_assert(same(Attribute::tensor_strides, CUDNN_ATTR_TENSOR_STRIDES));
static_assert(same(Attribute::tensor_id, CUDNN_ATTR_TENSOR_UNIQUE_ID));
static_assert(same(Attribute::tensor_virtual, CUDNN_ATTR_TENSOR_IS_VIRTUAL));
static_assert(same(Attribute::tensor_by_value, CUDNN_ATTR_TENSOR_IS_BY_VALUE));
static_assert(same(Attribute::pack_ids, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS));
static_assert(same(Attribute::pack_pointers, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS));
static_assert(same(Attribute::pack_workspace, CUDNN_ATTR_VARIANT_PACK_WORKSPACE));
static_assert(same(Attribute::engine_index, CUDNN_ATTR_ENGINE_GLOBAL_INDEX));
static_assert(same(Attribute::matmul_precision, CUDNN_ATTR_MATMUL_COMP_TYPE));
static_assert(same(Attribute::matmul_a, CUDNN_ATTR_OPERATION_MATMUL_ADESC));
static_assert(same(Attribute::matmul_b, CUDNN_ATTR_OPERATION_MATMUL_BDESC));
static_assert(same(Attribute::matmul_c, CUDNN_ATTR_OPERATION_MATMUL_CDESC));
static_assert(same(Attribute::matmul_descriptor, CUDNN_ATTR_OPERATION_MATMUL_DESC));
static_assert(same(Attribute::reduction_operator, CUDNN_ATTR_REDUCTION_OPERATOR));
static_assert(same(Attribute::reduction_precision, CUDNN_ATTR_REDUCTION_COMP_TYPE));
static_assert(same(Attribute::reduction_x, CUDNN_ATTR_OPERATION_REDUCTION_XDESC));
static_assert(same(Attribute::reduction_y, CUDNN_ATTR_OPERATION_REDUCTION_YDESC));
static_assert(same(Attribute::reduction_descriptor, CUDNN_ATTR_OPERATION_REDUCTION_DESC));

static_assert(same(Type::data_type, CUDNN_TYPE_DATA_TYPE));
static_assert(same(Type::boolean, CUDNN_TYPE_BOOLEAN));
static_assert(same(Type::int64, CUDNN_TYPE_INT64));
static_assert(same(Type::void_pointer, CUDNN_TYPE_VOID_PTR));
static_assert(same(Type::heuristic_mode, CUDNN_TYPE_HEUR_MODE));
static_assert(same(Type::pointwise_mode, CUDNN_TYPE_POINTWISE_MODE));
static_assert(same(Type::descriptor, CUDNN_TYPE_BACKEND_DESCRIPTOR));
static_assert(same(Type::reduction_operator, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE));
static_assert(same(Type::int32, CUDNN_TYPE_INT32));
static_assert(same(Type::character, CUDNN_TYPE_CHAR));

static_assert(same(DataType::float32, CUDNN_DATA_FLOAT));
static_assert(same(DataType::float16, CUDNN_DATA_HALF));
static_assert(same(DataType::int32, CUDNN_DATA_INT32));
static_assert(same(DataType::uint8, CUDNN_DATA_UINT8));
static_assert(same(DataType::bfloat16, CUDNN_DATA_BFLOAT16));
static_assert(same(DataType::boolean, CUDNN_DATA_BOOLEAN));

static_assert(same(Pointwise::add, CUDNN_POINTWISE_ADD));
static_assert(same(Pointwise::multiply, CUDNN_POINTWISE_MUL));
static_assert(same(Pointwise::divide, CUDNN_POINTWISE_DIV));
static_assert(same(Pointwise::subtract, CUDNN_POINTWISE_SUB));
static_assert(same(Pointwise::exponential, CUDNN_POINTWISE_EXP));
static_assert(same(Pointwise::logarithm, CUDNN_POINTWISE_LOG));
static_assert(same(Pointwise::greater_equal, CUDNN_POINTWISE_CMP_GE));
static_assert(same(Pointwise::index, CUDNN_POINTWISE_GEN_INDEX));
static_assert(same(Pointwise::select, CUDNN_POINTWISE_BINARY_SELECT));
static_assert(same(Reduction::sum, CUDNN_REDUCE_TENSOR_ADD));
static_assert(same(Reduction::maximum, CUDNN_REDUCE_TENSOR_MAX));
static_assert(same(kHeuristicsA, CUDNN_HEUR_MODE_A));

#if CUDNN_VERSION >= 90800
static_assert(same(Kind::device_properties, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR));
static_assert(same(Attribute::heuristics_device, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP));
static_assert(same(Attribute::plan_device, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP));
static_assert(same(Attribute::device_id, CUDNN_ATTR_DEVICEPROP_DEVICE_ID));
static_assert(same(Attribute::device_json, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION));
#endif
#if CUDNN_VERSION >= 91400
static_assert(same(Kind::sdpa_operation, CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR));
static_assert(same(Attribute::sdpa_query, CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC));
static_assert(same(Attribute::sdpa_key, CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC));
static_assert(same(Attribute::sdpa_value, CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC));
static_assert(same(Attribute::sdpa_output, CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC));
static_assert(same(Attribute::sdpa_stats, CUDNN_ATTR_OPERATION_SDPA_FWD_STATSDESC));
static_assert(same(Attribute::sdpa_scale, CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC));
static_assert(same(Attribute::sdpa_block_mask, CUDNN_ATTR_OPERATION_SDPA_FWD_BLOCK_MASK_DESC));
#endif

}  // namespace
}  // namespace attn::cudnn
#endif
