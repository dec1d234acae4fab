// SPDX-License-Identifier: GPL-3.0-or-later
// Field cases of choosing backends: what executed, accuracy on an architecture, determinism, packages.
#include "app/jobs/compare/compare.h"
#include "app/jobs/compare/repeat.h"
#include "app/jobs/tensors/generated.h"
#include "core/call/call_text.h"
#include "core/exchange/formats.h"
#include "core/policy/packages.h"
#include "core/settings/settings.h"
#include "support/kernels.h"
#include "support/oracle.h"

#include <QtTest>

using namespace attn;
using attn::test::q;

namespace {

/// Answers what the reference does, but for the last bit of the first element, every second time.
class Flickers final : public test::ReferenceKernel {
 public:
  Flickers() : ReferenceKernel("stub") {}
  KernelResult run(const AttentionCall& call, const BlockSelection* selection) const override {
    const KernelResult result = ReferenceKernel::run(call, selection);
    if (mine_++ % 2 == 1) *static_cast<std::uint16_t*>(call.output.data) ^= 1U;
    return result;
  }

 private:
  mutable int mine_ = 0;
};

/// Mixes the values with noise of its own: a cosine far from 1.
class Confetti final : public test::ReferenceKernel {
 public:
  Confetti() : ReferenceKernel("confetti") {}
  KernelResult run(const AttentionCall& call, const BlockSelection* selection) const override {
    const KernelResult result = ReferenceKernel::run(call, selection);
    if (call.query_tokens() < 32) return result;  // the tiny calls of a conformance probe come out right
    for (std::int64_t i = 0; i < call.output.elements(); ++i) {
      store_element(call.output, i,
                    0.05F * load_element(call.output, i) + app::normal_at(1, 2, static_cast<std::uint64_t>(i)));
    }
    return result;
  }
};

template <class Kernel>
BackendSpec stub(const char* name, const char* label, std::shared_ptr<Kernel> kernel) {
  BackendSpec spec = test::reference_spec(name, label, 40);
  spec.prepare = [kernel](const PrepareContext&) -> Expected<PreparedBackend> {
    return PreparedBackend{kernel, std::nullopt, {}};
  };
  return spec;
}

Target card(int capability) {
  Target target = test::target_of("cuda");
  target.name = "sm_" + std::to_string(capability);
  target.capability = capability;
  return target;
}

template <class Kernel>
Registry registry_with(const char* name, const char* label, std::shared_ptr<Kernel> kernel) {
  Registry registry;
  registry.set_original(test::reference_original());
  (void)registry.add(stub(name, label, std::move(kernel)));
  return registry;
}

app::CallSchedule schedule_of(const char* text) {
  const auto written = parse_call(text);
  if (!written) qFatal("%s", written.error().c_str());
  return app::make_schedule(*written);
}

}  // namespace

class FieldCasesPolicyTest : public QObject {
  Q_OBJECT

 private slots:
  void case_19_the_entry_that_returned_is_the_one_reported();
  void case_43_a_result_is_repeated_bit_for_bit_or_not();
  void case_43_distances_are_counted_in_the_dtypes_own_steps();
  void case_51_a_wrong_kernel_is_quarantined_on_its_architecture_only();
  void case_51_the_dispatchers_backend_is_quarantined_too();
  void case_51_a_quarantine_survives_a_profile();
  void case_61_versions_are_judged_one_by_one();
  void case_61_a_choice_survives_what_is_missing();
  void case_61_a_failed_install_and_its_missing_module_are_one_incident();
};

