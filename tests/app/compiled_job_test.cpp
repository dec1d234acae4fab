// SPDX-License-Identifier: GPL-3.0-or-later
// A compiled job over a GPU of host memory: its denoiser steps are recorded once and give what the calls give one by
// one.
#include "app/jobs/profile/profile_job.h"
#include "backends/all.h"
#include "backends/simd/exact_kernel.h"
#include "core/router/compiled_forward.h"
#include "core/settings/settings.h"
#include "cuda/host_device.h"
#include "support/attnctl.h"
#include "support/oracle.h"

#include <QtTest>

#include <cstring>

using namespace attn;
using namespace attn::app;
using attn::test::HostGpu;

namespace {

/// What each call was served by, and a sum over the bytes that it gave.
using Calls = std::vector<std::tuple<std::string, std::int32_t, bool, double, std::uint64_t>>;
struct Outputs final : RouteObserver {
  Calls seen;
  void observe(const RouteRecord& record) noexcept override {
    std::uint64_t sum = 1469598103934665603U;
    const auto* bytes = static_cast<const unsigned char*>(record.call.output.data);
    for (std::int64_t i = 0; record.computed && i < record.call.output.bytes(); ++i) {
      sum = (sum ^ bytes[i]) * 1099511628211U;
    }
    seen.emplace_back(record.executed, record.step, record.computed,
                      record.selection == nullptr ? 1.0 : record.selection->budget, sum);
  }
};

/// An engine whose first backend computes on `gpu`.
struct Machine {
  HostGpu gpu;
  std::vector<std::string> log;
  std::unique_ptr<Engine> engine;

  Machine() {
    BackendSpec spec;
    spec.name = "own";
    spec.label = "Own";
    spec.priority = 90;
    spec.capabilities.block_mask = true;
    spec.prepare = [device = gpu.gpu](const PrepareContext&) -> Expected<PreparedBackend> {
      cuda::DeviceComputes computes;
      computes.push_back(cuda::own_exact_compute(attn::test::host_launches()));
      return PreparedBackend{
          std::make_shared<cuda::DeviceKernel>(std::make_shared<ExactKernel>("own", "exact", true), device,
                                               std::move(computes), cuda::OnFailure::decline),
          std::nullopt,
          {}};
    };
    Registry registry = make_registry();
    if (!registry.add(std::move(spec))) qFatal("registry");
    Target target;
    target.name = target.platform = "cuda";
    target.capability = 90;
    engine = std::make_unique<Engine>(std::move(registry), target,
                                      [this](const LogLine& line) { log.push_back(line.text); });
    for (auto& [key, value] :
         std::vector<std::pair<std::string, OptionValue>>{{std::string(keys::overrides), OptionList{"Own"}},
                                                          {"sparse_attention_enabled", true},
                                                          {"sparse_attention_budget", std::int64_t{30}},
                                                          {"sparse_attention_min_tokens", std::int64_t{256}},
                                                          {"sparse_attention_schedule_steps", std::int64_t{1}},
                                                          {"sparse_attention_schedule_bump", std::int64_t{20}}}) {
      if (auto set = engine->set(key, value); !set) qFatal("%s", set.error().c_str());
    }
  }

  [[nodiscard]] Calls run(bool compiled, CallSchedule schedule) const {
    Outputs outputs;
    const auto job = make_schedule_job(std::move(schedule), Compute::all, 7, compiled);
    const auto outcome = job->run({*engine, &outputs, true, {}, {}});
    if (!outcome || *outcome != JobOutcome::finished) qFatal("%s", outcome ? "stopped" : outcome.error().c_str());
    return outputs.seen;
  }
  [[nodiscard]] int said(const std::string& text) const {
    return static_cast<int>(std::count_if(
        log.begin(), log.end(), [&](const std::string& line) { return line.find(text) != std::string::npos; }));
  }
};

DistinctCall self_attention(Role role, std::int64_t tokens, std::int64_t times) {
  DistinctCall distinct;
  distinct.call.query = distinct.call.key = distinct.call.value =
      TensorView::contiguous({1, 2, tokens, 64}, DType::bfloat16);
  distinct.role = role;
  distinct.times = times;
  return distinct;
}

/// A text encoder, four denoiser steps of three calls, and a call of another kind after them.
CallSchedule small_schedule() {
  CallSchedule schedule;
  schedule.title = "small";
  schedule.pipeline = {"FluxPipeline", "FluxTransformer2DModel", std::nullopt, std::nullopt};
  schedule.steps = 4;
  schedule.distinct = {self_attention(Role::te, 77, 2), self_attention(Role::transformer, 600, 8),
                       self_attention(Role::transformer, 130, 4)};
  schedule.patterns = {{{0, 0}, "text_encoder", {}}, {{1, 2, 1}, "transformer", {}}};
  schedule.forwards = {{Role::te, 0, 0},
                       {Role::transformer, 0, 1},
                       {Role::transformer, 1, 1},
                       {Role::transformer, 2, 1},
                       {Role::transformer, 3, 1}};
  schedule.calls = 14;
  return schedule;
}

}  // namespace

class CompiledJobTest : public QObject {
  Q_OBJECT

