// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/tensor/expected.h"

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn::app {

/// A model's weights as float32, by name, out of a safetensors file of F16, BF16 or F32 tensors.
///
/// take() hands a tensor out and notes the first thing that is wrong instead of failing at once, so that building a
/// model reads like the list of its parts; finish() then says whether everything was there, and nothing else.
class Weights {
 public:
  /// Error: the file and what is wrong in it: no safetensors file, another dtype, a value that is no finite number.
  [[nodiscard]] static Expected<Weights> read(const std::filesystem::path& path);

  /// The values of `name`, which must have this shape. Valid as long as this object. Where the file has no
  /// such tensor, zeros of that shape, and finish() says so.
  [[nodiscard]] std::span<const float> take(const std::string& name, std::initializer_list<std::int64_t> shape);

  /// Error: a tensor that was missing or had another shape, or one that nothing took.
  [[nodiscard]] Expected<void> finish() const;

 private:
  struct Tensor {
    std::vector<std::int64_t> shape;
    std::vector<float> values;
    bool taken = false;
  };
  std::string file_;
  std::map<std::string, Tensor, std::less<>> tensors_;
  std::string error_;
};

}  // namespace attn::app
