// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/tensor/expected.h"
#include "core/tensor/host_buffer.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace attn::app {

/// A tensor as the header of a safetensors file states it.
struct StoredTensor {
  std::string name;
  std::string dtype;  ///< as written: "BF16", "F8_E4M3", ...
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;  ///< bytes after the header
  std::uint64_t end = 0;
};

/// A safetensors file (8 bytes of header length, a JSON header, the data), read strictly: the header must fit, names
/// must be unique, every dtype known, every byte range the size of its shape, and the ranges must cover the data
/// without overlap or gap. Nothing is read beyond the header until load() or bytes(). Whatever the file holds, an error
/// is one sentence of plain characters.
class SafetensorsFile {
 public:
  /// Error: the file and what is wrong in it.
  [[nodiscard]] static Expected<SafetensorsFile> open(const std::filesystem::path& path);

  [[nodiscard]] const std::vector<StoredTensor>& tensors() const noexcept { return tensors_; }
  [[nodiscard]] const StoredTensor* find(std::string_view name) const noexcept;
  /// Reads one tensor. Error: no such name (the file's names are listed), or a dtype that attention does not take.
  [[nodiscard]] Expected<HostTensor> load(std::string_view name, Device device = Device::accel()) const;
  /// The bytes of one tensor of any dtype, little endian as they are stored. Error: no such name, or no such bytes.
  [[nodiscard]] Expected<std::vector<std::byte>> bytes(std::string_view name) const;

 private:
  [[nodiscard]] Expected<const StoredTensor*> named(std::string_view name) const;
  [[nodiscard]] Expected<void> read(const StoredTensor& stored, void* into) const;

  std::filesystem::path path_;
  std::uint64_t data_begin_ = 0;
  std::vector<StoredTensor> tensors_;
};

/// Writes a file with one contiguous tensor, atomically.
[[nodiscard]] Expected<void> write_safetensors(const std::filesystem::path& path, std::string_view name,
                                               const TensorView& tensor);

}  // namespace attn::app
