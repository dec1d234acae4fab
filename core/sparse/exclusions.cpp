// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/sparse/exclusions.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace attn {
namespace {

/// One code point read from UTF-8. A byte that starts none stands for itself, with `valid` false.
struct CodePoint {
  char32_t value = 0;
  std::size_t bytes = 1;
  bool valid = true;
};

CodePoint read_point(std::string_view text) noexcept {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  const std::size_t length = lead >= 0xF0 && lead < 0xF8   ? 4
                             : lead >= 0xE0 && lead < 0xF0 ? 3
                             : lead >= 0xC2 && lead < 0xE0 ? 2
                                                           : 0;
  if (length == 0 || text.size() < length) return {lead, 1, false};
  char32_t value = lead & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return {lead, 1, false};
    value = (value << 6) | (byte(i) & 0x3FU);
  }
  constexpr std::array<char32_t, 5> kLeast{0, 0, 0x80, 0x800, 0x10000};  // a longer form than needed is not UTF-8
  if (value < kLeast[length] || value > 0x10FFFF) return {lead, 1, false};
  return {value, length, true};
}

void write_point(char32_t value, std::string& out) {
  const auto put = [&out](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (value < 0x80) {
    put(value);
  } else if (value < 0x800) {
    put(0xC0 | (value >> 6));
    put(0x80 | (value & 0x3F));
  } else if (value < 0x10000) {
    put(0xE0 | (value >> 12));
    put(0x80 | ((value >> 6) & 0x3F));
    put(0x80 | (value & 0x3F));
  } else {
    put(0xF0 | (value >> 18));
    put(0x80 | ((value >> 12) & 0x3F));
    put(0x80 | ((value >> 6) & 0x3F));
    put(0x80 | (value & 0x3F));
  }
}

/// Capitals of one block and where their small letters lie. Stride 2: capital and small letter alternate from `first`.
struct CaseRange {
  char32_t first;
  char32_t last;
  std::int32_t offset;
  std::uint8_t stride;
};

constexpr std::array kCaseRanges{
    CaseRange{0x41, 0x5A, 32, 1},    CaseRange{0xC0, 0xD6, 32, 1},     CaseRange{0xD8, 0xDE, 32, 1},
    CaseRange{0x100, 0x12E, 1, 2},   CaseRange{0x132, 0x136, 1, 2},    CaseRange{0x139, 0x147, 1, 2},
    CaseRange{0x14A, 0x176, 1, 2},   CaseRange{0x178, 0x178, -121, 1}, CaseRange{0x179, 0x17D, 1, 2},
    CaseRange{0x1CD, 0x1DB, 1, 2},   CaseRange{0x1DE, 0x1EE, 1, 2},    CaseRange{0x1F8, 0x21E, 1, 2},
    CaseRange{0x222, 0x232, 1, 2},   CaseRange{0x246, 0x24E, 1, 2},    CaseRange{0x370, 0x372, 1, 2},
    CaseRange{0x376, 0x376, 1, 1},   CaseRange{0x386, 0x386, 38, 1},   CaseRange{0x388, 0x38A, 37, 1},
    CaseRange{0x38C, 0x38C, 64, 1},  CaseRange{0x38E, 0x38F, 63, 1},   CaseRange{0x391, 0x3A1, 32, 1},
    CaseRange{0x3A3, 0x3AB, 32, 1},  CaseRange{0x3D8, 0x3EE, 1, 2},    CaseRange{0x400, 0x40F, 80, 1},
    CaseRange{0x410, 0x42F, 32, 1},  CaseRange{0x460, 0x480, 1, 2},    CaseRange{0x48A, 0x4BE, 1, 2},
    CaseRange{0x4C0, 0x4C0, 15, 1},  CaseRange{0x4C1, 0x4CD, 1, 2},    CaseRange{0x4D0, 0x52E, 1, 2},
    CaseRange{0x531, 0x556, 48, 1},  CaseRange{0x1E00, 0x1E94, 1, 2},  CaseRange{0x1E9E, 0x1E9E, -7615, 1},
    CaseRange{0x1EA0, 0x1EFE, 1, 2}, CaseRange{0xFF21, 0xFF3A, 32, 1},
};

char32_t lower_point(char32_t value) noexcept {
  const auto* const range =
      std::find_if(kCaseRanges.begin(), kCaseRanges.end(), [value](const CaseRange& r) { return value <= r.last; });
  if (range == kCaseRanges.end() || value < range->first || (value - range->first) % range->stride != 0) return value;
  return static_cast<char32_t>(static_cast<std::int64_t>(value) + range->offset);
}

bool is_space(char32_t value) noexcept {
  return (value >= 0x09 && value <= 0x0D) || (value >= 0x1C && value <= 0x20) || value == 0x85 || value == 0xA0 ||
         value == 0x1680 || (value >= 0x2000 && value <= 0x200A) || value == 0x2028 || value == 0x2029 ||
         value == 0x202F || value == 0x205F || value == 0x3000;
}

}  // namespace

std::string lower_text(std::string_view text) {
  std::string lower;
  lower.reserve(text.size());
  while (!text.empty()) {
    const CodePoint point = read_point(text);
    if (!point.valid) {
      lower.push_back(text.front());
    } else if (point.value == 0x130) {
      lower += "i\xCC\x87";  // the one letter here whose small form is two: i and a combining dot above
    } else {
      write_point(lower_point(point.value), lower);
    }
    text.remove_prefix(point.bytes);
  }
  return lower;
}

std::string_view trim_text(std::string_view text) noexcept {
  std::size_t begin = text.size();
  std::size_t end = 0;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = read_point(text.substr(at));
    if (!point.valid || !is_space(point.value)) {
      begin = std::min(begin, at);
      end = at + point.bytes;
    }
    at += point.bytes;
  }
  return end == 0 ? std::string_view{} : text.substr(begin, end - begin);
}

std::vector<std::string> parse_exclusions(std::string_view raw) {
  std::vector<std::string> entries;
  while (true) {
    const std::size_t comma = raw.find(',');
    const std::string_view entry = trim_text(raw.substr(0, comma));
    if (!entry.empty()) entries.push_back(lower_text(entry));
    if (comma == std::string_view::npos) return entries;
    raw.remove_prefix(comma + 1);
  }
}

std::string matched_exclusion(const std::vector<std::string>& entries, const ModelKey& model) {
  const std::array names{lower_text(model.architecture.value_or("")), lower_text(model.pipeline),
                         lower_text(model.denoiser.value_or(""))};
  for (const std::string& entry : entries) {
    if (!entry.empty() && std::find(names.begin(), names.end(), entry) != names.end()) return entry;
  }
  return {};
}

}  // namespace attn
