// SPDX-License-Identifier: GPL-3.0-or-later
// The part of cuDNN's backend graph API that is used here, by its numbers (cuDNN Backend API, cudnn_graph library).
// api_check_cuda.cpp compares them with the header where there is one.
#pragma once

#include <cstdint>

namespace attn::cudnn {

enum class Kind : int {
  pointwise = 0,
  engine = 2,
  engine_config = 3,
  heuristics = 4,
  plan = 5,
  pointwise_operation = 13,
  graph = 15,
  variant_pack = 16,
  tensor = 17,
  matmul = 18,
  matmul_operation = 19,
  reduction = 21,
  reduction_operation = 22,
  device_properties = 38,
  sdpa_operation = 41,
};

enum class Attribute : int {
  pointwise_mode = 0,
  pointwise_precision = 1,
  pointwise_axis = 9,
  heuristics_mode = 200,
  heuristics_graph = 201,
  heuristics_results = 202,
  heuristics_device = 204,
  config_engine = 300,
  plan_config = 401,
  plan_workspace = 402,
  plan_device = 407,
  pointwise_descriptor = 750,
  pointwise_x = 751,
  pointwise_b = 752,
  pointwise_y = 753,
  pointwise_t = 758,
  graph_operations = 801,
  tensor_alignment = 900,
  tensor_data_type = 901,
  tensor_dimensions = 902,
  tensor_strides = 903,
  tensor_id = 906,
  tensor_virtual = 907,
  tensor_by_value = 908,
  pack_ids = 1000,
  pack_pointers = 1001,
  pack_workspace = 1003,
  engine_index = 1301,
  matmul_precision = 1500,
  matmul_a = 1520,
  matmul_b = 1521,
  matmul_c = 1522,
  matmul_descriptor = 1523,
  reduction_operator = 1600,
  reduction_precision = 1601,
  reduction_x = 1610,
  reduction_y = 1611,
  reduction_descriptor = 1612,
  device_id = 2700,
  device_json = 2702,
  sdpa_query = 2800,
  sdpa_key = 2801,
  sdpa_value = 2802,
  sdpa_output = 2803,
  sdpa_stats = 2804,
  sdpa_scale = 2805,
  sdpa_block_mask = 2806,
};

enum class Type : int {
  data_type = 1,
  boolean = 2,
  int64 = 3,
  void_pointer = 6,
  heuristic_mode = 8,
  pointwise_mode = 14,
  descriptor = 15,
  reduction_operator = 18,
  int32 = 23,
  character = 24,
};

enum class DataType : int { float32 = 0, float16 = 2, int32 = 4, uint8 = 6, bfloat16 = 9, boolean = 11 };

enum class Pointwise : int {
  add = 0,
  multiply = 1,
  divide = 6,
  subtract = 9,
  exponential = 13,
  logarithm = 15,
  greater_equal = 303,
  index = 501,
  select = 601,
};

enum class Reduction : int { sum = 0, maximum = 3 };

inline constexpr int kHeuristicsA = 3;

using RawDescriptor = void*;
using Handle = void*;

}  // namespace attn::cudnn
