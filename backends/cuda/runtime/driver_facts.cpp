// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cuda/runtime/driver_facts.h"

#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <fstream>

namespace attn::cuda {
namespace {

// The driver API's numbers for what is asked here (CUDA Driver API, CUdevice_attribute).
constexpr int kMultiprocessorCount = 16;
constexpr int kCapabilityMajor = 75;
constexpr int kCapabilityMinor = 76;

/// The functions asked here, by their names in libcuda.
struct Driver {
  int (*init)(unsigned) = nullptr;
  int (*version)(int*) = nullptr;
  int (*count)(int*) = nullptr;
  int (*device)(int*, int) = nullptr;
  int (*name)(char*, int, int) = nullptr;
  int (*attribute)(int*, int, int) = nullptr;
  int (*memory)(std::size_t*, int) = nullptr;
  int (*pci)(char*, int, int) = nullptr;

  /// Empty, or the name of the function that is missing.
  std::string load(void* library) {
    std::string missing;
    const auto find = [&](auto& function, const char* symbol) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, symbol));
      if (function == nullptr && missing.empty()) missing = symbol;
    };
    find(init, "cuInit");
    find(version, "cuDriverGetVersion");
    find(count, "cuDeviceGetCount");
    find(device, "cuDeviceGet");
    find(name, "cuDeviceGetName");
    find(attribute, "cuDeviceGetAttribute");
    find(memory, "cuDeviceTotalMem_v2");
    find(pci, "cuDeviceGetPCIBusId");
    return missing;
  }
};

DriverFacts::Device ask(const Driver& driver, int index) {
  DriverFacts::Device facts;
  const auto note = [&facts](int code) {
    if (facts.code == 0) facts.code = code;
    return code == 0;
  };
  int handle = 0;
  if (!note(driver.device(&handle, index))) return facts;
  std::array<char, 256> text{};
  if (note(driver.name(text.data(), static_cast<int>(text.size()) - 1, handle))) facts.name = text.data();
  note(driver.attribute(&facts.major, kCapabilityMajor, handle));
  note(driver.attribute(&facts.minor, kCapabilityMinor, handle));
  note(driver.attribute(&facts.multiprocessors, kMultiprocessorCount, handle));
  std::size_t bytes = 0;
  if (note(driver.memory(&bytes, handle))) facts.memory_bytes = static_cast<std::int64_t>(bytes);
  text = {};
  if (note(driver.pci(text.data(), static_cast<int>(text.size()) - 1, handle))) facts.pci = text.data();
  return facts;
}

std::string first_word_of(const char* path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

}  // namespace

DriverFacts read_driver_facts(const char* library) {
  DriverFacts facts;
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES")) facts.visible_devices = visible;
  facts.kernel_module = first_word_of("/sys/module/nvidia/version");
  // Never closed: a driver that was initialised does not like to be unloaded.
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* words = dlerror();
    facts.load_error = words != nullptr ? words : "it cannot be opened";
    facts.library_found = facts.load_error.find("No such file") == std::string::npos;
    return facts;
  }
  facts.library_found = true;
  Driver driver;
  facts.missing_function = driver.load(handle);
  if (!facts.missing_function.empty()) return facts;
  facts.init_code = driver.init(0);
  if (driver.version(&facts.version) != 0) facts.version = 0;
  if (facts.init_code != 0) return facts;
  int count = 0;
  facts.count_code = driver.count(&count);
  if (facts.count_code != 0) return facts;
  for (int i = 0; i < count; ++i) facts.devices.push_back(ask(driver, i));
  return facts;
}

}  // namespace attn::cuda
