// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/selftest/pipeline_check.h"

#include <QtTest>

using namespace attn;

class PipelineCheckTest : public QObject {
  Q_OBJECT
 private slots:
  void a_target_that_is_emulated_draws_its_host_result() {
    Target target;
    target.name = target.label = "a card";
    target.platform = "cuda";
    target.capability = 90;
    const auto check = app::check_pipeline(target, {"SDNQ attention", "Flash attention"}, DType::bfloat16, 2);
    QVERIFY2(check.has_value(), check ? "" : check.error().c_str());
    QCOMPARE(check->distance.largest, 0);
    QVERIFY(check->calls > 10);
    QCOMPARE(check->fell_back, std::int64_t{0});
    QVERIFY(check->seconds > 0.0);
  }

  void a_target_nobody_can_draw_for_says_why() {
    Target target;
    target.platform = "cuda";
    const auto check = app::check_pipeline(target, {}, DType::int8, 2);
    QVERIFY(!check.has_value());
    QVERIFY(!check.error().empty());
  }
};

QTEST_GUILESS_MAIN(PipelineCheckTest)
#include "pipeline_check_test.moc"
