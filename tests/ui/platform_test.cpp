// SPDX-License-Identifier: GPL-3.0-or-later
// The platform page in the real window: kernels, packages, a log, the quarantine and repeated results.
#include "bench_window.h"
#include "core/policy/packages.h"
#include "core/policy/target_probe.h"
#include "test_files.h"
#include "ui/control_panel/choice_row.h"
#include "ui/panel/fact_table.h"
#include "ui/platform/platform_page.h"
#include "ui/preview/picture_form.h"
#include "ui/workload_panel/workload_panel.h"

#include <QComboBox>
#include <QDockWidget>
#include <QLineEdit>
#include <QPushButton>
#include <QTemporaryDir>

using namespace attn;
using namespace attn::ui;
using attn::test::BenchWindow;
using attn::test::write_file;
using attn::test::write_program;

namespace {

QStringList lines(const FactTable* table) {
  QStringList all;
  for (const FactRow& row : table->rows()) {
    QStringList cells;
    for (const Fact& fact : row) cells << fact.text;
    all << cells.join(" | ");
  }
  return all;
}

/// A row's cells whose first begins with `name`.
FactRow row_of(const FactTable* table, const QString& name) {
  for (const FactRow& row : table->rows()) {
    if (row.front().text.startsWith(name)) return row;
  }
  return {};
}

/// Opens the page by its key.
void open_page(const BenchWindow& b) {
  QTest::keyClick(b.window.get(), Qt::Key_M, Qt::ControlModifier | Qt::ShiftModifier);
  if (!b.find<QDockWidget>("platform_dock")->isVisible()) qFatal("the page does not open");
}

}  // namespace

class PlatformTest : public QObject {
  Q_OBJECT

 private slots:
  void init() { theme_ = std::make_unique<Theme>(); }
  void cleanup() { theme_.reset(); }

  void switch_and_probe_stand_side_by_side() {
    const BenchWindow b(*theme_);
    b.choose_target("cpu");
    b.click(b.box("sdp_options/Math"));
    open_page(b);
    auto* kernels = b.find<FactTable>("platform_kernels");
    QTRY_COMPARE(kernels->rows().size(), std::size_t{4});
    const Target target = b.bench->engine().target();
    const KernelProbe probe = probe_kernels(DType::float16, tiny_call_on(b.bench->engine().registry(), target));
    QVERIFY(probe.answered());
    QTRY_VERIFY(lines(kernels).filter("runs").size() > 0);
    for (const KernelProbe::Row& row : probe.rows) {
      const FactRow shown = row_of(kernels, QString::fromStdString(std::string(row.kernel)));
      QTRY_COMPARE(row_of(kernels, QString::fromStdString(std::string(row.kernel)))[2].text.startsWith(QChar(0x2713)),
                   row.runs == Support::supported);
      QVERIFY(shown[2].text.contains(QString::fromStdString(row.reason)));
    }
    QTRY_COMPARE(row_of(kernels, "math")[1].text, QString("off"));
    QCOMPARE(row_of(kernels, "flash")[1].text, QString("on"));
    QCOMPARE(row_of(kernels, "cudnn")[1].text, QString("no switch"));
    // The same beside the flags in the control panel.
    QTRY_VERIFY(b.find<ChoiceRow>("sdp_options/Math")->note().contains("runs"));
  }

  void of_a_machine_that_is_not_here_nothing_is_claimed() {
    const BenchWindow b(*theme_);
    open_page(b);
    auto* kernels = b.find<FactTable>("platform_kernels");
    QTRY_COMPARE(kernels->rows().size(), std::size_t{4});
    for (const FactRow& row : kernels->rows()) QCOMPARE(row[2].text, QString("unknown"));
    QVERIFY(b.find<QLabel>("platform_kernels_note")->text().contains("not in this machine"));
    QTRY_VERIFY(b.find<QLabel>("platform_packages_note")->text().contains("rtx-3090 is not in this machine"));
    QVERIFY(!b.find<FactTable>("platform_packages")->isVisible());
    QVERIFY(!b.find<ChoiceRow>("sdp_options/Flash")->note().contains("run"));
    QVERIFY(b.find<QLabel>("platform_forecast")->isHidden());
  }

