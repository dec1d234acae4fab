// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cudnn/device_properties.h"

namespace attn::cudnn {

std::string DeviceProperties::json() const {
  std::string text = R"({"maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64])";
  const auto number = [&text](const char* key, std::int64_t value) {
    text += std::string(",\"") + key + "\":" + std::to_string(value);
  };
  number("cudaDeviceId", local.value_or(0));
  number("deviceVer", capability * 10);
  number("driverVer", driver);
  number("regsPerBlock", 65536);
  number("multiProcessorCount", multiprocessors);
  number("smClockRateKHz", clock_khz);
  number("memClockRateKHz", memory_clock_khz);
  number("l2CacheSize", l2_bytes);
  number("warpSize", 32);
  number("maxSharedMemoryPerBlock", 49152);
  number("maxSharedMemoryPerBlockOptin", shared_memory_optin);
  number("reservedSharedMemoryPerBlock", 1024);
  number("maxRegistersPerSM", 65536);
  number("pciDeviceId", 0);
  number("maxCtasPerSM", blocks_per_multiprocessor);
  number("maxThreadsPerBlock", 1024);
  number("maxThreadsPerSM", threads_per_multiprocessor);
  number("isTccDriver", 0);
  number("supportCoopLaunch", 1);
  number("totalGlobalMem", memory_bytes);
  text += ",\"deviceName\":\"";
  for (const char c : name) {
    if (c != '"' && c != '\\' && static_cast<unsigned char>(c) >= ' ') text += c;
  }
  return text + "\"}";
}

Descriptor DeviceProperties::describe(Maker& maker) const {
  Descriptor device = maker.begin(Kind::device_properties, "the GPU's properties");
  if (local) {
    const std::int32_t index = *local;
    maker.set(device, Attribute::device_id, Type::int32, 1, &index);
  } else {
    const std::string text = json();
    maker.set(device, Attribute::device_json, Type::character, static_cast<std::int64_t>(text.size()), text.data());
  }
  maker.finish(device);
  return device;
}

}  // namespace attn::cudnn
