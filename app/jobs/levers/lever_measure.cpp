// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/levers/lever_measure.h"

#include "app/jobs/tensors/findings.h"
#include "app/jobs/tensors/generated.h"

#include <algorithm>
#include <cmath>

namespace attn::app {

double median_of(std::vector<double> values) {
  if (values.empty()) return 0.0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2.0;
}

void note_error(LeverRoute& route, const TensorView& exact, const TensorView& result) {
  std::vector<OutputError> batch;
  const OutputError error = output_error(exact, result, batch);
  const ValueCounts before = count_values(exact);
  const ValueCounts after = count_values(result);
  route.not_finite += std::max<std::int64_t>(after.nan + after.inf - before.nan - before.inf, 0);
  if (error.max_abs == 0.0) return;  // the cosine of equal results is 1 but for its own rounding
  // What is not finite is told by not_finite; a NaN here would hide every other call's error.
  if (std::isfinite(error.relative_l1)) route.relative_l1 = std::max(route.relative_l1, error.relative_l1);
  if (std::isfinite(error.cosine)) route.cosine = std::min(route.cosine, error.cosine);
}

std::optional<std::int64_t> larger(std::optional<std::int64_t> a, std::optional<std::int64_t> b) {
  if (!a || !b) return a ? a : b;
  return std::max(*a, *b);
}

Expected<std::int64_t> forecast_bytes(const Engine& engine, const LeverCall& call, std::int64_t available) {
  const std::int64_t kernel = engine.explain(call.call, call.role, 0).memory_bytes;
  if (auto fits = check_memory(call.call, kernel, available); !fits) return fail(fits.error());
  return tensor_bytes(call.call) + kernel;
}

std::string served_by(std::string_view executed, bool sparse) {
  return std::string(executed) + (sparse ? "+sparse" : "");
}

bool operator==(const LeverMeasure& a, const LeverMeasure& b) {
  const auto same_picture = [](const PictureDistance& x, const PictureDistance& y) {
    return x.mean_squared_error == y.mean_squared_error && x.largest == y.largest && x.psnr == y.psnr &&
           x.ssim == y.ssim;
  };
  return a.seconds == b.seconds && a.baseline_seconds == b.baseline_seconds &&
         a.attention_seconds == b.attention_seconds && a.routes == b.routes && a.memory_bytes == b.memory_bytes &&
         a.host_bytes == b.host_bytes && a.picture.has_value() == b.picture.has_value() &&
         (!a.picture || same_picture(*a.picture, *b.picture)) && a.baseline_hash == b.baseline_hash && a.hash == b.hash;
}

}  // namespace attn::app
