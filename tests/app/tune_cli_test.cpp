// SPDX-License-Identifier: GPL-3.0-or-later
// attnctl tune as people run it: the answer, the profile that it writes, what it leaves alone, wrong input.
#include "app/jobs/files/atomic_file.h"
#include "support/attnctl.h"
#include "support/tiny_shapes.h"

#include <QFile>
#include <QTemporaryDir>
#include <QtTest>

using attn::test::Answer;
using attn::test::not_refused;
using attn::test::run_attnctl;
using nlohmann::json;

class TuneCliTest : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  /// The math kernel's score matrix is over the limit, so that another kernel is chosen however busy the machine is.
  const QStringList large_{"tune",
                           "q[1,4,512,64]",
                           "fp16",
                           "--target",
                           "rtx-3090",
                           "--set",
                           "sdp_options=Math",
                           "--variants",
                           "kernels:Memory,backend:flex",
                           "--repeat",
                           "2"};
  const QStringList freed_{"--free", "sdp_options", "--max-memory", "2MiB"};

  [[nodiscard]] QString path(const char* name) const { return folder_.filePath(name); }

 private slots:
  void initTestCase() { attn::test::TinyShapes::write(folder_.path()); }

  void a_choice_is_explained_and_written_as_a_profile() {
    const Answer answer = run_attnctl(large_ + freed_ + QStringList{"-o", path("tuned.json"), "--json"});
    QVERIFY2(answer.code == 0, qPrintable(answer.err));
    const json got = answer.parsed();
    QVERIFY2(got["changed"].get<bool>(), got["reason"].get<std::string>().c_str());
    QVERIFY(got["written"].get<bool>() && got["memory_bytes"].get<int>() <= 2 << 20);
    QVERIFY(got["reason"].get<std::string>().find("the default breaks a limit (memory ") != std::string::npos);
    QVERIFY(got["noise"].get<double>() >= 0.02);
    QVERIFY(got["cosine"].get<double>() >= 0.99);
    bool kernels = false;
    for (const json& change : got["change"]["settings"]) {
      if (change["key"] != "sdp_options") continue;
      kernels = true;
      QCOMPARE(change["before"], json::array({"Math"}));
    }
    QVERIFY(kernels);
    QVERIFY(got["picks"][0]["reason"].get<std::string>().starts_with("measured: "));
    QCOMPARE(got["table"]["rows"][0]["name"], json("baseline"));
    // The profile is read by everything that takes settings, and its chain is the choice.
    const json explained = run_attnctl({"explain", "q[1,4,512,64]", "fp16", "--target", "rtx-3090", "--import",
                                        path("tuned.json"), "--json"})
                               .parsed();
    QCOMPARE(explained["route"]["executed"], got["picks"][0]["backend"]);
    // The choice is the default now: a second tuning leaves it, as somebody's, and the file that was there is kept.
    const Answer again =
        run_attnctl({"tune", "q[1,4,512,64]", "fp16", "--target", "rtx-3090", "--import", path("tuned.json"),
                     "--variants", "kernels:Math", "--repeat", "2", "-o", path("tuned.json")});
    QVERIFY2(again.code == 0, qPrintable(again.err));
    QVERIFY(QFile::exists(path("tuned.json.bak")));
  }

  void a_dry_run_shows_and_writes_nothing() {
    const Answer answer = run_attnctl(large_ + freed_ + QStringList{"-o", path("dry.json"), "--dry-run"});
    QVERIFY2(answer.code == 0, qPrintable(answer.err));
    QVERIFY2(answer.out.contains("- sdp_options: Math\n+ sdp_options: ") && answer.out.contains("dry run"),
             qPrintable(answer.out));
    QVERIFY(answer.out.contains("the default's speed"));
    QVERIFY(!QFile::exists(path("dry.json")));
  }

  void what_somebody_set_stays() {
    const Answer answer = run_attnctl(large_ + QStringList{"--overrides", "none", "--json"});
    QVERIFY2(answer.code == 0, qPrintable(answer.err));
    const json got = answer.parsed();
    QVERIFY(!got["changed"].get<bool>());
    QCOMPARE(got["chosen"], json("as-set"));
    QVERIFY(got["change"]["settings"].empty());
    const std::string kept = got["kept"].dump();
    QVERIFY(kept.find("sdp_options stays Math: explicit for all") != std::string::npos);
    QVERIFY(kept.find("sdp_overrides stays empty: explicit for all") != std::string::npos);
  }

  void an_attention_backend_that_was_asked_for_stays() {
    const Answer answer =
        run_attnctl({"tune", "q[1,2,256,64]", "fp16", "--target", "rtx-3090", "--attention-backend",
                     "transformer=flash", "--variants", "dispatcher,backend:sage", "--repeat", "2", "--json"});
    QVERIFY2(answer.code == 0, qPrintable(answer.err));
    const json got = answer.parsed();
    QCOMPARE(got["picks"][0]["backend"], json("flash"));
    QCOMPARE(got["picks"][0]["level"], json("explicit per role"));
    QVERIFY(got["kept"].dump().find("attention backend of the transformer stays flash: explicit per role") !=
            std::string::npos);
    for (const json& row : got["table"]["rows"]) QVERIFY(row["group"] != "dispatcher");
  }

  void nothing_within_the_limits_is_a_failure_that_changes_nothing() {
    const Answer answer = run_attnctl(large_ + QStringList{"--max-memory", "1KiB", "-o", path("none.json")});
    QCOMPARE(answer.code, 1);
    QVERIFY2(answer.err.contains("nothing is within the limits; the default: memory ") && answer.err.count('\n') == 1,
             qPrintable(answer.err));
    QVERIFY(answer.out.isEmpty() && !QFile::exists(path("none.json")));
  }

  void a_picture_is_tuned_by_route() {
    const Answer answer = run_attnctl({"tune",
                                       "shapes",
                                       "a red circle",
                                       "--model",
                                       folder_.path(),
                                       "--size",
                                       "64",
                                       "--steps",
                                       "2",
                                       "--target",
                                       "rtx-3090",
                                       "--repeat",
                                       "2",
                                       "--scope",
                                       "route",
                                       "--variants",
                                       "backend:flex,backend:sage,sparse:flex:15",
                                       "--min-psnr",
                                       "35",
                                       "--json"});
    QVERIFY2(answer.code == 0, qPrintable(answer.err));
    const json got = answer.parsed();
    QVERIFY(got["psnr"].is_null() || got["psnr"].get<double>() >= 35.0);
    QCOMPARE(got["scope"], json("route"));
    QVERIFY(got["picks"].size() >= 3);
    for (const json& pick : got["picks"]) QVERIFY(pick["cosine"].get<double>() >= 0.99);
  }

  void wrong_input_is_one_sentence_data() {
    QTest::addColumn<QStringList>("words");
    QTest::addColumn<QString>("part");
    const QStringList call{"tune", "q[1,2,64,64]"};
    QTest::newRow("no job") << QStringList{"tune"} << "no job given";
    QTest::newRow("scope") << call + QStringList{"--scope", "all"} << "--scope";
    QTest::newRow("cosine") << call + QStringList{"--min-cosine", "2"} << "--min-cosine";
    QTest::newRow("memory") << call + QStringList{"--max-memory", "lots"} << "--max-memory lots: ";
    QTest::newRow("among") << call + QStringList{"--among", "sagee"} << "--among: unknown backend \"sagee\"";
    QTest::newRow("variants") << call + QStringList{"--variants", "sagee"} << "--variants: no variant is called sagee";
    QTest::newRow("free") << call + QStringList{"--free", "sdp_option"} << "nearest: sdp_options";
    QTest::newRow("psnr of calls") << call + QStringList{"--min-psnr", "40"} << "unknown option --min-psnr";
    QTest::newRow("folder") << call + QStringList{"-o", "/no/such/folder/a.json"} << "there is no folder";
    QTest::newRow("seconds") << call + QStringList{"--max-seconds", "0"} << "--max-seconds";
  }

  void wrong_input_is_one_sentence() {
    QFETCH(QStringList, words);
    QFETCH(QString, part);
    QCOMPARE(not_refused(words, part), QString());
  }
};

QTEST_GUILESS_MAIN(TuneCliTest)
#include "tune_cli_test.moc"
