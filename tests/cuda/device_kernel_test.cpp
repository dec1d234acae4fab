// SPDX-License-Identifier: GPL-3.0-or-later
// The whole way of a call over a GPU: placed, computed, brought back, or handed on when something fails. The GPU is
// host memory and the kernels' own source runs on the host; failures are made.
#include "backends/attention_case.h"
#include "backends/cudnn/cudnn_compute.h"
#include "backends/cudnn/mask_bias.h"
#include "backends/sage/sage_variant.h"
#include "backends/sdnq/sdnq_operands.h"
#include "backends/simd/exact_kernel.h"
#include "core/router/router.h"
#include "cuda/filled_call.h"
#include "cuda/host_device.h"

#include <QTest>

namespace attn::test {

using cuda::DeviceKernel;
using cuda::OnFailure;

cuda::DeviceComputes exact_by(const cuda::LaunchTable& launches) {
  cuda::DeviceComputes computes;
  computes.push_back(cuda::own_exact_compute(launches));
  return computes;
}

cuda::DeviceComputes int8_by(const cuda::LaunchTable& launches) {
  cuda::DeviceComputes computes;
  computes.push_back(
      cuda::own_int8_compute(launches, [](const AttentionCall& call) -> std::optional<cuda::Int8Options> {
        cuda::Int8Options options;
        options.value = call.value.dtype;
        return options;
      }));
  return computes;
}

std::shared_ptr<const AttentionKernel> host_kernel(bool block_mask = true) {
  return std::make_shared<ExactKernel>("flash", "flash", block_mask);
}

/// A call with data, (1, 2, 96, 64) on 80 keys.
struct Filled : FilledCall {
  Filled() : FilledCall(7, 96, 80) {}
};

struct Watch final : RouteObserver {
  std::string executed, fell_back;
  int seen = 0;
  std::int64_t nanoseconds = 0;
  void observe(const RouteRecord& record) noexcept override {
    nanoseconds = record.end_ns - record.begin_ns;
    executed = record.executed;
    fell_back = record.fell_back;
    ++seen;
  }
};

class DeviceKernelTest : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() {
    const nlohmann::json table = oracle("attention.json");
    const SafeTensors tensors = SafeTensors::oracle("attention.safetensors");
    for (const auto& row : table.at("cases")) cases_.push_back(read_case(row, tensors, DType::float16));
    QCOMPARE(cases_.size(), std::size_t{76});
  }

  void every_case_of_the_oracle_goes_over_the_device_and_back() {
    HostGpu host(std::int64_t{1} << 20);
    const DeviceKernel kernel(host_kernel(), host.gpu, exact_by(host_launches()), OnFailure::decline);
    int on_device = 0;
    for (AttentionCase& made : cases_) {
      const int allocations = host.device->used["cudaMemcpyAsync"];
      const BlockSelection* selection = made.selection ? &*made.selection : nullptr;
      if (made.output.memory().size() > 0) std::memset(made.output.memory().data(), 0xFF, made.output.memory().size());
      const KernelResult result = kernel.run(made.call, selection);
      QVERIFY2(result.failure.empty(), std::string(result.failure).c_str());
      QCOMPARE(q(result.variant), QString("flash"));
      if (host.device->used["cudaMemcpyAsync"] > allocations) ++on_device;
      const Distance far = distance(elements_of(made.call.output), made.reference);
      QVERIFY2(far.not_finite == 0, made.name.c_str());
      const double allowed = made.max_abs_logit > 100.0 ? 3e-3 : 5e-4;
      QVERIFY2(far.relative_l1 <= allowed, (made.name + " " + std::to_string(far.relative_l1)).c_str());
    }
    qInfo("%d of %d cases went over the device", on_device, static_cast<int>(cases_.size()));
    QVERIFY(on_device >= 60);  // the others are empty or select other tiles
  }