 private slots:
  void a_compiled_job_gives_what_it_gives_uncompiled() {
    Machine machine;
    const Calls plain = machine.run(false, small_schedule());
    QCOMPARE(machine.gpu.device->used["cudaGraphLaunch"], 0);
    const Calls compiled = machine.run(true, small_schedule());
    QCOMPARE(compiled.size(), std::size_t{14});
    QVERIFY(compiled == plain);
    std::set<double> budgets;
    for (const auto& [executed, step, computed, budget, sum] : compiled) {
      QCOMPARE(executed, std::string("own"));
      QVERIFY(computed);
      budgets.insert(budget);
    }
    QCOMPARE(budgets, (std::set<double>{0.3, 0.5, 1.0}));
    QCOMPARE(machine.gpu.device->used["cudaGraphLaunch"], 5);  // one forward of the text encoder, four steps
    QCOMPARE(machine.gpu.device->used["cudaStreamBeginCapture"], 2);
    QCOMPARE(machine.said("Attention: compiled step recorded role=transformer step=0 calls=3"), 1);
    QCOMPARE(machine.said("Attention: compiled step recorded role=te step=0 calls=2"), 1);
  }

  void no_memory_of_a_recorded_step_outlives_its_job() {
    Machine machine;
    (void)machine.run(true, small_schedule());
    machine.gpu.gpu->pool.trim(0);
    QVERIFY2(machine.gpu.device->live_bytes <= 256, std::to_string(machine.gpu.device->live_bytes).c_str());  // marks
  }

  void a_step_that_the_device_cannot_record_is_computed_call_by_call() {
    Machine machine;
    const Calls plain = machine.run(false, small_schedule());
    machine.gpu.device->used.clear();
    machine.gpu.device->fail_at["cudaGraphLaunch"] = 3;  // the second denoiser step
    const Calls compiled = machine.run(true, small_schedule());
    QVERIFY(compiled == plain);
    QCOMPARE(machine.said("Attention: compiled step call by call role=transformer, cudaGraphLaunch of the recorded "
                          "step: unspecified launch failure"),
             1);
  }

  void what_other_forwards_hold_is_dropped_where_memory_is_short() {
    std::int64_t needed = 0;
    Calls plain;
    {
      Machine machine;
      plain = machine.run(false, small_schedule());
      machine.gpu.gpu->pool.trim(0);
      machine.gpu.device->peak_bytes = 0;
      (void)machine.run(true, small_schedule());
      needed = machine.gpu.device->peak_bytes;
    }
    Machine machine;
    machine.gpu.gpu->pool.trim(0);
    machine.gpu.device->limit_bytes = needed - 1024;
    const Calls compiled = machine.run(true, small_schedule());
    QVERIFY(compiled == plain);
    QCOMPARE(machine.said("Attention: compiled step call by call role=transformer, cudaMalloc of"), 1);
    QCOMPARE(machine.said("Attention: compiled step recorded role=transformer"), 1);
    QCOMPARE(machine.gpu.device->used["cudaGraphLaunch"], 5);
  }

  void a_rebuild_between_two_jobs_records_anew() {
    Machine machine;
    (void)machine.run(true, small_schedule());
    const int captures = machine.gpu.device->used["cudaStreamBeginCapture"];
    if (auto set = machine.engine->set("sparse_attention_budget", std::int64_t{40}); !set)
      qFatal("%s", set.error().c_str());
    const Calls compiled = machine.run(true, small_schedule());
    QCOMPARE(machine.gpu.device->used["cudaStreamBeginCapture"], 2 * captures);
    QVERIFY(compiled == machine.run(false, small_schedule()));
  }

  void without_a_gpu_a_compiled_job_keeps_its_routes_and_says_why_it_records_nothing() {
    Target target;
    target.name = target.platform = "cpu";
    std::vector<std::string> log;
    Engine engine(make_registry(), target, [&log](const LogLine& line) { log.push_back(line.text); });
    Outputs outputs;
    const auto job = make_schedule_job(small_schedule(), Compute::all, 7, true);
    const auto outcome = job->run({engine, &outputs, true, {}, {}});
    QVERIFY(outcome.has_value() && *outcome == JobOutcome::finished);
    QCOMPARE(outputs.seen.size(), std::size_t{14});
    const auto said = [&log](const std::string& text) { return std::count(log.begin(), log.end(), text); };
    QCOMPARE(said("Attention: compiled step call by call role=te, dynamic computes on the host"), 1);
    QCOMPARE(said("Attention: compiled step call by call role=transformer, dynamic computes on the host"), 1);
  }

  void the_command_line_compiles_a_run() {
    const auto answer =
        attn::test::run_attnctl({"run", "q[1,2,64,64]", "--compute", "all", "--compiled", "--target", "cpu", "--json"});
    QVERIFY2(answer.code == 0, qPrintable(answer.err));
    QCOMPARE(answer.parsed()["job"], nlohmann::json("q[1,2,64,64], every call computed, compiled"));
    QCOMPARE(answer.parsed()["routes"].size(), std::size_t{1});
    QVERIFY(answer.parsed()["routes"][0]["computed"] != false);
  }
};

QTEST_GUILESS_MAIN(CompiledJobTest)
#include "compiled_job_test.moc"
