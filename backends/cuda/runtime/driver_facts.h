// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attn::cuda {

/// What the driver library answered, before anybody judges it. Result codes are the driver API's, 0 is success.
struct DriverFacts {
  std::string load_error;        ///< not empty: libcuda.so.1 could not be opened, the loader's words
  bool library_found = false;    ///< it lies where the loader looks, whether or not it could be opened
  std::string missing_function;  ///< not empty: the library lacks it
  std::string kernel_module;     ///< version of the loaded kernel module, "570.124.06"; empty: none is loaded
  int init_code = 0;             ///< cuInit
  int version = 0;               ///< cuDriverGetVersion: 11040 is CUDA 11.4; 0: not known
  int count_code = 0;            ///< cuDeviceGetCount
  std::optional<std::string> visible_devices;  ///< the environment variable CUDA_VISIBLE_DEVICES
  struct Device {
    int code = 0;  ///< the first call about it that failed
    std::string name;
    int major = 0;
    int minor = 0;
    std::int64_t memory_bytes = 0;
    int multiprocessors = 0;
    std::string pci;
  };
  std::vector<Device> devices;
};

/// Opens `library` by itself, so that it works in a build without toolkit too, and asks it. Creates no context.
[[nodiscard]] DriverFacts read_driver_facts(const char* library = "libcuda.so.1");

}  // namespace attn::cuda
