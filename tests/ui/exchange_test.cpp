// SPDX-License-Identifier: GPL-3.0-or-later
// Export and import through the real window: every format, real files, real clicks and keys.
#include "app/jobs/exchange/exchange.h"
#include "bench_window.h"
#include "core/exchange/formats.h"
#include "test_files.h"
#include "ui/export/export_dialog.h"
#include "ui/export/import_dialog.h"
#include "ui/panel/fact_table.h"
#include "ui/route_table/route_panel.h"
#include "ui/workload_panel/workload_panel.h"

#include <QClipboard>
#include <QComboBox>
#include <QDropEvent>
#include <QGuiApplication>
#include <QLineEdit>
#include <QListWidget>
#include <QMimeData>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSettings>
#include <QSpinBox>
#include <QTabBar>
#include <QTemporaryDir>

using namespace attn;
using namespace attn::ui;
using attn::test::BenchWindow;
using attn::test::bytes_of;
using attn::test::write_file;

namespace {

QString joined(const FactTable* table) {
  QStringList lines;
  for (const FactRow& row : table->rows()) {
    QStringList cells;
    for (const Fact& fact : row) cells << fact.text;
    lines << cells.join(" | ");
  }
  return lines.join('\n');
}

/// The dialog with what a test looks at.
struct Export {
  explicit Export(const BenchWindow& bench) : b(bench), dialog(bench.window->open_export()) {}

  template <class T>
  [[nodiscard]] T* find(const char* name) const {
    auto* found = dialog->findChild<T*>(name);
    if (found == nullptr) qFatal("no widget is called %s", name);
    return found;
  }
  /// Clicks the format's line in the list.
  void choose(std::string_view name) const {
    auto* list = find<QListWidget>("export_formats");
    for (int row = 0; row < list->count(); ++row) {
      if (list->item(row)->data(Qt::UserRole).toString().toStdString() != name) continue;
      list->scrollToItem(list->item(row));
      QTest::mouseClick(list->viewport(), Qt::LeftButton, {}, list->visualItemRect(list->item(row)).center());
      if (dialog->format().name == name) return;
    }
    qFatal("no such format");
  }
  void choose_in(const char* combo, int at) const {
    auto* box = find<QComboBox>(combo);
    box->setFocus();
    box->setCurrentIndex(at);
  }
  [[nodiscard]] QString text() const { return find<QPlainTextEdit>("export_text")->toPlainText(); }
  [[nodiscard]] QString diff() const { return find<QPlainTextEdit>("export_diff")->toPlainText(); }
  [[nodiscard]] QString losses() const { return joined(find<FactTable>("export_losses")); }
  [[nodiscard]] QString expected(ExportOptions options = {}) const {
    Engine& engine = b.bench->engine();
    if (options.target.empty()) options.target = engine.target().name;
    return QString::fromStdString(dialog->format().write(app::production_settings(engine), options).value().text);
  }

  const BenchWindow& b;
  ExportDialog* dialog;
};

}  // namespace

class ExchangeTest : public QObject {
  Q_OBJECT

 private slots:
  void init() { theme_ = std::make_unique<Theme>(); }
  void cleanup() { theme_.reset(); }

  void every_format_is_listed_shown_and_copied() {
    const BenchWindow b(*theme_);
    b.click(b.box("sdp_overrides/Sage attention"));
    b.click(b.box("sparse_attention_enabled"));
    QTRY_COMPARE(b.chain(), QString("sage>sdpa"));
    b.click(b.find<QPushButton>("export"));
    const Export e(b);
    QCOMPARE(e.find<QListWidget>("export_formats")->count(), 11);
    QCOMPARE(exchange_formats().size(), std::size_t{11});
    const auto steps = b.window->workload().request().inputs.at("steps");
    for (const ExchangeFormat& format : exchange_formats()) {
      e.choose(format.name);
      ExportOptions options;
      options.steps = static_cast<std::int64_t>(steps);
      QTRY_COMPARE(e.text(), e.expected(options));
      QVERIFY2(!e.text().isEmpty(), format.name.data());
      QVERIFY(!e.find<QPushButton>("export_write")->isEnabled());
      b.click(e.find<QPushButton>("export_copy"));
      QCOMPARE(QGuiApplication::clipboard()->text(), e.text());
      // Only what the format looks at is asked for.
      QCOMPARE(e.find<QComboBox>("format_form")->isVisible(), format.uses.form);
      QCOMPARE(e.find<QSpinBox>("format_steps")->isVisible(), format.uses.steps);
      QCOMPARE(e.find<QComboBox>("format_spelling")->isVisible(), format.uses.spelling);
      QCOMPARE(e.find<QComboBox>("format_target")->isVisible(), format.uses.target);
      QCOMPARE(e.find<QLineEdit>("format_model")->isVisible(), format.uses.model_path);
    }
  }

