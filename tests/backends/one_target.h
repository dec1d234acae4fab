// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "backends/simd/exact_tiles.h"
#include "core/tensor/host_buffer.h"

#include <hwy/targets.h>
#include <QTest>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

namespace attn::test {

/// Leaves one instruction set enabled; all again afterwards.
class OnlyTarget {
 public:
  explicit OnlyTarget(std::int64_t target) { hwy::DisableTargets(~target); }
  ~OnlyTarget() { hwy::DisableTargets(0); }
  OnlyTarget(const OnlyTarget&) = delete;
  OnlyTarget& operator=(const OnlyTarget&) = delete;
};

/// A row for every instruction set that `tiles()` (exact_tiles or int8_tiles) can be led to on this machine.
template <class Tiles>
void rows_of_targets(Tiles tiles) {
  QTest::addColumn<qint64>("target");
  for (std::int64_t rest = hwy::SupportedTargets(); rest != 0; rest &= rest - 1) {
    const std::int64_t target = rest & -rest;
    const OnlyTarget only(target);
    if (std::strcmp(tiles().name, hwy::TargetName(target)) == 0)
      QTest::newRow(hwy::TargetName(target)) << qint64{target};
  }
}

inline std::vector<float> normal(std::size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> draw;
  std::vector<float> values(count);
  for (float& value : values) value = draw(engine);
  return values;
}

inline void fill_normal_tensor(HostTensor& tensor, unsigned seed) {
  const std::vector<float> values = normal(static_cast<std::size_t>(tensor.view().elements()), seed);
  for (std::size_t i = 0; i < values.size(); ++i) store_element(tensor.view(), static_cast<std::int64_t>(i), values[i]);
}

inline double relative_l1(const HostTensor& actual, const HostTensor& expected) {
  double error = 0.0, size = 0.0;
  for (std::int64_t i = 0; i < expected.view().elements(); ++i) {
    const double e = static_cast<double>(load_element(expected.view(), i));
    error += std::abs(static_cast<double>(load_element(actual.view(), i)) - e);
    size += std::abs(e);
  }
  return size == 0.0 ? error : error / size;
}

}  // namespace attn::test
