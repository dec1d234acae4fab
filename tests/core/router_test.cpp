// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/router/router.h"

#include "core/tensor/host_buffer.h"
#include "support/kernels.h"

#include <QtTest>
#include <atomic>
#include <cstdlib>
#include <new>

using namespace attn;

namespace {
std::atomic<std::int64_t> g_allocations{0};  // counts what the program's operator new hands out
}  // namespace

void* operator new(std::size_t bytes) {
  g_allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

class Counting final : public RouteObserver {
 public:
  void observe(const RouteRecord& record) noexcept override {
    ++calls;
    selected = record.selected;
    executed = record.executed;
    requested = record.requested;
    stage_reason = record.stage_reason;
    computed = record.computed;
    span = record.end_ns - record.begin_ns;
    begin = record.begin_ns;
  }
  int calls = 0;
  std::string_view selected, executed, requested, stage_reason;
  bool computed = false;
  std::int64_t span = 0, begin = 0;
};

/// Accepts, then says that it cannot.
class Refusing final : public test::ReferenceKernel {
 public:
  using ReferenceKernel::ReferenceKernel;
  KernelResult run(const AttentionCall&, const BlockSelection*) const override {
    ++runs;
    return {backend_, variant_, "no kernel image for this device"};
  }
  KernelResult route(const AttentionCall&, const BlockSelection*) const noexcept override {
    return {backend_, variant_, "no kernel image for this device"};
  }
};

/// Answers what it was told to.
class ScriptedStage final : public SelectionStage {
 public:
  double budget_at(std::int32_t, std::int32_t) const noexcept override { return 0.3; }
  StageDecision decide(const AttentionCall&, const GenerationContext&, Capabilities, const AttentionKernel*) override {
    return answer;
  }
  StageDecision answer;
};

Registry chain_registry(int entries) {
  static constexpr std::string_view kNames[] = {"a", "b", "c", "d", "e", "f"};
  Registry registry;
  registry.set_original(test::reference_original());
  for (int i = 0; i < entries; ++i) {
    BackendSpec spec = test::reference_spec(kNames[i], std::string(kNames[i]), 10 - i);
    if (i + 1 < entries) spec.constraints.max_head_dim = 64;
    (void)registry.add(std::move(spec));
  }
  return registry;
}

std::shared_ptr<const Plan> plan_of(const Registry& registry) {
  PlanRequest request;
  request.labels = registry.labels();
  request.target = test::target_of("cuda");
  return Plan::build(registry, std::move(request));
}

}  // namespace

class RouterTest : public QObject {
  Q_OBJECT
 private slots:
  void theCleanPathDoesNotAllocate();
  void anObservedCallDoesNotAllocateInTheRouter();
  void timingReadsTheClockOnlyForComputedCallsThatSomebodyObserves();
  void aKernelThatFailsLeavesTheCallToTheNext();
  void executedIsTheKernelsOwnWord();
  void nobodyToServeIsSaidInWords();
  void rankTwoAndFiveCallsAreRouted();
  void anObserverLearnsWhyTheStageLeftACallDense();
};

void RouterTest::theCleanPathDoesNotAllocate() {
  const Registry registry = chain_registry(6);
  Router router(plan_of(registry), nullptr);
  const AttentionCall call = test::plain_call({1, 24, 4608, 128}, {1, 24, 4608, 128});
  const std::int64_t before = g_allocations.load();
  std::size_t named = 0;
  for (int i = 0; i < 1000; ++i) named += router(call).selected.size();
  QCOMPARE(g_allocations.load() - before, std::int64_t{0});
  QCOMPARE(named, std::size_t{1000});
  QVERIFY(g_allocations.load() > 0);
}

void RouterTest::anObservedCallDoesNotAllocateInTheRouter() {
  const Registry registry = chain_registry(3);
  Counting observer;
  GenerationContext context;
  Router router(plan_of(registry), &context, &observer, nullptr, true);
  const AttentionCall call = test::plain_call({1, 24, 4608, 128}, {1, 24, 4608, 128});
  const std::int64_t before = g_allocations.load();
  for (int i = 0; i < 1000; ++i) (void)router(call);
  QCOMPARE(g_allocations.load() - before, std::int64_t{0});
  QCOMPARE(observer.calls, 1000);
}

