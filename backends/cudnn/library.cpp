// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cudnn/library.h"

#include <dlfcn.h>

#include <array>

namespace attn::cudnn {
namespace {

constexpr std::size_t kOldestVersion = 90800;  // the first that describes devices by their properties
constexpr std::string_view kStatusPrefix = "CUDNN_STATUS_";

std::string text_of(std::size_t version) {
  return std::to_string(version / 10000) + "." + std::to_string(version % 10000 / 100) + "." +
         std::to_string(version % 100);
}

}  // namespace

std::vector<std::string> library_names() {
  return {"libcudnn.so.9", "/usr/local/cuda/lib64/libcudnn.so.9", "/usr/local/cuda/lib/libcudnn.so.9"};
}

std::string Library::load(void* file) {
  std::string missing;
  const auto find = [&](auto& function, const char* symbol) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(file, symbol));
    if (function == nullptr && missing.empty()) missing = symbol;
  };
  find(get_version_, "cudnnGetVersion");
  if (!missing.empty()) return missing;
  version_ = get_version_();
  find(last_error_, "cudnnGetLastErrorString");
  find(status_name_, "cudnnGetErrorString");
  find(create, "cudnnBackendCreateDescriptor");
  find(destroy, "cudnnBackendDestroyDescriptor");
  find(finalize, "cudnnBackendFinalize");
  find(set, "cudnnBackendSetAttribute");
  find(get, "cudnnBackendGetAttribute");
  find(execute, "cudnnBackendExecute");
  find(create_handle, "cudnnCreate");
  find(destroy_handle, "cudnnDestroy");
  find(set_stream, "cudnnSetStream");
  return missing;
}

Expected<std::shared_ptr<const Library>> Library::open(const std::vector<std::string>& names) {
  std::string broken;
  for (const std::string& name : names) {
    void* file = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (file == nullptr) {
      const char* words = dlerror();
      const std::string error = words != nullptr ? words : name + " cannot be opened";
      if (broken.empty() && error.find("No such file") == std::string::npos) broken = error;
      continue;
    }
    std::shared_ptr<Library> library(new Library());
    const std::string missing = library->load(file);
    if (missing == "cudnnGetVersion") return fail(name + " is no cuDNN: it has no " + missing);
    if (library->version_ < kOldestVersion) {
      return fail("cuDNN " + text_of(library->version_) + " (" + name + ") is too old: " + text_of(kOldestVersion) +
                  " or newer is needed");
    }
    if (!missing.empty()) {
      return fail("cuDNN " + text_of(library->version_) + " (" + name + ") is broken: it has no " + missing);
    }
    return std::shared_ptr<const Library>(std::move(library));
  }
  if (!broken.empty()) return fail("cuDNN cannot be opened: " + broken);
  return fail("cuDNN is not installed: " + (names.empty() ? std::string("libcudnn.so.9") : names.front()) +
              " was not found");
}

std::string Library::version_text() const { return text_of(version_); }

std::string Library::last_reason() const {
  std::array<char, 16384> record{};
  last_error_(record.data(), record.size());
  record.back() = '\0';
  return first_reason(record.data());
}

std::string Library::failure(std::string_view call, std::string_view subject, int status) const {
  std::string_view name = status_name_(status);
  if (name.starts_with(kStatusPrefix)) name.remove_prefix(kStatusPrefix.size());
  std::string text(call);
  text.append(" of ").append(subject).append(": ").append(name);
  if (const std::string reason = last_reason(); !reason.empty()) text += ", " + reason;
  return text;
}

std::string first_reason(std::string_view record) {
  constexpr std::string_view kReason = "Reason: ";
  constexpr std::string_view kPlace = " at: ";
  if (const auto at = record.find(kReason); at != std::string_view::npos) record.remove_prefix(at + kReason.size());
  record = record.substr(0, record.find('\n'));
  // Where in cuDNN's sources the condition stands helps nobody who reads a route.
  if (const auto place = record.find(kPlace); place != std::string_view::npos && place != 0) {
    record = record.substr(0, place);
  }
  while (!record.empty() && (record.back() == ' ' || record.back() == '\r')) record.remove_suffix(1);
  return std::string(record);
}

const Expected<std::shared_ptr<const Library>>& this_machines_cudnn() {
  static const Expected<std::shared_ptr<const Library>> opened = Library::open(library_names());
  return opened;
}

}  // namespace attn::cudnn
