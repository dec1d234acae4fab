// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace attn {

/// The machine that a chain is built for.
struct Target {
  std::string name;                          ///< "rtx-3090"; "cpu" for this machine's processor
  std::string label;                         ///< "NVIDIA RTX 3090"
  std::string platform;                      ///< cuda, rocm, zluda, ipex, mps, cpu, ...; compared with regard to case
  std::optional<int> capability;             ///< CUDA compute capability times ten: 86, 120; nullopt: unknown
  std::string gfx;                           ///< AMD architecture, "gfx1100"; empty elsewhere
  std::optional<std::int64_t> memory_bytes;  ///< nullopt: unknown
  bool present = false;                      ///< the hardware is in this machine; else it is emulated on the host
  std::optional<int> device{};               ///< which of this machine's GPUs it is; nullopt: none of them
  std::string absence{};   ///< why its kind of hardware cannot be used here; empty where nobody looked
  bool math_only = false;  ///< torch has no other attention kernel there than math: a probe found it, or somebody said

  /// Text encoders, denoiser and VAE run on the accelerator unless the platform is the cpu itself.
  [[nodiscard]] bool is_cpu() const noexcept { return platform == "cpu"; }
};

}  // namespace attn
