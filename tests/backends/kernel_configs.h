// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "attention_case.h"

#include <string>
#include <vector>

namespace attn::test {

/// What is promised about a result, as relative L1 distance to float64: sum |a - b| / sum |b|.
struct Tolerance {
  double fp32;
  double fp16;
  double bf16;
  double cosine;         ///< at least
  double large_logits;   ///< relative L1 where scores reach hundreds; 0: no promise but the range of the values
  double exact_oracles;  ///< largest absolute error on O1 to O6

  [[nodiscard]] double for_dtype(DType dtype) const {
    return dtype == DType::float32 ? fp32 : dtype == DType::float16 ? fp16 : bf16;
  }
};

/// One way to prepare a backend, and what it then promises.
struct KernelConfig {
  std::string name;
  std::string backend;
  Target target;
  Settings settings;
  std::vector<std::string> variants;  ///< the ones that calls may be served by
  bool block_mask = false;
  Tolerance tolerance{};
};

inline Settings sdnq(const std::string& qk, const std::string& pv, const Settings& more = {}) {
  Settings settings{{"sdnq_attention_matmul_type", qk}, {"sdnq_attention_pv_matmul_type", pv}};
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

/// The tolerance table.
///
/// exact: fp32 sums in another order than float64's, 1e-5; below that the output's own rounding decides: half a step
/// of fp16 is 2.4e-4 of a value on average below, of bf16 2e-3 (the worst oracle case has all outputs in one binade).
/// Sage: published for it are 0.019 to 0.021 with fp16 values and 0.0345 with e4m3 ones (section "published accuracy",
/// T, B and e4m3), at cosines of 1.0 and 0.9994. Scores of hundreds are no promise of INT8 per block or warp: one step
/// of 1/127 of the block's largest key is then several units of the exponent.
/// SDNQ int8: one factor per token, as Sage's T, hence its figure; with int8 values one factor per token and tile, far
/// better than Sage's fixed 1/127. e4m3 keeps four significant bits, 6 % a product: no published figure, measured here.
/// fp16: 11 bits on both sides; fp16 sums cost a factor of three.
inline std::vector<KernelConfig> kernel_configs() {
  const Tolerance exact{1e-5, 3e-4, 2.5e-3, 0.99999, 1e-5, 1e-6};
  const Tolerance rounded_p{1e-5, 5e-4, 3e-3, 0.99999, 1e-5, 1e-6};  // p is cast to the value's dtype
  const Tolerance sage_fp16{0.021, 0.021, 0.021, 0.9995, 0.06, 2e-3};
  const Tolerance sage_block{0.021, 0.021, 0.021, 0.9995, 0.0, 2e-3};
  const Tolerance sage_fp8{0.04, 0.04, 0.04, 0.999, 0.08, 0.2};
  const Tolerance sage_warp{0.04, 0.04, 0.04, 0.999, 0.0, 0.2};
  const Tolerance int8{0.019, 0.019, 0.019, 0.9995, 0.04, 1e-2};
  const Tolerance int8_pv{0.021, 0.021, 0.021, 0.9995, 0.05, 3e-2};
  const Tolerance fp8{0.08, 0.08, 0.08, 0.995, 0.0, 0.2};
  const Tolerance half{1e-3, 1e-3, 2.5e-3, 0.99999, 5e-3, 5e-3};
  const Tolerance half_sums{3e-3, 3e-3, 3e-3, 0.99999, 5e-3, 5e-3};
  const Target cuda = machine("cuda");
  const Settings tiny{{"dynamic_attention_slice_rate", 1e-6}, {"dynamic_attention_trigger_rate", 1e-6}};
  return {
      {"sdpa cuda", "sdpa", cuda, {}, {"flash", "memory-efficient", "math"}, false, exact},
      {"sdpa math", "sdpa", cuda, {{"sdp_options", OptionList{"Math"}}}, {"math"}, false, exact},
      {"sdpa cpu", "sdpa", machine("cpu"), {}, {"flash", "math"}, false, exact},
      {"flash", "flash", cuda, {}, {"flash"}, false, exact},
      {"triton", "triton", machine("rocm"), {}, {"triton"}, false, exact},
      {"flex", "flex", cuda, {}, {"flex"}, true, exact},
      {"dynamic", "dynamic", cuda, {}, {"flash", "memory-efficient", "math"}, false, exact},
      {"dynamic sliced",
       "dynamic",
       cuda,
       tiny,
       {"flash", "memory-efficient", "math", "sliced", "sliced flash", "sliced memory-efficient", "sliced math"},
       false,
       exact},
      {"sage sm80", "sage", machine("cuda", 80), {}, {"cuda fp32-accum"}, false, sage_fp16},
      {"sage sm86", "sage", machine("cuda", 86), {}, {"cuda fp32-accum"}, false, sage_fp16},
      {"sage sm89", "sage", machine("cuda", 89), {}, {"cuda fp8"}, false, sage_fp8},
      {"sage sm90", "sage", machine("cuda", 90), {}, {"cuda fp8 sm90"}, false, sage_fp8},
      {"sage sm120", "sage", machine("cuda", 120), {}, {"cuda fp8"}, false, sage_warp},
      {"sage triton", "sage", machine("rocm"), {}, {"triton"}, false, sage_block},
      {"sdnq default", "sdnq", cuda, {}, {"int8"}, true, int8},
      {"sdnq in dtype",
       "sdnq",
       cuda,
       sdnq("int8", "disabled", {{"sdnq_attention_quantize_fp32", false}}),
       {"int8"},
       true,
       int8},
      {"sdnq hadamard",
       "sdnq",
       cuda,
       sdnq("int8", "disabled", {{"sdnq_attention_use_hadamard", true}}),
       {"int8"},
       true,
       int8},
      {"sdnq int8 pv", "sdnq", cuda, sdnq("int8", "int8"), {"int8+int8 pv"}, true, int8_pv},
      {"sdnq int8 pv hadamard",
       "sdnq",
       cuda,
       sdnq("uint8", "uint8", {{"sdnq_attention_use_hadamard", true}}),
       {"int8+int8 pv"},
       true,
       int8_pv},
      {"sdnq fp8", "sdnq", cuda, sdnq("float8_e4m3fn", "disabled"), {"fp8"}, true, fp8},
      {"sdnq fp8 pv", "sdnq", cuda, sdnq("float8_e4m3fn", "float8_e4m3fn"), {"fp8+fp8 pv"}, true, fp8},
      {"sdnq fp16", "sdnq", cuda, sdnq("float16", "float16"), {"fp16+fp16 pv"}, true, half},
      {"sdnq fp16 sums",
       "sdnq",
       cuda,
       sdnq("float16", "float16", {{"sdnq_attention_use_fp16_accum", true}}),
       {"fp16+fp16 pv"},
       true,
       half_sums},
      {"sdnq fp16 sums, plain pv",
       "sdnq",
       cuda,
       sdnq("float16", "disabled", {{"sdnq_attention_use_fp16_accum", true}}),
       {"fp16"},
       true,
       half_sums},
      {"sdnq exact", "sdnq", cuda, sdnq("disabled", "disabled"), {"exact"}, true, rounded_p},
  };
}

}  // namespace attn::test
