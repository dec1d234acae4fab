// SPDX-License-Identifier: GPL-3.0-or-later
// attention_backend on the command line: what a request becomes, what serves then, and what never falls back.
#include "support/attnctl.h"
#include "support/oracle.h"
#include "support/tensors_file.h"

#include <QTemporaryDir>
#include <QtTest>
#include <random>

using attn::test::Answer;
using attn::test::run_attnctl;
using nlohmann::json;

namespace {

const QString kCard = "platform=rocm,gfx=gfx1200,memory=15.92GiB";

}  // namespace

class CliPolicyTest : public QObject {
  Q_OBJECT
 private slots:
  void a_request_is_decided_data() {
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<QString>("backend");
    QTest::addColumn<QString>("state");
    QTest::newRow("auto, no speed") << QStringList{"auto", "--target", "rtx-4090"} << ""
                                    << "default";
    QTest::newRow("auto, speed") << QStringList{"auto", "--target", "rtx-4090", "--speed", "on"} << "_native_cudnn"
                                 << "engaged";
    QTest::newRow("auto, speed, old") << QStringList{"auto", "--target", "t4", "--speed", "on"} << ""
                                      << "default";
    QTest::newRow("CuDNN") << QStringList{"CuDNN", "--target", "rtx-4090"} << "_native_cudnn"
                           << "engaged";
    QTest::newRow("flash3 below") << QStringList{"flash3", "--target", "rtx-4090"} << ""
                                  << "rejected";
    QTest::newRow("flash3 above") << QStringList{"flash3", "--target", "b200"} << ""
                                  << "rejected";
    QTest::newRow("flash4, unknown") << QStringList{"flash4", "--target", "h100", "--capability", "unknown"}
                                     << "flash_4_hub"
                                     << "unverified";
    QTest::newRow("sm=unknown") << QStringList{"flash4", "--target", "platform=cuda,sm=unknown"} << "flash_4_hub"
                                << "unverified";
    QTest::newRow("capability 9.0") << QStringList{"flash3", "--target", "t4", "--capability", "9.0"} << "_flash_3_hub"
                                    << "engaged";
    QTest::newRow("aiter") << QStringList{"aiter", "--target", "mi300x"} << "aiter"
                           << "engaged";
    QTest::newRow("sage on a processor") << QStringList{"sage"} << ""
                                         << "rejected";
    QTest::newRow("native") << QStringList{"native", "--target", "h100", "--speed", "on"} << ""
                            << "default";
  }

  void a_request_is_decided() {
    QFETCH(QStringList, arguments);
    QFETCH(QString, backend);
    QFETCH(QString, state);
    const Answer answer = run_attnctl(QStringList{"policy", "--json"} + arguments);
    QCOMPARE(answer.code, 0);
    const json got = answer.parsed();
    QCOMPARE(got["backend"], backend.isEmpty() ? json(nullptr) : json(backend.toStdString()));
    QCOMPARE(got["state"], json(state.toStdString()));
    QCOMPARE(got["requested"], json(arguments.front().toStdString()));
    QVERIFY(!got["reason"].get<std::string>().empty());
    QVERIFY(run_attnctl(QStringList{"policy"} + arguments).out.contains(QString::fromStdString(got["reason"])));
  }

  void wrong_input_is_one_sentence_data() {
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<QString>("part");
    QTest::newRow("bogus") << QStringList{"policy", "bogus"} << "attention_backend \"bogus\" is not known";
    QTest::newRow("flash-3") << QStringList{"policy", "flash-3"} << "it is one of auto, native";
    QTest::newRow("capability") << QStringList{"policy", "auto", "--capability", "x"} << "--capability x: write";
    QTest::newRow("speed") << QStringList{"plan", "flux.1-dev", "--speed", "fast"} << "--speed fast: write off";
    QTest::newRow("strict") << QStringList{"plan", "flux.1-dev", "--strict", "unet"} << "--strict unet: write all";
    QTest::newRow("probe") << QStringList{"plan", "flux.1-dev", "--probe-result", "no"} << "--probe-result no: write";
    QTest::newRow("role") << QStringList{"plan", "flux.1-dev", "--attention-backend", "unet=sage"} << "write ROLE=";
  }

