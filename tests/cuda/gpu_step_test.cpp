// SPDX-License-Identifier: GPL-3.0-or-later
// Tiles that the device chooses for itself, and denoiser steps that are recorded once and computed again: routed as any
// call is, over a GPU of host memory that runs the kernels' own source.
#include "backends/attention_case.h"
#include "backends/simd/exact_kernel.h"
#include "core/router/compiled_forward.h"
#include "core/sparse/sparse_stage.h"
#include "cuda/filled_call.h"
#include "cuda/host_device.h"

#include <QTest>

#include <deque>

namespace attn::test {

using cuda::DeviceKernel;
using cuda::OnFailure;

namespace {

/// A self attention call with data.
struct Filled : FilledCall {
  explicit Filled(unsigned seed, std::int64_t tokens, std::int64_t heads = 2, std::int64_t dim = 64)
      : FilledCall(seed, tokens, tokens, heads, dim) {}
  [[nodiscard]] std::vector<float> result() const { return elements_of(call.output); }
};

/// What one observed call said.
struct Seen {
  std::string executed, stage_reason;
  std::int32_t step = 0;
  bool sparse = false;
  bool has_tiles = false;
  double budget = 1.0, density = 1.0;
  bool computed = false;
};

struct Watch final : RouteObserver {
  std::vector<Seen> seen;
  void observe(const RouteRecord& record) noexcept override {
    Seen one{std::string(record.executed), std::string(record.stage_reason), record.step, record.selection != nullptr};
    one.computed = record.computed;
    if (record.selection != nullptr) {
      one.has_tiles = record.selection->has_tiles();
      one.budget = record.selection->budget;
      one.density = record.selection->density;
    }
    seen.push_back(one);
  }
};

enum class Place : std::uint8_t { device, host_chooses, host };

/// A chain of one INT8 backend that takes block masks, above sdpa, with a stage and a context.
struct Chain {
  HostGpu gpu;
  Registry registry = make_registry();
  std::shared_ptr<const Plan> plan;
  GenerationContext context;
  std::unique_ptr<SparseStage> stage;
  std::unique_ptr<Router> router;
  Watch watch;

  explicit Chain(SparseOptions options, Place place = Place::device,
                 const cuda::LaunchTable& launches = host_launches(), OnFailure on_failure = OnFailure::decline) {
    BackendSpec spec;
    spec.name = "own";
    spec.label = "Own";
    spec.priority = 90;
    spec.capabilities.block_mask = true;
    const cuda::LaunchTable* const used = &launches;
    spec.prepare = [this, used, place, on_failure](const PrepareContext&) -> Expected<PreparedBackend> {
      const auto host = std::make_shared<ExactKernel>("own", "int8", true);
      if (place == Place::host) return PreparedBackend{host, std::nullopt, {}};
      cuda::DeviceComputes computes;
      computes.push_back(cuda::own_int8_compute(place == Place::device ? *used : without_selection(*used),
                                                [](const AttentionCall& call) {
                                                  cuda::Int8Options numbers;
                                                  numbers.value = call.value.dtype;
                                                  return std::optional(numbers);
                                                }));
      return PreparedBackend{
          std::make_shared<DeviceKernel>(host, gpu.gpu, std::move(computes), on_failure), std::nullopt, {}};
    };
    if (!registry.add(std::move(spec))) return;
    build();
    options.enabled = true;
    stage = std::make_unique<SparseStage>(options);
    context.begin(PipelineInfo{"FluxPipeline", "FluxTransformer2DModel", std::nullopt, std::nullopt}, 10);
    context.set_role(Role::transformer);
    router = std::make_unique<Router>(plan, &context, &watch, stage.get(), true);
    gpu.gpu->pool.trim(0);
    gpu.device->used.clear();
    gpu.device->read_back_bytes = 0;
  }
  void build() {
    PlanRequest request;
    request.labels = {"Own"};
    request.target = machine("cuda", 90);
    plan = Plan::build(registry, std::move(request));
  }
  static const cuda::LaunchTable& without_selection(const cuda::LaunchTable& launches) {
    static cuda::LaunchTable table;
    table = launches;
    table.selection = nullptr;
    return table;
  }
};

SparseOptions sparse(double budget = 0.3) {
  SparseOptions options;
  options.budget = budget;
  options.min_tokens = 256;
  return options;
}

/// Of the one geometry of a test, 6 by 11 tiles in the pool's smallest piece: they stay for the next call.
constexpr std::int64_t kMarksBytes = 256;

const cuda::LaunchTable& failing_selection() {
  static const cuda::LaunchTable kTable{host_launches().int8_attention, host_launches().exact_attention,
                                        [](const cuda::SelectionTask&, void*, void*) {
                                          return cuda::LaunchStatus{700, "select"};
                                        }};
  return kTable;
}

}  // namespace

class GpuStepTest : public QObject {
  Q_OBJECT

