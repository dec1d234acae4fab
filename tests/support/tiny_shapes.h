// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <string>
#include <vector>

namespace attn::test {

/// A model of the bundled one's form with untrained weights, small enough for many tests: text width 32, denoiser
/// 128 wide with two heads of 64 and two blocks, autoencoder 8/16/32. The weights are the same on every call.
struct TinyShapes {
  struct Tensor {
    std::string name;
    std::vector<long long> shape;
  };

  /// Every tensor that the model has, in the order of the file.
  [[nodiscard]] static std::vector<Tensor> tensors();
  /// The text of config.json.
  [[nodiscard]] static std::string config();
  /// The bytes of shapes.safetensors with these tensors, float16.
  [[nodiscard]] static std::string weights(const std::vector<Tensor>& of = tensors());
  /// Writes both files into a folder that is there.
  static void write(const QString& folder);
};

}  // namespace attn::test
