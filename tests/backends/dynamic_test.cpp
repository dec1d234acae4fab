// SPDX-License-Identifier: GPL-3.0-or-later
#include "attention_case.h"
#include "backends/dynamic/slice_plan.h"

#include <QTest>
#include <atomic>

namespace attn::test {

class DynamicTest : public QObject {
  Q_OBJECT

 private slots:
  void every_row_of_the_oracle_is_cut_as_stated();
  void the_cache_answers_as_the_rule_does();
  void every_slice_has_the_planned_size_and_reaches_the_original_data();
  void every_slice_has_the_planned_size_and_reaches_the_original();
  void a_causal_call_keeps_its_diagonal_in_every_slice_data();
  void a_causal_call_keeps_its_diagonal_in_every_slice();
  void grouped_heads_reach_the_original_as_plain_views();
  void no_slice_copies_its_operands();
  void the_rates_are_read_on_every_call();
  void the_forecast_is_that_of_one_slice();
  void a_failure_of_the_original_is_passed_on();
};

/// The original with a notebook: what it was asked, before it computes it.
class NotingKernel final : public AttentionKernel {
 public:
  explicit NotingKernel(std::shared_ptr<const AttentionKernel> real) : real_(std::move(real)) {}
  KernelResult run(const AttentionCall& call, const BlockSelection* selection) const override {
    calls.push_back(call);
    return real_->run(call, selection);
  }
  KernelResult route(const AttentionCall& call, const BlockSelection* selection) const noexcept override {
    return real_->route(call, selection);
  }
  KernelForecast forecast(const AttentionCall& call, const BlockSelection* selection) const override {
    return real_->forecast(call, selection);
  }
  mutable std::vector<AttentionCall> calls;