 private slots:
  void the_device_chooses_the_tiles_and_only_the_output_comes_back() {
    Filled on_device(3, 700);
    Filled as_chosen_by_host(3, 700);
    Chain device(sparse());
    Chain host(sparse(), Place::host_chooses);
    QVERIFY((*device.router)(on_device.call).sparse);
    QVERIFY((*host.router)(as_chosen_by_host.call).sparse);
    QCOMPARE(on_device.result(), as_chosen_by_host.result());
    QCOMPARE(device.gpu.device->read_back_bytes, on_device.call.output.bytes());
    QVERIFY(!device.watch.seen.at(0).has_tiles);
    QVERIFY(host.watch.seen.at(0).has_tiles);
    QCOMPARE(device.watch.seen.at(0).density, host.watch.seen.at(0).density);
    QCOMPARE(device.watch.seen.at(0).budget, 0.3);
    Filled dense(3, 700);
    Chain without(sparse(1.0));
    QVERIFY(!(*without.router)(dense.call).sparse);
    QVERIFY(dense.result() != on_device.result());  // what was chosen made a difference
  }

  void marks_travel_once_for_all_calls_of_a_geometry() {
    Filled first(3, 700), second(4, 700);
    Chain chain(sparse());
    (void)(*chain.router)(first.call);
    const int copies = chain.gpu.device->used["cudaMemcpyAsync"];
    (void)(*chain.router)(second.call);
    QCOMPARE(chain.gpu.device->used["cudaMemcpyAsync"] - copies, copies - 1);
  }

  void heads_share_one_selection_where_the_stage_says_so() {
    SparseOptions options = sparse();
    options.head_shared = true;
    Filled on_device(3, 700), as_chosen_by_host(3, 700);
    Chain device(options);
    Chain host(options, Place::host_chooses);
    QVERIFY((*device.router)(on_device.call).sparse);
    QVERIFY((*host.router)(as_chosen_by_host.call).sparse);
    QCOMPARE(on_device.result(), as_chosen_by_host.result());
  }

  void a_layout_pins_and_drops_on_the_device_as_on_the_host() {
    TokenLayout layout;
    layout.length = 700;
    layout.spans = {{"text", 0, 100}, {"image", 100, 600}, {"pad", 600, 700}};
    Filled on_device(3, 700), as_chosen_by_host(3, 700);
    Chain device(sparse());
    Chain host(sparse(), Place::host_chooses);
    device.context.set_layout(layout);
    host.context.set_layout(layout);
    QVERIFY((*device.router)(on_device.call).sparse);
    QVERIFY((*host.router)(as_chosen_by_host.call).sparse);
    QCOMPARE(on_device.result(), as_chosen_by_host.result());
  }

  void where_the_device_fails_the_host_chooses_what_it_was_to_choose() {
    Filled filled(3, 700);
    Chain chain(sparse(), Place::device, failing_selection(), OnFailure::host);
    const Route route = (*chain.router)(filled.call);
    QVERIFY(route.failure.empty());
    QVERIFY(route.sparse);
    QCOMPARE(q(route.fell_back), QString("own int8 kernel: launch of select: code 700"));
    Filled expected(3, 700);
    Chain host(sparse(), Place::host);
    QVERIFY((*host.router)(expected.call).sparse);
    QCOMPARE(filled.result(), expected.result());
  }

  void a_failed_selection_leaves_the_call_to_the_next_in_the_chain() {
    Filled filled(3, 700);
    Chain chain(sparse(), Place::device, failing_selection());
    const Route route = (*chain.router)(filled.call);
    QVERIFY(route.failure.empty());
    QCOMPARE(q(route.executed), QString("sdpa"));
    QVERIFY(!route.sparse);
    QCOMPARE(q(route.fell_back), QString("own int8 kernel: launch of select: code 700"));
  }

