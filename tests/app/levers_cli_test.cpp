// SPDX-License-Identifier: GPL-3.0-or-later
// attnctl probe as people run it: answers, files, interruption, shards, wrong input.
#include "app/jobs/files/atomic_file.h"
#include "app/jobs/levers/bits_hash.h"
#include "app/jobs/levers/results_file.h"
#include "app/jobs/pipeline/png_file.h"
#include "support/attnctl.h"
#include "support/tiny_shapes.h"

#include <QFile>
#include <QTemporaryDir>
#include <QtTest>

#include <csignal>

using attn::test::Answer;
using attn::test::not_refused;
using attn::test::run_attnctl;
using nlohmann::json;

class LeversCliTest : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  const QStringList call_{"probe", "q[1,2,128,64]", "fp16", "--target", "rtx-3090", "--repeat", "2"};

  [[nodiscard]] QString path(const char* name) const { return folder_.filePath(name); }
  [[nodiscard]] QStringList shapes(const QStringList& more, const char* steps = "2") const {
    return QStringList{"probe",   "shapes", "a red circle", "--model", folder_.path(), "--size",  "64",
                       "--steps", steps,    "--repeat",     "2",       "--target",     "rtx-3090"} +
           more;
  }
  static const json& row_of(const json& table, const std::string& name) {
    for (const json& row : table["rows"]) {
      if (row["name"] == name) return row;
    }
    qFatal("no row %s", name.c_str());
  }

 private slots:
  void initTestCase() { attn::test::TinyShapes::write(folder_.path()); }

  void a_table_names_what_was_measured_and_what_not() {
    const Answer answer = run_attnctl(call_ + QStringList{"--roles"});
    QCOMPARE(answer.code, 0);
    for (const char* part : {"baseline", "backend:sage", "speed", "noise", "host memory", "relative L1", "cosine",
                             "backend:triton", "not available on platform cuda", "changes no route", "transformer"}) {
      QVERIFY2(answer.out.contains(part), part);
    }
    QVERIFY2(answer.err.isEmpty(), qPrintable(answer.err));
  }

  void the_list_is_said_without_measuring() {
    const Answer listed = run_attnctl(call_ + QStringList{"--list", "--variants", "backend", "--json"});
    QCOMPARE(listed.code, 0);
    const json variants = listed.parsed();
    QCOMPARE(variants[0]["name"], json("baseline"));
    QVERIFY(variants.size() > 4);
    const json picture = run_attnctl(shapes({"--list", "--variants", "compiled", "--json"})).parsed();
    QCOMPARE(picture[1]["compiled"], json(true));
    QVERIFY(run_attnctl(call_ + QStringList{"--list", "--shard", "2/30"}).out.contains("baseline"));
  }

  void the_baseline_of_a_picture_is_what_generate_draws() {
    const QString png = path("plain.png");
    QCOMPARE(run_attnctl({"generate", "a red circle", "--model", folder_.path(), "--size", "64", "--steps", "2",
                          "--target", "rtx-3090", "--overrides", "none", "-o", png})
                 .code,
             0);
    const auto picture = attn::app::read_png(*attn::app::read_text(png.toStdString()));
    attn::app::BitsHash hash;
    hash.add(std::as_bytes(std::span(picture->rgb)));
    const Answer answer = run_attnctl(shapes({"--variants", "backend:flex,kernels:Math,compiled", "--json"}));
    QVERIFY2(answer.code == 0, qPrintable(answer.err));
    const json table = answer.parsed();
    QCOMPARE(row_of(table, "baseline")["hash"], json(hash.text()));
    QCOMPARE(row_of(table, "baseline")["picture"]["psnr"], json(nullptr));
    QVERIFY(row_of(table, "baseline")["picture"]["equal"].get<bool>());
    QCOMPARE(row_of(table, "backend:flex")["picture"]["ssim"].get<double>(), 1.0);
    QVERIFY(row_of(table, "compiled")["compiled"].get<bool>());
    for (const char* role : {"te", "transformer", "vae"}) {
      QVERIFY(row_of(table, "kernels:Math")["roles"][role]["cosine"].get<double>() > 0.999);
    }
  }

  void a_model_is_probed() {
    const Answer answer =
        run_attnctl({"probe", "flux.1-dev", "--width", "128", "--height", "128", "--steps", "4", "--target", "rtx-3090",
                     "--repeat", "2", "--variants", "backend:flash", "--csv"});
    QVERIFY2(answer.code == 0, qPrintable(answer.err));
    QCOMPARE(answer.out.count("\r\n"), 3);
    QVERIFY(answer.out.contains("\r\nbackend:flash,backend,measured,,"));
  }

  void a_plot_and_a_file_are_written() {
    const Answer answer =
        run_attnctl(call_ + QStringList{"--variants", "backend:sage", "--plot", path("a.svg"), "-o", path("a.json")});
    QVERIFY2(answer.code == 0, qPrintable(answer.err));
    QFile plot(path("a.svg"));
    QVERIFY(plot.open(QIODevice::ReadOnly) && plot.readAll().contains("id=\"pareto\""));
    QVERIFY(attn::app::load_levers(path("a.json").toStdString()).has_value());
  }

  void an_interrupted_probe_goes_on_without_measuring_again_data() {
    QTest::addColumn<int>("signal");
    QTest::newRow("Ctrl-C") << SIGINT;
    QTest::newRow("kill") << SIGKILL;
  }

  void an_interrupted_probe_goes_on_without_measuring_again() {
    QFETCH(int, signal);
    const QString file = path(signal == SIGINT ? "stopped.json" : "killed.json");
    const QStringList words = shapes({"-o", file, "--variants", "backend,kernels,compiled", "--resume"}, "10");
    QProcess process;
    process.start(QStringLiteral(ATTN_BIN "/attnctl"), words);
    QVERIFY(process.waitForStarted());
    // Until two rows are there; each look waits for the end of the process for a blink.
    std::size_t rows = 0;
    while (rows < 2 && !process.waitForFinished(10)) {
      const auto there =
          QFile::exists(file) ? attn::app::load_levers(file.toStdString()) : attn::Expected<attn::app::LeverResult>();
      QVERIFY2(there.has_value(), there ? "" : there.error().c_str());
      rows = there->rows.size();
    }
    QVERIFY2(process.state() == QProcess::Running, process.readAllStandardError().constData());
    ::kill(static_cast<pid_t>(process.processId()), signal);
    QVERIFY(process.waitForFinished(30000));
    if (signal == SIGINT) {
      QCOMPARE(process.exitCode(), 1);
      const QString said = QString::fromUtf8(process.readAllStandardError());
      QVERIFY2(said.contains("stopped; ") && said.contains("--resume goes on with " + file), qPrintable(said));
    }
    const auto before = *attn::app::load_levers(file.toStdString());
    QVERIFY(before.rows.size() >= 2 && before.missing() > 0);
    QCOMPARE(before.outcome, attn::app::JobOutcome::stopped);
    const Answer again = run_attnctl(words + QStringList{"--json"});
    QVERIFY2(again.code == 0, qPrintable(again.err));
    const auto after = *attn::app::load_levers(file.toStdString());
    QCOMPARE(after.missing(), std::size_t{0});
    QCOMPARE(after.outcome, attn::app::JobOutcome::finished);
    for (const auto& row : before.rows) QVERIFY(after.find(row.variant.name)->measure == row.measure);
    QCOMPARE(again.parsed()["rows"].size(), after.rows.size());
  }

  void shards_are_merged() {
    QStringList files;
    for (const char* part : {"1/2", "2/2"}) {
      files << path("shard") + QString(part).left(1) + ".json";
      const Answer answer =
          run_attnctl(call_ + QStringList{"--variants", "backend,kernels:Math", "--shard", part, "-o", files.back()});
      QVERIFY2(answer.code == 0, qPrintable(answer.err));
    }
    const Answer merged = run_attnctl(QStringList{"probe", "merge", "--json", "-o", path("all.json")} + files);
    QVERIFY2(merged.code == 0, qPrintable(merged.err));
    const json table = merged.parsed();
    const json listed =
        run_attnctl(call_ + QStringList{"--variants", "backend,kernels:Math", "--list", "--json"}).parsed();
    QCOMPARE(table["rows"].size(), listed.size());
    QVERIFY(!table["pareto"].empty());

    QFile one(files[1]);
    QVERIFY(one.open(QIODevice::ReadWrite));
    json other = json::parse(one.readAll().toStdString());
    other["machine"] = "another machine";
    QVERIFY(one.seek(0) && one.resize(0) && one.write(QByteArray::fromStdString(other.dump())) > 0);
    one.close();
    const Answer refused = run_attnctl(QStringList{"probe", "merge"} + files);
    QCOMPARE(refused.code, 2);
    QVERIFY2(refused.err.contains("the machine differs") && refused.err.contains("--mixed"), qPrintable(refused.err));
    const Answer mixed = run_attnctl(QStringList{"probe", "merge", "--mixed"} + files);
    QCOMPARE(mixed.code, 0);
    QVERIFY(mixed.out.contains("mixed: "));
  }

  void a_file_of_another_probe_is_not_touched() {
    const QString file = path("kept.json");
    const QStringList first = call_ + QStringList{"--variants", "backend:sage", "-o", file};
    QCOMPARE(run_attnctl(first).code, 0);
    const auto before = attn::app::read_text(file.toStdString());
    const Answer again = run_attnctl(first);
    QCOMPARE(again.code, 2);
    QVERIFY(again.err.contains("it is there already; --resume"));
    for (const QStringList& change : {QStringList{"--seed", "9"}, QStringList{"--set", "sdnq_attention_smooth_k=false"},
                                      QStringList{"--target", "h100"}, QStringList{"--repeat", "3"}}) {
      QStringList words = first + QStringList{"--resume"};
      for (qsizetype i = 0; i < change.size(); i += 2) {
        const qsizetype at = words.indexOf(change[i]);
        if (at >= 0) words.remove(at, 2);
      }
      const Answer other = run_attnctl(words + change);
      QCOMPARE(other.code, 2);
      QVERIFY2(other.err.contains("cannot be resumed: ") && other.err.count('\n') == 1, qPrintable(other.err));
    }
    QCOMPARE(*attn::app::read_text(file.toStdString()), *before);
  }

  void wrong_input_is_one_sentence_data() {
    QTest::addColumn<QStringList>("words");
    QTest::addColumn<QString>("part");
    QTest::newRow("no job") << QStringList{"probe"} << "no job given";
    QTest::newRow("variant") << call_ + QStringList{"--variants", "sagee"} << "--variants: no variant is called sagee";
    QTest::newRow("shard") << call_ + QStringList{"--shard", "3/2"} << "--shard 3/2: write which of how many";
    QTest::newRow("repeat") << call_ + QStringList{"--repeat", "1"} << "--repeat";
    QTest::newRow("resume") << call_ + QStringList{"--resume"} << "--resume needs the file";
    QTest::newRow("folder") << call_ + QStringList{"-o", "/no/such/folder/a.json"} << "there is no folder";
    QTest::newRow("plot") << call_ + QStringList{"--plot", "/"} << "--plot /: it is a directory";
    QTest::newRow("two answers") << call_ + QStringList{"--csv", "--json"} << "give one of them";
    QTest::newRow("model") << QStringList{"probe", "flux.9"} << "flux.9";
    QTest::newRow("prompt") << QStringList{"probe", "shapes"} << "no prompt given";
    QTest::newRow("option") << QStringList{"probe", "shapes", "a red circle", "--sise", "64"}
                            << "unknown option --sise; nearest: --size";
    QTest::newRow("merge nothing") << QStringList{"probe", "merge"} << "merge";
    QTest::newRow("merge what") << QStringList{"probe", "merge", "/no/such.json"} << "/no/such.json";
    QTest::newRow("size") << QStringList{"probe", "shapes", "a red circle", "--size", "65"} << "65";
  }

  void wrong_input_is_one_sentence() {
    QFETCH(QStringList, words);
    QFETCH(QString, part);
    QCOMPARE(not_refused(words, part), QString());
  }
};

QTEST_GUILESS_MAIN(LeversCliTest)
#include "levers_cli_test.moc"