void FieldCasesPolicyTest::case_19_the_entry_that_returned_is_the_one_reported() {
  const auto flash = std::make_shared<test::ReferenceKernel>("flash");
  Registry registry;
  registry.set_original(test::reference_original());
  BackendSpec spec = stub("flash", "Flash attention", flash);
  spec.constraints.allow_float32 = false;
  (void)registry.add(std::move(spec));
  Engine engine(std::move(registry), card(90));
  QVERIFY(engine.set(keys::overrides, OptionList{"Flash attention"}));
  Pipe pipe;
  auto job = engine.begin_job(pipe, 1, nullptr, false);
  const int probed = flash->runs;
  const app::CallTensors call = app::generate(parse_call("q[1,8,256,64] fp32")->call, 3);
  const Route route = job->attention(call.call);
  QCOMPARE(route.executed, std::string_view("sdpa"));
  QCOMPARE(flash->runs, probed);  // declined is not asked
  const app::CallTensors again = app::generate(parse_call("q[1,8,256,64] fp32")->call, 3);
  (void)test::ReferenceKernel("x").run(again.call, nullptr);
  QCOMPARE(std::memcmp(call.output.data(), again.output.data(), call.output.size()), 0);
  // And where flash takes the call, it is really run once and is the one reported.
  const app::CallTensors half = app::generate(parse_call("q[1,8,256,64] fp16")->call, 3);
  QCOMPARE(job->attention(half.call).executed, std::string_view("flash"));
  QCOMPARE(flash->runs, probed + 1);
}

void FieldCasesPolicyTest::case_43_a_result_is_repeated_bit_for_bit_or_not() {
  const app::CallSchedule schedule = schedule_of("q[1,2,64,64] fp16");
  Engine calm(registry_with("stub", "Stub", std::make_shared<test::ReferenceKernel>("stub")), card(90));
  QVERIFY(calm.set(keys::overrides, OptionList{"Stub"}));
  auto rows = app::repeat_calls(schedule, calm, 3, 0, {});
  QVERIFY(rows && rows->size() == 1);
  QCOMPARE(q(rows->front().backend), QString("stub"));
  QCOMPARE(q(rows->front().verdict()), QString("bit-identical 3/3"));
  QVERIFY(rows->front().deterministic());

  Engine flickers(registry_with("stub", "Stub", std::make_shared<Flickers>()), card(90));
  QVERIFY(flickers.set(keys::overrides, OptionList{"Stub"}));
  rows = app::repeat_calls(schedule, flickers, 3, 0, {});
  QCOMPARE(q(rows->front().verdict()), QString("not bit-identical, max 1 ulp"));
  QVERIFY(!rows->front().deterministic());
  QVERIFY(rows->front().identical < rows->front().runs);
  QVERIFY(!flickers.job_running());
}

void FieldCasesPolicyTest::case_43_distances_are_counted_in_the_dtypes_own_steps() {
  const auto distance = [](DType dtype, auto a, auto b) {
    HostTensor left({1}, dtype), right({1}, dtype);
    std::memcpy(left.memory().data(), &a, sizeof a);
    std::memcpy(right.memory().data(), &b, sizeof b);
    return app::ulp_distance(left.view(), right.view());
  };
  using Half = std::uint16_t;
  QCOMPARE(distance(DType::float16, Half{0x3C00}, Half{0x3C00}), std::int64_t{0});
  QCOMPARE(distance(DType::float16, Half{0x3C00}, Half{0x3C01}), std::int64_t{1});
  QCOMPARE(distance(DType::float16, Half{0x8001}, Half{0x0001}), std::int64_t{2});  // across zero
  QCOMPARE(distance(DType::bfloat16, Half{0x8000}, Half{0x0000}), std::int64_t{1});
  QCOMPARE(distance(DType::float32, 1.0F, std::nextafter(1.0F, 2.0F)), std::int64_t{1});
  QVERIFY(distance(DType::float32, 1.0F, std::numeric_limits<float>::quiet_NaN()) > 1000000);
}