  void a_recorded_step_computes_what_its_calls_compute_one_by_one_data() {
    QTest::addColumn<double>("bump");
    QTest::addColumn<bool>("radial");
    QTest::addColumn<int>("recordings");
    QTest::newRow("one budget") << 0.0 << false << 1;
    QTest::newRow("a budget that follows the step is read from the step cell") << 0.2 << false << 1;
    QTest::newRow("steps whose budget covers everything are recorded apart") << 0.7 << false << 2;
    QTest::newRow("a static pattern is recorded once for each budget") << 0.2 << true << 2;
  }
  void a_recorded_step_computes_what_its_calls_compute_one_by_one() {
    QFETCH(double, bump);
    QFETCH(bool, radial);
    QFETCH(int, recordings);
    SparseOptions options = sparse();
    options.schedule_steps = 2;
    options.schedule_bump = bump;
    if (radial) options.pattern = SparsePattern::radial;
    Filled large(5, 700), small(6, 130);
    Chain chain(options);
    Chain one_by_one(options);
    const std::vector<AttentionCall> calls{large.call, small.call, large.call};
    CompiledForward forward;
    for (const std::int32_t step : {0, 1, 4, 5, 9}) {
      chain.context.set_step(step);
      one_by_one.context.set_step(step);
      large.clear();
      small.clear();
      chain.watch.seen.clear();
      one_by_one.watch.seen.clear();
      const bool done = chain.router->compute_as_one(calls, forward);
      QVERIFY2(done, forward.refusal().c_str());
      const auto together = std::pair(large.result(), small.result());
      large.clear();
      small.clear();
      for (const AttentionCall& call : calls) QVERIFY((*one_by_one.router)(call).failure.empty());
      QCOMPARE(together.first, large.result());
      QCOMPARE(together.second, small.result());
      QCOMPARE(chain.watch.seen.size(), std::size_t{3});
      for (std::size_t i = 0; i < calls.size(); ++i) {
        const Seen& one = chain.watch.seen[i];
        const Seen& other = one_by_one.watch.seen[i];
        QCOMPARE(one.executed, other.executed);
        QCOMPARE(one.step, step);
        QVERIFY(one.computed);
        QCOMPARE(one.sparse, other.sparse);
        QCOMPARE(one.budget, other.budget);
        QCOMPARE(one.density, other.density);
        QCOMPARE(one.stage_reason, other.stage_reason);
      }
    }
    QCOMPARE(forward.recordings(), recordings);
    QCOMPARE(chain.gpu.device->used["cudaGraphLaunch"], 5);
    QCOMPARE(chain.gpu.device->used["cudaStreamBeginCapture"], recordings);
  }

  void tensors_stay_on_the_device_from_step_to_step() {
    Filled large(5, 700), small(6, 130);
    Chain chain(sparse());
    const std::vector<AttentionCall> calls{large.call, small.call, large.call};
    CompiledForward forward;
    QVERIFY(chain.router->compute_as_one(calls, forward));
    const int before = chain.gpu.device->used["cudaMemcpyAsync"];
    const int allocations = chain.gpu.device->used["cudaMalloc"];
    chain.gpu.device->read_back_bytes = 0;
    chain.context.set_step(1);
    QVERIFY(chain.router->compute_as_one(calls, forward));
    QCOMPARE(chain.gpu.device->used["cudaMemcpyAsync"] - before, 3);  // the step, and each distinct output
    QCOMPARE(chain.gpu.device->used["cudaMalloc"], allocations);
    QCOMPARE(chain.gpu.device->read_back_bytes, large.call.output.bytes() + small.call.output.bytes());
  }

  void of_two_calls_that_write_one_tensor_the_later_one_stays() {
    Filled first(5, 130), second(6, 130), expected(5, 130);
    second.call.output = first.call.output;
    Chain chain(sparse());
    QVERIFY((*chain.router)(expected.call).failure.empty());
    const std::vector<AttentionCall> calls{first.call, second.call, first.call};
    CompiledForward forward;
    QVERIFY(chain.router->compute_as_one(calls, forward));
    QCOMPARE(first.result(), expected.result());
  }

  void a_rebuilt_chain_drops_what_was_recorded() {
    Filled filled(5, 700);
    Chain chain(sparse());
    const std::vector<AttentionCall> calls{filled.call};
    CompiledForward forward;
    QVERIFY(chain.router->compute_as_one(calls, forward));
    chain.gpu.gpu->pool.trim(0);
    const std::int64_t held = chain.gpu.device->live_bytes;
    QVERIFY(held > 0);
    chain.build();
    Router rebuilt(chain.plan, &chain.context, nullptr, chain.stage.get());
    QVERIFY(rebuilt.compute_as_one(calls, forward));
    QCOMPARE(forward.recordings(), 2);
    chain.gpu.gpu->pool.trim(0);
    QCOMPARE(chain.gpu.device->live_bytes, held);  // the new one's alone
    QVERIFY(forward.drop());
    QVERIFY(!forward.drop());
    chain.gpu.gpu->pool.trim(0);
    QCOMPARE(chain.gpu.device->live_bytes, kMarksBytes);
  }

