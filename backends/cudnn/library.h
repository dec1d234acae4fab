// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "backends/cudnn/api.h"
#include "core/tensor/expected.h"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace attn::cudnn {

/// Files that are tried in turn: by the loader's own search first.
[[nodiscard]] std::vector<std::string> library_names();

/// cuDNN, opened. Thread safe. Never closed: its kernels may still be loaded when the program ends.
class Library {
 public:
  /// Opens the first of `names` that is there. Errors: missing, too old with both versions, or without a function that
  /// is needed, each with the file.
  [[nodiscard]] static Expected<std::shared_ptr<const Library>> open(const std::vector<std::string>& names);

  /// "9.19.0"
  [[nodiscard]] std::string version_text() const;
  /// 91900
  [[nodiscard]] std::size_t version() const noexcept { return version_; }

  /// "cudnnBackendFinalize of the plan: NOT_SUPPORTED, <cuDNN's own reason>", for a status that is not 0.
  [[nodiscard]] std::string failure(std::string_view call, std::string_view subject, int status) const;
  /// The first reason in cuDNN's record of this thread's last error; empty when there is none.
  [[nodiscard]] std::string last_reason() const;

  int (*create)(int kind, RawDescriptor* descriptor) = nullptr;
  int (*destroy)(RawDescriptor descriptor) = nullptr;
  int (*finalize)(RawDescriptor descriptor) = nullptr;
  int (*set)(RawDescriptor, int attribute, int type, std::int64_t count, const void* values) = nullptr;
  int (*get)(RawDescriptor, int attribute, int type, std::int64_t room, std::int64_t* count, void* values) = nullptr;
  int (*execute)(Handle handle, RawDescriptor plan, RawDescriptor pack) = nullptr;
  int (*create_handle)(Handle* handle) = nullptr;
  int (*destroy_handle)(Handle handle) = nullptr;
  int (*set_stream)(Handle handle, void* stream) = nullptr;

 private:
  Library() = default;
  [[nodiscard]] std::string load(void* file);

  std::size_t (*get_version_)() = nullptr;
  void (*last_error_)(char* text, std::size_t room) = nullptr;
  const char* (*status_name_)(int status) = nullptr;
  std::size_t version_ = 0;
};

/// "Reason" of the first entry in what cudnnGetLastErrorString() gave: "Embedding dim per head for q and k is not a
/// multiple of 8". Without such an entry the first line.
[[nodiscard]] std::string first_reason(std::string_view record);

/// The cuDNN of this machine, opened once. Any thread.
[[nodiscard]] const Expected<std::shared_ptr<const Library>>& this_machines_cudnn();

}  // namespace attn::cudnn
