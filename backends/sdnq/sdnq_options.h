// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "backends/simd/quantise.h"
#include "core/registry/option.h"
#include "core/tensor/expected.h"

#include <cstdint>
#include <string>
#include <vector>

namespace attn {

/// What the chain captured from the seven settings.
struct SdnqOptions {
  std::string matmul_type = "enabled";
  std::string pv_matmul_type = "disabled";
  bool smooth_k = true;
  bool use_hadamard = false;
  std::int64_t hadamard_group_size = 256;
  bool quantize_fp32 = true;
  bool use_fp16_accum = false;

  NumberFormat qk = NumberFormat::int8;  ///< what matmul_type stands for
  NumberFormat pv = NumberFormat::none;
};

/// The seven options, with the defaults of SdnqOptions.
[[nodiscard]] std::vector<OptionSpec> sdnq_option_specs();

/// Reads them; an absent one takes its default. The error names a matmul type that does not exist.
[[nodiscard]] Expected<SdnqOptions> read_sdnq_options(const OptionValues& values);

}  // namespace attn