  void what_fails_is_said_and_the_calls_are_made_one_by_one_data() {
    QTest::addColumn<QString>("call");
    QTest::addColumn<QString>("reason");
    QTest::newRow("capture") << "cudaStreamBeginCapture"
                             << "cudaStreamBeginCapture of the recorded step: unspecified launch failure";
    QTest::newRow("instantiate") << "cudaGraphInstantiate"
                                 << "cudaGraphInstantiate of the recorded step: unspecified launch failure";
    QTest::newRow("replay") << "cudaGraphLaunch"
                            << "cudaGraphLaunch of the recorded step: unspecified launch failure";
    QTest::newRow("upload") << "cudaMemcpyAsync"
                            << "cudaMemcpyAsync of the budgets of the steps: unspecified launch failure";
    QTest::newRow("memory")
        << "limit"
        << "cudaMalloc of query (1, 2, 700, 64): out of memory, 179200 bytes wanted, 99484 bytes free";
    QTest::newRow("launch") << "launch"
                            << "own int8 kernel: launch of select: code 700";
  }
  void what_fails_is_said_and_the_calls_are_made_one_by_one() {
    QFETCH(QString, call);
    QFETCH(QString, reason);
    Filled filled(5, 700);
    Chain chain(sparse(), Place::device, call == "launch" ? failing_selection() : host_launches(), OnFailure::host);
    const std::vector<AttentionCall> calls{filled.call};
    const std::int64_t unlimited = chain.gpu.device->limit_bytes;
    if (call == "limit") chain.gpu.device->limit_bytes = 100000;
    if (call != "limit" && call != "launch") chain.gpu.device->fail_at[call.toStdString()] = 1;
    CompiledForward forward;
    QVERIFY(!chain.router->compute_as_one(calls, forward));
    QCOMPARE(QString::fromStdString(forward.refusal()), reason);
    QVERIFY(chain.watch.seen.empty());
    chain.gpu.gpu->pool.trim(0);
    QVERIFY2(chain.gpu.device->live_bytes <= kMarksBytes, std::to_string(chain.gpu.device->live_bytes).c_str());
    chain.gpu.device->limit_bytes = unlimited;
    const Route route = (*chain.router)(filled.call, forward.site(0));
    QVERIFY(route.failure.empty());
    QCOMPARE(q(route.executed), QString("own"));
    // The device that could not is not asked again.
    const int captures = chain.gpu.device->used["cudaStreamBeginCapture"];
    QVERIFY(!chain.router->compute_as_one(calls, forward));
    QCOMPARE(chain.gpu.device->used["cudaStreamBeginCapture"], captures);
    QCOMPARE(QString::fromStdString(forward.refusal()), reason);
  }

  void what_no_device_computes_is_not_recorded() {
    Filled filled(5, 700);
    const std::vector<AttentionCall> calls{filled.call};
    CompiledForward forward;
    Chain host(sparse(), Place::host);
    QVERIFY(!host.router->compute_as_one(calls, forward));
    QCOMPARE(QString::fromStdString(forward.refusal()), QString("own computes on the host"));
    QVERIFY(!host.router->records(calls, forward));
    Chain chooses(sparse(), Place::host_chooses);
    QVERIFY(!chooses.router->compute_as_one(calls, forward));
    QCOMPARE(QString::fromStdString(forward.refusal()), QString("own has its tiles chosen on the host"));
    Filled wide(5, 300, 1, 264);
    Chain device(sparse());
    const std::vector<AttentionCall> two{filled.call, wide.call};
    QVERIFY(!device.router->compute_as_one(two, forward));
    QCOMPARE(QString::fromStdString(forward.refusal()), QString("own has its tiles chosen on the host"));
    Filled wide_and_short(5, 200, 1, 264);
    const std::vector<AttentionCall> dense{filled.call, wide_and_short.call};
    QVERIFY(!device.router->compute_as_one(dense, forward));
    QCOMPARE(QString::fromStdString(forward.refusal()),
             QString("the host computes a call: own int8 kernel takes a head_dim of at most 256"));
    QVERIFY(device.watch.seen.empty());
    QVERIFY(!device.router->compute_as_one({}, forward));
    QCOMPARE(QString::fromStdString(forward.refusal()), QString("there are no calls"));
  }

  void a_stream_that_records_takes_nothing_else() {
    HostGpu host;
    QVERIFY(host.device->begin_recording([] { return std::string("a test"); }).has_value());
    const cuda::Subject subject = [] { return std::string("key"); };
    int value = 0;
    QCOMPARE(QString::fromStdString(host.device->allocate(16, subject).error()),
             QString("allocation of key: not while the stream records"));
    QVERIFY(!host.device->copy_in(&value, &value, sizeof value, subject).has_value());
    QVERIFY(!host.device->cuda::HostDeviceApi::finish(subject).has_value());
    int launched = 0;
    (void)host.device->launch([&launched] {
      ++launched;
      return cuda::LaunchStatus{};
    });
    QCOMPARE(launched, 0);
    const auto graph = host.device->end_recording(subject);
    QCOMPARE(launched, 0);
    QVERIFY((*graph)->launch(subject).has_value());
    QVERIFY((*graph)->launch(subject).has_value());
    QCOMPARE(launched, 2);
  }
};

}  // namespace attn::test

QTEST_GUILESS_MAIN(attn::test::GpuStepTest)
#include "gpu_step_test.moc"