void RouterTest::timingReadsTheClockOnlyForComputedCallsThatSomebodyObserves() {
  const Registry registry = chain_registry(1);
  Counting observer;
  GenerationContext context;
  Router router(plan_of(registry), &context, &observer, nullptr, true);
  AttentionCall call = test::plain_call({1, 2, 8, 16}, {1, 2, 8, 16});
  (void)router(call);
  QVERIFY(!observer.computed);
  QCOMPARE(observer.begin, std::int64_t{0});
  HostTensor q({1, 2, 8, 16}, DType::float32), k({1, 2, 8, 16}, DType::float32), out({1, 2, 8, 16}, DType::float32);
  call.query = q.view();
  call.key = call.value = k.view();
  call.output = out.view();
  (void)router(call);
  QVERIFY(observer.computed);
  QVERIFY(observer.begin > 0 && observer.span > 0);
  router.set_timing(false);
  (void)router(call);
  QCOMPARE(observer.begin, std::int64_t{0});
}

void RouterTest::aKernelThatFailsLeavesTheCallToTheNext() {
  Registry registry = chain_registry(1);
  BackendSpec spec = test::reference_spec("broken", "broken", 99);
  spec.prepare = [](const PrepareContext&) -> Expected<PreparedBackend> {
    return PreparedBackend{std::make_shared<Refusing>("broken"), std::nullopt, {}};
  };
  QVERIFY(registry.add(std::move(spec)));
  Counting observer;
  GenerationContext context;
  Router router(plan_of(registry), &context, &observer);
  const Route route = router(test::plain_call({1, 2, 8, 16}, {1, 2, 8, 16}));
  QCOMPARE(route.selected, std::string_view("a"));
  QVERIFY(route.failure.empty());
  QCOMPARE(observer.calls, 1);
  QCOMPARE(observer.requested, std::string_view("broken"));
  QCOMPARE(observer.executed, std::string_view("a"));
}

void RouterTest::executedIsTheKernelsOwnWord() {
  // A backend that answers through another's kernel: selected says who accepted, executed who computed.
  Registry registry;
  registry.set_original(test::reference_original());
  BackendSpec spec = test::reference_spec("front", "front", 1);
  spec.prepare = [](const PrepareContext& context) -> Expected<PreparedBackend> {
    return PreparedBackend{context.original, std::nullopt, {}};
  };
  QVERIFY(registry.add(std::move(spec)));
  Router router(plan_of(registry), nullptr);
  const Route route = router(test::plain_call({1, 2, 8, 16}, {1, 2, 8, 16}));
  QCOMPARE(route.selected, std::string_view("front"));
  QCOMPARE(route.executed, std::string_view("sdpa"));
}

void RouterTest::nobodyToServeIsSaidInWords() {
  Registry registry;
  BackendSpec original;
  original.name = "sdpa";
  registry.set_original(original);
  Router router(plan_of(registry), nullptr);
  QCOMPARE(router(test::plain_call({1, 2, 8, 16}, {1, 2, 8, 16})).failure,
           std::string_view("no kernel is there to serve the call"));
}

void RouterTest::rankTwoAndFiveCallsAreRouted() {
  const Registry registry = chain_registry(2);
  Router router(plan_of(registry), nullptr);
  QCOMPARE(router(test::plain_call({8, 128}, {8, 128})).selected, std::string_view("b"));
  QCOMPARE(router(test::plain_call({2, 1, 4, 8, 64}, {2, 1, 4, 8, 64})).selected, std::string_view("a"));
}

void RouterTest::anObserverLearnsWhyTheStageLeftACallDense() {
  Registry registry;
  registry.set_original(test::reference_original());
  BackendSpec spec = test::reference_spec("capable", "capable", 9);
  spec.capabilities.block_mask = true;
  spec.constraints.max_head_dim = 64;
  (void)registry.add(std::move(spec));
  Counting observer;
  GenerationContext context;
  ScriptedStage stage;
  Router router(plan_of(registry), &context, &observer, &stage);
  const AttentionCall call = test::plain_call({1, 2, 8, 16}, {1, 2, 8, 16});
  stage.answer = {nullptr, "below the minimum sequence", 0.0};
  const std::int64_t before = g_allocations.load();
  (void)router(call);
  QCOMPARE(g_allocations.load() - before, std::int64_t{0});
  QCOMPARE(observer.stage_reason, std::string_view("below the minimum sequence"));
  stage.answer = {};
  (void)router(call);
  QCOMPARE(observer.stage_reason, std::string_view("the selection covered everything"));
  const BlockSelection selection;
  stage.answer = {&selection, {}, 0.3};
  (void)router(call);
  QCOMPARE(observer.stage_reason, std::string_view());
  // Nobody asks the stage about a call that a kernel without block masks serves.
  stage.answer = {nullptr, "masked", 0.0};
  (void)router(test::plain_call({1, 2, 8, 128}, {1, 2, 8, 128}));
  QCOMPARE(observer.selected, std::string_view("sdpa"));
  QCOMPARE(observer.stage_reason, std::string_view());
}

QTEST_GUILESS_MAIN(RouterTest)
#include "router_test.moc"