  void a_failure_on_the_device_is_handed_to_the_next_in_the_chain_data() {
    QTest::addColumn<QString>("call");
    QTest::addColumn<QString>("reason");
    QTest::newRow("out of memory") << "limit"
                                   << "own exact kernel: cudaMalloc of key (1, 2, 80, 64): out of memory, 20480 bytes "
                                      "wanted, 5424 bytes free";
    QTest::newRow("copy") << "cudaMemcpyAsync"
                          << "own exact kernel: cudaMemcpyAsync of query (1, 2, 96, 64): unspecified launch failure";
    QTest::newRow("kernel")
        << "cudaStreamSynchronize"
        << "own exact kernel: cudaStreamSynchronize of own exact kernel: unspecified launch failure";
    QTest::newRow("launch") << "launch"
                            << "own exact kernel: launch of exact attention 128: code 701";
    QTest::newRow("device") << "cudaSetDevice"
                            << "own exact kernel: cudaSetDevice: unspecified launch failure";
  }
  void a_failure_on_the_device_is_handed_to_the_next_in_the_chain() {
    QFETCH(QString, call);
    QFETCH(QString, reason);
    HostGpu host;
    if (call == "limit") host.device->limit_bytes = 30000;
    if (call != "limit" && call != "launch") host.device->fail_at[call.toStdString()] = 1;
    const auto& launches = call == "launch" ? failing_launches() : host_launches();
    Filled filled;
    const auto router = router_over(host, launches);
    Watch watch;
    router->set_observer(&watch);
    const Route route = (*router)(filled.call);
    QVERIFY(route.failure.empty());
    QCOMPARE(q(route.executed), QString("sdpa"));
    QCOMPARE(q(route.fell_back), reason);
    QCOMPARE(watch.seen, 1);
    QCOMPARE(q(watch.fell_back), reason);
    // The next call finds a device that works again, where it does.
    if (call == "launch" || call == "limit") return;
    const Route next = (*router)(filled.call);
    QCOMPARE(q(next.executed), QString("failing"));
    QVERIFY(next.fell_back.empty());
  }

  void a_call_takes_the_time_of_its_kernels_not_of_its_copies() {
    HostGpu host;
    host.device->kernel_milliseconds = 2.5;
    const auto router = router_over(host, host_launches());
    Watch watch;
    router->set_observer(&watch);
    router->set_timing(true);
    Filled filled;
    QVERIFY((*router)(filled.call).failure.empty());
    QCOMPARE(watch.nanoseconds, std::int64_t{2500000});
    router->set_timing(false);
    QVERIFY((*router)(filled.call).failure.empty());
    QCOMPARE(watch.nanoseconds, std::int64_t{0});
  }

  void below_the_chain_the_host_computes_what_the_device_could_not() {
    HostGpu host;
    const DeviceKernel kernel(host_kernel(), host.gpu, exact_by(failing_launches()), OnFailure::host);
    Filled expected;
    QVERIFY(host_kernel()->run(expected.call, nullptr).failure.empty());
    Filled filled;
    const KernelResult result = kernel.run(filled.call, nullptr);
    QVERIFY(result.failure.empty());
    QCOMPARE(q(result.fell_back), QString("own exact kernel: launch of exact attention 128: code 701"));
    QCOMPARE(elements_of(filled.call.output), elements_of(expected.call.output));
  }

  void memory_is_free_again_after_a_failure_once_the_device_has_finished() {
    HostGpu host(0);
    const DeviceKernel kernel(host_kernel(), host.gpu, exact_by(failing_launches()), OnFailure::decline);
    Filled filled;
    QVERIFY(!kernel.run(filled.call, nullptr).failure.empty());
    QCOMPARE(host.device->used["cudaStreamSynchronize"], 1);
    QCOMPARE(host.device->live_bytes, std::int64_t{0});
  }