  void what_a_format_cannot_say_is_listed_with_the_nearest() {
    const BenchWindow b(*theme_);
    b.click(b.box("sdp_overrides/Sage attention"));
    b.click(b.box("sdp_overrides/Flash attention"));
    b.type("sparse_attention_budget", "45");
    QTRY_COMPARE(b.chain(), QString("sage>flash>sdpa"));
    const Export e(b);
    e.choose("comfyui");
    QTRY_VERIFY2(e.text().startsWith("--use-sage-attention --disable-xformers"), qPrintable(e.text()));
    auto* table = e.find<FactTable>("export_losses");
    QTRY_VERIFY(table->isVisible());
    QMap<QString, QString> nearest;
    for (const FactRow& row : table->rows()) nearest[row[0].text] = row[2].text;
    QVERIFY2(nearest.contains("sdp_overrides") && nearest.contains("sparse_attention_budget"), qPrintable(e.losses()));
    QVERIFY2(!nearest["sdp_overrides"].isEmpty(), qPrintable(e.losses()));
    QVERIFY(nearest.contains("note"));
  }

  void options_of_a_format_change_its_text() {
    const BenchWindow b(*theme_);
    b.click(b.box("sparse_attention_enabled"));
    b.type("sparse_attention_schedule_steps", "2");
    const Export e(b);
    e.choose("comfyui-sparse");
    QTRY_VERIFY2(e.text().contains("\"sla\""), qPrintable(e.text()));
    e.choose_in("format_spelling", 1);
    QTRY_VERIFY2(e.text().contains("top-k (SLA)"), qPrintable(e.text()));
    auto* steps = e.find<QSpinBox>("format_steps");
    steps->setFocus();
    steps->selectAll();
    QTest::keyClicks(steps, "20");
    QTest::keyClick(steps, Qt::Key_Tab);
    QTRY_VERIFY2(e.text().contains("\"start_percent\": 0.1"), qPrintable(e.text()));

    e.choose("sdnext");
    QTRY_VERIFY(e.text().contains("sparse_attention_enabled"));
    e.choose_in("format_form", 2);
    QTRY_VERIFY(e.find<QLabel>("export_summary")->text().contains("selector form"));
    e.choose("unsloth");
    QTest::keyClicks(e.find<QLineEdit>("format_model"), "models/flux");
    QTRY_VERIFY2(e.text().contains("\"model_path\": \"models/flux\""), qPrintable(e.text()));
    e.choose("profile");
    QTRY_VERIFY(e.text().contains("\"target\": \"rtx-3090\""));
    e.choose_in("format_target", e.find<QComboBox>("format_target")->findData("h100"));
    QTRY_VERIFY(e.text().contains("\"target\": \"h100\""));
  }

  void what_is_shown_follows_the_settings() {
    const BenchWindow b(*theme_);
    const Export e(b);
    e.choose("diffusers");
    QTRY_VERIFY(!e.text().isEmpty() && !e.text().contains("sage"));
    b.click(b.box("sdp_overrides/Sage attention"));
    QTRY_VERIFY2(e.text().contains("set_attention_backend(\"sage\")"), qPrintable(e.text()));
  }

