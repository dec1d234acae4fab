// SPDX-License-Identifier: GPL-3.0-or-later
// What attnctl's export does to a file that is already there, and what a lost answer is.
#include "support/oracle.h"

#include <QFile>
#include <QProcess>
#include <QTemporaryDir>
#include <QtTest>

using nlohmann::json;

namespace {

int run(const QStringList& arguments, QString* out = nullptr, QString* err = nullptr, const QString& to = {}) {
  QProcess process;
  if (!to.isEmpty()) process.setStandardOutputFile(to);
  process.start(QStringLiteral(ATTN_BIN "/attnctl"), arguments);
  if (!process.waitForFinished(60000)) qFatal("attnctl did not end");
  if (out != nullptr) *out = QString::fromUtf8(process.readAllStandardOutput());
  if (err != nullptr) *err = QString::fromUtf8(process.readAllStandardError());
  return process.exitCode();
}

QByteArray bytes_of(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

void write(const QString& path, const QByteArray& bytes) {
  QFile file(path);
  if (!file.open(QIODevice::WriteOnly) || file.write(bytes) != bytes.size()) qFatal("cannot write the test's file");
}

}  // namespace

class CliExportTest : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase() { QVERIFY(folder_.isValid()); }

  void what_nobody_set_stays_in_an_existing_file() {
    for (const char* name : {"sdnext-config-selector.json", "sdnext-config-overrides.json"}) {
      const QString file = folder_.filePath(name);
      const QByteArray before = bytes_of(QString(ATTN_ORACLES "/sdnext/") + name);
      write(file, before);
      QCOMPARE(run({"export", "-o", file, "--target", "rtx-3090", "--set", "sparse_attention_budget=35"}), 0);
      const QByteArray after = bytes_of(file);
      // One value of two digits became another of two digits: nothing else moved.
      QCOMPARE(after.size(), before.size());
      int different = 0;
      for (qsizetype i = 0; i < after.size(); ++i) different += after[i] != before[i] ? 1 : 0;
      QVERIFY2(different >= 1 && different <= 2, qPrintable(QString::number(different)));
      QCOMPARE(json::parse(after.toStdString())["sparse_attention_budget"], json(35));
      QCOMPARE(bytes_of(file + ".bak"), before);
    }
  }

  void a_value_that_does_not_hold_is_named_before_it_is_replaced() {
    const QString file = folder_.filePath("invalid.json");
    write(file, R"({"sdp_overrides": ["Foo attention"], "other": 1})");
    QString out;
    QCOMPARE(run({"export", "-o", file, "--target", "rtx-3090", "--overrides", "sage", "--dry-run"}, &out), 0);
    QVERIFY2(out.contains("a value that does not hold is replaced") && out.contains("Foo attention"), qPrintable(out));
  }

  void an_answer_that_cannot_be_written_is_a_failure() {
    QString err;
    QCOMPARE(run({"plan", "flux.1-dev", "--steps", "1"}, nullptr, &err, "/dev/full"), 1);
    QVERIFY2(err.contains("could not be written to stdout"), qPrintable(err));
  }

  void a_backend_that_the_platform_lacks_says_so_also_while_it_is_off() {
    QString out;
    QCOMPARE(run({"explain", "q[1,24,4608,128]", "--target", "rtx-4090"}, &out), 0);
    QVERIFY2(
        out.contains("triton: choose another target, it is not available on platform cuda: it needs rocm or zluda"),
        qPrintable(out));
    QVERIFY(!out.contains("enable \"Triton Flash attention\""));
    QVERIFY(out.contains("layout     q contiguous, k contiguous, v contiguous"));
  }

 private:
  QTemporaryDir folder_;
};

QTEST_GUILESS_MAIN(CliExportTest)
#include "cli_export_test.moc"
