// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/tensor/expected.h"
#include "core/tensor/host_buffer.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace attn::test {

/// The tensors of a safetensors file. Strict: offsets must lie inside the file, match shape and dtype, and not overlap.
class SafeTensors {
 public:
  /// Reads the whole file. The error names the file and what is wrong with it.
  [[nodiscard]] static Expected<SafeTensors> read(const std::string& path);
  /// tests/oracles/<name>; stops the test program with a sentence when it cannot be read.
  [[nodiscard]] static SafeTensors oracle(std::string_view name);

  [[nodiscard]] bool has(std::string_view name) const { return entries_.find(name) != entries_.end(); }
  [[nodiscard]] std::vector<std::string> names() const;
  /// A contiguous copy on the accelerator; stops the test program when there is no such tensor.
  [[nodiscard]] HostTensor tensor(std::string_view name) const;

 private:
  struct Entry {
    DType dtype = DType::float32;
    std::vector<std::int64_t> shape;
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  [[nodiscard]] Expected<void> parse(std::string_view header, std::size_t data_bytes);

  std::string bytes_;
  std::size_t data_at_ = 0;
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace attn::test