  void where_only_math_runs_its_memory_is_said_before_a_job_runs() {
    const BenchWindow b(*theme_);
    open_page(b);
    QVERIFY(b.window->workload().choose_model("flux.1-dev"));
    b.click(b.find<QCheckBox>("platform_math_only"));
    auto* forecast = b.find<QLabel>("platform_forecast");
    QTRY_VERIFY(forecast->isVisible());
    QVERIFY2(forecast->text().contains("only the math kernel runs"), qPrintable(forecast->text()));
    QCOMPARE(forecast->property("look").toString(), QString("dim"));
    QVERIFY(row_of(b.find<FactTable>("platform_kernels"), "flash")[2].text.contains("does not run"));
    // More pixels, more tokens: over the memory of the card.
    QVERIFY(b.window->workload().set_input("width", 3072));
    QVERIFY(b.window->workload().set_input("height", 3072));
    QTRY_COMPARE(forecast->property("look").toString(), QString("bad"));
    QVERIFY2(forecast->text().contains("over the 24"), qPrintable(forecast->text()));
    b.click(b.find<QCheckBox>("platform_math_only"));
    QTRY_VERIFY(forecast->isHidden());
  }

  void every_version_has_a_state_and_a_dead_choice_is_said() {
    const QTemporaryDir place;
    const QString python = place.filePath("python");
    write_program(python,
                  "#!/bin/sh\n"
                  "if [ \"$1\" = --version ]; then echo Python 3.11.2; exit 0; fi\n"
                  "case \"$3\" in\n"
                  "  sageattention) echo 'attnscope-module works 1.0.6';;\n"
                  "  sdnq) echo 'attnscope-module fails ImportError: no triton';;\n"
                  "  *) echo 'attnscope-module absent';;\n"
                  "esac\n");
    const BenchWindow b(*theme_);
    b.click(b.box("sdp_overrides/Sage attention"));
    open_page(b);
    auto* edit = b.find<QLineEdit>("platform_python");
    edit->setFocus();
    QTest::keyClicks(edit, python);
    QTest::keyClick(edit, Qt::Key_Return);
    auto* packages = b.find<FactTable>("platform_packages");
    QTRY_COMPARE(packages->rows().size(), package_versions().size());
    QTRY_VERIFY(packages->isVisible());
    QVERIFY(row_of(packages, "sage 1")[1].text.contains("works"));
    QVERIFY(row_of(packages, "sage 2")[1].text.contains("not installed"));
    QVERIFY(row_of(packages, "sdnq")[1].text.contains("installed but fails"));
    QVERIFY(row_of(packages, "sdnq")[2].text.contains("no triton"));
    QVERIFY(!b.find<QLabel>("platform_dead")->isVisible());
    // The choice stays, and is dead.
    b.click(b.box("sdp_overrides/SDNQ attention"));
    QTRY_VERIFY(b.find<QLabel>("platform_dead")->text().startsWith("SDNQ attention is switched on"));
    QVERIFY(b.box("sdp_overrides/SDNQ attention")->isChecked());
  }

  void a_log_becomes_one_incident_that_leads_to_the_override() {
    const QTemporaryDir place;
    const QString log = place.filePath("server.log");
    write_file(log,
               "ERROR Install: package=\"flash-attn\" pip failed: building wheel for flash-attn: error\n"
               "ERROR Torch attention: No module named 'flash_attn'\n");
    const BenchWindow b(*theme_);
    open_page(b);
    b.find<PlatformPage>("platform_page")->read_log(log);
    auto* incidents = b.find<FactTable>("platform_incidents");
    QTRY_COMPARE(incidents->rows().size(), std::size_t{1});
    QVERIFY(incidents->rows()[0][0].text.startsWith("install failed, backend absent: flash_attn (2 lines)"));
    QCOMPARE(incidents->rows()[0][1].text, QString("Flash attention, which is off"));
    auto* show = b.find<QPushButton>("platform_show_override");
    QVERIFY(!show->isVisible());
    b.click(b.box("sdp_overrides/Flash attention"));
    QTRY_COMPARE(incidents->rows()[0][1].text, QString("Flash attention, which is switched on"));
    QTRY_VERIFY(show->isVisible());
    show->click();
    QCOMPARE(b.find<QLineEdit>("option_search")->text(), QString("Flash attention"));
    b.find<PlatformPage>("platform_page")->read_log(place.filePath("none.log"));
    QTRY_VERIFY(b.find<QLabel>("platform_incidents_note")->text().contains("none.log"));
    QTRY_VERIFY(incidents->rows().empty());
  }

