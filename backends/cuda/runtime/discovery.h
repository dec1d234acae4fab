// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "backends/cuda/runtime/driver_facts.h"
#include "backends/cuda/runtime/toolkit.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attn::cuda {

/// Whether this machine's NVIDIA GPUs can be used.
enum class CudaState : std::uint8_t {
  not_built,                 ///< this program was built without the toolkit
  driver_missing,            ///< there is no libcuda here
  driver_too_old,            ///< it supports an older CUDA than this program was built with
  driver_failed,             ///< it is there and does not work
  no_device,                 ///< it works and shows no GPU
  unsupported_architecture,  ///< this program has kernels for none of the GPUs
  ready,
};
/// "not built", "driver missing", ...
[[nodiscard]] std::string_view name_of(CudaState state) noexcept;

/// A GPU of this machine.
struct CudaDevice {
  int index = 0;  ///< as the CUDA runtime counts
  std::string name;
  int capability = 0;  ///< times ten: 90
  std::int64_t memory_bytes = 0;
  int multiprocessors = 0;
  std::string pci;         ///< "0000:18:00.0"
  bool slice = false;      ///< a MIG instance: a part of a GPU
  bool supported = false;  ///< this program has kernels for it
};

struct Discovery {
  CudaState state = CudaState::not_built;
  std::string sentence;  ///< what a person should know, with versions and names
  std::vector<CudaDevice> devices;
};

/// The state that the facts stand for. Pure.
[[nodiscard]] Discovery discover(const std::optional<Toolkit>& toolkit, const DriverFacts& facts);

/// This machine, looked at once. Any thread.
[[nodiscard]] const Discovery& this_machine();

}  // namespace attn::cuda
