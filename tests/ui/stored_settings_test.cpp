// SPDX-License-Identifier: GPL-3.0-or-later
// A window opened with stored values that do not hold: it works with defaults, says so, and leaves the file alone.
#include "app/gui/stored_settings.h"
#include "bench_window.h"
#include "test_files.h"
#include "ui/panel/fact_table.h"

#include <QPushButton>
#include <QTemporaryDir>

using namespace attn;
using namespace attn::ui;
using attn::test::BenchWindow;
using attn::test::bytes_of;
using attn::test::write_file;

class StoredSettingsTest : public QObject {
  Q_OBJECT

 private slots:
  void init() { theme_ = std::make_unique<Theme>(); }
  void cleanup() { theme_.reset(); }

  void a_value_that_does_not_hold_is_replaced_said_and_kept_in_the_file_data() {
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<QString>("stored");
    const auto config = [](const char* value) {
      return QByteArray(
                 "{\"samples_format\": \"jpg\", \"sdp_overrides\": [\"Sage attention\"], "
                 "\"sparse_attention_budget\": ") +
             value + "}\n";
    };
    for (const char* value : {"-1", "250", "NaN", "\"30\"", "null", "true", "[30]", "1e400"}) {
      QTest::newRow(value) << config(value) << value;
    }
    QTest::newRow("profile") << QByteArray(
                                    "{\"attnscope\": \"profile\", \"version\": 1, \"settings\": {\"sdp_overrides\": "
                                    "[\"Sage attention\"], \"sparse_attention_budget\": 250}}\n")
                             << "250";
  }
  void a_value_that_does_not_hold_is_replaced_said_and_kept_in_the_file() {
    QFETCH(QByteArray, text);
    QFETCH(QString, stored);
    const QTemporaryDir place;
    const QString path = place.filePath("config.json");
    write_file(path, text);
    const BenchWindow b(*theme_);
    const StoredReport report = app::open_stored_settings(b.bench->engine(), path);
    b.window->show_stored(report);
    QCOMPARE(report.error, QString());
    QCOMPARE(report.findings.size(), std::size_t{1});
    QCOMPARE(report.findings[0].stored, stored);
    // What holds is taken, what does not is at its default.
    QTRY_COMPARE(b.chain(), QString("sage>sdpa"));
    QCOMPARE(b.bench->engine().values().integer("sparse_attention_budget"), 30);
    QVERIFY(b.find<QWidget>("stored_banner")->isVisible());
    const QString sentence = b.find<QLabel>("stored_sentence")->text();
    QVERIFY2(sentence.contains("sparse_attention_budget: stored " + stored + ", used default 30"),
             qPrintable(sentence));
    const std::vector<FactRow>& rows = b.find<FactTable>("stored_table")->rows();
    QCOMPARE(rows.size(), std::size_t{1});
    QCOMPARE(rows[0][1].text, stored);
    QCOMPARE(rows[0][2].text, QString("30"));
    QCOMPARE(rows[0][3].text, QString("30"));
    QVERIFY2(rows[0][4].text.contains("5 to 100"), qPrintable(rows[0][4].text));
    QCOMPARE(bytes_of(path), text);
  }

  void the_banner_is_folded_and_dismissed() {
    const QTemporaryDir place;
    const QString path = place.filePath("config.json");
    write_file(path,
               "{\"sparse_attention_budget\": -1, \"sparse_attention_min_tokens\": \"many\", "
               "\"dynamic_attention_slice_rate\": null}");
    const BenchWindow b(*theme_);
    b.window->show_stored(app::open_stored_settings(b.bench->engine(), path));
    auto* banner = b.find<QWidget>("stored_banner");
    auto* table = b.find<FactTable>("stored_table");
    QVERIFY(banner->isVisible() && table->isVisible());
    QCOMPARE(table->rows().size(), std::size_t{3});
    QVERIFY(
        b.find<QLabel>("stored_sentence")->text().startsWith(QString::fromUtf8("⚠ 3 stored values of config.json")));
    b.click(b.find<QPushButton>("stored_details"));
    QVERIFY(banner->isVisible() && !table->isVisible());
    b.click(b.find<QPushButton>("stored_dismiss"));
    QVERIFY(!banner->isVisible());
  }

  void nothing_is_said_where_everything_holds() {
    const QTemporaryDir place;
    const QString path = place.filePath("config.json");
    write_file(path, "{\"sparse_attention_budget\": 45}");
    const BenchWindow b(*theme_);
    b.window->show_stored(app::open_stored_settings(b.bench->engine(), path));
    QVERIFY(!b.find<QWidget>("stored_banner")->isVisible());
    QCOMPARE(b.bench->engine().values().integer("sparse_attention_budget"), 45);
  }

  void a_file_that_cannot_be_used_at_all_is_an_error_in_the_window() {
    const BenchWindow b(*theme_);
    const StoredReport report = app::open_stored_settings(b.bench->engine(), "/nowhere/config.json");
    QVERIFY(!report.error.isEmpty());
    b.window->show_stored(report);
    QVERIFY(b.find<QWidget>("stored_banner")->isVisible());
    QVERIFY(b.find<QLabel>("stored_sentence")->text().contains("Nothing of config.json is used"));
    QVERIFY(!b.find<FactTable>("stored_table")->isVisible());
  }

 private:
  std::unique_ptr<Theme> theme_;
};

QTEST_MAIN(StoredSettingsTest)
#include "stored_settings_test.moc"