  void wrong_input_is_one_sentence() {
    QFETCH(QStringList, arguments);
    QFETCH(QString, part);
    const Answer answer = run_attnctl(arguments);
    QCOMPARE(answer.code, 2);
    QVERIFY2(answer.err.contains(part) && answer.err.count('\n') == 1, qPrintable(answer.err));
    QVERIFY(answer.out.isEmpty());
  }

  void a_planned_job_shows_who_is_bypassed() {
    for (const char* option : {"--attention-backend", "--attention_backend"}) {
      const Answer answer = run_attnctl({"plan", "flux.1-dev", "--steps", "1", "--target", "rtx-4090", "--overrides",
                                         "sdnq", option, "sage", "--json"});
      QCOMPARE(answer.code, 0);
      const json got = answer.parsed();
      int bypassed = 0;
      for (const json& route : got["routes"]) {
        QCOMPARE(route["bypassed"].get<bool>(), route["role"] == "transformer");
        bypassed += route["bypassed"].get<bool>() ? 1 : 0;
        if (route["bypassed"].get<bool>()) QCOMPARE(route["backend"], json("sage"));
      }
      QVERIFY(bypassed > 0);
      QCOMPARE(got["attention"].size(), std::size_t{3});
      for (const json& decision : got["attention"]) {
        QCOMPARE(decision["level"], json("explicit for all"));
        QCOMPARE(decision["bypassed"].get<bool>(), decision["role"] == "transformer");
      }
    }
    const Answer native = run_attnctl({"plan", "flux.1-dev", "--steps", "1", "--target", "rtx-4090", "--overrides",
                                       "sdnq", "--attention-backend", "native", "--json"});
    for (const json& route : native.parsed()["routes"]) QVERIFY(!route["bypassed"].get<bool>());
  }

  void a_computed_call_runs_what_is_reported() {
    const Answer answer = run_attnctl(
        {"run", "q[1,2,256,64]", "fp16", "--target", "h100", "--attention-backend", "flash3", "--debug", "--json"});
    QCOMPARE(answer.code, 0);
    const json route = answer.parsed()["routes"][0];
    QCOMPARE(route["executed"], json("_flash_3_hub"));
    QVERIFY(route["bypassed"].get<bool>() && route["measured_calls"] == 1);
    QVERIFY2(answer.err.contains("backend=_flash_3_hub role=transformer") && answer.err.contains(" bypassed=True"),
             qPrintable(answer.err));
    QVERIFY(answer.err.contains("Attention dispatcher: target=transformer previous=native active=_flash_3_hub"));
  }

  void a_choice_never_falls_back_in_silence() {
    const QStringList job{"plan", "flux.1-dev", "--steps", "1", "--target", "rtx-4090", "--json"};
    const Answer strict = run_attnctl(job + QStringList{"--attention-backend", "flash3"});
    QCOMPARE(strict.code, 1);
    QVERIFY2(strict.err.contains("flash3 needs compute capability 9.0 or later and below 10.0") &&
                 strict.err.contains("nothing ran"),
             qPrintable(strict.err));
    QVERIFY(strict.out.isEmpty());
    const Answer lenient =
        run_attnctl(job + QStringList{"--attention-backend", "flash3", "--strict", "transformer=off"});
    QCOMPARE(lenient.code, 0);
    QVERIFY2(lenient.err.contains("flash3 needs compute capability"), qPrintable(lenient.err));
    const Answer masked = run_attnctl(
        {"explain", "q[1,24,4608,128]", "mask=bool", "--target", "rtx-4090", "--attention-backend", "sage"});
    QCOMPARE(masked.code, 1);
    QVERIFY(masked.err.contains("sage declines the call: takes no attn_mask"));
    const Answer unet =
        run_attnctl({"plan", "sdxl", "--steps", "1", "--target", "rtx-4090", "--attention-backend", "cudnn"});
    QCOMPARE(unet.code, 1);
    QVERIFY(unet.err.contains("U-Net, which has no attention setter"));
  }

  void case_21_a_role_that_was_chosen_is_strict_and_the_others_are_not() {
    const QStringList job{"plan", "flux.1-dev", "--steps", "1", "--target", "h100", "--json"};
    const Answer chosen = run_attnctl(job + QStringList{"--attention-backend", "te=sage"});
    QCOMPARE(chosen.code, 1);
    QVERIFY(chosen.err.contains("explicit per role") && chosen.err.contains("te calls torch's attention"));
    const Answer all = run_attnctl(job + QStringList{"--attention-backend", "sage"});
    QCOMPARE(all.code, 0);
    for (const json& decision : all.parsed()["attention"]) {
      if (decision["role"] == "te") QVERIFY(decision["reason"].get<std::string>().find("not supported by te") > 0);
    }
  }

