// SPDX-License-Identifier: GPL-3.0-or-later
// A declared flag shows nothing: what tiny calls show of kernels that are wrong in the ways people reported.
#include "core/router/conformance.h"

#include "core/router/router.h"
#include "core/tensor/host_buffer.h"
#include "support/faulty_kernels.h"
#include "support/kernels.h"

#include <QtTest>

using namespace attn;
using test::AlignsBottomRight;
using test::AssumesContiguity;
using test::IgnoresCausal;
using test::IgnoresMasks;
using test::ReferenceKernel;
using test::ZeroesLaterBatches;

class ConformanceTest : public QObject {
  Q_OBJECT
 private slots:
  void aRightKernelKeepsWhatItDeclares();
  void ignoredMasksBarMaskedCalls();
  void layoutDependenceDemandsContiguousTensors();
  void wrongLaterBatchElementsBarTheKernel();
  void bottomRightCausalDeclinesUnequalLengths();
  void ignoredCausalDeclinesCausalCalls();
  void aMaskedCallIsServedAgainByTheNextEntryWithTheRightAnswer();
};

void ConformanceTest::aRightKernelKeepsWhatItDeclares() {
  const Constraints declared{.allow_cpu = true, .max_head_dim = 128};
  const Conformance found = probe_conformance(ReferenceKernel("stub"), declared);
  QCOMPARE(found.constraints, declared);
  QVERIFY(found.note.empty() && found.barred.empty());
}

void ConformanceTest::ignoredMasksBarMaskedCalls() {
  const Conformance found = probe_conformance(IgnoresMasks(), {});
  QVERIFY(!found.constraints.allow_mask);
  QCOMPARE(found.note, std::string("mask ignored: output equals unmasked: barred for masked calls"));
}

void ConformanceTest::layoutDependenceDemandsContiguousTensors() {
  const Conformance found = probe_conformance(AssumesContiguity(), {});
  QVERIFY(found.constraints.require_contiguous);
  QVERIFY(found.note.starts_with("layout-dependent result"));
  AttentionCall call = test::plain_call({1, 16, 62, 128}, {1, 16, 62, 128});
  QVERIFY(accepts(found.constraints, call));
  call.value.stride = {62 * 2048, 128, 2048, 1, 0};
  QVERIFY(!accepts(found.constraints, call));
  QCOMPARE(explain(found.constraints, call).back().reason,
           std::string("layout-dependent result, tensors are contiguous, contiguous, transposed"));
}

void ConformanceTest::wrongLaterBatchElementsBarTheKernel() {
  QCOMPARE(probe_conformance(ZeroesLaterBatches(), {}).barred, std::string("batch element 1 wrong"));
}

void ConformanceTest::bottomRightCausalDeclinesUnequalLengths() {
  const Conformance found = probe_conformance(AlignsBottomRight(), {});
  QVERIFY(!found.constraints.causal_top_left);
  AttentionCall call = test::plain_call({1, 2, 2, 64}, {1, 2, 5, 64});
  call.is_causal = true;
  QVERIFY(!accepts(found.constraints, call));
  call = test::plain_call({1, 2, 5, 64}, {1, 2, 5, 64});
  call.is_causal = true;
  QVERIFY(accepts(found.constraints, call));
}

void ConformanceTest::ignoredCausalDeclinesCausalCalls() {
  const Conformance found = probe_conformance(IgnoresCausal(), {});
  QVERIFY(!found.constraints.allow_causal);
}

void ConformanceTest::aMaskedCallIsServedAgainByTheNextEntryWithTheRightAnswer() {
  Registry registry;
  registry.set_original(test::reference_original());
  BackendSpec spec = test::reference_spec("stub", "stub", 5);
  spec.constraints.allow_cpu = true;
  spec.prepare = [](const PrepareContext&) -> Expected<PreparedBackend> {
    return PreparedBackend{std::make_shared<IgnoresMasks>(), std::nullopt, {}};
  };
  QVERIFY(registry.add(std::move(spec)));
  PlanRequest request;
  request.labels = {"stub"};
  request.target = test::target_of("cuda");
  const auto plan = Plan::build(registry, std::move(request));
  QCOMPARE(plan->log().size(), std::size_t{1});
  QCOMPARE(plan->reports().front().reason,
           std::string("mask ignored: output equals unmasked: barred for masked calls"));

  // Oracle O3: batch element 0 keeps keys 0-3, element 1 keys 4-7, v_j = j.
  HostTensor q({2, 1, 1, 1}, DType::float32), k({2, 1, 8, 1}, DType::float32), v({2, 1, 8, 1}, DType::float32);
  HostTensor out({2, 1, 1, 1}, DType::float32), mask({2, 1, 1, 8}, DType::boolean);
  for (int j = 0; j < 8; ++j) {
    v.as<float>()[j] = v.as<float>()[8 + j] = static_cast<float>(j);
    mask.as<std::uint8_t>()[j] = j < 4;
    mask.as<std::uint8_t>()[8 + j] = j >= 4;
  }
  AttentionCall call;
  call.query = q.view(), call.key = k.view(), call.value = v.view(), call.output = out.view();
  Router router(plan, nullptr);
  QCOMPARE(router(call).selected, std::string_view("stub"));
  call.attn_mask = mask.view();
  QCOMPARE(router(call).selected, std::string_view("sdpa"));
  QCOMPARE(out.as<float>()[0], 1.5F);
  QCOMPARE(out.as<float>()[1], 5.5F);
}

QTEST_GUILESS_MAIN(ConformanceTest)
#include "conformance_test.moc"