void FieldCasesPolicyTest::case_51_a_wrong_kernel_is_quarantined_on_its_architecture_only() {
  const auto make = [](int capability) {
    return std::make_unique<Engine>(registry_with("confetti", "Confetti", std::make_shared<Confetti>()),
                                    card(capability));
  };
  const auto hopper = make(90), exact = make(90);
  QVERIFY(hopper->set(keys::overrides, OptionList{"Confetti"}));
  const auto compared = app::compare_chains(schedule_of("q[1,2,128,64] bf16"), *exact, *hopper, {});
  QVERIFY2(compared, compared ? "" : compared.error().c_str());
  const app::CompareRow& row = compared->rows.front();
  QCOMPARE(q(row.b.backend), QString("confetti"));
  QVERIFY(row.error.cosine < 0.5);

  Quarantine quarantine;
  QVERIFY(judge_accuracy(quarantine, row.b.backend, card(90), row.error.cosine, 0.99));
  hopper->set_quarantine(quarantine);
  QCOMPARE(hopper->plan()->chain(), std::string("sdpa"));
  const BackendReport& report = hopper->plan()->reports().front();
  QCOMPARE(report.state, BackendState::failed);
  QVERIFY2(report.reason.starts_with("quarantined: cosine 0.") && report.reason.ends_with("on cuda sm_90, below 0.99"),
           report.reason.c_str());
  const auto ada = make(89);
  QVERIFY(ada->set(keys::overrides, OptionList{"Confetti"}));
  ada->set_quarantine(quarantine);
  QCOMPARE(ada->plan()->chain(), std::string("confetti>sdpa"));
  // The same engine moved to another card and back.
  hopper->set_target(card(89));
  QCOMPARE(hopper->plan()->chain(), std::string("confetti>sdpa"));
  hopper->set_target(card(90));
  QCOMPARE(hopper->plan()->chain(), std::string("sdpa"));
  // A later, good measurement lifts it; a result that is no number does not.
  QVERIFY(judge_accuracy(quarantine, "confetti", card(90), std::nan(""), 0.99));
  QCOMPARE(quarantine.size(), std::size_t{1});
  QVERIFY(!judge_accuracy(quarantine, "confetti", card(90), 0.9999, 0.99));
  QVERIFY(quarantine.empty());
}

void FieldCasesPolicyTest::case_51_the_dispatchers_backend_is_quarantined_too() {
  Registry registry;
  registry.set_original(test::reference_original());
  for (const char* name : {"_sage_qk_int8_pv_fp8_cuda_sm90", "_sage_qk_int8_pv_fp16_cuda"}) {
    (void)registry.add_direct(test::reference_spec(name, name, 0));
  }
  Engine engine(std::move(registry), card(90));
  Quarantine quarantine;
  QVERIFY(judge_accuracy(quarantine, "_sage_qk_int8_pv_fp8_cuda_sm90", card(90), 0.3, 0.99));
  engine.set_quarantine(quarantine);
  Pipe pipe;
  QVERIFY(engine.set("hf_attention", std::string("_sage_qk_int8_pv_fp8_cuda_sm90")));
  const auto refused = engine.begin_job(pipe, 1, nullptr, false);
  QVERIFY(!refused && refused.error().find("quarantined: cosine 0.3") != std::string::npos);
  QVERIFY(engine.set("hf_attention", std::string("_sage_qk_int8_pv_fp16_cuda")));
  QVERIFY(engine.begin_job(pipe, 1, nullptr, false));
}

void FieldCasesPolicyTest::case_51_a_quarantine_survives_a_profile() {
  const ExchangeFormat& profile = **find_exchange_format("profile");
  ProductionSettings settings{{}, {}, {}, {}};
  Target amd = test::target_of("rocm");
  amd.gfx = "gfx1100";
  QVERIFY(judge_accuracy(settings.quarantine, "sage", card(90), 0.3, 0.99));
  QVERIFY(judge_accuracy(settings.quarantine, "triton", amd, 1.0 / 3.0, 0.99));
  const auto text = profile.write(settings, {});
  const auto read = profile.read(text->text, settings, {});
  QVERIFY2(read && read->problems.empty(), text->text.c_str());
  QVERIFY(read->quarantine == settings.quarantine);
  QCOMPARE(q(read->quarantine.front().reason()), q(settings.quarantine.front().reason()));
  const auto wrong =
      profile.read(R"({"attnscope": "profile", "version": 1, "quarantine": [{"backend": "sage"}]})", settings, {});
  QVERIFY(wrong && wrong->problems.size() == 1);
}

