// SPDX-License-Identifier: GPL-3.0-or-later
// attnctl export and import in every format: the diff first, losses by name, and back again.
#include "support/attnctl.h"
#include "support/oracle.h"

#include <QFile>
#include <QTemporaryDir>
#include <QtTest>

using attn::test::Answer;
using attn::test::run_attnctl;
using nlohmann::json;

namespace {

QByteArray bytes_of(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

void write(const QString& path, const QByteArray& bytes) {
  QFile file(path);
  if (!file.open(QIODevice::WriteOnly) || file.write(bytes) != bytes.size()) qFatal("cannot write the test's file");
}

const QStringList kSettings{"--target",    "rtx-4090",
                            "--overrides", "sdnq,sage",
                            "--set",       "sparse_attention_enabled=true",
                            "--set",       "sparse_attention_budget=30"};

}  // namespace

class CliFormatsTest : public QObject {
  Q_OBJECT
 private slots:
  void every_format_is_shown_first_then_written_and_read_back_data() {
    QTest::addColumn<QString>("line");
    QTest::addColumn<QString>("loss");
    QTest::newRow("sdnext") << "+ \"sdp_overrides\": "
                            << "sparse_attention_exclude: ";
    QTest::newRow("sdnext-options") << "+   \"cross_attention_optimization\": \"SDNQ attention\","
                                    << "sdp_overrides: ";
    QTest::newRow("unsloth") << "+   \"attention_backend\": \"sage\","
                             << "sparse_attention_enabled: ";
    QTest::newRow("diffusers") << "+     pipe.transformer.set_attention_backend(\"sage\")"
                               << "sdp_overrides: ";
    QTest::newRow("env") << "+ DIFFUSERS_ATTN_BACKEND=sage"
                         << "sdp_overrides: ";
    QTest::newRow("comfyui") << "+ --use-sage-attention --disable-xformers"
                             << "sdp_overrides: ComfyUI has no SDNQ";
    QTest::newRow("comfyui-sparse") << "+     \"selection.keep_percent\": 30.0,"
                                    << "sdp_overrides: ";
    QTest::newRow("profile") << "+     \"sparse_attention_budget\": 30,"
                             << "";
    QTest::newRow("svg") << "+ sparsity=0.30"
                         << "sdp_overrides: ";
    QTest::newRow("vsa") << "+ sparsity=0.70"
                         << "sdp_overrides: ";
    QTest::newRow("sglang") << "+ keep=[0.30]"
                            << "sdp_overrides: ";
  }

  void every_format_is_shown_first_then_written_and_read_back() {
    QFETCH(QString, line);
    QFETCH(QString, loss);
    const QString format = QTest::currentDataTag();
    const QString file = folder_.filePath(format + ".out");
    const QStringList command = QStringList{"export", "--format", format, "-o", file} + kSettings;
    const Answer shown = run_attnctl(command + QStringList{"--dry-run"});
    QCOMPARE(shown.code, 0);
    QVERIFY2(shown.out.contains(line + "\n") || shown.out.contains(line), qPrintable(shown.out));
    QCOMPARE(shown.out.contains("lost: " + loss), !loss.isEmpty() || shown.out.contains("lost: "));
    QVERIFY(!QFile::exists(file));

    const Answer written = run_attnctl(command + QStringList{"--json"});
    QCOMPARE(written.code, 0);
    const json answer = written.parsed();
    QVERIFY(answer["written"].get<bool>());
    QCOMPARE(bytes_of(file).toStdString(), answer["text"].get<std::string>());
    QCOMPARE(answer["losses"].empty(), loss.isEmpty());
    QVERIFY(shown.out.contains(QString::fromStdString(answer["diff"].get<std::string>())));
    // Nothing is left to change, so nothing is written.
    const Answer again = run_attnctl(command);
    QVERIFY2(again.code == 0 && again.out.contains("nothing to change"), qPrintable(again.out));
    QVERIFY(!QFile::exists(file + ".bak"));

    const Answer read = run_attnctl({"import", "--format", format, file, "--target", "rtx-4090", "--json"});
    QVERIFY2(read.code == 0, qPrintable(read.err));
    QVERIFY(!read.parsed()["values"].empty() || read.parsed().contains("attention"));
  }

  void a_profile_carries_everything_to_a_job() {
    const QString file = folder_.filePath("profile.json");
    QCOMPARE(run_attnctl(QStringList{"export", "--format", "profile", "-o", file, "--attention-backend",
                                     "transformer=cudnn,te=native", "--speed", "on"} +
                         kSettings)
                 .code,
             0);
    const Answer plan =
        run_attnctl({"plan", "flux.1-dev", "--steps", "1", "--target", "rtx-4090", "--import", file, "--json"});
    QVERIFY2(plan.code == 0, qPrintable(plan.err));
    const json got = plan.parsed();
    QCOMPARE(got["chain"], json("sdnq>sage>sdpa"));
    for (const json& route : got["routes"]) {
      if (route["role"] == "transformer") QCOMPARE(route["backend"], json("_native_cudnn"));
    }
    // What is written on the command line counts over the profile.
    const json native = run_attnctl({"plan", "flux.1-dev", "--steps", "1", "--target", "rtx-4090", "--import", file,
                                     "--attention-backend", "native", "--json"})
                            .parsed();
    for (const json& route : native["routes"]) QVERIFY(!route["bypassed"].get<bool>());
  }