  void export_writes_the_file_and_keeps_the_old_one() {
    const BenchWindow b(*theme_);
    const QTemporaryDir place;
    const QString path = place.filePath("config.json");
    const QByteArray before = "{\n    \"samples_format\": \"jpg\",\n    \"sdp_overrides\": []\n}\n";
    write_file(path, before);
    b.click(b.box("sdp_overrides/SDNQ attention"));
    QTRY_COMPARE(b.chain(), QString("sdnq>sdpa"));
    QTest::keyClick(b.window.get(), Qt::Key_E, Qt::ControlModifier);
    const Export e(b);
    QTRY_VERIFY(e.dialog->isVisible());
    auto* write = e.find<QPushButton>("export_write");
    QVERIFY(!write->isEnabled());
    QTest::keyClicks(e.find<QLineEdit>("export_path"), path);
    QTRY_VERIFY(e.diff().contains("SDNQ attention"));
    QVERIFY(e.find<QTabBar>("export_tabs")->isVisible());
    QCOMPARE(bytes_of(path), before);
    QTRY_VERIFY(write->isEnabled());
    b.click(write);
    QTRY_VERIFY(e.find<QLabel>("export_message")->text().startsWith("Written"));
    QCOMPARE(bytes_of(path),
             "{\n    \"samples_format\": \"jpg\",\n    \"sdp_overrides\": [\n        \"SDNQ attention\"\n    ]\n}\n");
    QCOMPARE(bytes_of(path + ".bak"), before);
  }

  void formats_that_merge_keep_what_is_not_theirs_data() {
    QTest::addColumn<QString>("format");
    QTest::addColumn<QByteArray>("before");
    QTest::addColumn<QByteArray>("after");
    QTest::newRow("unsloth") << "unsloth" << QByteArray("{\"model_path\": \"m\", \"seed\": 3}\n")
                             << QByteArray(
                                    "{\"model_path\": \"m\", \"seed\": 3, \"attention_backend\": \"sage\", "
                                    "\"speed_mode\": \"off\"}\n");
    QTest::newRow("env") << "env" << QByteArray("HF_HOME=/data\nDIFFUSERS_ATTN_BACKEND=native\n")
                         << QByteArray("HF_HOME=/data\nDIFFUSERS_ATTN_BACKEND=sage\n");
    QTest::newRow("comfyui") << "comfyui" << QByteArray("--listen --use-split-cross-attention\n")
                             << QByteArray("--listen --use-sage-attention --disable-xformers\n");
  }
  void formats_that_merge_keep_what_is_not_theirs() {
    QFETCH(QString, format);
    QFETCH(QByteArray, before);
    QFETCH(QByteArray, after);
    const BenchWindow b(*theme_);
    const QTemporaryDir place;
    const QString path = place.filePath("there");
    write_file(path, before);
    b.click(b.box("sdp_overrides/Sage attention"));
    QTRY_COMPARE(b.chain(), QString("sage>sdpa"));
    const Export e(b);
    e.choose(format.toStdString());
    e.dialog->set_path(path);
    auto* write = e.find<QPushButton>("export_write");
    QTRY_VERIFY(write->isEnabled());
    QVERIFY(e.diff().contains("\n+ ") && e.diff().contains("- "));
    b.click(write);
    QTRY_COMPARE(bytes_of(path), after);
  }

  void an_export_that_cannot_be_written_says_why_data() {
    QTest::addColumn<QString>("name");
    QTest::addColumn<QByteArray>("content");
    QTest::newRow("no folder") << "nowhere/config.json" << QByteArray();
    QTest::newRow("not json") << "config.json" << QByteArray("{ not json");
    QTest::newRow("a folder") << "." << QByteArray();
  }
  void an_export_that_cannot_be_written_says_why() {
    QFETCH(QString, name);
    QFETCH(QByteArray, content);
    const BenchWindow b(*theme_);
    const QTemporaryDir place;
    const QString path = place.filePath(name);
    if (!content.isEmpty()) write_file(path, content);
    const Export e(b);
    e.dialog->set_path(path);
    auto* message = e.find<QLabel>("export_message");
    QTRY_VERIFY(message->isVisible());
    QVERIFY(message->text().size() > 10);
    QVERIFY(!e.find<QPushButton>("export_write")->isEnabled());
    if (!content.isEmpty()) QCOMPARE(bytes_of(path), content);
  }