 private:
  std::shared_ptr<const AttentionKernel> real_;
};

struct Sliced {
  std::shared_ptr<NotingKernel> original;
  std::shared_ptr<const AttentionKernel> kernel;
};

Sliced make(double slice, double trigger, const Settings& sdpa = {},
            std::function<std::shared_ptr<const std::atomic<double>>(std::string_view)> live = {}) {
  const Registry registry = make_registry();
  const Target target = machine("cuda");
  Sliced made;
  made.original = std::make_shared<NotingKernel>(kernel_of("sdpa", target, sdpa));
  const OptionValues values =
      values_of({{"dynamic_attention_slice_rate", slice}, {"dynamic_attention_trigger_rate", trigger}});
  const PrepareContext context{target, values, made.original, std::move(live)};
  made.kernel = registry.by_name("dynamic")->prepare(context)->kernel;
  return made;
}

/// GiB of scores.
double gibibytes(std::int64_t batch, std::int64_t heads, std::int64_t queries, std::int64_t keys, std::int64_t bytes) {
  return static_cast<double>(batch * heads * queries * keys * bytes) / 1073741824.0;
}

struct Tensors {
  Tensors(std::vector<std::int64_t> query_shape, std::vector<std::int64_t> key_shape, DType dtype = DType::float32)
      : query(query_shape, dtype), key(key_shape, dtype), value(key_shape, dtype), output(query_shape, dtype) {
    fill_normal(query.view(), 1);
    fill_normal(key.view(), 2);
    fill_normal(value.view(), 3);
    std::memset(output.memory().data(), 0xFF, output.memory().size());
    call.query = query.view();
    call.key = key.view();
    call.value = value.view();
    call.output = output.view();
    call.enable_gqa = call.heads() != call.kv_heads();
  }
  HostTensor query, key, value, output, mask;
  AttentionCall call;
};

void DynamicTest::every_row_of_the_oracle_is_cut_as_stated() {
  const nlohmann::json table = oracle("dynamic.json");
  std::size_t rows = 0;
  for (const auto& row : table.at("rows")) {
    const SliceQuestion question{row[0], row[1], row[2], row[3], row[4], row[5].get<double>(), row[6].get<double>()};
    const SlicePlan wanted{row[7] == 1, row[8] == 1, row[9] == 1, row[10], row[11], row[12]};
    QVERIFY2(plan_slices(question) == wanted, row.dump().c_str());
    ++rows;
  }
  QCOMPARE(rows, std::size_t{5376});
}

void DynamicTest::the_cache_answers_as_the_rule_does() {
  const nlohmann::json table = oracle("dynamic.json");
  const SlicePlanCache cache;
  for (int pass = 0; pass < 2; ++pass) {
    for (const auto& row : table.at("rows")) {
      const SliceQuestion question{row[0], row[1], row[2], row[3], row[4], row[5].get<double>(), row[6].get<double>()};
      const SlicePlan wanted = plan_slices(question);
      QVERIFY(cache.plan(question) == wanted);
      QVERIFY(cache.plan(question) == wanted);  // this time it is remembered
    }
  }
}

void DynamicTest::every_slice_has_the_planned_size_and_reaches_the_original_data() {
  QTest::addColumn<QList<int>>("query");
  QTest::addColumn<double>("slice");
  QTest::addColumn<int>("calls");
  QTest::addColumn<QList<int>>("first");
  // Keys: 32; fp32. A quarter GiB stands for anything that is too large here: rates are as small as the calls.
  QTest::newRow("not split") << QList<int>{2, 4, 48, 16} << 1.0 << 1 << QList<int>{2, 4, 48, 16};
  QTest::newRow("over batches") << QList<int>{4, 2, 48, 16} << gibibytes(2, 2, 48, 32, 4) << 2
                                << QList<int>{2, 2, 48, 16};
  QTest::newRow("over heads") << QList<int>{2, 6, 48, 16} << gibibytes(1, 3, 48, 32, 4) << 4
                              << QList<int>{1, 3, 48, 16};
  QTest::newRow("over the query") << QList<int>{2, 2, 48, 16} << gibibytes(1, 1, 16, 32, 4) << 12
                                  << QList<int>{1, 1, 16, 16};
  QTest::newRow("a prime query") << QList<int>{1, 1, 47, 16} << gibibytes(1, 1, 16, 32, 4) << 47
                                 << QList<int>{1, 1, 1, 16};
}

void DynamicTest::every_slice_has_the_planned_size_and_reaches_the_original() {
  QFETCH(QList<int>, query);
  QFETCH(double, slice);
  QFETCH(int, calls);
  QFETCH(QList<int>, first);
  const std::vector<std::int64_t> shape(query.begin(), query.end());
  std::vector<std::int64_t> key_shape = shape;
  key_shape[2] = 32;
  Tensors tensors(shape, key_shape);
  const Sliced sliced = make(slice, slice);
  const KernelResult result = sliced.kernel->run(tensors.call, nullptr);
  QVERIFY2(result.failure.empty(), std::string(result.failure).c_str());
  QCOMPARE(q(result.backend), q("dynamic"));
  QCOMPARE(q(result.variant), calls == 1 ? q("memory-efficient") : q("sliced memory-efficient"));
  QCOMPARE(q(sliced.kernel->route(tensors.call, nullptr).variant), q(result.variant));
  QCOMPARE(sliced.original->calls.size(), static_cast<std::size_t>(calls));
  for (const AttentionCall& call : sliced.original->calls) {
    for (int i = 0; i < 4; ++i) QCOMPARE(call.query.size(i), std::int64_t{first[i]});
    QCOMPARE(call.key_tokens(), std::int64_t{32});
  }
  const Distance far = distance(elements_of(tensors.output.view()), reference_attention(tensors.call));
  QVERIFY2(far.not_finite == 0 && far.relative_l1 < 1e-5, std::to_string(far.relative_l1).c_str());
}

void DynamicTest::a_causal_call_keeps_its_diagonal_in_every_slice_data() {
  QTest::addColumn<int>("keys");
  QTest::addColumn<QString>("mask");
  QTest::addColumn<int>("rank");
  QTest::addColumn<int>("kv_heads");
  for (const int keys : {24, 60, 100}) {
    for (const char* mask : {"none", "bool", "padding", "float"}) {
      for (const int rank : {4, 5}) {
        for (const int kv_heads : {6, 2, 1}) {
          QTest::addRow("%d keys, mask %s, rank %d, %d kv heads", keys, mask, rank, kv_heads)
              << keys << mask << rank << kv_heads;
        }
      }
    }
  }
}

void DynamicTest::a_causal_call_keeps_its_diagonal_in_every_slice() {
  QFETCH(int, keys);
  QFETCH(QString, mask);
  QFETCH(int, rank);
  QFETCH(int, kv_heads);
  std::vector<std::int64_t> query{2, 6, 60, 16};
  std::vector<std::int64_t> key{2, kv_heads, keys, 16};
  if (rank == 5) {
    query.insert(query.begin(), 2);
    key.insert(key.begin(), 2);
  }
  Tensors tensors(query, key);
  tensors.call.is_causal = true;
  if (mask != "none") {
    std::vector<std::int64_t> shape{2, 6, 60, keys};
    if (mask == "padding") shape = {2, 1, 1, keys};
    tensors.mask = HostTensor(shape, mask == "float" ? DType::float32 : DType::boolean);
    fill_normal(tensors.mask.view(), 9);
    if (mask != "float") {
      auto* flags = tensors.mask.as<std::uint8_t>();
      for (std::int64_t i = 0; i < tensors.mask.view().elements(); ++i) flags[i] = i % 5 == 0 ? 0 : 1;
    }
    tensors.call.attn_mask = tensors.mask.view();
  }
  // From whole batches down to single query rows; heads in twos and fours straddle the groups of three.
  std::size_t most = 0;
  for (const double slice : {gibibytes(1, 6, 60, keys, 4), gibibytes(1, 3, 60, keys, 4), gibibytes(1, 2, 60, keys, 4),
                             gibibytes(1, 1, 20, keys, 4), gibibytes(1, 1, 1, keys, 4)}) {
    std::memset(tensors.output.memory().data(), 0xFF, tensors.output.memory().size());
    const Sliced sliced = make(slice, slice);
    const KernelResult result = sliced.kernel->run(tensors.call, nullptr);
    QVERIFY2(result.failure.empty(), std::string(result.failure).c_str());
    QCOMPARE(q(sliced.kernel->route(tensors.call, nullptr).variant), q(result.variant));
    QVERIFY(sliced.original->calls.size() > most);
    most = sliced.original->calls.size();
    const Distance far = distance(elements_of(tensors.output.view()), reference_attention(tensors.call));
    QVERIFY2(far.not_finite == 0 && far.relative_l1 < 1e-5, std::to_string(far.relative_l1).c_str());
  }
}

void DynamicTest::grouped_heads_reach_the_original_as_plain_views() {
  Tensors tensors({1, 8, 40, 16}, {1, 2, 40, 16}, DType::bfloat16);
  // Whole groups, half groups, single heads.
  for (const std::int64_t heads : {8, 4, 2, 1}) {
    const double slice = gibibytes(1, heads, 40, 40, 2);
    const Sliced sliced = make(slice, 0.0);
    const KernelResult result = sliced.kernel->run(tensors.call, nullptr);
    QCOMPARE(q(result.variant), q("sliced flash"));
    QCOMPARE(sliced.original->calls.size(), static_cast<std::size_t>(8 / heads));
    for (const AttentionCall& call : sliced.original->calls) {
      QVERIFY(!call.enable_gqa);
      QCOMPARE(call.kv_heads(), call.heads());
      QCOMPARE(static_cast<int>(call.query.rank), 4);
      if (call.heads() > 1) QCOMPARE(call.key.step(-3), std::int64_t{0});
    }
    const Distance far = distance(elements_of(tensors.output.view()), reference_attention(tensors.call));
    QVERIFY2(far.relative_l1 < 2.5e-3, std::to_string(far.relative_l1).c_str());
  }
}

void DynamicTest::no_slice_copies_its_operands() {
  Tensors tensors({2, 4, 30, 16}, {2, 4, 50, 16});
  tensors.mask = HostTensor({2, 1, 30, 50}, DType::float32);
  tensors.call.attn_mask = tensors.mask.view();
  const double slice = gibibytes(1, 1, 10, 50, 4);
  const Sliced sliced = make(slice, slice);
  QVERIFY(sliced.kernel->run(tensors.call, nullptr).failure.empty());
  QCOMPARE(sliced.original->calls.size(), std::size_t{24});
  const auto inside = [](const TensorView& view, HostTensor& owner) {
    const auto* at = static_cast<const std::byte*>(view.data);
    return at >= owner.memory().data() && at < owner.memory().data() + owner.memory().size();
  };
  for (const AttentionCall& call : sliced.original->calls) {
    QVERIFY(inside(call.query, tensors.query) && inside(call.key, tensors.key) && inside(call.value, tensors.value));
    QVERIFY(inside(call.output, tensors.output) && inside(*call.attn_mask, tensors.mask));
  }
}

void DynamicTest::the_rates_are_read_on_every_call() {
  auto slice = std::make_shared<std::atomic<double>>(1.0);
  auto trigger = std::make_shared<std::atomic<double>>(1.0);
  const Sliced sliced = make(7.0, 7.0, {}, [&](std::string_view key) -> std::shared_ptr<const std::atomic<double>> {
    return key == "dynamic_attention_slice_rate" ? slice : trigger;
  });
  Tensors tensors({1, 4, 32, 16}, {1, 4, 32, 16});
  QVERIFY(sliced.kernel->run(tensors.call, nullptr).failure.empty());
  QCOMPARE(sliced.original->calls.size(), std::size_t{1});
  trigger->store(gibibytes(1, 4, 32, 32, 4));  // exactly the trigger splits
  slice->store(gibibytes(1, 2, 32, 32, 4));
  QVERIFY(sliced.kernel->run(tensors.call, nullptr).failure.empty());
  QCOMPARE(sliced.original->calls.size(), std::size_t{3});
}

void DynamicTest::the_forecast_is_that_of_one_slice() {
  AttentionCall call;
  call.query = call.key = call.value = TensorView::contiguous({2, 24, 4096, 128}, DType::bfloat16);
  const Sliced sliced = make(0.5, 1.0, {{"sdp_options", OptionList{"Math"}}});
  const KernelForecast forecast = sliced.kernel->forecast(call, nullptr);
  QCOMPARE(q(forecast.would_run.backend), q("dynamic"));
  QCOMPARE(q(forecast.would_run.variant), q("sliced math"));
  QCOMPARE(forecast.memory_bytes, std::int64_t{12} * 4096 * 4096 * 4);
  QCOMPARE(q(forecast.choices.front().check), q("slices"));
  QCOMPARE(q(forecast.choices.front().reason), q("cut into slices of 1 batch, 12 heads, 4096 query tokens"));

  call.query = call.key = call.value = TensorView::contiguous({1, 1, 32749, 128}, DType::bfloat16);  // a prime length
  const KernelForecast slow = make(0.01, 0.01).kernel->forecast(call, nullptr);
  QVERIFY(!slow.warnings.empty() && slow.warnings.back().find("single query row") != std::string::npos);
}

void DynamicTest::a_failure_of_the_original_is_passed_on() {
  Tensors tensors({1, 4, 32, 16}, {1, 4, 32, 16});
  for (const double rate : {1.0, 1e-7}) {
    const Sliced sliced = make(rate, rate, {{"sdp_options", OptionList{}}});
    const KernelResult result = sliced.kernel->run(tensors.call, nullptr);
    QCOMPARE(q(result.backend), q("dynamic"));
    QCOMPARE(q(result.failure), q("no sdpa kernel is enabled: tick Flash, Memory or Math in sdp_options"));
    QCOMPARE(q(sliced.kernel->route(tensors.call, nullptr).failure), q(result.failure));
  }
}

}  // namespace attn::test

QTEST_GUILESS_MAIN(attn::test::DynamicTest)
#include "dynamic_test.moc"
