// SPDX-License-Identifier: GPL-3.0-or-later
// What the policy knows about packages and about the kernels of a machine.
#include "core/policy/install.h"
#include "core/policy/math_probe.h"
#include "support/oracle.h"

#include <QtTest>

#include <set>
#include <stdexcept>

using namespace attn;
using attn::test::q;

class PolicyProbeTest : public QObject {
  Q_OBJECT

 private slots:
  void every_install_case_data();
  void every_install_case();
  void a_package_is_fetched_once();
  void every_hub_version_data();
  void every_hub_version();
  void credentials_are_not_logged();
  void every_probe_case_data();
  void every_probe_case();
  void a_probe_is_remembered_per_device_type_and_dtype();
  void the_warning_is_one_line();
};

// --- installing --------------------------------------------------------------------------------------------------

void PolicyProbeTest::every_install_case_data() {
  QTest::addColumn<QString>("alias");
  QTest::addColumn<bool>("allowed");
  QTest::addColumn<QString>("present");
  QTest::addColumn<QString>("requirement");
  QTest::addColumn<bool>("refused");
  QTest::newRow("gate off") << "sage" << false << ""
                            << "" << true;
  QTest::newRow("already present") << "sage" << true << "sageattention"
                                   << "" << false;
  QTest::newRow("built in: cudnn") << "cudnn" << true << ""
                                   << "" << false;
  QTest::newRow("built in: native") << "native" << true << ""
                                    << "" << false;
  QTest::newRow("built in: auto") << "auto" << true << ""
                                  << "" << false;
  QTest::newRow("missing sage") << "sage" << true << "kernels"
                                << "sageattention>=2.1.1" << false;
  QTest::newRow("missing flash") << "flash" << true << ""
                                 << "flash-attn>=2.6.3" << false;
  QTest::newRow("missing kernels") << "flash3" << true << ""
                                   << "kernels>=0.12.3" << false;
  QTest::newRow("xformers without a wheel") << "xformers" << true << ""
                                            << "" << true;
}

void PolicyProbeTest::every_install_case() {
  QFETCH(QString, alias);
  QFETCH(bool, allowed);
  QFETCH(QString, present);
  QFETCH(QString, requirement);
  QFETCH(bool, refused);
  PackageFacts facts;
  facts.allowed = allowed;
  if (!present.isEmpty()) facts.present = {present.toStdString()};
  const InstallPlan plan = plan_install(alias.toStdString(), facts);
  QCOMPARE(plan.run.has_value(), !requirement.isEmpty());
  QCOMPARE(plan.refused, refused);
  if (!plan.run) return;
  QCOMPARE(q(plan.run->requirement), requirement);
  QVERIFY(plan.run->wheels_only && !plan.run->with_dependencies);
  QCOMPARE(plan.run->limit.count(), 600);
}

void PolicyProbeTest::a_package_is_fetched_once() {
  int runs = 0;
  PackageInstaller installer([&runs](const InstallRun&) {
    ++runs;
    return false;
  });
  QVERIFY(!installer.ensure("flash4", {.hub_version = "1.9"}));  // a refusal is no attempt
  QCOMPARE(runs, 0);
  for (int i = 0; i < 3; ++i) QVERIFY(!installer.ensure("flash4", {.hub_version = "1.10.0"}));
  QVERIFY(!installer.ensure("flash3", {}));  // the same package
  QCOMPARE(runs, 1);
  PackageInstaller breaks([](const InstallRun&) -> bool { throw std::runtime_error("https://u:p@host/x said no"); });
  std::string reason;
  QVERIFY(!breaks.ensure("sage", {}, &reason));
  QCOMPARE(q(reason), QString("sageattention could not be fetched: https://***@host/x said no"));
}

void PolicyProbeTest::every_hub_version_data() {
  QTest::addColumn<bool>("serves");
  for (const char* old : {"0.36.2", "1.0.0", "1.2.4", "1.3.5", "1.9", "1.9.2"}) QTest::newRow(old) << false;
  for (const char* recent : {"1.10.0", "1.10.0rc0", "1.23.0", "2.0.0", "unknown", ""}) QTest::newRow(recent) << true;
}

void PolicyProbeTest::every_hub_version() {
  QFETCH(bool, serves);
  const std::string version = QTest::currentDataTag();
  QCOMPARE(hub_serves_kernels(version), serves);
  QVERIFY(hub_serves_kernels(std::nullopt));
  const InstallPlan plan = plan_install("flash4", {.hub_version = version});
  QCOMPARE(plan.run.has_value(), serves);
  QCOMPARE(plan.refused, !serves);
}