  void the_file_of_each_format_is_there_again() {
    const QTemporaryDir place;
    const QString file = place.filePath("settings.ini");
    const QString env = place.filePath("attention.env");
    {
      const BenchWindow b(*theme_, std::make_unique<QSettings>(file, QSettings::IniFormat));
      const Export e(b);
      e.choose("env");
      e.dialog->set_path(env);
      b.window->close();
    }
    const BenchWindow b(*theme_, std::make_unique<QSettings>(file, QSettings::IniFormat));
    const Export e(b);
    QCOMPARE(e.dialog->format().name, std::string_view("env"));
    QCOMPARE(e.dialog->path(), env);
    e.choose("sdnext");
    QCOMPARE(e.dialog->path(), QString());
  }

  void an_import_is_shown_first_then_applied_and_put_back() {
    const BenchWindow b(*theme_);
    const QTemporaryDir place;
    const QString good = place.filePath("good.json");
    write_file(good, "{\"sdp_overrides\": [\"Sage attention\"], \"sparse_attention_budget\": 45}");
    QTest::keyClick(b.window.get(), Qt::Key_I, Qt::ControlModifier);
    auto* dialog = b.find<ImportDialog>("import_dialog");
    auto* apply = dialog->findChild<QPushButton*>("import_run");
    auto* back = dialog->findChild<QPushButton*>("import_put_back");
    auto* summary = dialog->findChild<QLabel*>("import_summary");
    auto* changes = dialog->findChild<FactTable*>("import_changes");
    QVERIFY(!apply->isEnabled() && !back->isEnabled());
    QTest::keyClicks(dialog->findChild<QLineEdit*>("import_path"), good);
    QTRY_COMPARE(summary->text(), QString("2 settings would change."));
    QVERIFY2(joined(changes).contains("sparse_attention_budget | 30 | 45"), qPrintable(joined(changes)));
    QCOMPARE(b.chain(), QString("sdpa"));
    b.click(apply);
    QTRY_COMPARE(b.chain(), QString("sage>sdpa"));
    QTRY_COMPARE(summary->text(), QString("Imported: 2 settings changed."));
    QCOMPARE(b.bench->engine().values().integer("sparse_attention_budget"), 45);
    b.click(back);
    QTRY_COMPARE(b.chain(), QString("sdpa"));
    QTRY_COMPARE(summary->text(), QString("Put back: 2 settings changed."));
    QCOMPARE(b.bench->engine().values().integer("sparse_attention_budget"), 30);
  }

  void a_wrong_value_is_set_aside_and_the_rest_can_be_imported() {
    const BenchWindow b(*theme_);
    QVERIFY(b.bench->engine().set("sparse_attention_budget", 45).has_value());
    const QTemporaryDir place;
    const QString file = place.filePath("partly.json");
    write_file(file, "{\"sdp_overrides\": [\"Flex attention\"], \"sparse_attention_budget\": \"much\"}");
    ImportDialog* dialog = b.window->open_import();
    dialog->set_path(file);
    auto* summary = dialog->findChild<QLabel*>("import_summary");
    QTRY_COMPARE(summary->text(), QString("2 settings would change. One value of the file does not hold; its "
                                          "default counts."));
    const QString notes = joined(dialog->findChild<FactTable*>("import_notes"));
    QVERIFY2(notes.contains("sparse_attention_budget: stored \"much\", used default 30"), qPrintable(notes));
    const QString changes = joined(dialog->findChild<FactTable*>("import_changes"));
    QVERIFY2(changes.contains("sparse_attention_budget | 45 | 30 (default: \"much\" does not hold)"),
             qPrintable(changes));
    b.click(dialog->findChild<QPushButton*>("import_run"));
    QTRY_COMPARE(b.chain(), QString("flex>sdpa"));
    QCOMPARE(b.bench->engine().values().integer("sparse_attention_budget"), 30);
  }

  void a_file_that_is_wrong_as_a_whole_changes_nothing() {
    const BenchWindow b(*theme_);
    const QTemporaryDir place;
    const QString bad = place.filePath("bad.json");
    write_file(bad, "{\"sdp_overrides\": [\"Flex attention\"], \"sparse_attention_budget\": 20");
    ImportDialog* dialog = b.window->open_import();
    dialog->set_path(bad);
    auto* summary = dialog->findChild<QLabel*>("import_summary");
    QTRY_VERIFY(summary->text().startsWith("Nothing can be imported: 1 problem"));
    QVERIFY(joined(dialog->findChild<FactTable*>("import_notes")).contains("line 1"));
    QVERIFY(!dialog->findChild<QPushButton*>("import_run")->isEnabled());
    QCOMPARE(b.chain(), QString("sdpa"));
  }