  void a_request_without_a_file_is_only_shown() {
    const Answer answer = run_attnctl({"export", "--format", "unsloth", "--target", "h100", "--attention-backend",
                                       "flash3", "--model-path", "org/model"});
    QCOMPARE(answer.code, 0);
    QVERIFY2(answer.out.contains("+   \"attention_backend\": \"flash3\"") && answer.out.contains("org/model") &&
                 answer.out.contains("nothing was written: name a file with -o"),
             qPrintable(answer.out));
  }

  void case_47_a_stored_value_that_does_not_hold_is_shown_beside_what_is_used() {
    const QString file = folder_.filePath("invalid.json");
    const QByteArray bytes = R"({
  "sparse_attention_budget": 250,
  "sparse_attention_schedule_steps": -1,
  "sparse_attention_min_tokens": NaN,
  "sparse_attention_schedule_bump": "30",
  "sparse_attention_head_shared": null,
  "dynamic_attention_slice_rate": true,
  "sparse_attention_enabled": true,
  "attention_slicing": "Sometimes",
  "other": [1]
})";
    write(file, bytes);
    const Answer answer = run_attnctl({"import", file, "--check", "--json"});
    QCOMPARE(answer.code, 2);
    const json got = answer.parsed();
    QCOMPARE(got["findings"], json(7));
    const auto finding = [&got](const char* key) {
      for (const json& one : got["settings"]) {
        if (one["key"] == key) return one;
      }
      return json();
    };
    const json budget = finding("sparse_attention_budget");
    QCOMPARE(budget["stored"], json("250"));
    QCOMPARE(budget["effective"], json("30"));
    QCOMPARE(budget["default"], json("30"));
    QVERIFY2(budget["problem"].get<std::string>().find("from 5 to 100") != std::string::npos,
             budget["problem"].get<std::string>().c_str());
    QVERIFY(finding("sparse_attention_schedule_steps")["problem"].get<std::string>().find("from 0 to 10") !=
            std::string::npos);
    for (const char* key : {"sparse_attention_min_tokens", "sparse_attention_schedule_bump",
                            "sparse_attention_head_shared", "dynamic_attention_slice_rate", "attention_slicing"}) {
      QVERIFY2(!finding(key)["problem"].get<std::string>().empty(), key);
      QCOMPARE(finding(key)["effective"], finding(key)["default"]);
    }
    const json fine = finding("sparse_attention_enabled");
    QVERIFY(fine["problem"] == "" && fine["effective"] == "true" && fine["default"] == "false");
    QCOMPARE(bytes_of(file), bytes);
    const Answer table = run_attnctl({"import", file, "--check"});
    QVERIFY2(table.code == 2 && table.out.contains("7 values do not hold"), qPrintable(table.out));
    for (const char* sample : {"sdnext-config-overrides.json", "sdnext-config-selector.json"}) {
      const Answer clean =
          run_attnctl({"import", QString(ATTN_ORACLES "/sdnext/") + sample, "--check", "--target", "rtx-4090"});
      QVERIFY2(clean.code == 0 && clean.out.contains("0 values do not hold"), qPrintable(clean.out + clean.err));
    }
  }

  void case_49_workflows_of_both_spellings_and_of_none() {
    const QByteArray rest =
        R"("selection.keep_percent": 25.0, "start_percent": 0.0, "end_percent": 1.0, "min_tokens": 0}}})";
    const QByteArray head = R"({"5": {"class_type": "BlockSparseAttention", "inputs": {)";
    const QString old = folder_.filePath("old.json"), now = folder_.filePath("now.json"),
                  none = folder_.filePath("none.json");
    write(old, head + "\"selection\": \"top-k (SLA)\", " + rest);
    write(now, head + "\"selection\": \"sla\", " + rest);
    write(none, head + rest);
    const json first = run_attnctl({"import", old, "--json", "--target", "h100"}).parsed();
    const json second = run_attnctl({"import", now, "--json", "--target", "h100"}).parsed();
    QCOMPARE(first["format"], json("comfyui-sparse"));
    QCOMPARE(first["values"], second["values"]);
    QVERIFY(first["notes"].dump().find("renamed choice") != std::string::npos && second["notes"].empty());
    const Answer missing = run_attnctl({"import", none, "--target", "h100"});
    QVERIFY(missing.code == 2 && missing.err.contains("selection is missing"));
    const Answer spelled = run_attnctl({"export", "--format", "comfyui-sparse", "--old-spelling", "--set",
                                        "sparse_attention_enabled=true", "--target", "h100"});
    QVERIFY(spelled.out.contains("top-k (SLA)"));
    const Answer sol =
        run_attnctl({"export", "--format", "comfyui-sparse", "--selection", "sol-attn", "--target", "h100"});
    QVERIFY(sol.code == 2 && sol.err.contains("not expressible"));
  }

  void a_file_that_cannot_be_written_is_a_sentence_after_the_diff() {
    const Answer answer =
        run_attnctl({"export", "--format", "env", "-o", folder_.filePath("none/x.env"), "--target", "h100"});
    QCOMPARE(answer.code, 1);
    QVERIFY(answer.out.contains("+ DIFFUSERS_ATTN_BACKEND=native"));
    QVERIFY(answer.err.contains("there is no such file or folder"));
  }

 private:
  QTemporaryDir folder_;
};

QTEST_GUILESS_MAIN(CliFormatsTest)
#include "cli_formats_test.moc"
