// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/tensors/safetensors.h"

#include "app/jobs/files/atomic_file.h"
#include "app/jobs/nearest.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

namespace attn::app {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kLargestHeader = 100'000'000;  // the limit that the format's own readers have

struct StoredType {
  std::string_view name;
  std::uint64_t bytes;
  std::optional<DType> dtype;  ///< nullopt: known, but no attention call has it
};
constexpr std::array<StoredType, 15> kTypes{{{"F64", 8, DType::float64},
                                             {"F32", 4, DType::float32},
                                             {"F16", 2, DType::float16},
                                             {"BF16", 2, DType::bfloat16},
                                             {"I8", 1, DType::int8},
                                             {"BOOL", 1, DType::boolean},
                                             {"F8_E4M3", 1, {}},
                                             {"F8_E5M2", 1, {}},
                                             {"U8", 1, {}},
                                             {"I16", 2, {}},
                                             {"U16", 2, {}},
                                             {"I32", 4, {}},
                                             {"U32", 4, {}},
                                             {"I64", 8, {}},
                                             {"U64", 8, {}}}};

const StoredType* type_named(std::string_view name) {
  const auto* found =
      std::find_if(kTypes.begin(), kTypes.end(), [name](const StoredType& t) { return t.name == name; });
  return found == kTypes.end() ? nullptr : found;
}

std::string_view stored_name(DType dtype) {
  for (const StoredType& type : kTypes) {
    if (type.dtype == dtype) return type.name;
  }
  return "F32";
}

/// Whether brackets nest deeper than any header's: a JSON reader goes down one call a bracket, and so may a file take
/// the whole stack.
bool nests_deeply(std::string_view text) {
  constexpr int kDeepest = 16;
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kDeepest) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

/// The header as JSON, with a repeated key refused: JSON readers silently keep the last one.
Expected<Json> read_header(const std::string& text) {
  if (nests_deeply(text)) return fail("the header nests deeper than a header does");
  std::vector<std::set<std::string>> keys;
  std::string repeated;
  const auto watch = [&](int, nlohmann::json::parse_event_t event, Json& parsed) {
    using Event = nlohmann::json::parse_event_t;
    if (event == Event::object_start) keys.emplace_back();
    if (event == Event::object_end) keys.pop_back();
    if (event == Event::key && !keys.back().insert(parsed.get<std::string>()).second) {
      repeated = parsed.get<std::string>();
    }
    return true;
  };
  Json header = Json::parse(text, watch, false);
  if (header.is_discarded()) return fail("the header is not JSON");
  if (!repeated.empty()) return fail("the name " + quotable(repeated) + " is there twice");
  if (!header.is_object()) return fail("the header is not a JSON object");
  return header;
}

Expected<StoredTensor> read_entry(const std::string& name, const Json& entry, std::uint64_t data_bytes) {
  const std::string where = "tensor " + quotable(name);
  if (!entry.is_object()) return fail(where + ": its entry is not an object");
  StoredTensor tensor;
  tensor.name = name;
  const auto dtype = entry.find("dtype");
  if (dtype == entry.end() || !dtype->is_string()) return fail(where + ": field dtype is missing or not a text");
  tensor.dtype = dtype->get<std::string>();
  const StoredType* type = type_named(tensor.dtype);
  if (type == nullptr) return fail(where + ": dtype " + quotable(tensor.dtype) + " is none that safetensors has");
  const auto shape = entry.find("shape");
  if (shape == entry.end() || !shape->is_array()) return fail(where + ": field shape is missing or not a list");
  std::uint64_t bytes = type->bytes;
  for (const Json& size : *shape) {
    if (!size.is_number_unsigned() || size.get<std::uint64_t>() > std::numeric_limits<std::int32_t>::max()) {
      // Only a number is repeated: writing out a value that nests deeply would need a deep stack.
      return fail(where + ": shape holds " + (size.is_number() ? size.dump() : "something else") +
                  "; sizes are whole numbers from 0 to 2147483647");
    }
    tensor.shape.push_back(size.get<std::int64_t>());
    if (size != 0 && bytes > std::numeric_limits<std::uint64_t>::max() / size.get<std::uint64_t>()) {
      return fail(where + ": its shape has more elements than can be counted");
    }
    bytes *= size.get<std::uint64_t>();
  }
  const auto offsets = entry.find("data_offsets");
  if (offsets == entry.end() || !offsets->is_array() || offsets->size() != 2 || !(*offsets)[0].is_number_unsigned() ||
      !(*offsets)[1].is_number_unsigned()) {
    return fail(where + ": field data_offsets is missing or not a pair of whole numbers");
  }
  tensor.begin = (*offsets)[0].get<std::uint64_t>();
  tensor.end = (*offsets)[1].get<std::uint64_t>();
  if (tensor.begin > tensor.end || tensor.end > data_bytes) {
    return fail(where + ": bytes " + std::to_string(tensor.begin) + " to " + std::to_string(tensor.end) +
                " do not lie in the " + std::to_string(data_bytes) + " bytes of data");
  }
  if (tensor.end - tensor.begin != bytes) {
    return fail(where + ": its shape and dtype need " + std::to_string(bytes) + " bytes, its range has " +
                std::to_string(tensor.end - tensor.begin));
  }
  return tensor;
}

Expected<void> check_ranges(std::vector<const StoredTensor*> tensors, std::uint64_t data_bytes) {
  std::stable_sort(tensors.begin(), tensors.end(), [](const StoredTensor* a, const StoredTensor* b) {
    return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
  });
  std::uint64_t next = 0;
  for (const StoredTensor* tensor : tensors) {
    if (tensor->begin < next) return fail("tensor " + quotable(tensor->name) + " overlaps the tensor before it");
    if (tensor->begin > next) {
      return fail("bytes " + std::to_string(next) + " to " + std::to_string(tensor->begin) + " belong to no tensor");
    }
    next = tensor->end;
  }
  if (next != data_bytes) {
    return fail("bytes " + std::to_string(next) + " to " + std::to_string(data_bytes) + " belong to no tensor");
  }
  return {};
}

}  // namespace