  void a_call_that_no_kernel_takes_stays_on_the_host() {
    HostGpu host;
    const DeviceKernel kernel(host_kernel(), host.gpu, exact_by(host_launches()), OnFailure::decline);
    AttentionCall wide;
    wide.query = wide.key = wide.value = TensorView::contiguous({1, 2, 64, 520}, DType::bfloat16);
    const KernelForecast forecast = kernel.forecast(wide, nullptr);
    QCOMPARE(forecast.choices.size(), std::size_t{1});
    QVERIFY(!forecast.choices[0].ok);
    QCOMPARE(q(forecast.choices[0].reason), QString("takes a head_dim of at most 512"));
    QCOMPARE(q(forecast.warnings.back()),
             QString("computed by the host: no kernel on a GPU of host memory takes this call"));
    AttentionCall fits = wide;
    fits.query = fits.key = fits.value = TensorView::contiguous({1, 2, 64, 128}, DType::bfloat16);
    QVERIFY(kernel.forecast(fits, nullptr).choices[0].ok);
    QVERIFY(kernel.forecast(fits, nullptr).warnings.empty());
  }

  void int8_goes_over_the_device_with_its_selection() {
    HostGpu host;
    const DeviceKernel kernel(host_kernel(), host.gpu, int8_by(host_launches()), OnFailure::decline);
    int selected = 0;
    for (AttentionCase& made : cases_) {
      if (!made.selection || made.call.head_dim() > 128 || made.max_abs_logit > 100.0) continue;
      if (made.selection->block_q != cuda::kQueryTile || made.selection->block_kv != cuda::kKeyTile) continue;
      const KernelResult result = kernel.run(made.call, &*made.selection);
      QVERIFY2(result.failure.empty(), std::string(result.failure).c_str());
      const Distance far = distance(elements_of(made.call.output), made.reference);
      QVERIFY2(far.not_finite == 0 && far.relative_l1 <= 0.025, made.name.c_str());
      ++selected;
    }
    QVERIFY(selected > 0);
  }

  void int8_on_the_device_is_the_backends_own_arithmetic_data() {
    QTest::addColumn<QString>("backend");
    QTest::newRow("sage 8.0") << "80";
    QTest::newRow("sdnq") << "sdnq";
    QTest::newRow("sdnq hadamard") << "hadamard";
  }
  void int8_on_the_device_is_the_backends_own_arithmetic() {
    QFETCH(QString, backend);
    const bool sage = !backend.startsWith("sdnq") && backend != "hadamard";
    const Target target = machine("cuda", 80);
    SdnqOptions options;
    options.use_hadamard = backend == "hadamard";
    Settings settings;
    if (options.use_hadamard) settings.emplace_back("sdnq_attention_use_hadamard", true);
    const auto host = kernel_of(sage ? "sage" : "sdnq", target, settings);
    QVERIFY(host != nullptr);
    const auto variant = sage_variant_for(target);
    cuda::DeviceComputes computes;
    computes.push_back(cuda::own_int8_compute(host_launches(), [&](const AttentionCall& call) {
      return sage ? sage_on_gpu(*variant, call) : sdnq_on_gpu(options, call);
    }));
    HostGpu gpu;
    const DeviceKernel kernel(host, gpu.gpu, std::move(computes), OnFailure::decline);
    Filled on_host;
    QVERIFY(host->run(on_host.call, nullptr).failure.empty());
    Filled on_device;
    QVERIFY(kernel.run(on_device.call, nullptr).failure.empty());
    QVERIFY(gpu.device->used["cudaMemcpyAsync"] > 0);
    const std::vector<float> wanted = elements_of(on_host.call.output);
    const Distance far = distance(elements_of(on_device.call.output), wanted);
    QVERIFY2(far.relative_l1 <= 4e-3, std::to_string(far.relative_l1).c_str());  // bf16 outputs of one arithmetic
  }

  void math_stays_math() {
    HostGpu gpu;
    const auto host = kernel_of("sdpa", machine("cuda", 90), {{"sdp_options", OptionList{"Math"}}});
    const DeviceKernel kernel(host, gpu.gpu, exact_by(host_launches()), OnFailure::host);
    Filled filled;
    QCOMPARE(q(kernel.run(filled.call, nullptr).variant), QString("math"));
    QCOMPARE(gpu.device->used["cudaMemcpyAsync"], 0);
    QVERIFY(!kernel.forecast(filled.call, nullptr).choices.back().ok);
  }