  void case_17_what_math_takes_is_said_before_it_runs() {
    const Answer explained =
        run_attnctl({"explain", "q[1,24,27280,128]", "--target", kCard, "--probe-result", "math-only"});
    QCOMPARE(explained.code, 0);
    QVERIFY2(explained.out.contains("math path needs 66.54 GiB (71443046400 bytes), more than the 15.92 GiB"),
             qPrintable(explained.out));
    const Answer planned =
        run_attnctl({"plan", "q[1,24,27280,128]", "--target", kCard, "--probe-result", "math-only", "--json"});
    QCOMPARE(planned.code, 0);
    QVERIFY(planned.err.startsWith("attnctl: only the math kernel runs on "));
    QVERIFY(planned.err.contains("66.54 GiB (71443046400 bytes) beyond its tensors, over the 15.92 GiB"));
    const json math = planned.parsed()["math_only"];
    QCOMPARE(math["memory_bytes"], json(71443046400));
    QVERIFY(math["over"].get<bool>());
    // A probe that could not run claims nothing.
    for (const char* result : {"unknown", "fused"}) {
      const Answer quiet =
          run_attnctl({"plan", "q[1,24,27280,128]", "--target", kCard, "--probe-result", result, "--json"});
      QVERIFY(quiet.err.isEmpty() && !quiet.parsed().contains("math_only"));
      QCOMPARE(quiet.parsed()["routes"][0]["kernel"], json("flash"));
    }
  }

  void case_17_switch_and_probe_stand_side_by_side() {
    const json here = run_attnctl({"policy", "auto", "--json"}).parsed();
    QCOMPARE(here["kernels"].size(), std::size_t{4});
    for (const json& row : here["kernels"]) {
      const bool runs = row["kernel"] == "flash" || row["kernel"] == "math";
      QCOMPARE(row["probe"], json(runs ? "supported" : "not supported"));
      QVERIFY(row["switch"].get<bool>());
    }
    QCOMPARE(here["math_only"], json("not supported"));
    const json elsewhere = run_attnctl({"policy", "auto", "--target", "h100", "--json"}).parsed();
    for (const json& row : elsewhere["kernels"]) QCOMPARE(row["probe"], json("unknown"));
    QCOMPARE(elsewhere["math_only"], json("unknown"));
  }

  void case_43_a_run_is_repeated_bit_for_bit() {
    const Answer answer = run_attnctl({"run", "q[1,2,128,64]", "fp16", "--target", "h100", "--overrides", "sage",
                                       "--repeat", "3", "--require-deterministic", "--json"});
    QCOMPARE(answer.code, 0);
    const json repeat = answer.parsed()["repeat"];
    QCOMPARE(repeat.size(), std::size_t{1});
    QVERIFY(repeat[0]["backend"] == "sage" && repeat[0]["identical"] == 3 && repeat[0]["deterministic"] == true);
    QCOMPARE(repeat[0]["verdict"], json("bit-identical 3/3"));
    QCOMPARE(run_attnctl({"run", "q[1,2,128,64]", "--repeat", "1"}).code, 2);
  }

  void case_51_a_backend_below_the_least_cosine_is_quarantined_there() {
    QTemporaryDir folder;
    const QString profile = folder.filePath("profile.json");
    const auto compare = [&profile](const char* least, const char* target) {
      return run_attnctl({"compare", "q[1,2,128,64]", "fp16", "--b", "sage", "--target", target, "--least-cosine",
                          least, "--quarantine", profile, "--json"});
    };
    // No INT8 kernel is this exact.
    const Answer judged = compare("1", "h100");
    QVERIFY2(judged.code == 0, qPrintable(judged.err));
    QCOMPARE(judged.parsed()["quarantined"].size(), std::size_t{1});
    const auto chain_on = [&profile](const char* target) {
      return run_attnctl({"plan", "flux.1-dev", "--steps", "1", "--target", target, "--import", profile, "--overrides",
                          "sage", "--json"})
          .parsed()["chain"];
    };
    QCOMPARE(chain_on("h100"), json("sdpa"));
    QCOMPARE(chain_on("rtx-4090"), json("sage>sdpa"));
    const Answer why =
        run_attnctl({"explain", "q[1,2,4096,64]", "--target", "h100", "--import", profile, "--overrides", "sage"});
    QVERIFY2(why.out.contains("quarantined: cosine 0.9") && why.out.contains("on cuda sm_90, below 1"),
             qPrintable(why.out));
    QCOMPARE(compare("0.5", "h100").parsed()["quarantined"].size(), std::size_t{0});  // measured anew, it is fine
    QCOMPARE(chain_on("h100"), json("sage>sdpa"));
  }

