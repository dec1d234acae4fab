// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/selftest/selftest.h"

#include "app/jobs/selftest/pipeline_check.h"
#include "app/jobs/selftest/selection_check.h"
#include "app/jobs/selftest/selftest_calls.h"
#include "app/jobs/selftest/step_check.h"
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

/// Why a subject does not take a call; empty when it does.
std::string refusal(const Subject& subject, const FilledCall& filled) {
  std::string why = subject.compute->refusal(filled.call(), filled.selection());
  if (!why.empty() || filled.selection() == nullptr || filled.selection()->has_tiles()) return why;
  return subject.compute->chooses_tiles(filled.call(), *filled.selection()) ? why : "chooses no tiles itself";
}

SelftestRow row_of(const Subject& subject, const SelftestCall& wanted, const FilledCall& filled) {
  SelftestRow row;
  row.kernel = subject.name;
  row.call = wanted.name;
  row.reason = refusal(subject, filled);
  if (!row.reason.empty()) row.state = SelftestRow::State::refused;
  return row;
}

void fail_row(SelftestRow& row, std::string why) {
  row.state = SelftestRow::State::failed;
  row.reason = std::move(why);
}

SelftestRow check(const Subject& subject, cuda::LocalGpu& gpu, const SelftestCall& wanted, const FilledCall& filled,
                  const std::vector<double>& reference) {
  SelftestRow row = row_of(subject, wanted, filled);
  row.bound = wanted.dtype == DType::float16 ? subject.bound_f16 : subject.bound_bf16;
  if (row.state == SelftestRow::State::refused) return row;
  const auto done = cuda::compute_on(gpu, *subject.compute, filled.call(), filled.selection());
  if (!done) {
    fail_row(row, done.error());
    return row;
  }
  row.error = filled.error(reference);
  if (!(row.error <= row.bound)) row.state = SelftestRow::State::wrong;
  return row;
}

/// Launches a call `count` times and gives the device's time for one.
Expected<double> time_launches(cuda::LocalGpu& gpu, cuda::PreparedCall& call, int count) {
  if (auto begun = gpu.api->mark_begin(); !begun) return fail(begun.error());
  for (int i = 0; i < count; ++i) {
    if (auto launched = call.launch(); !launched) return fail(launched.error());
  }
  if (auto ended = gpu.api->mark_end(); !ended) return fail(ended.error());
  if (auto finished = gpu.api->finish([] { return std::string("the timed call"); }); !finished) {
    return fail(finished.error());
  }
  const auto time = gpu.api->milliseconds();
  return time ? Expected<double>(*time / count) : time;
}

/// The median of the device's times for a call whose tensors are there already. So many launches lie between two marks
/// that the host's share of them is hidden; before that the device gets time to come to its clock.
Expected<double> median_time(const Subject& subject, cuda::LocalGpu& gpu, const FilledCall& filled) {
  constexpr double kWarm = 100.0;  // milliseconds
  constexpr double kShortest = 10.0;
  constexpr int kMostLaunches = 1000;
  if (auto current = gpu.api->make_current(); !current) return fail(current.error());
  cuda::Transfer transfer(*gpu.api, gpu.pool);
  const auto placed = cuda::place(transfer, filled.call(), subject.compute->reads_mask());
  if (!placed) return fail(placed.error());
  const auto prepared = subject.compute->prepare(gpu, transfer, filled.call(), *placed, filled.selection(), {});
  if (!prepared) return fail(prepared.error());
  const auto launches_for = [](double milliseconds, double one) {
    return static_cast<int>(std::clamp(std::ceil(milliseconds / std::max(one, 1e-3)), 1.0, double{kMostLaunches}));
  };
  auto one = time_launches(gpu, **prepared, 1);
  if (one) one = time_launches(gpu, **prepared, launches_for(kWarm, *one));
  if (!one) return one;
  std::vector<double> times;
  for (int i = 0; i < kTimes; ++i) {
    auto time = time_launches(gpu, **prepared, launches_for(kShortest, *one));
    if (!time) return time;
    times.push_back(*time);
  }
  std::ranges::sort(times);
  return times[times.size() / 2];
}

