// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/selftest/selftest.h"

#include "app/jobs/selftest/pipeline_check.h"
#include "app/jobs/selftest/selection_check.h"
#include "app/jobs/selftest/selftest_calls.h"
#include "backends/cuda/serve/host_gpu.h"
#include "backends/cuda/serve/own_compute.h"
#include "backends/cudnn/cudnn_compute.h"
#include "backends/sage/sage_variant.h"
#include "backends/sdnq/sdnq_operands.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>

namespace attn::app {
namespace {

constexpr int kTimes = 5;  // of which the median counts; one more warms up

struct Subject {
  std::string name;
  std::unique_ptr<cuda::DeviceCompute> compute;
  double bound_bf16;  ///< relative L1: what rounding to the output's dtype, or to INT8, costs
  double bound_f16;
};

std::vector<Subject> subjects(const cuda::LaunchTable& launches, const cuda::CudaDevice* device) {
  std::vector<Subject> all;
  if (device != nullptr) all.push_back({"cuDNN", cudnn::cudnn_compute(*device), 5e-3, 1e-3});
  all.push_back({"own exact kernel", cuda::own_exact_compute(launches), 5e-3, 1e-3});
  all.push_back({"own int8 kernel (sdnq)",
                 cuda::own_int8_compute(launches, [](const AttentionCall& call) { return sdnq_on_gpu({}, call); }),
                 0.025, 0.025});
  Target ampere;
  ampere.platform = "cuda";
  ampere.capability = 80;
  if (const auto variant = sage_variant_for(ampere)) {
    all.push_back({"own int8 kernel (sage)",
                   cuda::own_int8_compute(
                       launches, [chosen = *variant](const AttentionCall& call) { return sage_on_gpu(chosen, call); }),
                   0.025, 0.025});
  }
  return all;
}

SelftestRow check(const Subject& subject, cuda::LocalGpu& gpu, const SelftestCall& wanted, const FilledCall& filled,
                  const std::vector<double>& reference) {
  SelftestRow row;
  row.kernel = subject.name;
  row.call = wanted.name;
  row.bound = wanted.dtype == DType::float16 ? subject.bound_f16 : subject.bound_bf16;
  row.reason = subject.compute->refusal(filled.call(), filled.selection());
  if (!row.reason.empty()) {
    row.state = SelftestRow::State::refused;
    return row;
  }
  const auto done = subject.compute->run(gpu, filled.call(), filled.selection());
  if (!done) {
    row.state = SelftestRow::State::failed;
    row.reason = done.error();
    return row;
  }
  row.error = filled.error(reference);
  if (!(row.error <= row.bound)) row.state = SelftestRow::State::wrong;
  return row;
}

SelftestRow measure(const Subject& subject, cuda::LocalGpu& gpu, const SelftestCall& wanted, const FilledCall& filled) {
  SelftestRow row;
  row.kernel = subject.name;
  row.call = wanted.name;
  row.reason = subject.compute->refusal(filled.call(), filled.selection());
  if (!row.reason.empty()) {
    row.state = SelftestRow::State::refused;
    return row;
  }
  std::vector<double> times;
  for (int i = 0; i <= kTimes; ++i) {
    const auto done = subject.compute->run(gpu, filled.call(), filled.selection());
    if (!done) {
      row.state = SelftestRow::State::failed;
      row.reason = done.error();
      return row;
    }
    if (i > 0) times.push_back(gpu.milliseconds);
  }
  std::ranges::sort(times);
  row.milliseconds = times[times.size() / 2];
  if (row.milliseconds <= 0.0) return row;
  const AttentionCall& call = filled.call();
  // Causal does half of the products, a selection its share.
  const double share =
      (call.is_causal ? 0.5 : 1.0) * (filled.selection() != nullptr ? filled.selection()->density : 1.0);
  const auto bytes = call.query.bytes() + call.key.bytes() + call.value.bytes() + call.output.bytes();
  row.tflops = flops_of(call) * share / row.milliseconds / 1e9;
  row.gigabytes = static_cast<double>(bytes) / row.milliseconds / 1e6;
  return row;
}

/// The own selection against the host's.
SelftestRow select(cuda::LocalGpu& gpu, const cuda::LaunchTable& launches) {
  SelftestRow row;
  row.kernel = "own selection kernel";
  row.call = "30 % of the tiles, against the host's selection";
  const auto different = check_selection(gpu, launches);
  if (!different) {
    row.state = SelftestRow::State::failed;
    row.reason = different.error();
  } else {
    row.error = static_cast<double>(*different);
    if (*different != 0) row.state = SelftestRow::State::wrong;
  }
  return row;
}

/// The bundled model's picture on the GPU against its host result.
SelftestRow draw(const cuda::CudaDevice& device) {
  constexpr double kLeastDecibels = 30.0;
  SelftestRow row;
  row.kernel = "the chain sdnq>flash>sdpa";
  Target target;
  target.name = "cuda:" + std::to_string(device.index);
  target.label = device.name;
  target.platform = "cuda";
  target.capability = device.capability;
  target.memory_bytes = device.memory_bytes;
  target.present = true;
  target.device = device.index;
  const auto check = check_pipeline(target, {"SDNQ attention", "Flash attention"}, DType::bfloat16, 8);
  if (!check) {
    row.call = "the bundled model's picture";
    row.state = SelftestRow::State::failed;
    row.reason = check.error();
    return row;
  }
  const double decibels = check->distance.psnr;
  row.call = "the bundled model's picture, " + std::to_string(check->calls) + " calls";
  row.bound = 0.0;
  if (check->fell_back > 0) {
    row.state = SelftestRow::State::failed;
    row.reason = std::to_string(check->fell_back) + " calls fell back: " + check->fell_back_first;
  } else {
    row.error = check->distance.mean_squared_error / (255.0 * 255.0);
    row.bound = std::pow(10.0, -kLeastDecibels / 10.0);
    if (!(decibels >= kLeastDecibels)) row.state = SelftestRow::State::wrong;
  }
  return row;
}

}  // namespace

std::string_view name_of(SelftestRow::State state) noexcept {
  switch (state) {
    case SelftestRow::State::ok:
      return "ok";
    case SelftestRow::State::wrong:
      return "wrong";
    case SelftestRow::State::refused:
      return "refused";
    case SelftestRow::State::failed:
      return "failed";
  }
  return {};
}

bool SelftestReport::passed() const {
  const auto bad = [](const SelftestRow& row) {
    return row.state == SelftestRow::State::wrong || row.state == SelftestRow::State::failed;
  };
  return std::ranges::none_of(checks, bad) && std::ranges::none_of(times, bad);
}

Expected<SelftestReport> run_selftest(SelftestDevice device, int index,
                                      const std::function<void(const SelftestRow&)>& announce) {
  const bool on_host = device == SelftestDevice::host;
  auto gpu = on_host ? Expected<std::shared_ptr<cuda::LocalGpu>>(cuda::host_gpu()) : cuda::local_gpu(index);
  if (!gpu) return fail(gpu.error());
  const cuda::LaunchTable* launches = on_host ? &cuda::host_launches() : cuda::built_launches();
  if (launches == nullptr) return fail(cuda::this_machine().sentence);
  cuda::LocalGpu& used = **gpu;
  std::unique_lock lock(used.mutex);
  const std::vector<Subject> all = subjects(*launches, on_host ? nullptr : &used.info);
  SelftestReport report{used.info.name, cuda::this_machine().sentence, {}, {}};
  const auto add = [&announce](std::vector<SelftestRow>& rows, SelftestRow row) {
    rows.push_back(std::move(row));
    if (announce) announce(rows.back());
  };
  for (const SelftestCall& wanted : selftest_checks()) {
    const FilledCall filled(wanted);
    const std::vector<double> reference = filled.reference();
    for (const Subject& subject : all) add(report.checks, check(subject, used, wanted, filled, reference));
  }
  add(report.checks, select(used, *launches));
  if (on_host) return report;
  lock.unlock();  // the picture's kernels take it themselves
  add(report.checks, draw(used.info));
  lock.lock();
  for (const SelftestCall& wanted : selftest_shapes()) {
    const FilledCall filled(wanted);
    for (const Subject& subject : all) add(report.times, measure(subject, used, wanted, filled));
  }
  return report;
}

}  // namespace attn::app
