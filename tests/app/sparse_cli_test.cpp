// SPDX-License-Identifier: GPL-3.0-or-later
// `attnctl sparse` through the real program.
#include "app/jobs/tensors/generated.h"
#include "app/jobs/tensors/safetensors.h"
#include "core/call/call_text.h"
#include "support/oracle.h"

#include <QFileInfo>
#include <QProcess>
#include <QTemporaryDir>
#include <QtTest>
#include <cmath>
#include <nlohmann/json.hpp>

using attn::test::q;
using Json = nlohmann::json;

namespace {

struct Answer {
  int code = -1;
  QString out;
  QString err;
  [[nodiscard]] Json json() const { return Json::parse(out.toStdString()); }
};

Answer attnctl(const QStringList& arguments) {
  QProcess process;
  process.start(ATTN_BIN "/attnctl", arguments);
  if (!process.waitForStarted() || !process.waitForFinished(120000)) return {-1, {}, process.errorString()};
  return {process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -2,
          QString::fromUtf8(process.readAllStandardOutput()), QString::fromUtf8(process.readAllStandardError())};
}

QStringList words(const QString& text) { return text.split(' ', Qt::SkipEmptyParts); }

}  // namespace

class SparseCliTest : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() { QVERIFY2(QFileInfo::exists(ATTN_BIN "/attnctl"), "build attnctl first"); }

  void a_job_says_how_many_calls_the_stage_served_and_why_none() {
    const QStringList idle = words(
        "plan wan-2.1-1.3b --target rtx-3090 --overrides sage "
        "--set sparse_attention_enabled=true");
    const Answer text = attnctl(idle);
    QCOMPARE(text.code, 0);
    QVERIFY2(text.out.contains("Sparse is on but served 0 of 6021 calls: no enabled backend takes a block mask: enable "
                               "sdnq or flex"),
             qPrintable(text.out));
    const Json nothing = attnctl(idle + QStringList{"--json"}).json();
    QCOMPARE(nothing["sparse"]["served"], 0);
    QCOMPARE(nothing["sparse"]["calls"], 6021);
    const Json some = attnctl(words("plan wan-2.1-1.3b --target rtx-3090 --overrides flex "
                                    "--set sparse_attention_enabled=true --json"))
                          .json();
    QCOMPARE(some["sparse"]["served"], 3000);
    QVERIFY(!attnctl(words("plan sd-1.5 --target rtx-3090 --json")).json().contains("sparse"));
  }

  void plan_states_tiles_and_bytes() {
    const Answer answer = attnctl(words("sparse plan --tokens 38222 --heads 56 --block 128x64 --json"));
    QCOMPARE(answer.code, 0);
    QVERIFY(answer.err.isEmpty());
    const Json json = answer.json();
    QCOMPARE(json["tiles"]["query"], 299);
    QCOMPARE(json["tiles"]["key"], 598);
    QCOMPARE(json["scores_bytes"], 40051648);
    QCOMPARE(json["scores_bytes_per_head"], 715208);
    QCOMPARE(json["keep_bytes"], 10012912);
    const Answer text = attnctl(words("sparse plan --tokens 38222 --heads 56"));
    QCOMPARE(text.code, 0);
    for (const char* part : {"299 x 598", "40051648 bytes", "715208 a head", "10012912 bytes"}) {
      QVERIFY2(text.out.contains(part), part);
    }
  }

  void plan_under_a_limit_chunks_and_chooses_the_same_tiles() {
    const Json video = attnctl(words("sparse plan --tokens 38222 --heads 56 --memory-limit 10MB --json")).json();
    QVERIFY(video["chunks"] > 1);
    QVERIFY(video["chunk_bytes"] <= 10000000);
    const Answer answer = attnctl(
        words("sparse plan --layout text:200,image:4000 --heads 6 --head-dim 32 --memory-limit 60kB --select --json"));
    QVERIFY2(answer.code == 0, qPrintable(answer.err));
    const Json json = answer.json();
    QVERIFY(json["chunks"] > 1);
    QVERIFY(json["chunk_bytes"] <= 60000);
    QCOMPARE(json["selected"]["identical_to_unchunked"], true);
    QCOMPARE(json["selected"]["kept_tiles"].get<int>(), json["kept_tiles"].get<int>() * 6);
  }

  void plan_words_a_budget_as_kept_and_skipped_data() {
    QTest::addColumn<QString>("budget");
    QTest::newRow("percent") << "10";
    QTest::newRow("SVG") << "svg=0.10";
    QTest::newRow("VSA") << "vsa=0.9";
  }
  void plan_words_a_budget_as_kept_and_skipped() {
    QFETCH(QString, budget);
    const Answer answer = attnctl({"sparse", "plan", "--tokens", "32760", "--budget", budget});
    QCOMPARE(answer.code, 0);
    QVERIFY(answer.out.contains("keep 10 % (skip 90 %)"));
    QVERIFY(answer.err.startsWith("attnctl: warning: keep 10 % (skip 90 %) is below the floor of 20 % kept"));
    const Json json = attnctl({"sparse", "plan", "--tokens", "32760", "--budget", budget, "--json"}).json();
    QCOMPARE(json["budget"], 10.0);
    QCOMPARE(json["warnings"].size(), std::size_t{1});
  }

  void plan_pins_what_the_layout_declares() {
    const Json first =
        attnctl(words("sparse plan --layout text:512,image:8192 --budget 30 --block 128x64 --json")).json();
    QCOMPARE(first["tiles"]["query"], 68);
    QCOMPARE(first["tiles"]["key"], 136);
    QCOMPARE(first["pinned_tiles"], 1056);
    QCOMPARE(QString::number(first["density"].get<double>(), 'f', 3), QString("0.391"));
    QCOMPARE(first["pinned_rows"], Json::parse(R"([{"first": 0, "last": 3}])"));
    QCOMPARE(first["pinned_columns"], Json::parse(R"([{"first": 0, "last": 7}])"));
    QVERIFY(first["layout_mismatch"].is_null());
    const Answer mirrored = attnctl(words("sparse plan --layout image:8192,text:512"));
    QVERIFY(mirrored.out.contains("1056 tiles; query rows 64-67, key columns 128-135"));
  }

  void plan_shows_a_layout_mismatch() {
    const QStringList arguments = words("sparse plan --tokens 8192 --layout text:512,image:8192");
    const Answer text = attnctl(arguments);
    QCOMPARE(text.code, 0);
    QVERIFY(
        text.out.contains("layout mismatch: the layout text:512,image:8192 declares 8704 tokens, the call has 8192"));
    QVERIFY(text.err.startsWith("attnctl: warning: layout mismatch: "));
    const Json json = attnctl(arguments + QStringList{"--json"}).json();
    QVERIFY(json["layout_mismatch"].is_string());
    QCOMPARE(json["pinned_rows"][0]["last"], 3);
  }

  void sweep_answers_a_row_for_each_budget() {
    const Answer answer =
        attnctl(words("sparse sweep q[1,2,1024,32] bf16 --layout text:64,image:960 --budgets 20,50,100 --json"));
    QVERIFY2(answer.code == 0, qPrintable(answer.err));
    QVERIFY2(answer.err.isEmpty(), qPrintable(answer.err));
    const Json json = answer.json();
    QCOMPARE(q(json["backend"].get<std::string>()), "flex");
    QCOMPARE(q(json["layout"].get<std::string>()), "text:64,image:960");
    QVERIFY(json["tensors"].get<std::string>().starts_with("structured, grid 30 x 32"));
    QVERIFY(json["dense_seconds"] > 0.0);
    QCOMPARE(json["rows"].size(), std::size_t{3});
    double mass = 0.0;
    for (const Json& row : json["rows"]) {
      QVERIFY(row["mass_kept"] >= mass);
      mass = row["mass_kept"];
      QCOMPARE(row["radial"]["density"].get<double>(), row["density"].get<double>());
      QVERIFY(row["speedup"] > 0.0);
      QCOMPARE(row["seconds"].get<double>(),
               row["select_seconds"].get<double>() + row["attention_seconds"].get<double>());
    }
    QCOMPARE(json["rows"][2]["budget"], 100.0);
    QCOMPARE(json["rows"][2]["relative_l1"], 0.0);
    QCOMPARE(mass, 1.0);
  }

  void sweep_has_a_table_and_csv() {
    const QString command = "sparse sweep q[1,2,640,32] fp16 --budgets 30,100 --rounds 2 --backend sdnq --head-shared";
    const Answer table = attnctl(words(command));
    QVERIFY2(table.code == 0, qPrintable(table.err));
    for (const char* part : {"sdnq", "mass kept", "speed-up", "radial: density"})
      QVERIFY2(table.out.contains(part), part);
    const Answer csv = attnctl(words(command + " --csv"));
    QCOMPARE(csv.code, 0);
    const QStringList lines = csv.out.split('\n', Qt::SkipEmptyParts);
    QCOMPARE(lines.size(), 5);
    for (const QString& line : lines) QCOMPARE(line.count(','), 10);
    QVERIFY(lines[1].startsWith("30.0,adaptive,"));
    QVERIFY(lines[2].startsWith("30.0,radial,"));
    const Answer alone = attnctl(words(command + " --csv --no-radial --random --seed 3"));
    QCOMPARE(alone.out.count('\n'), 3);
  }

  void sweep_measures_tensors_of_a_file() {
    const QTemporaryDir folder;
    const QString file = folder.filePath("q.safetensors");
    const auto tensors = attn::app::generate(attn::parse_call("q[1,2,640,32] fp16")->call, 1);
    QVERIFY(attn::app::write_safetensors(file.toStdString(), "q", tensors.call.query).has_value());
    const Answer answer = attnctl({"sparse", "sweep", "--tensors", file, "--budgets", "30", "--json"});
    QVERIFY2(answer.code == 0, qPrintable(answer.err));
    QCOMPARE(q(answer.json()["tensors"].get<std::string>()), file);
    QVERIFY(answer.json()["rows"][0]["mass_kept"] > 0.3);
  }

  void a_low_budget_is_warned_about() {
    const Answer answer = attnctl(words("sparse sweep q[1,2,640,32] --budgets 10"));
    QCOMPARE(answer.code, 0);
    QVERIFY(answer.err.contains("warning: keep 10 % (skip 90 %) is below the floor"));
  }

  void wrong_input_is_one_sentence_and_exit_code_2_data() {
    QTest::addColumn<QString>("command");
    QTest::addColumn<QString>("part");
    const QString sweep = "sweep q[1,2,640,32] ";
    QTest::newRow("budget 0") << sweep + "--budgets 0"
                              << "keeps 0 %";
    QTest::newRow("budget negative") << sweep + "--budgets=-5"
                                     << "keeps -5 %";
    QTest::newRow("budget negative, two words") << "plan --tokens 640 --budget -5"
                                                << "";
    QTest::newRow("budget over 100") << sweep + "--budgets 30,101"
                                     << "keeps 101 %";
    QTest::newRow("budget no number") << sweep + "--budgets nan"
                                      << "not a number";
    QTest::newRow("budget text") << sweep + "--budgets many"
                                 << "no number";
    QTest::newRow("plan budget 0") << "plan --tokens 640 --budget 0"
                                   << "keeps 0 %";
    QTest::newRow("plan budget nan") << "plan --tokens 640 --budget nan"
                                     << "not a number";
    QTest::newRow("overlap") << "plan --layout text:0-512,image:500-4608"
                             << "overlap";
    QTest::newRow("gap") << "plan --layout text:0-512,image:600-4608"
                         << "the layout is wrong";
    QTest::newRow("layout past the call") << sweep + "--layout text:512,image:640"
                                          << "layout mismatch";
    QTest::newRow("layout short of the call") << sweep + "--layout text:64,image:64"
                                              << "layout mismatch";
    QTest::newRow("layout, random tensors") << sweep + "--random --layout text:64,image:64"
                                            << "layout mismatch";
    QTest::newRow("unknown backend") << sweep + "--backend fancy"
                                     << "--backend fancy is unknown; there are sdnq and flex";
    QTest::newRow("backend without block masks") << sweep + "--backend sage"
                                                 << "takes no block mask";
    QTest::newRow("unknown target") << sweep + "--target gameboy"
                                    << "gameboy";
    QTest::newRow("no call") << "sweep"
                             << "no call given";
    QTest::newRow("call") << "sweep q[1,2"
                          << "";
    QTest::newRow("cross attention") << "sweep q[1,2,640,32] k[1,2,64,32] --random"
                                     << "cross attention";
    QTest::newRow("causal") << "sweep q[1,2,640,32] causal"
                            << "causal";
    QTest::newRow("cpu") << sweep + "--target cpu"
                         << "flex declines the call";
    QTest::newRow("two kinds of tensors") << sweep + "--random --structured"
                                          << "choose one";
    QTest::newRow("two forms") << sweep + "--json --csv"
                               << "choose one";
    QTest::newRow("grid") << sweep + "--grid 3x3"
                          << "does not hold";
    QTest::newRow("grid text") << sweep + "--grid big"
                               << "does not read";
    QTest::newRow("rounds") << sweep + "--rounds 0"
                            << "rounds";
    QTest::newRow("too large") << "sweep q[64,64,1000000,128]"
                               << "are free";
    QTest::newRow("missing file") << "sweep --tensors /nowhere.safetensors"
                                  << "/nowhere.safetensors";
    QTest::newRow("no tokens") << "plan --heads 3"
                               << "--tokens";
    QTest::newRow("block") << "plan --tokens 640 --block 128"
                           << "128x64";
    QTest::newRow("limit") << "plan --tokens 640 --memory-limit few"
                           << "no amount of memory";
    QTest::newRow("limit too small") << "plan --tokens 38222 --heads 56 --memory-limit 1kB"
                                     << "over the limit";
    QTest::newRow("heads") << "plan --tokens 640 --heads 0"
                           << "heads 0";
    QTest::newRow("no subcommand") << ""
                                   << "";
    QTest::newRow("unknown option") << "plan --tokens 640 --fancy"
                                    << "fancy";
  }
  void wrong_input_is_one_sentence_and_exit_code_2() {
    QFETCH(QString, command);
    QFETCH(QString, part);
    const Answer answer = attnctl(words("sparse " + command));
    QCOMPARE(answer.code, 2);
    QVERIFY2(answer.out.isEmpty(), qPrintable(answer.out));
    QVERIFY2(answer.err.startsWith("attnctl: "), qPrintable(answer.err));
    QCOMPARE(answer.err.count('\n'), 1);
    QVERIFY2(answer.err.contains(part), qPrintable(answer.err));
  }
};

QTEST_GUILESS_MAIN(SparseCliTest)
#include "sparse_cli_test.moc"