SelftestRow measure(const Subject& subject, cuda::LocalGpu& gpu, const SelftestCall& wanted, const FilledCall& filled) {
  SelftestRow row = row_of(subject, wanted, filled);
  if (row.state == SelftestRow::State::refused) return row;
  const auto time = median_time(subject, gpu, filled);
  if (!time) {
    fail_row(row, time.error());
    return row;
  }
  row.milliseconds = *time;
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

/// Of a check whose result is to be the same to the last bit: `different` counts what is not.
SelftestRow row_of_difference(std::string kernel, std::string call, const Expected<std::int64_t>& different) {
  SelftestRow row;
  row.kernel = std::move(kernel);
  row.call = std::move(call);
  if (!different) {
    fail_row(row, different.error());
  } else {
    row.error = static_cast<double>(*different);
    if (*different != 0) row.state = SelftestRow::State::wrong;
  }
  return row;
}

SelftestRow measure_step(const std::shared_ptr<cuda::LocalGpu>& gpu, const cuda::LaunchTable& launches) {
  constexpr std::size_t kFluxCalls = 57;
  SelftestRow row;
  row.kernel = "a recorded step";
  const auto time = time_step(gpu, launches, kFluxCalls);
  row.call = "57 calls of flux, sdnq, as one";
  if (!time) {
    fail_row(row, time.error());
    return row;
  }
  row.milliseconds = time->milliseconds;
  row.tflops = time->floating_operations / time->milliseconds / 1e9;
  row.call += ", kernels alone " + std::to_string(time->on_device) + " ms";
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

/// Whether a GPU takes no more work since a row failed: after some errors only another process can use it.
bool is_lost(cuda::LocalGpu& gpu, SelftestRow& row) {
  if (row.state != SelftestRow::State::failed) return false;
  const std::lock_guard lock(gpu.mutex);
  if (gpu.api->finish([] { return std::string("the device after that"); })) return false;
  row.reason += "; the device takes no more work, so the test ends here";
  return true;
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

Expected<SelftestReport> run_selftest(const SelftestRequest& request) {
  const bool on_host = request.device == SelftestDevice::host;
  auto gpu = on_host ? Expected<std::shared_ptr<cuda::LocalGpu>>(cuda::host_gpu()) : cuda::local_gpu(request.index);
  if (!gpu) return fail(gpu.error());
  const cuda::LaunchTable* launches = on_host ? &cuda::host_launches() : cuda::built_launches();
  if (launches == nullptr) return fail(cuda::this_machine().sentence);
  cuda::LocalGpu& used = **gpu;
  const std::vector<Subject> all = subjects(*launches, on_host ? nullptr : &used.info);
  SelftestReport report{used.info.name, cuda::this_machine().sentence, {}, {}};
  bool lost = false;
  // The kernels of a step and of a picture take the lock themselves.
  const auto add = [&](std::vector<SelftestRow>& rows, bool locks, const std::function<SelftestRow()>& body) {
    if (lost) return;
    std::unique_lock lock(used.mutex, std::defer_lock);
    if (locks) lock.lock();
    rows.push_back(body());
    if (locks) lock.unlock();
    lost = is_lost(used, rows.back());
    if (request.announce) request.announce(rows.back());
  };
  for (const SelftestCall& wanted : selftest_checks()) {
    const FilledCall filled(wanted);
    const std::vector<double> reference = filled.reference();
    for (const Subject& subject : all) {
      add(report.checks, true, [&] { return check(subject, used, wanted, filled, reference); });
    }
  }
  add(report.checks, true, [&] {
    return row_of_difference("own selection kernel", "30 % of the tiles, against the host's selection",
                             check_selection(used, *launches));
  });
  add(report.checks, false, [&] {
    return row_of_difference("a recorded step",
                             "4 calls, 2 steps with budgets of their own, against the calls one by one",
                             check_step(*gpu, *launches));
  });
  if (on_host) return report;
  add(report.checks, false, [&] { return draw(used.info); });
  if (!request.times) return report;
  for (const SelftestCall& wanted : selftest_shapes()) {
    const FilledCall filled(wanted);
    for (const Subject& subject : all) {
      add(report.times, true, [&] { return measure(subject, used, wanted, filled); });
    }
  }
  add(report.times, false, [&] { return measure_step(*gpu, *launches); });
  return report;
}

}  // namespace attn::app
