// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/pipeline/weights.h"

#include "app/jobs/nearest.h"
#include "app/jobs/tensors/safetensors.h"
#include "core/tensor/half.h"

#include <cmath>

namespace attn::app {
namespace {

std::int64_t elements_of(std::span<const std::int64_t> shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return count;
}

std::vector<float> as_floats(const HostTensor& tensor) {
  std::vector<float> values(static_cast<std::size_t>(tensor.view().elements()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    switch (tensor.view().dtype) {
      case DType::float16:
        values[i] = to_float(tensor.as<Float16>()[i]);
        break;
      case DType::bfloat16:
        values[i] = to_float(tensor.as<BFloat16>()[i]);
        break;
      default:
        values[i] = tensor.as<float>()[i];
    }
  }
  return values;
}

bool is_weight(DType dtype) { return dtype == DType::float16 || dtype == DType::bfloat16 || dtype == DType::float32; }

}  // namespace

Expected<Weights> Weights::read(const std::filesystem::path& path) {
  const auto file = SafetensorsFile::open(path);
  if (!file) return fail(file.error());
  Weights weights;
  weights.file_ = path.string();
  for (const StoredTensor& stored : file->tensors()) {
    const auto tensor = file->load(stored.name);
    if (!tensor) return fail(tensor.error());
    const std::string where = weights.file_ + ": tensor " + quotable(stored.name);
    if (!is_weight(tensor->view().dtype)) {
      return fail(where + ": dtype " + stored.dtype + " is none of a weight; F16, BF16 and F32 are");
    }
    std::vector<float> values = as_floats(*tensor);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!std::isfinite(values[i])) return fail(where + ": element " + std::to_string(i) + " is no finite number");
    }
    weights.tensors_.emplace(stored.name, Tensor{stored.shape, std::move(values), false});
  }
  return weights;
}

std::span<const float> Weights::take(const std::string& name, std::initializer_list<std::int64_t> shape) {
  const std::span<const std::int64_t> wanted(shape.begin(), shape.size());
  auto at = tensors_.find(name);
  const bool there = at != tensors_.end();
  if (!there || !std::equal(wanted.begin(), wanted.end(), at->second.shape.begin(), at->second.shape.end())) {
    if (error_.empty()) {
      error_ = there ? "tensor " + name + " has the shape " + shape_text(at->second.shape) + "; the model's is " +
                           shape_text(wanted)
                     : "has no tensor " + name + ", which the model needs";
    }
    Tensor zeros{
        {wanted.begin(), wanted.end()}, std::vector<float>(static_cast<std::size_t>(elements_of(wanted))), true};
    at = tensors_.insert_or_assign(name, std::move(zeros)).first;
  }
  at->second.taken = true;
  return at->second.values;
}

Expected<void> Weights::finish() const {
  if (!error_.empty()) return fail(file_ + ": " + error_);
  for (const auto& [name, tensor] : tensors_) {
    if (!tensor.taken) return fail(file_ + ": tensor " + quotable(name) + " is none of the model's");
  }
  return {};
}

}  // namespace attn::app
