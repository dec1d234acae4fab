// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/arguments.h"

#include "app/gui/worker.h"
#include "ui/link/postbox.h"

#include <QtTest>
#include <atomic>

using namespace attn;

class ArgumentsTest : public QObject {
  Q_OBJECT

 private slots:
  void good_lines_are_read() {
    QString error;
    const auto all = app::parse_arguments({"--screenshots", "out", "--theme", "dark", "--scale", "2"}, error);
    QVERIFY(all.has_value());
    QCOMPARE(all->screenshots, QString("out"));
    QCOMPARE(*all->theme, QString("dark"));
    QCOMPARE(*all->scale, 2);
    QVERIFY(app::parse_arguments({}, error)->screenshots.isEmpty());
    QCOMPARE(app::parse_arguments({"--settings", "config.json"}, error)->settings, QString("config.json"));
    QVERIFY(app::parse_arguments({"--help"}, error)->help);
    const auto started = app::parse_arguments(
        {"mine.attnscope", "--run-command", "run.start", "--fresh", "--run-command", "theme.dark"}, error);
    QCOMPARE(started->file, QString("mine.attnscope"));
    QCOMPARE(started->commands, (QStringList{"run.start", "theme.dark"}));
    QVERIFY(started->fresh && !started->list_commands);
    QVERIFY(app::parse_arguments({"--list-commands"}, error)->list_commands);
    QVERIFY(error.isEmpty());
  }

  void wrong_lines_are_refused_with_a_sentence_data() {
    QTest::addColumn<QStringList>("words");
    QTest::addColumn<QString>("names");
    QTest::newRow("unknown") << QStringList{"--fast"} << "--fast";
    QTest::newRow("no value") << QStringList{"--theme"} << "--theme";
    QTest::newRow("no file") << QStringList{"--settings"} << "--settings";
    QTest::newRow("no command") << QStringList{"--run-command"} << "--run-command";
    QTest::newRow("two files") << QStringList{"one.attnscope", "two.attnscope"} << "two.attnscope";
    QTest::newRow("no theme") << QStringList{"--theme", "pink"} << "pink";
    QTest::newRow("no number") << QStringList{"--scale", "big"} << "big";
    QTest::newRow("zero") << QStringList{"--scale", "0"} << "0";
    QTest::newRow("too large") << QStringList{"--scale", "9"} << "9";
  }
  void wrong_lines_are_refused_with_a_sentence() {
    QFETCH(QStringList, words);
    QFETCH(QString, names);
    QString error;
    QVERIFY(!app::parse_arguments(words, error).has_value());
    QVERIFY(error.contains(names));
  }

  void a_worker_finishes_what_was_queued_in_order() {
    std::vector<int> done;
    {
      app::Worker worker;
      for (int i = 0; i < 100; ++i) worker.post([&done, i] { done.push_back(i); });
    }
    QCOMPARE(done.size(), std::size_t{100});
    QVERIFY(std::is_sorted(done.begin(), done.end()));
  }

  void a_postbox_delivers_from_any_thread_and_never_after_its_end() {
    auto receiver = std::make_unique<QObject>();
    auto box = std::make_unique<ui::Postbox>(receiver.get());
    const auto address = box->address();
    int got = 0;
    std::thread([&] { address.post([&] { ++got; }); }).join();
    QTRY_COMPARE(got, 1);
    address.post([&] { ++got; });
    box.reset();
    receiver.reset();
    address.post([&] { ++got; });
    QCoreApplication::processEvents();
    QCOMPARE(got, 1);
  }
};

QTEST_GUILESS_MAIN(ArgumentsTest)
#include "arguments_test.moc"
