// SPDX-License-Identifier: GPL-3.0-or-later
// `attnctl generate` as a person runs it: files, streams, exit codes and JSON keys.
#include "app/jobs/files/atomic_file.h"
#include "app/jobs/pipeline/picture_file.h"
#include "app/jobs/pipeline/png_file.h"
#include "support/oracle.h"
#include "support/tiny_shapes.h"

#include <QFile>
#include <QProcess>
#include <QTemporaryDir>
#include <QtTest>

using namespace attn::app;
using attn::test::q;
using nlohmann::json;

namespace {

struct Answer {
  int code = -1;
  QString out;
  QString err;
};

}  // namespace

class GenerateCliTest : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir folder_;

  [[nodiscard]] QString path(const char* name) const { return folder_.filePath(name); }
  [[nodiscard]] static Answer run(const QStringList& arguments) {
    QProcess process;
    QStringList variables = QProcess::systemEnvironment();
    variables.removeIf([](const QString& v) { return v.startsWith("SD_ATTN_DEBUG="); });
    process.setEnvironment(variables);
    process.start(QStringLiteral(ATTN_BIN "/attnctl"), QStringList{"generate"} + arguments);
    if (!process.waitForFinished(60000)) qFatal("attnctl did not end");
    return {process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -1,
            QString::fromUtf8(process.readAllStandardOutput()), QString::fromUtf8(process.readAllStandardError())};
  }
  /// With the small model, at 64 pixels and two steps, so that a run takes a blink.
  [[nodiscard]] Answer quick(const QStringList& arguments) const {
    return run(QStringList{"--model", folder_.path(), "--size", "64", "--steps", "2"} + arguments);
  }
  [[nodiscard]] static std::vector<std::uint8_t> pixels(const QString& file) {
    const auto bytes = read_text(file.toStdString());
    const auto picture = read_png(bytes ? *bytes : "");
    return picture ? picture->rgb : std::vector<std::uint8_t>();
  }

 private slots:
  void initTestCase() { attn::test::TinyShapes::write(folder_.path()); }

  void a_picture_is_compared_with_another_one() {
    QCOMPARE(quick({"a red circle", "-o", path("base.png"), "--seed", "4"}).code, 0);
    const Answer same = quick({"a red circle", "-o", path("same.png"), "--seed", "4", "--against", path("base.png")});
    QCOMPARE(same.code, 0);
    QVERIFY2(same.out.contains("the same picture as " + path("base.png")), qPrintable(same.out));
    const Answer other =
        quick({"a red circle", "-o", path("other.png"), "--seed", "5", "--against", path("base.png"), "--json"});
    QCOMPARE(other.code, 0);
    const json distance = json::parse(other.out.toStdString())["against"];
    QVERIFY(!distance["equal"].get<bool>());
    QVERIFY(distance["psnr"].get<double>() > 0.0 && distance["ssim"].get<double>() < 1.0);
    const Answer larger = run({"--model", folder_.path(), "--size", "72", "--steps", "2", "a red circle", "-o",
                               path("x.png"), "--against", path("base.png")});
    QCOMPARE(larger.code, 2);
    QVERIFY2(larger.err.contains("is 64x64; the picture to draw is 72x72"), qPrintable(larger.err));
    QVERIFY(!QFile::exists(path("x.png")));
    const Answer absent = quick({"a red circle", "-o", path("x.png"), "--against", path("nothing.png")});
    QCOMPARE(absent.code, 2);
    QVERIFY2(absent.err.contains("--against"), qPrintable(absent.err));
  }
  void a_picture_and_two_tables_come_out() {
    const Answer answer = quick({"a red circle", "-o", path("a.png")});
    QVERIFY2(answer.code == 0, qPrintable(answer.err));
    QCOMPARE(pixels(path("a.png")).size(), std::size_t{64 * 64 * 3});
    for (const char* part : {"Shapes 64 x 64, 2 steps", "chain ", "transformer", "[2, 2, 268, 64]", "role ", "oneDNN",
                             "% in oneDNN", "% in attention"}) {
      QVERIFY2(answer.out.contains(part), part);
    }
    QVERIFY2(answer.err.isEmpty(), qPrintable(answer.err));
  }

  void json_says_all_of_it() {
    const Answer answer =
        quick({"a red circle", "-o", path("b.png"), "--json", "--seed", "5", "--hires", "96x64", "--hires-steps", "1"});
    QCOMPARE(answer.code, 0);
    const json parsed = json::parse(answer.out.toStdString(), nullptr, false);
    QCOMPARE(q(parsed["output"].get<std::string>()), path("b.png"));
    QCOMPARE(parsed["outcome"], "finished");
    QCOMPARE(parsed["generation"]["seed"], 5);
    QCOMPARE(parsed["generation"]["hires"]["width"], 96);
    QCOMPARE(parsed["step_seconds"].size(), std::size_t{3});
    QCOMPARE(parsed["image_tokens"], 24 * 16);
    QCOMPARE(parsed["calls"], 1 + 3 * 2 + 1);
    QCOMPARE(parsed["dropped_events"], 0);
    for (const char* role : {"te", "transformer", "vae", "all"}) {
      for (const char* part : {"seconds", "onednn", "attention", "other"})
        QVERIFY(parsed["times"][role][part].is_number());
    }
    for (const json& route : parsed["routes"]) QVERIFY(route["seconds"].get<double>() >= 0.0);
  }

  void from_takes_the_settings_and_the_chain_back() {
    const QStringList words{"a blue star", "-o",        path("c.png"), "--seed", "9",      "--target", "rtx-3090",
                            "--overrides", "sdnq,flex", "--dtype",     "fp16",   "--text", "trimmed",  "--compiled"};
    QVERIFY(quick(words).code == 0);
    const Answer again = run({"--model", folder_.path(), "--from", path("c.png"), "-o", path("d.png"), "--json"});
    QVERIFY2(again.code == 0, qPrintable(again.err));
    QVERIFY(!pixels(path("c.png")).empty());
    QVERIFY(pixels(path("c.png")) == pixels(path("d.png")));
    const json parsed = json::parse(again.out.toStdString());
    QCOMPARE(parsed["target"], "rtx-3090");
    QVERIFY(q(parsed["chain"].get<std::string>()).startsWith("sdnq>flex"));
    const auto first = read_picture_settings(path("c.png").toStdString());
    const auto second = read_picture_settings(path("d.png").toStdString());
    QVERIFY(first.has_value() && second.has_value());
    QVERIFY(first->generation == second->generation);
    QVERIFY(first->settings == second->settings);
    QVERIFY(first->generation.compiled);
  }

  void what_is_given_beside_from_wins() {
    QVERIFY(quick({"a blue star", "-o", path("e.png"), "--seed", "9", "--target", "rtx-3090"}).code == 0);
    const Answer answer = run({"a red circle", "--model", folder_.path(), "--from", path("e.png"), "-o", path("f.png"),
                               "--steps", "1", "--target", "cpu", "--overrides", "flex", "--json"});
    QVERIFY2(answer.code == 0, qPrintable(answer.err));
    const json parsed = json::parse(answer.out.toStdString());
    QCOMPARE(parsed["target"], "cpu");
    QCOMPARE(parsed["generation"]["prompt"], "a red circle");
    QCOMPARE(parsed["generation"]["steps"], 1);
    QCOMPARE(parsed["generation"]["seed"], 9);
    QCOMPARE(parsed["generation"]["width"], 64);
    QVERIFY(q(parsed["chain"].get<std::string>()).contains("flex"));
  }

  void threads_do_not_change_the_picture() {
    QVERIFY(quick({"a blue star", "-o", path("g.png"), "--threads", "1"}).code == 0);
    QVERIFY(quick({"a blue star", "-o", path("h.png"), "--threads", "2"}).code == 0);
    QVERIFY(pixels(path("g.png")) == pixels(path("h.png")));
    QCOMPARE(q(*read_text(path("g.png").toStdString())), q(*read_text(path("h.png").toStdString())));
  }

  void a_random_seed_is_kept_in_the_picture() {
    QVERIFY(quick({"a blue star", "-o", path("i.png"), "--seed", "random"}).code == 0);
    const auto settings = read_picture_settings(path("i.png").toStdString());
    QVERIFY(settings.has_value());
    QVERIFY(quick({"a blue star", "-o", path("j.png"), "--seed", QString::number(settings->generation.seed)}).code ==
            0);
    QVERIFY(pixels(path("i.png")) == pixels(path("j.png")));
  }

  void a_required_backend_that_would_not_serve_ends_it_before_it_runs() {
    const Answer answer = quick({"a blue star", "-o", path("k.png"), "--require", "transformer=flash", "--target",
                                 "rtx-3090", "--overrides", "flash"});
    QCOMPARE(answer.code, 1);
    QVERIFY2(answer.err.contains("flash is required but would not serve the transformer call"), qPrintable(answer.err));
    QVERIFY(!QFile::exists(path("k.png")));
    const Answer met = quick({"a blue star", "-o", path("k.png"), "--require", "transformer=flash", "--target",
                              "rtx-3090", "--overrides", "flash", "--text", "trimmed", "--dtype", "fp16"});
    QVERIFY2(met.code == 0, qPrintable(met.err));
  }

  void where_only_math_runs_its_memory_is_said_before_it_draws() {
    const Answer said =
        quick({"a red circle", "-o", path("math.png"), "--target", "rtx-3090", "--probe-result", "math-only"});
    QCOMPARE(said.code, 0);
    QVERIFY2(said.err.contains("only the math kernel runs on NVIDIA RTX 3090: transformer q[2, "),
             qPrintable(said.err));
    const Answer json_said = quick(
        {"a red circle", "-o", path("math.png"), "--target", "rtx-3090", "--probe-result", "math-only", "--json"});
    const json math = json::parse(json_said.out.toStdString())["math_only"];
    QVERIFY(math["memory_bytes"].get<std::int64_t>() > 0 && !math["over"].get<bool>());
    QVERIFY(!quick({"a red circle", "-o", path("math.png")}).err.contains("math kernel"));
  }

  void repeated_calls_have_the_same_bits() {
    const Answer said = quick({"a red circle", "-o", path("repeat.png"), "--repeat", "3", "--require-deterministic"});
    QCOMPARE(said.code, 0);
    for (const char* role : {"role=te", "role=vae"}) QVERIFY2(said.out.contains(role), qPrintable(said.out));
    QCOMPARE(said.out.count("bit-identical 3/3"), 3);
  }

  void wrong_words_get_one_sentence_and_code_2_data() {
    QTest::addColumn<QStringList>("words");
    QTest::addColumn<QString>("part");
    const auto row = [](const char* name, const QStringList& words, const char* part) {
      QTest::newRow(name) << words << QString(part);
    };
    const QString out = path("never.png");
    row("unknown word", {"a red circel", "-o", out}, "does not know the word \"circel\"; nearest: circle");
    row("no prompt", {"-o", out}, "no prompt given");
    row("no output", {"a star"}, "--output is required");
    row("no folder", {"a star", "-o", "/no/such/out.png"}, "there is no folder /no/such");
    row("a folder", {"a star", "-o", folder_.path()}, "it is a directory");
    row("no png", {"a star", "-o", path("x.jpg")}, "a name that ends in .png");
    row("seed", {"a star", "-o", out, "--seed", "-3"}, "--seed -3: a whole number");
    row("size twice", {"a star", "-o", out, "--width", "64"}, "--size says what --width and --height say");
    row("hires size", {"a star", "-o", out, "--hires", "big"}, "--hires big: write a size");
    row("hires alone", {"a star", "-o", out, "--hires-steps", "3"}, "need --hires SIZE");
    row("hires small", {"a star", "-o", out, "--hires", "32"}, "hires width 32: a multiple of 8 from 64 to 512");
    row("upscale", {"a star", "-o", out, "--hires", "96", "--hires-upscale", "x"}, "latent or image is needed");
    row("dtype", {"a star", "-o", out, "--dtype", "int8"}, "dtype int8: one of float32, float16, bfloat16");
    row("text", {"a star", "-o", out, "--text", "x"}, "padded or trimmed");
    row("step source", {"a star", "-o", out, "--step-source", "x"}, "callback or hook");
    row("guidance", {"a star", "-o", out, "--guidance", "0"}, "guidance 0: a number from 1 to 30");
    row("target", {"a star", "-o", out, "--target", "x-9000"}, "x-9000");
    row("option", {"a star", "-o", out, "--stepz", "3"}, "unknown option --stepz; nearest: --steps");
    row("from nowhere", {"--from", path("none.png"), "-o", out}, "none.png: there is no such file");
    row("from and import", {"--from", path("none.png"), "--import", "x", "-o", out}, "--from and --import");
  }
  void wrong_words_get_one_sentence_and_code_2() {
    QFETCH(QStringList, words);
    QFETCH(QString, part);
    const Answer answer = quick(words);
    QCOMPARE(answer.code, 2);
    QVERIFY2(answer.err.contains(part), qPrintable(answer.err));
    QCOMPARE(answer.err.count('\n'), 1);
    QVERIFY(answer.out.isEmpty());
    QVERIFY(!QFile::exists(path("never.png")));
  }

  void a_model_that_cannot_be_read_gets_code_2() {
    QTemporaryDir empty;
    const Answer answer = run({"a star", "-o", path("never.png"), "--model", empty.path()});
    QCOMPARE(answer.code, 2);
    QVERIFY2(answer.err.contains("config.json: there is no such file"), qPrintable(answer.err));
  }

  void an_old_picture_stays_when_the_generation_does_not_finish() {
    QVERIFY(attn::app::write_atomically(path("old.png").toStdString(), "old").has_value());
    QCOMPARE(quick({"a purple cow", "-o", path("old.png")}).code, 2);
    QCOMPARE(q(*read_text(path("old.png").toStdString())), QString("old"));
  }
};

QTEST_GUILESS_MAIN(GenerateCliTest)
#include "generate_cli_test.moc"