  void cudnn_refuses_with_its_own_words_before_anything_is_copied() {
    const auto missing = cudnn::cudnn_compute(fail("cuDNN is not installed: libcudnn.so.9 was not found"), {});
    Filled filled;
    QCOMPARE(q(missing->refusal(filled.call, nullptr)), QString("cuDNN is not installed: libcudnn.so.9 was not found"));
    HostGpu host;
    cuda::DeviceComputes computes;
    computes.push_back(cudnn::cudnn_compute(fail("cuDNN is not installed"), {}));
    computes.push_back(cuda::own_exact_compute(host_launches()));
    const DeviceKernel kernel(host_kernel(), host.gpu, std::move(computes), OnFailure::decline);
    const KernelForecast forecast = kernel.forecast(filled.call, nullptr);
    QCOMPARE(q(forecast.choices[0].reason), QString("cuDNN is not installed"));
    QVERIFY(forecast.choices[1].ok);
    QVERIFY(kernel.run(filled.call, nullptr).failure.empty());
    QVERIFY(host.device->used["cudaMemcpyAsync"] >= 4);
  }

  void a_call_is_told_to_cudnn_as_it_is() {
    AttentionCall call;
    call.query = TensorView::contiguous({2, 3, 8, 40, 64}, DType::float16);
    call.key = call.value = TensorView::contiguous({2, 3, 2, 50, 64}, DType::float16);
    call.enable_gqa = true;
    call.attn_mask = TensorView::contiguous({1, 40, 1}, DType::boolean);
    const auto problem = cudnn::problem_of(call, nullptr);
    QVERIFY(problem.has_value());
    QCOMPARE(problem->batch, 6);
    QCOMPARE(problem->kv_heads, 2);
    QCOMPARE(problem->query_stride, (cudnn::Dims{8 * 40 * 64, 40 * 64, 64, 1}));
    QVERIFY(problem->bias && problem->bias->dtype == DType::float32);
    QCOMPARE(problem->bias->size, (cudnn::Dims{1, 1, 40, 50}));
    AttentionCall transposed;  // (batch, tokens, heads, dim) in memory stays so, padded rows are packed
    transposed.query = TensorView::contiguous({1, 8, 40, 64}, DType::float16);
    transposed.query.stride = {40 * 8 * 64, 64, 8 * 64, 1};
    transposed.key = transposed.value = TensorView::contiguous({1, 8, 40, 64}, DType::float16);
    transposed.key.stride = {8 * 40 * 128, 40 * 128, 128, 1};
    QCOMPARE(cudnn::problem_of(transposed, nullptr)->query_stride, (cudnn::Dims{8 * 40 * 64, 64, 8 * 64, 1}));
    QCOMPARE(cudnn::problem_of(transposed, nullptr)->key_stride, (cudnn::Dims{8 * 40 * 64, 40 * 64, 64, 1}));
    call.value.dtype = DType::bfloat16;
    QCOMPARE(q(cudnn::problem_of(call, nullptr).error()), QString("takes query, key, value and output of one dtype"));
  }

