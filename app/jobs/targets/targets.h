// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "backends/cuda/runtime/discovery.h"
#include "core/registry/target.h"
#include "core/tensor/expected.h"

#include <string>
#include <string_view>
#include <vector>

namespace attn::app {

/// This machine's processor: label from /proc/cpuinfo, memory from the system.
[[nodiscard]] Target cpu_target();

/// The value of the first "model name" line of a /proc/cpuinfo; empty where there is none, as on some Arm machines.
[[nodiscard]] std::string processor_name(std::string_view cpuinfo);

/// This machine's GPUs that this program has kernels for: "cuda:0", present.
[[nodiscard]] std::vector<Target> gpu_targets(const cuda::Discovery& machine);

/// Why a target that is not present is emulated: for platform cuda what was found of driver and GPUs, else empty.
[[nodiscard]] std::string absence_of(const Target& target, const cuda::Discovery& machine);

/// Every target that can be named: this machine's processor first, then its GPUs, then those of
/// resources/targets/targets.json in the order of the file. Error: the file, and what is wrong in it.
[[nodiscard]] Expected<std::vector<Target>> load_targets();

/// Reads the text of a targets.json. Error: `file_name`, the target, the field, and what would be right. A figure
/// without a source that the file lists is an error too.
[[nodiscard]] Expected<std::vector<Target>> parse_targets(std::string_view text, std::string_view file_name);

/// A target as people write it: a name or a label of load_targets() without regard to case ("rtx-3090",
/// "RTX 3090"), or a description of pairs separated by commas.
///   platform=cuda        cuda, rocm, zluda, ipex, openvino, directml, mps, cpu; the one that is required
///   sm=86                also capability=8.6, sm_86, unknown; for cuda and zluda
///   gfx=gfx1100          also unknown; for rocm and zluda
///   memory=24GiB         MiB, GiB, TiB, MB, GB, TB; also unknown
///   name=my-card         what to call it; otherwise the description itself
/// What is left out is unknown, which blocks nothing. Error: the nearest names, or the rule that was broken.
[[nodiscard]] Expected<Target> find_target(std::string_view text);

}  // namespace attn::app
