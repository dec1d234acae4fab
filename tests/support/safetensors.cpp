// SPDX-License-Identifier: GPL-3.0-or-later
#include "support/safetensors.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

namespace attn::test {
namespace {

constexpr std::size_t kLengthBytes = 8;

std::optional<DType> dtype_of(const std::string& name) {
  if (name == "F64") return DType::float64;
  if (name == "F32") return DType::float32;
  if (name == "F16") return DType::float16;
  if (name == "BF16") return DType::bfloat16;
  if (name == "I8") return DType::int8;
  if (name == "BOOL") return DType::boolean;
  return std::nullopt;
}

[[noreturn]] void stop(const std::string& sentence) {
  std::cerr << sentence << "\n";
  std::exit(2);
}

}  // namespace

Expected<SafeTensors> SafeTensors::read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail("cannot read " + path);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  SafeTensors tensors;
  tensors.bytes_ = std::move(bytes).str();
  if (tensors.bytes_.size() < kLengthBytes) return fail(path + " is too short for a safetensors file");
  std::uint64_t header = 0;
  std::memcpy(&header, tensors.bytes_.data(), kLengthBytes);
  if (header > tensors.bytes_.size() - kLengthBytes) return fail(path + " ends inside its header");
  tensors.data_at_ = kLengthBytes + static_cast<std::size_t>(header);
  const std::string_view text(tensors.bytes_.data() + kLengthBytes, static_cast<std::size_t>(header));
  if (auto parsed = tensors.parse(text, tensors.bytes_.size() - tensors.data_at_); !parsed) {
    return fail(path + ": " + parsed.error());
  }
  return tensors;
}

Expected<void> SafeTensors::parse(std::string_view header, std::size_t data_bytes) {
  const auto json = nlohmann::json::parse(header, nullptr, false);
  if (!json.is_object()) return fail("its header is not a JSON object");
  std::vector<std::pair<std::size_t, std::size_t>> ranges;
  for (const auto& [name, value] : json.items()) {
    if (name == "__metadata__") continue;
    try {
      const auto dtype = dtype_of(value.at("dtype").get<std::string>());
      if (!dtype) return fail("tensor " + name + " has a dtype that is not known here");
      Entry entry{*dtype, value.at("shape").get<std::vector<std::int64_t>>(),
                  value.at("data_offsets").at(0).get<std::size_t>(), value.at("data_offsets").at(1).get<std::size_t>()};
      std::size_t wanted = size_of(entry.dtype);
      for (const std::int64_t size : entry.shape) wanted *= static_cast<std::size_t>(std::max<std::int64_t>(size, 0));
      if (entry.begin > entry.end || entry.end > data_bytes) return fail("tensor " + name + " lies outside the file");
      if (entry.end - entry.begin != wanted) return fail("tensor " + name + " has another size than its shape says");
      if (wanted > 0) ranges.emplace_back(entry.begin, entry.end);
      entries_[name] = std::move(entry);
    } catch (const nlohmann::json::exception& error) {
      return fail("tensor " + name + ": " + error.what());
    }
  }
  std::sort(ranges.begin(), ranges.end());
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].first < ranges[i - 1].second) return fail("two of its tensors overlap");
  }
  return {};
}

SafeTensors SafeTensors::oracle(std::string_view name) {
  Expected<SafeTensors> tensors = read(std::string(ATTN_ORACLES) + "/" + std::string(name));
  if (!tensors) stop(tensors.error());
  return std::move(*tensors);
}

std::vector<std::string> SafeTensors::names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries_) names.push_back(name);
  return names;
}

HostTensor SafeTensors::tensor(std::string_view name) const {
  const auto at = entries_.find(name);
  if (at == entries_.end()) stop("no tensor named " + std::string(name));
  const Entry& entry = at->second;
  HostTensor tensor(entry.shape, entry.dtype);
  if (entry.end > entry.begin)
    std::memcpy(tensor.memory().data(), bytes_.data() + data_at_ + entry.begin, entry.end - entry.begin);
  return tensor;
}

}  // namespace attn::test
