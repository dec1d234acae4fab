// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cuda/runtime/discovery.h"

#include <algorithm>
#include <string_view>

namespace attn::cuda {
namespace {

// The driver API's result codes that have a sentence of their own (CUDA Driver API, CUresult).
constexpr int kStubLibrary = 34;
constexpr int kInsufficientDriver = 35;
constexpr int kNoDevice = 100;
constexpr int kSystemNotReady = 802;
constexpr int kDriverMismatch = 803;
constexpr int kCompatNotSupported = 804;
constexpr int kUnknown = 999;

/// 13000 is "13.0".
std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

/// 90 is "9.0".
std::string capability_text(int capability) {
  return std::to_string(capability / 10) + "." + std::to_string(capability % 10);
}

std::string driver_text(const DriverFacts& facts) {
  return facts.kernel_module.empty() ? "the NVIDIA driver" : "NVIDIA driver " + facts.kernel_module;
}

template <class Items, class Text>
std::string listed(const Items& items, Text text) {
  std::string line;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i != 0) line += i + 1 == items.size() ? " and " : ", ";
    line += text(items[i]);
  }
  return line;
}

/// Whether the driver compiles this toolkit's PTX: one for an older minor version does not (CUDA Compatibility).
bool compiles_ptx(const Toolkit& toolkit, const DriverFacts& facts) {
  return facts.version == 0 || facts.version >= toolkit.version;
}

/// Machine code serves later minor versions of its major version; the last one is there as PTX too, which the driver
/// compiles for whatever is newer (CUDA C++ Programming Guide, binary and PTX compatibility).
bool serves(const Toolkit& toolkit, const DriverFacts& facts, int capability) {
  if (toolkit.architectures.empty()) return false;
  const bool machine_code = std::ranges::any_of(toolkit.architectures, [capability](int built) {
    return built / 10 == capability / 10 && built % 10 <= capability % 10;
  });
  return machine_code || (capability >= toolkit.architectures.back() && compiles_ptx(toolkit, facts));
}

std::string init_sentence(const DriverFacts& facts) {
  const std::string driver = driver_text(facts);
  switch (facts.init_code) {
    case kStubLibrary:
      return "the libcuda.so.1 that was found is the toolkit's stub, not a driver; take its folder out of "
             "LD_LIBRARY_PATH";
    case kSystemNotReady:
      return driver + " is not ready: machines with NVSwitch need the fabric manager of the driver's version running";
    case kDriverMismatch:
      return "the NVIDIA kernel module" + (facts.kernel_module.empty() ? std::string() : " " + facts.kernel_module) +
             " and the driver library are of different versions, as after an update: restart the machine";
    case kCompatNotSupported:
      return "the CUDA compatibility library that was found does not work with this GPU; take it out of "
             "LD_LIBRARY_PATH";
    case kUnknown:
      return driver + " could not start (CUDA_ERROR_UNKNOWN): `nvidia-smi` and the kernel's log say more";
    default:
      return driver + " could not start: cuInit returned " + std::to_string(facts.init_code);
  }
}

std::string hidden_sentence(const DriverFacts& facts) {
  if (facts.visible_devices) {
    const std::string& visible = *facts.visible_devices;
    if (visible.empty() || visible == "-1") {
      return "CUDA_VISIBLE_DEVICES is " + (visible.empty() ? std::string("empty") : visible) +
             ", which hides every GPU; unset it";
    }
    return "CUDA_VISIBLE_DEVICES=" + visible + " leaves no GPU of this machine; unset it, or name one";
  }
  return driver_text(facts) +
         " shows no GPU: none is there, none may be used from here, or MIG is on without an "
         "instance";
}

std::vector<CudaDevice> devices_of(const std::optional<Toolkit>& toolkit, const DriverFacts& facts) {
  std::vector<CudaDevice> devices;
  for (std::size_t i = 0; i < facts.devices.size(); ++i) {
    const DriverFacts::Device& from = facts.devices[i];
    if (from.code != 0) continue;
    CudaDevice device;
    device.index = static_cast<int>(i);
    device.name = from.name;
    device.capability = from.major * 10 + from.minor;
    device.memory_bytes = from.memory_bytes;
    device.multiprocessors = from.multiprocessors;
    device.pci = from.pci;
    device.slice = from.name.find(" MIG ") != std::string::npos;
    device.supported = toolkit && serves(*toolkit, facts, device.capability);
    devices.push_back(std::move(device));
  }
  return devices;
}