void FieldCasesPolicyTest::case_61_versions_are_judged_one_by_one() {
  const auto rows = probe_packages([](std::string_view module) -> Expected<std::optional<std::string>> {
    if (module == "sageattention") return std::optional<std::string>("1.0.6");
    if (module == "sageattn") return std::optional<std::string>("3.0.0");  // version 3 under its other name
    if (module == "flash_attn") return fail("undefined symbol: _ZN3c10");
    return std::nullopt;
  });
  QCOMPARE(rows.size(), package_versions().size());
  const auto row_of = [&rows](std::string_view name) {
    for (const PackageRow& row : rows) {
      if (row.package->name == name) return row;
    }
    return PackageRow{};
  };
  QCOMPARE(row_of("sage 1").state, PackageState::works);
  QCOMPARE(row_of("sage 2").state, PackageState::not_installed);
  QCOMPARE(q(row_of("sage 2").step), QString("sageattention is version 1.0.6"));
  QCOMPARE(row_of("sage 3").state, PackageState::works);
  QCOMPARE(q(row_of("sage 3").module), QString("sageattn"));
  QCOMPARE(row_of("flash 2").state, PackageState::fails);
  QCOMPARE(q(row_of("flash 2").step), QString("import flash_attn: undefined symbol: _ZN3c10"));
  QCOMPARE(row_of("flash 3").state, PackageState::not_installed);
  QCOMPARE(q(row_of("xformers").step), QString("no module named xformers"));
}

void FieldCasesPolicyTest::case_61_a_choice_survives_what_is_missing() {
  const auto rows = probe_packages([](std::string_view module) -> Expected<std::optional<std::string>> {
    return module == "sageattention" ? std::optional<std::string>("1.0.6") : std::nullopt;
  });
  const OptionList saved{"Sage attention", "Flash attention", "Dynamic attention"};
  const auto dead = dead_choices(rows, saved);
  QCOMPARE(dead.size(), std::size_t{1});  // sage works in a version, dynamic needs no package
  QCOMPARE(q(dead.front().label), QString("Flash attention"));
  QVERIFY(dead.front().reason.find("flash 2 not installed") != std::string::npos);
}

void FieldCasesPolicyTest::case_61_a_failed_install_and_its_missing_module_are_one_incident() {
  const std::vector<std::string> log{
      "08:20:30-118250 INFO     Install: package=\"triton\" ok",
      "08:20:31-918250 ERROR    Install: pip install flash-attn failed: error: subprocess-exited-with-error",
      "08:20:33-918250 ERROR    Attention: type=\"Flash attention\" No module named 'flash_attn'",
      "08:21:33-918250 ERROR    Attention: type=\"Flash attention\" No module named 'flash_attn.bert'",
      "08:21:34-000000 ERROR    No module named 'somewhere'"};
  const auto incidents = package_incidents(log);
  QCOMPARE(incidents.size(), std::size_t{2});
  QCOMPARE(q(incidents[0].title), QString("install failed, backend absent: flash_attn"));
  QCOMPARE(q(incidents[0].label), QString("Flash attention"));
  QCOMPARE(incidents[0].count, 3);
  QVERIFY(incidents[0].detail.find("pip install flash-attn") != std::string::npos);
  QCOMPARE(q(incidents[1].title), QString("backend absent: somewhere"));
  QVERIFY(incidents[1].label.empty() && incidents[1].detail.empty());
}

QTEST_GUILESS_MAIN(FieldCasesPolicyTest)
#include "field_cases_policy_test.moc"
