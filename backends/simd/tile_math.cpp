// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/simd/tile_math.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define ATTN_X86_VERSIONS 1
#endif

namespace attn {
namespace {

namespace baseline {
constexpr const char* kName = "baseline";
constexpr int kRows = 2;
constexpr int kVectors = 1;
#include "backends/simd/tile_math.inc"
}  // namespace baseline

#ifdef ATTN_X86_VERSIONS
#pragma GCC push_options
#pragma GCC target("avx2,fma")
namespace avx2 {
constexpr const char* kName = "avx2";
constexpr int kRows = 6;
constexpr int kVectors = 1;
#include "backends/simd/tile_math.inc"
}  // namespace avx2
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,fma,prefer-vector-width=512")
namespace avx512 {
constexpr const char* kName = "avx512";
constexpr int kRows = 8;
constexpr int kVectors = 2;
#include "backends/simd/tile_math.inc"
}  // namespace avx512
#pragma GCC pop_options
#endif

struct Versions {
  std::array<const TileMath*, 3> list{};
  std::size_t count = 0;
};

Versions find_versions() noexcept {
  Versions found;
#ifdef ATTN_X86_VERSIONS
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    found.list[found.count++] = &avx512::kMath;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) found.list[found.count++] = &avx2::kMath;
#endif
  found.list[found.count++] = &baseline::kMath;
  return found;
}

}  // namespace

std::span<const TileMath* const> tile_math_versions() noexcept {
  static const Versions versions = find_versions();
  return {versions.list.data(), versions.count};
}

const TileMath& tile_math() noexcept { return *tile_math_versions().front(); }

}  // namespace attn