void PolicyProbeTest::credentials_are_not_logged() {
  PackageFacts facts;
  facts.exact_wheel = "https://user:s3cret@mirror.example/whl/xformers-0.0.33-cp312.whl";
  const InstallPlan plan = plan_install("xformers", facts);
  QCOMPARE(q(plan.run->requirement), q(*facts.exact_wheel));
  QCOMPARE(q(plan.reason), QString("fetching https://***@mirror.example/whl/xformers-0.0.33-cp312.whl"));
  QCOMPARE(q(without_credentials("a http://t@h and https://u:p@w@h2/x@y")),
           QString("a http://***@h and https://***@h2/x@y"));
  QCOMPARE(q(without_credentials("no address, a@b")), QString("no address, a@b"));
}

// --- the probe ---------------------------------------------------------------------------------------------------

void PolicyProbeTest::every_probe_case_data() {
  QTest::addColumn<QStringList>("run");
  QTest::addColumn<bool>("throws");
  QTest::addColumn<int>("math_only");
  const auto row = [](const char* name, QStringList run, bool throws, Support answer) {
    QTest::newRow(name) << std::move(run) << throws << static_cast<int>(answer);
  };
  row("math only", {"math"}, false, Support::supported);
  row("flash with math", {"flash", "math"}, false, Support::not_supported);
  row("memory-efficient with math", {"memory-efficient", "math"}, false, Support::not_supported);
  row("cudnn with math", {"cudnn", "math"}, false, Support::not_supported);
  row("everything", {"flash", "memory-efficient", "cudnn", "math"}, false, Support::not_supported);
  row("fused ones only", {"flash"}, false, Support::not_supported);
  row("nothing", {}, false, Support::unknown);
  row("raising", {}, true, Support::unknown);
  row("math only, the others raising", {"math"}, true, Support::supported);
}

void PolicyProbeTest::every_probe_case() {
  QFETCH(QStringList, run);
  QFETCH(bool, throws);
  QFETCH(int, math_only);
  const KernelProbe probe = probe_kernels(DType::float16, [&](std::string_view kernel, DType) -> Expected<void> {
    if (run.contains(QString::fromUtf8(kernel.data(), static_cast<qsizetype>(kernel.size())))) return {};
    if (throws) throw std::runtime_error("No available kernel");
    return fail("No available kernel");
  });
  QCOMPARE(static_cast<int>(probe.math_only()), math_only);
  QCOMPARE(probe.rows.empty(), run.isEmpty());
  for (const KernelProbe::Row& row : probe.rows) {
    QCOMPARE(q(row.reason), QString(row.runs == Support::supported ? "" : "No available kernel"));
  }
}

void PolicyProbeTest::a_probe_is_remembered_per_device_type_and_dtype() {
  int calls = 0;
  std::set<DType> dtypes;
  bool answers = true;
  const TinyCall call = [&](std::string_view kernel, DType dtype) -> Expected<void> {
    calls += kernel == "math" ? 1 : 0;
    dtypes.insert(dtype);
    return answers && kernel == "math" ? Expected<void>() : fail("no");
  };
  KernelProbes probes;
  for (const char* device : {"cuda", "cuda:0", "cuda:1"}) (void)probes.of(device, DType::bfloat16, call);
  QCOMPARE(calls, 1);
  (void)probes.of("cuda", std::nullopt, call);
  QCOMPARE(calls, 2);
  QVERIFY(dtypes.contains(DType::float16));
  (void)probes.of("cuda", DType::float16, call);
  QCOMPARE(calls, 2);
  (void)probes.of("xpu", DType::float16, call);
  QCOMPARE(calls, 3);
  answers = false;  // an empty answer is not remembered
  QCOMPARE(probes.of("mps", DType::float16, call).math_only(), Support::unknown);
  QCOMPARE(probes.of("mps", DType::float16, call).math_only(), Support::unknown);
  QCOMPARE(calls, 5);
  answers = true;
  QCOMPARE(probes.of("mps", DType::float16, call).math_only(), Support::supported);
}

void PolicyProbeTest::the_warning_is_one_line() {
  const auto probe_of = [](bool fused) {
    return probe_kernels(DType::float16, [fused](std::string_view kernel, DType) -> Expected<void> {
      return fused || kernel == "math" ? Expected<void>() : fail("no");
    });
  };
  const auto warning = math_only_warning(probe_of(false), false, true);
  QVERIFY(warning && warning->level == LogLevel::warning);
  QVERIFY(warning->text.starts_with("diffusion.attention.math_only") && warning->text.find('\n') == std::string::npos);
  QVERIFY(!math_only_warning(probe_of(false), true, true));
  QVERIFY(!math_only_warning(probe_of(false), false, false));
  QVERIFY(!math_only_warning(probe_of(true), false, true));
  QVERIFY(!math_only_warning({}, false, true));
  QCOMPARE(math_score_bytes(1, 24, 27280, 27280), std::int64_t{71443046400});
}

QTEST_GUILESS_MAIN(PolicyProbeTest)
#include "policy_probe_test.moc"
