// SPDX-License-Identifier: GPL-3.0-or-later
// attnctl selftest, and what attnctl says of this machine's GPUs, with and without one.
#include "backends/cuda/runtime/discovery.h"
#include "support/attnctl.h"
#include "support/oracle.h"

#include <QtTest>

using attn::cuda::CudaState;
using attn::cuda::this_machine;
using attn::test::Answer;
using attn::test::run_attnctl;
using nlohmann::json;

class SelftestCliTest : public QObject {
  Q_OBJECT
 private slots:
  void without_a_gpu_it_fails_with_the_machines_sentence() {
    if (this_machine().state == CudaState::ready) QSKIP("this machine has a GPU");
    const Answer answer = run_attnctl({"selftest", "--device", "cuda"});
    QCOMPARE(answer.code, 1);
    QVERIFY(answer.out.isEmpty());
    QCOMPARE(answer.err.trimmed(), "attnctl: " + QString::fromStdString(this_machine().sentence));
  }

  void a_device_that_does_not_exist_is_wrong_input() {
    const Answer answer = run_attnctl({"selftest", "--device", "tpu"});
    QCOMPARE(answer.code, 2);
    QVERIFY(answer.err.contains("there is no device \"tpu\" to test; there are cuda, cuda:1 and host"));
  }

  void on_the_host_every_kernel_is_right_or_says_why_it_does_not_take_a_call() {
    const Answer answer = run_attnctl({"selftest", "--device", "host", "--json"});
    QVERIFY2(answer.code == 0, qPrintable(answer.out + answer.err));
    const json got = answer.parsed();
    QVERIFY(got["passed"].get<bool>());
    QCOMPARE(got["times"].size(), std::size_t{0});
    QCOMPARE(got["checks"].size(), std::size_t{30 * 3 + 2});
    int ok = 0;
    for (const json& row : got["checks"]) {
      if (row["state"] != "ok") continue;
      ++ok;
      QVERIFY(row["error"].get<double>() <= row["bound"].get<double>());
    }
    QVERIFY2(ok >= 60, qPrintable(QString::number(ok)));
  }

  void targets_say_what_was_found_of_driver_and_gpus() {
    const Answer text = run_attnctl({"targets"});
    QCOMPARE(text.code, 0);
    QVERIFY(text.out.contains("CUDA: " + QString::fromStdString(this_machine().sentence)));
    const json got = run_attnctl({"targets", "--json"}).parsed();
    QCOMPARE(got["cuda"]["sentence"], json(this_machine().sentence));
    QCOMPARE(got["cuda"]["state"], json(std::string(name_of(this_machine().state))));
    QVERIFY(got["cuda"]["cudnn"]["version"].is_string() != got["cuda"]["cudnn"]["reason"].is_string());
    int emulated = 0;
    for (const json& target : got["targets"]) {
      QCOMPARE(target["absence"].is_string(), target["platform"] == "cuda" && target["state"] == "emulated");
      if (target["absence"].is_string()) ++emulated;
    }
    QVERIFY(emulated > 10);
  }

  void explain_says_why_an_nvidia_card_is_emulated() {
    const QStringList call{"explain", "q[1,24,4608,128]", "--target", "h100"};
    const QString sentence = "emulated on this host: ";
    const json got = run_attnctl(call + QStringList{"--json"}).parsed();
    const QString emulation = QString::fromStdString(got["emulation"].get<std::string>());
    QVERIFY2(emulation.startsWith(sentence) && emulation.contains(QString::fromStdString(this_machine().sentence)),
             qPrintable(emulation));
    QVERIFY(run_attnctl(call).out.contains("target     h100, " + emulation));
    const json on_cpu = run_attnctl({"explain", "q[1,24,4608,128]", "--target", "cpu", "--json"}).parsed();
    QVERIFY(on_cpu["emulation"].is_null());
  }
};

QTEST_GUILESS_MAIN(SelftestCliTest)
#include "selftest_cli_test.moc"