std::string device_text(const CudaDevice& device) {
  return device.name + " (compute capability " + capability_text(device.capability) +
         (device.slice ? ", a MIG instance)" : ")");
}

Discovery without_driver(const DriverFacts& facts) {
  if (!facts.library_found) {
    const std::string module = facts.kernel_module.empty()
                                   ? ""
                                   : "; its kernel module " + facts.kernel_module + " is loaded, its library is not";
    return {CudaState::driver_missing, "no NVIDIA driver on this machine: libcuda.so.1 was not found" + module, {}};
  }
  if (!facts.load_error.empty()) {
    return {CudaState::driver_failed, "the NVIDIA driver library cannot be opened: " + facts.load_error, {}};
  }
  return {CudaState::driver_failed, "the NVIDIA driver library has no " + facts.missing_function, {}};
}

Discovery judge_devices(const Toolkit& toolkit, const DriverFacts& facts) {
  std::vector<CudaDevice> devices = devices_of(toolkit, facts);
  if (facts.devices.empty()) return {CudaState::no_device, hidden_sentence(facts), {}};
  if (devices.empty()) {
    return {CudaState::driver_failed,
            driver_text(facts) + " does not answer for its GPU: code " + std::to_string(facts.devices.front().code),
            {}};
  }
  const std::string names = listed(devices, device_text);
  if (std::ranges::none_of(devices, &CudaDevice::supported)) {
    return {
        CudaState::unsupported_architecture,
        names + (devices.size() == 1 ? " is" : " are") + " not served: this program has kernels for " +
            listed(toolkit.architectures, capability_text) + ", and for what is newer than the last" +
            (compiles_ptx(toolkit, facts) ? std::string()
                                          : " with a driver for CUDA " + version_text(toolkit.version) + " or newer"),
        std::move(devices)};
  }
  return {CudaState::ready, names + ", " + driver_text(facts) + ", CUDA " + version_text(facts.version),
          std::move(devices)};
}

}  // namespace

std::string_view name_of(CudaState state) noexcept {
  switch (state) {
    case CudaState::not_built:
      return "not built";
    case CudaState::driver_missing:
      return "driver missing";
    case CudaState::driver_too_old:
      return "driver too old";
    case CudaState::driver_failed:
      return "driver failed";
    case CudaState::no_device:
      return "no device";
    case CudaState::unsupported_architecture:
      return "unsupported architecture";
    case CudaState::ready:
      return "ready";
  }
  return {};
}

Discovery discover(const std::optional<Toolkit>& toolkit, const DriverFacts& facts) {
  if (!toolkit) {
    std::vector<CudaDevice> devices = devices_of(toolkit, facts);
    std::string sentence = "this program was built without the CUDA toolkit";
    if (!devices.empty()) sentence += ", so it cannot use " + listed(devices, device_text);
    return {CudaState::not_built, std::move(sentence), std::move(devices)};
  }
  if (!facts.load_error.empty() || !facts.missing_function.empty()) return without_driver(facts);
  // Within a major version a newer program runs on an older driver (CUDA Compatibility, minor version compatibility).
  const int needed = toolkit->version / 1000 * 1000;
  if (facts.init_code == kInsufficientDriver || (facts.version != 0 && facts.version < needed)) {
    const std::string supports = facts.version == 0 ? " is too old" : " supports CUDA " + version_text(facts.version);
    return {CudaState::driver_too_old,
            driver_text(facts) + supports + ", this program needs " + version_text(needed) + " or newer",
            {}};
  }
  if (facts.init_code == kNoDevice || facts.count_code == kNoDevice) {
    return {CudaState::no_device, hidden_sentence(facts), {}};
  }
  if (facts.init_code != 0) return {CudaState::driver_failed, init_sentence(facts), {}};
  if (facts.count_code != 0) {
    return {CudaState::driver_failed,
            driver_text(facts) + " could not count its GPUs: code " + std::to_string(facts.count_code),
            {}};
  }
  return judge_devices(*toolkit, facts);
}

const Discovery& this_machine() {
  static const Discovery found = discover(built_toolkit(), read_driver_facts());
  return found;
}

}  // namespace attn::cuda