  void a_boolean_mask_becomes_a_bias_and_rows_without_a_key_are_named() {
    AttentionCall call;
    call.query = TensorView::contiguous({1, 2, 3, 8}, DType::float16);
    call.key = call.value = TensorView::contiguous({1, 2, 4, 8}, DType::float16);
    HostTensor mask({1, 1, 3, 4}, DType::boolean);
    auto* allowed = static_cast<std::uint8_t*>(mask.view().data);
    allowed[0] = 1;  // row 0 sees key 0, row 1 sees nothing, row 2 sees key 3
    allowed[11] = 1;
    call.attn_mask = mask.view();
    HostTensor output({1, 2, 3, 8}, DType::float32);
    std::fill_n(static_cast<float*>(output.view().data), output.view().elements(), 1.0F);
    call.output = output.view();
    const auto bias = cudnn::bias_of_mask(call);
    QVERIFY(bias.has_value());
    QCOMPARE(elements_of(bias->bias.view())[0], 0.0F);
    QCOMPARE(elements_of(bias->bias.view())[1], cudnn::kNotAllowed);
    QCOMPARE(bias->none, (std::vector<std::uint8_t>{0, 1, 0}));
    cudnn::clear_rows(*bias, call);
    const std::vector<float> values = elements_of(output.view());
    for (std::size_t i = 0; i < values.size(); ++i) QCOMPARE(values[i], i / 8 % 3 == 1 ? 0.0F : 1.0F);
    call.is_causal = true;  // row 2 sees key 3 no more
    QCOMPARE(cudnn::bias_of_mask(call)->none, (std::vector<std::uint8_t>{0, 1, 1}));
  }

  void a_mask_that_would_change_its_meaning_is_refused() {
    AttentionCall call;
    call.query = TensorView::contiguous({1, 1, 1, 8}, DType::float16);
    call.key = call.value = TensorView::contiguous({1, 1, 2, 8}, DType::float16);
    HostTensor mask({1, 2}, DType::float32);
    auto* values = static_cast<float*>(mask.view().data);
    values[0] = std::numeric_limits<float>::lowest();
    call.attn_mask = mask.view();
    QVERIFY(cudnn::bias_of_mask(call).has_value());
    values[1] = -std::numeric_limits<float>::infinity();
    QCOMPARE(q(cudnn::bias_of_mask(call).error()),
             QString("takes no mask that mixes minus infinity with finite numbers below -5e29"));
  }

  void a_selection_becomes_bits() {
    BlockSelection selection;
    selection.query_tiles = 1;
    selection.key_tiles = 10;
    selection.keep = {1, 0, 0, 0, 0, 0, 0, 1, 0, 1};
    QCOMPARE(cudnn::mask_bytes(selection, 1, 2), (std::vector<std::uint8_t>{0x81, 0x02, 0x81, 0x02}));
  }

  void a_sentence_is_kept_once() {
    const std::string_view first = cuda::kept_sentence("one and the same");
    QCOMPARE(cuda::kept_sentence(std::string("one and ") + "the same").data(), first.data());
  }

 private:
  static QString q(std::string_view text) {
    return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
  }

  /// A chain of one backend, "failing", whose kernel is on `host`'s device, above sdpa.
  std::unique_ptr<Router> router_over(const HostGpu& host, const cuda::LaunchTable& launches) {
    BackendSpec spec;
    spec.name = "failing";
    spec.label = "Failing";
    spec.priority = 90;
    spec.prepare = [&host, &launches](const PrepareContext&) -> Expected<PreparedBackend> {
      return PreparedBackend{std::make_shared<DeviceKernel>(std::make_shared<ExactKernel>("failing", "exact", false),
                                                            host.gpu, exact_by(launches), OnFailure::decline),
                             std::nullopt,
                             {}};
    };
    registry_ = make_registry();
    if (!registry_.add(std::move(spec))) return nullptr;
    PlanRequest request;
    request.labels = {"Failing"};
    request.target = machine("cuda", 90);
    // The probe of the plan uses the kernel too; faults are planned from here on.
    const std::map<std::string, int> planned = std::exchange(host.device->fail_at, {});
    const std::int64_t limit = std::exchange(host.device->limit_bytes, std::int64_t{1} << 40);
    const auto plan = Plan::build(registry_, std::move(request));
    host.gpu->pool.trim(0);
    host.device->limit_bytes = limit;
    host.device->used.clear();
    host.device->fail_at = planned;
    return std::make_unique<Router>(plan, nullptr);
  }

  Registry registry_;
  std::vector<AttentionCase> cases_;
};

}  // namespace attn::test

QTEST_GUILESS_MAIN(attn::test::DeviceKernelTest)
#include "device_kernel_test.moc"