  void old_names_are_understood_and_said_data() {
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<QString>("format");
    QTest::addColumn<QString>("note");
    QTest::addColumn<QString>("change");
    const QByteArray node =
        "{\"class_type\": \"BlockSparseAttention\", \"inputs\": {\"selection\": \"%1\", \"selection.keep_percent\": "
        "40.0, \"start_percent\": 0.0, \"end_percent\": 1.0, \"min_tokens\": 8192}}";
    QTest::newRow("renamed choice") << QByteArray(node).replace("%1", "top-k (SLA)") << ""
                                    << "renamed choice"
                                    << "sparse_attention_budget | 30 | 40";
    QTest::newRow("alias in capitals") << QByteArray("{\"attention_backend\": \"CuDNN\", \"speed_mode\": \"max\"}")
                                       << ""
                                       << "understood as cudnn"
                                       << "attention_backend | not said | cudnn";
    QTest::newRow("share kept") << QByteArray("sparsity=0.10\n") << "svg"
                                << "10 %"
                                << "sparse_attention_budget | 30 | 10";
  }
  void old_names_are_understood_and_said() {
    QFETCH(QByteArray, text);
    QFETCH(QString, format);
    QFETCH(QString, note);
    QFETCH(QString, change);
    const BenchWindow b(*theme_);
    const QTemporaryDir place;
    const QString path = place.filePath("file");
    write_file(path, text);
    ImportDialog* dialog = b.window->open_import();
    if (!format.isEmpty()) {
      auto* formats = dialog->findChild<QComboBox*>("import_format");
      formats->setCurrentIndex(formats->findData(format));
    }
    dialog->set_path(path);
    auto* changes = dialog->findChild<FactTable*>("import_changes");
    QTRY_VERIFY2(joined(changes).contains(change), qPrintable(joined(changes)));
    const QString notes = joined(dialog->findChild<FactTable*>("import_notes"));
    QVERIFY2(notes.contains(note), qPrintable(notes));
    b.click(dialog->findChild<QPushButton*>("import_run"));
    QTRY_VERIFY(dialog->findChild<QLabel*>("import_summary")->text().startsWith("Imported"));
  }

  void a_file_dropped_onto_the_window_is_shown() {
    const BenchWindow b(*theme_);
    const QTemporaryDir place;
    const QString path = place.filePath("flags.txt");
    write_file(path, "--use-flash-attention\n");
    QMimeData carried;
    carried.setUrls({QUrl::fromLocalFile(path)});
    QDragEnterEvent enter(QPoint(50, 50), Qt::CopyAction, &carried, Qt::LeftButton, {});
    QApplication::sendEvent(b.window.get(), &enter);
    QVERIFY(enter.isAccepted());
    QDropEvent drop(QPointF(50, 50), Qt::CopyAction, &carried, Qt::LeftButton, {});
    QApplication::sendEvent(b.window.get(), &drop);
    QTRY_VERIFY(b.window->findChild<ImportDialog*>("import_dialog") != nullptr);  // once the file was looked at
    auto* dialog = b.find<ImportDialog>("import_dialog");
    QTRY_VERIFY(dialog->isVisible());
    auto* changes = dialog->findChild<FactTable*>("import_changes");
    QTRY_VERIFY2(joined(changes).contains("Flash attention"), qPrintable(joined(changes)));
    QVERIFY(dialog->findChild<QComboBox*>("import_format")->currentText().contains("ComfyUI"));
    const QString notes = joined(dialog->findChild<FactTable*>("import_notes"));
    QVERIFY2(notes.contains("--disable-xformers"), qPrintable(notes));
  }

 private:
  std::unique_ptr<Theme> theme_;
};

QTEST_MAIN(ExchangeTest)
#include "exchange_test.moc"