Expected<SafetensorsFile> SafetensorsFile::open(const std::filesystem::path& path) {
  const std::string name = path.string();
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return fail(name + ": there is no such file");
  if (!std::filesystem::is_regular_file(path, error)) return fail(name + ": is not a file");
  const std::uint64_t size = std::filesystem::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  if (error || !file) return fail(name + ": cannot be read");
  std::array<unsigned char, 8> length_bytes{};
  if (size < 8 || !file.read(reinterpret_cast<char*>(length_bytes.data()), 8)) {
    return fail(name + ": is no safetensors file: it is shorter than its header's length");
  }
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < 8; ++i) length |= std::uint64_t{length_bytes[i]} << (8 * i);
  if (length > kLargestHeader || length > size - 8) {
    return fail(name + ": is no safetensors file: a header of " + std::to_string(length) + " bytes does not fit");
  }
  std::string text(length, '\0');
  if (!file.read(text.data(), static_cast<std::streamsize>(length))) return fail(name + ": cannot be read");
  auto header = read_header(text);
  if (!header) return fail(name + ": " + header.error());

  SafetensorsFile opened;
  opened.path_ = path;
  opened.data_begin_ = 8 + length;
  const std::uint64_t data_bytes = size - opened.data_begin_;
  for (const auto& [key, entry] : header->items()) {
    if (key == "__metadata__") {
      if (!entry.is_object()) return fail(name + ": __metadata__ is not an object");
      continue;
    }
    auto tensor = read_entry(key, entry, data_bytes);
    if (!tensor) return fail(name + ": " + tensor.error());
    opened.tensors_.push_back(*std::move(tensor));
  }
  std::vector<const StoredTensor*> all;
  for (const StoredTensor& tensor : opened.tensors_) all.push_back(&tensor);
  if (auto ranges = check_ranges(std::move(all), data_bytes); !ranges) return fail(name + ": " + ranges.error());
  return opened;
}

const StoredTensor* SafetensorsFile::find(std::string_view name) const noexcept {
  for (const StoredTensor& tensor : tensors_) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

Expected<const StoredTensor*> SafetensorsFile::named(std::string_view name) const {
  if (const StoredTensor* stored = find(name)) return stored;
  std::vector<std::string> names;
  for (const StoredTensor& tensor : tensors_) names.push_back(quotable(tensor.name));
  constexpr std::size_t kMostNames = 20;
  const bool more = names.size() > kMostNames;
  if (more) names.resize(kMostNames);
  return fail(path_.string() + ": has no tensor " + quotable(name) + "; it has " +
              (names.empty() ? "none" : joined(names)) + (more ? ", ..." : ""));
}

Expected<void> SafetensorsFile::read(const StoredTensor& stored, void* into) const {
  std::ifstream file(path_, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(data_begin_ + stored.begin));
  const auto count = static_cast<std::streamsize>(stored.end - stored.begin);
  if (count > 0 && !file.read(static_cast<char*>(into), count)) {
    return fail(path_.string() + ": tensor " + quotable(stored.name) + ": its data cannot be read");
  }
  return {};
}

Expected<std::vector<std::byte>> SafetensorsFile::bytes(std::string_view name) const {
  const auto stored = named(name);
  if (!stored) return fail(stored.error());
  std::vector<std::byte> values((*stored)->end - (*stored)->begin);
  if (auto got = read(**stored, values.data()); !got) return fail(got.error());
  return values;
}

Expected<HostTensor> SafetensorsFile::load(std::string_view name, Device device) const {
  const auto at = named(name);
  if (!at) return fail(at.error());
  const StoredTensor* stored = *at;
  const std::string where = path_.string() + ": tensor " + quotable(stored->name);
  const StoredType* type = type_named(stored->dtype);
  if (!type->dtype) {
    return fail(where + ": dtype " + stored->dtype + " is none of a call; F64, F32, F16, BF16, I8 and BOOL are");
  }
  if (stored->shape.size() > TensorView::kMaxRank) {
    return fail(where + " has " + std::to_string(stored->shape.size()) + " dimensions; attention takes 2 to 5");
  }
  HostTensor tensor(std::span<const std::int64_t>(stored->shape), *type->dtype, device);
  if (auto got = read(*stored, tensor.as<char>()); !got) return fail(got.error());
  if (*type->dtype == DType::boolean) {
    const auto* values = tensor.as<unsigned char>();
    if (std::any_of(values, values + tensor.view().bytes(), [](unsigned char value) { return value > 1; })) {
      return fail(where + ": a BOOL holds a byte that is neither 0 nor 1");
    }
  }
  return tensor;
}

Expected<void> write_safetensors(const std::filesystem::path& path, std::string_view name, const TensorView& tensor) {
  Json header;
  header[std::string(name)] = {{"dtype", stored_name(tensor.dtype)},
                               {"shape", std::vector<std::int64_t>(tensor.sizes().begin(), tensor.sizes().end())},
                               {"data_offsets", {0, tensor.bytes()}}};
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string bytes(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(text.size() >> (8 * i));
  bytes += text;
  if (tensor.bytes() > 0) bytes.append(static_cast<const char*>(tensor.data), static_cast<std::size_t>(tensor.bytes()));
  return write_atomically(path, bytes);
}

}  // namespace attn::app