  void a_backend_in_quarantine_is_listed_and_can_be_lifted() {
    const BenchWindow b(*theme_);
    Engine& engine = b.bench->engine();
    Quarantine quarantine;
    QVERIFY(judge_accuracy(quarantine, "sage", engine.target(), 0.3, 0.99));
    b.click(b.box("sdp_overrides/Sage attention"));
    QTRY_COMPARE(b.chain(), QString("sage>sdpa"));
    engine.set_quarantine(quarantine);
    open_page(b);
    auto* table = b.find<FactTable>("platform_quarantine");
    QTRY_COMPARE(lines(table), QStringList{"sage | cuda sm_86 (this target) | cosine 0.3, below 0.99"});
    QTRY_COMPARE(b.chain(), QString("sdpa"));
    auto* lift = b.find<QPushButton>("platform_lift");
    QVERIFY(!lift->isEnabled());
    b.find<PlatformPage>("platform_page")->ensureWidgetVisible(table);
    const QRect cell = table->visualRect(table->model()->index(0, 0));
    QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, cell.center());
    QVERIFY(lift->isEnabled());
    lift->click();
    QTRY_COMPARE(b.chain(), QString("sage>sdpa"));
    QTRY_VERIFY(table->rows().empty());
  }

  void repeat_tells_whether_results_have_the_same_bits() {
    const BenchWindow b(*theme_);
    QVERIFY(b.window->workload().choose_model("sd-1.5"));
    QVERIFY(b.window->workload().set_input("width", 64));
    QVERIFY(b.window->workload().set_input("height", 64));
    open_page(b);
    auto* repeat = b.find<QPushButton>("platform_repeat");
    repeat->click();
    QVERIFY(!repeat->isEnabled());
    auto* table = b.find<FactTable>("platform_repeats");
    QTRY_VERIFY_WITH_TIMEOUT(!table->rows().empty(), 120000);
    for (const FactRow& row : table->rows()) QCOMPARE(row[1].text, QString("bit-identical 3/3"));
    QTRY_VERIFY(repeat->isEnabled());
    QTRY_VERIFY(!b.bench->jobs().running());
  }

  void bundled_model_is_forecast_and_repeated_as_any_other() {
    const BenchWindow b(*theme_);
    QVERIFY(b.window->workload().choose_model("shapes"));
    PictureRequest request = b.window->workload().form().request();
    request.width = request.height = 64;
    request.steps = 2;
    b.window->workload().form().set_request(request);
    open_page(b);
    b.click(b.find<QCheckBox>("platform_math_only"));
    auto* forecast = b.find<QLabel>("platform_forecast");
    // 16 x 16 latent cells and 20 words, two prompts of three heads: scores, weights and mask of the denoiser's calls.
    QTRY_VERIFY(forecast->isVisible());
    QTRY_VERIFY2(forecast->text().contains("transformer q[2, 3, 276, 64]"), qPrintable(forecast->text()));
    QVERIFY2(forecast->text().contains("within the 24"), qPrintable(forecast->text()));
    b.click(b.find<QCheckBox>("platform_math_only"));
    QTRY_VERIFY(forecast->isHidden());
    auto* repeat = b.find<QPushButton>("platform_repeat");
    repeat->click();
    QVERIFY(!repeat->isEnabled());
    auto* table = b.find<FactTable>("platform_repeats");
    QTRY_COMPARE_WITH_TIMEOUT(table->rows().size(), std::size_t{3}, 120000);  // text, denoiser, autoencoder
    for (const FactRow& row : table->rows()) QCOMPARE(row[1].text, QString("bit-identical 3/3"));
    QTRY_VERIFY(!b.bench->jobs().running());
  }

  void a_window_that_closes_while_packages_are_imported_does_not_wait() {
    const QTemporaryDir place;
    const QString python = place.filePath("python");
    write_program(
        python, "#!/bin/sh\nif [ \"$1\" = --version ]; then echo Python 3.11.2; exit 0; fi\nexec tail -f /dev/null\n");
    QElapsedTimer clock;
    {
      const BenchWindow b(*theme_);
      open_page(b);
      b.bench->services().platform.choose_python(python);
      QTRY_VERIFY(b.find<QLabel>("platform_packages_note")->text().startsWith("Importing"));
      clock.start();
    }
    QVERIFY(clock.elapsed() < 20000);
  }

 private:
  std::unique_ptr<Theme> theme_;
};

QTEST_MAIN(PlatformTest)
#include "platform_test.moc"