  void case_51_recorded_values_decide_where_generated_ones_do_not() {
    QTemporaryDir folder;
    const QString file = folder.filePath("recorded.safetensors");
    // One channel of the keys is far larger than the rest and the queries do not look at it: eight bits of the others
    // are lost in it. Normal numbers have nothing of the kind.
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    std::vector<float> values[3];
    for (int i = 0; i < 2 * 1024 * 64; ++i) {
      const bool first = i % 64 == 0;
      values[0].push_back(first ? 0.0F : normal(random));
      values[1].push_back(first ? (random() % 2 == 0 ? 6000.0F : -6000.0F) : normal(random));
      values[2].push_back(normal(random));
    }
    attn::test::TensorsFile tensors;
    for (int i = 0; i < 3; ++i) tensors.add(std::string(1, "qkv"[i]), {1, 2, 1024, 64}, values[i]);
    tensors.save(file);
    const QStringList chains{"--b", "sdnq", "--target", "h100", "--least-cosine", "0.99", "--json"};
    const Answer generated = run_attnctl(QStringList{"compare", "q[1,2,1024,64]", "fp32"} + chains);
    QVERIFY2(generated.code == 0, qPrintable(generated.err));
    QVERIFY(generated.parsed()["calls"][0]["cosine"] > 0.999);
    QVERIFY(generated.parsed()["quarantined"].empty());
    const Answer recorded = run_attnctl(QStringList{"compare", "--tensors", file} + chains);
    QVERIFY2(recorded.code == 0, qPrintable(recorded.err));
    QVERIFY(recorded.parsed()["calls"][0]["b"]["backend"] == "sdnq");
    QVERIFY(recorded.parsed()["calls"][0]["cosine"] < 0.9);
    QCOMPARE(recorded.parsed()["quarantined"].size(), std::size_t{1});
    // Wrong input.
    const Answer nothing = run_attnctl({"compare", "--tensors", folder.filePath("no"), "--b", "sdnq"});
    QVERIFY(nothing.code == 2 && nothing.err.contains("there is no such file"));
    QCOMPARE(run_attnctl(QStringList{"compare", "--tensors", file, "--compute", "none"} + chains).code, 2);
    for (const char* command : {"compare", "run"}) {
      const Answer sized = run_attnctl(QStringList{command, "--tensors", file, "--width", "64"} +
                                       (command == std::string("compare") ? chains : QStringList()));
      QVERIFY2(sized.code == 2 && sized.err.contains("--width is an input of a model"), qPrintable(sized.err));
    }
    // The run of such a file says what the dispatcher made of it, too.
    const Answer ran = run_attnctl({"run", "--tensors", file, "--target", "h100", "--json"});
    QVERIFY2(ran.code == 0, qPrintable(ran.err));
    QCOMPARE(ran.parsed()["attention"].size(), std::size_t{1});
  }

  void case_53_a_backend_that_owns_the_model_is_named() {
    const Answer answer = run_attnctl({"plan", "q[1,24,16384,128]", "--target", "h100", "--overrides", "sdnq", "--set",
                                       "sparse_attention_enabled=true", "--attention-backend", "flash3", "--json"});
    QCOMPARE(answer.code, 0);
    const json sparse = answer.parsed()["sparse"];
    QCOMPARE(sparse["served"], json(0));
    QCOMPARE(sparse["reason"],
             json("attention_backend _flash_3_hub owns the model and bypasses the router: ask for native"));
  }
};

QTEST_GUILESS_MAIN(CliPolicyTest)
#include "cli_policy_test.moc"
