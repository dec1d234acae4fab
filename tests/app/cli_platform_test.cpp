// SPDX-License-Identifier: GPL-3.0-or-later
// attnctl platform: versions judged one by one, and a log's missing packages linked to the overrides they kill.
#include "core/policy/packages.h"
#include "support/attnctl.h"
#include "support/oracle.h"

#include <QFile>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QtTest>

using attn::test::Answer;
using attn::test::run_attnctl;
using nlohmann::json;

namespace {

void write(const QString& path, const QByteArray& bytes) {
  QFile file(path);
  if (!file.open(QIODevice::WriteOnly) || file.write(bytes) != bytes.size()) qFatal("cannot write the test's file");
}

json package(const json& answer, const std::string& name) {
  for (const json& one : answer["packages"]) {
    if (one["package"] == name) return one;
  }
  return {};
}

}  // namespace

class CliPlatformTest : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase() {
    QVERIFY(folder_.isValid());
    // Stands for a Python: sage 1 is there and sage 2 is not, flash has its second name, sdnq crashes, aiter hurts.
    python_ = folder_.filePath("python");
    write(python_,
          "#!/bin/sh\n"
          "if [ \"$1\" = --version ]; then echo Python 3.11.2; exit 0; fi\n"
          "case \"$3\" in\n"
          "  sageattention) echo noise; echo 'attnscope-module works 1.0.6';;\n"
          "  flash_attn_3) echo 'attnscope-module works 3.0.0';;\n"
          "  sdnq) kill -SEGV $$;;\n"
          "  aiter) echo 'attnscope-module fails ImportError: no HIP runtime';;\n"
          "  kernels) echo 'Segment of a broken interpreter' >&2; exit 3;;\n"
          "  *) echo 'attnscope-module absent';;\n"
          "esac\n");
    QVERIFY(QFile::setPermissions(python_, QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner));
  }

  void every_version_is_judged_by_itself_and_the_choice_stays() {
    const Answer answer = run_attnctl({"platform", "--python", python_, "--overrides", "sage,sdnq", "--json"});
    QCOMPARE(answer.code, 0);
    const json got = answer.parsed();
    QCOMPARE(got["python"], json("Python 3.11.2"));
    QCOMPARE(got["packages"].size(), attn::package_versions().size());
    QCOMPARE(package(got, "sage 1")["state"], json("works"));
    QCOMPARE(package(got, "sage 1")["found"], json("sageattention 1.0.6"));
    QCOMPARE(package(got, "sage 2")["state"], json("not installed"));
    QCOMPARE(package(got, "sage 2")["step"], json("sageattention is version 1.0.6"));
    QVERIFY(package(got, "sage 2")["enabled"].get<bool>() && !package(got, "flash 2")["enabled"].get<bool>());
    QCOMPARE(package(got, "flash 3")["found"], json("flash_attn_3 3.0.0"));
    QCOMPARE(package(got, "sdnq")["state"], json("installed but fails"));
    QVERIFY(package(got, "sdnq")["step"].get<std::string>().starts_with("import sdnq: crashed: "));
    QCOMPARE(package(got, "aiter")["step"], json("import aiter: ImportError: no HIP runtime"));
    QCOMPARE(package(got, "kernels")["step"], json("import kernels: Segment of a broken interpreter"));
    QCOMPARE(got["dead"].size(), std::size_t{1});
    QCOMPARE(got["dead"][0]["override"], json("SDNQ attention"));
  }

  void where_nobody_can_look_nothing_is_claimed_data() {
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<QString>("why");
    QTest::newRow("emulated target") << QStringList{"--target", "h100"} << "h100 is not in this machine";
    QTest::newRow("no such program") << QStringList{"--python", "/nowhere/python"} << "cannot be started";
    QTest::newRow("no Python") << QStringList{"--python", "false"} << "false is no Python that runs here";
  }
  void where_nobody_can_look_nothing_is_claimed() {
    QFETCH(QStringList, arguments);
    QFETCH(QString, why);
    const json got = run_attnctl(QStringList{"platform", "--overrides", "sage", "--json"} + arguments).parsed();
    for (const json& one : got["packages"]) {
      QCOMPARE(one["state"], json("unknown"));
      QVERIFY2(QString::fromStdString(one["step"]).contains(why), one["step"].dump().c_str());
    }
    QVERIFY(got["dead"].empty());
  }

  void two_lines_of_a_log_are_one_incident_of_the_dead_override() {
    const QString log = folder_.filePath("server.log");
    write(log,
          "10:00:00 INFO   Install: package=\"flash-attn\"\n"
          "10:00:41 ERROR  Install: package=\"flash-attn\" pip failed: building wheel for flash-attn: error\n"
          "10:00:42 ERROR  Torch attention: No module named 'flash_attn'\n");
    const json got =
        run_attnctl({"platform", "--target", "rtx-3090", "--overrides", "flash", "--read-log", log, "--json"}).parsed();
    QCOMPARE(got["incidents"].size(), std::size_t{1});
    const json incident = got["incidents"][0];
    QCOMPARE(incident["title"], json("install failed, backend absent: flash_attn"));
    QCOMPARE(incident["override"], json("Flash attention"));
    QVERIFY(incident["enabled"].get<bool>() && incident["count"] == 2);
    const Answer text = run_attnctl({"platform", "--target", "rtx-3090", "--overrides", "flash", "--read-log", log});
    QVERIFY2(text.out.contains("Flash attention is switched on and dead (2 lines)"), qPrintable(text.out));
    const json off = run_attnctl({"platform", "--target", "rtx-3090", "--read-log", log, "--json"}).parsed();
    QVERIFY(!off["incidents"][0]["enabled"].get<bool>());
    QCOMPARE(run_attnctl({"platform", "--read-log", folder_.filePath("none.log")}).code, 2);
  }

  void a_real_python_is_asked_module_by_module() {
    const QString python = QStandardPaths::findExecutable("python3");
    if (python.isEmpty()) QSKIP("there is no python3 in this machine");
    QVERIFY(QDir(folder_.path()).mkpath("site"));
    write(folder_.filePath("site/sageattention.py"), "print('loud')\n__version__ = '1.0.6'\n");
    write(folder_.filePath("site/xformers.py"), "raise RuntimeError('built for\\nanother torch')\n");
    write(folder_.filePath("site/aiter.py"), "import os, signal\nos.kill(os.getpid(), signal.SIGABRT)\n");
    qputenv("PYTHONPATH", folder_.filePath("site").toLocal8Bit());
    const json got = run_attnctl({"platform", "--python", python, "--json"}).parsed();
    qunsetenv("PYTHONPATH");
    QVERIFY(got["python"].get<std::string>().starts_with("Python 3"));
    QCOMPARE(package(got, "sage 1")["found"], json("sageattention 1.0.6"));
    QCOMPARE(package(got, "xformers")["step"], json("import xformers: RuntimeError: built for another torch"));
    QVERIFY(package(got, "aiter")["step"].get<std::string>().starts_with("import aiter: crashed"));
  }

 private:
  QTemporaryDir folder_;
  QString python_;
};

QTEST_GUILESS_MAIN(CliPlatformTest)
#include "cli_platform_test.moc"
