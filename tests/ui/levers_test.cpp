// SPDX-License-Identifier: GPL-3.0-or-later
// Levers and tuning in the real window: real measurements of a small job, stopped, resumed, taken and put back.
#include "app/gui/lever_jobs.h"
#include "app/jobs/levers/results_file.h"
#include "bench_window.h"
#include "ui/levers/levers_page.h"
#include "ui/levers/levers_plot.h"
#include "ui/levers/tune_dialog.h"
#include "ui/panel/fact_table.h"
#include "ui/preview/picture_form.h"
#include "ui/workload_panel/workload_panel.h"

#include <QAbstractItemModelTester>
#include <QMenu>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QTabBar>
#include <QTableView>
#include <QTemporaryDir>

using namespace attn;
using namespace attn::ui;
using attn::test::BenchWindow;

namespace {

constexpr int kPatience = 200000;

/// The smallest job with a text encoder, a denoiser and a VAE.
void choose_small(const BenchWindow& b) {
  auto& workload = b.window->workload();
  if (!workload.choose_model("sd-1.5")) qFatal("no such model");
  for (const char* key : {"width", "height"}) {
    if (!workload.set_input(key, 64)) qFatal("no such input");
  }
  if (!workload.set_input("steps", 1)) qFatal("no such input");
}

LeversPage* open_page(const BenchWindow& b) {
  QTest::keyClick(b.window.get(), Qt::Key_E, Qt::ControlModifier | Qt::ShiftModifier);
  auto* page = b.find<LeversPage>("levers_page");
  if (!page->isVisible()) qFatal("the page does not open");
  return page;
}

/// Ticks only these, by the boxes in the table.
void tick_only(LeversPage* page, const QStringList& names) {
  page->model().tick({}, false);
  QTableView& table = page->table();
  for (const QString& name : names) {
    const int row = page->model().row_of(name);
    if (row < 0) qFatal("no variant is called %s", qPrintable(name));
    const QModelIndex cell = page->model().index(row, LeversModel::variant);
    table.scrollTo(cell);
    table.setCurrentIndex(cell);
    QTest::keyClick(&table, Qt::Key_Space);
  }
}

const LeverFact& fact(const LeversPage* page, const QString& name) {
  auto& model = const_cast<LeversPage*>(page)->model();
  return model.rows()[static_cast<std::size_t>(model.row_of(name))];
}

TuneDialog* open_tune(const BenchWindow& b) {
  b.click(b.find<QPushButton>("levers_tune"));
  auto* dialog = b.find<TuneDialog>("tune_dialog");
  if (!QTest::qWaitFor([&] { return dialog->isVisible(); })) qFatal("the dialog does not open");
  return dialog;
}

/// Measures each twice; there is a choice, a reason for it and a row of picks.
void tune_to_the_end(const BenchWindow& b, const TuneDialog* dialog) {
  dialog->findChild<QSpinBox*>("tune_repeat")->setValue(2);
  b.click(dialog->findChild<QPushButton*>("tune_run"));
  const LeversState& state = b.bench->services().levers.state();
  QTRY_VERIFY_WITH_TIMEOUT(state.tune.phase == LeverPhase::finished || state.tune.phase == LeverPhase::failed,
                           kPatience);
  QCOMPARE(state.tune.error, QString());
  QVERIFY(!state.tune.chosen.isEmpty() && !state.tune.reason.isEmpty());
  QTRY_VERIFY(!dialog->findChild<FactTable*>("tune_picks")->rows().empty());
}

}  // namespace

class LeversTest : public QObject {
  Q_OBJECT

 private slots:
  void init() { theme_ = std::make_unique<Theme>(); }
  void cleanup() { theme_.reset(); }

  void every_page_fits_a_small_window() {
    const BenchWindow b(*theme_);
    b.window->show_platform();
    for (const auto show : {&MainWindow::show_levers, &MainWindow::show_sweep, &MainWindow::show_compare}) {
      (b.window.get()->*show)();
      b.window->arrange({1280, 720});
      QTest::qWait(1);
      QCOMPARE(b.window->size(), QSize(1280, 720));
    }
    b.window->show_platform();
    QTest::qWait(1);
    QCOMPARE(b.window->size(), QSize(1280, 720));
  }

  void every_lever_of_the_settings_is_listed() {
    const BenchWindow b(*theme_);
    choose_small(b);
    LeversPage* page = open_page(b);
    const QAbstractItemModelTester tester(&page->model());
    QTRY_VERIFY(!page->model().rows().empty());
    const auto expected = app::all_variants(b.bench->engine(), false);
    QTRY_COMPARE(page->model().rows().size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      QCOMPARE(page->model().rows()[i].name.toStdString(), expected[i].name);
    }
    QCOMPARE(page->model().rows().front().name, QString("baseline"));
    // Options are measured only when somebody asks for them.
    for (const QString& name : page->model().ticked()) QVERIFY2(!name.startsWith("option:"), qPrintable(name));
    QVERIFY(page->table().isColumnHidden(LeversModel::psnr));
    // Whatever is switched on, the same levers are there.
    b.click(b.box("sdp_overrides/SDNQ attention"));
    QTRY_COMPARE(b.chain(), QString("sdnq>sdpa"));
    QTRY_COMPARE(page->model().rows().size(), app::all_variants(b.bench->engine(), false).size());
    QVERIFY(page->model().row_of("backend:sage") > 0);
    page->model().tick("backend", false);
    QVERIFY(!page->model().ticked().contains("backend:sage"));
    page->model().tick({}, false);
    QTRY_VERIFY(!b.find<QPushButton>("levers_run")->isEnabled());
  }

  void measured_rows_have_figures_and_a_point_each() {
    const BenchWindow b(*theme_);
    choose_small(b);
    LeversPage* page = open_page(b);
    QTRY_VERIFY(page->model().row_of("backend:sage") > 0);
    tick_only(page, {"baseline", "backend:sage", "backend:flash", "dispatcher:flash3"});
    QCOMPARE(page->model().ticked().size(), 4);
    b.find<QSpinBox>("levers_repeat")->setValue(2);
    b.click(b.find<QPushButton>("levers_run"));
    QTRY_VERIFY(b.find<QPushButton>("levers_stop")->isEnabled());
    QVERIFY(!b.find<QPushButton>("levers_run")->isEnabled());
    QTRY_COMPARE_WITH_TIMEOUT(b.bench->services().levers.state().phase, LeverPhase::finished, kPatience);
    const LeverFact& baseline = fact(page, "baseline");
    QCOMPARE(baseline.state, LeverFact::State::measured);
    QCOMPARE(baseline.relative_time, 1.0);
    QCOMPARE(baseline.relative_l1, 0.0);
    const LeverFact& sage = fact(page, "backend:sage");
    QCOMPARE(sage.state, LeverFact::State::measured);
    QVERIFY(sage.seconds > 0.0 && sage.relative_l1 > 0.0 && sage.cosine < 1.0 && sage.memory_bytes > 0);
    QVERIFY(sage.roles.size() >= 2);
    const LeverFact& skipped = fact(page, "dispatcher:flash3");
    QCOMPARE(skipped.state, LeverFact::State::skipped);
    QVERIFY2(skipped.reason.contains("compute capability"), qPrintable(skipped.reason));
    QCOMPARE(fact(page, "backend:flex").state, LeverFact::State::waiting);

    // A click on a mark selects its row, whose errors by role are said below.
    QVERIFY(page->plot().points() >= 2);
    const QPointF at = page->plot().place_of("backend:sage");
    QVERIFY(!at.isNull());
    QWidget* canvas = page->plot().childAt(at.toPoint());
    QTest::mouseClick(canvas, Qt::LeftButton, {}, canvas->mapFrom(&page->plot(), at.toPoint()));
    QTRY_COMPARE(page->table().currentIndex().siblingAtColumn(0).data().toString(), QString("backend:sage"));
    QVERIFY(b.find<QLabel>("levers_detail")->text().contains("transformer: "));
    QVERIFY(page->facts().contains(" measured"));
  }

  void a_stopped_measurement_goes_on_where_it_was() {
    const BenchWindow b(*theme_);
    choose_small(b);
    LeversPage* page = open_page(b);
    QTRY_VERIFY(page->model().row_of("backend:sage") > 0);
    const QStringList names{"baseline", "backend:sage", "backend:flash", "backend:flex", "backend:sdnq"};
    tick_only(page, names);
    b.find<QSpinBox>("levers_repeat")->setValue(2);
    b.click(b.find<QPushButton>("levers_run"));
    const LeversState& state = b.bench->services().levers.state();
    QTRY_VERIFY_WITH_TIMEOUT(fact(page, "baseline").state == LeverFact::State::measured, kPatience);
    QTest::keyClick(b.window.get(), Qt::Key_Escape);
    QTRY_VERIFY_WITH_TIMEOUT(state.phase != LeverPhase::running, kPatience);
    if (state.phase == LeverPhase::stopped) {
      const double seconds = fact(page, "baseline").seconds;
      auto* resume = b.find<QPushButton>("levers_resume");
      QTRY_VERIFY(resume->isEnabled());
      b.click(resume);
      QTRY_COMPARE_WITH_TIMEOUT(state.phase, LeverPhase::finished, kPatience);
      QCOMPARE(fact(page, "baseline").seconds, seconds);
    }
    for (const QString& name : names) QVERIFY(fact(page, name).state != LeverFact::State::waiting);
    QVERIFY(!b.find<QPushButton>("levers_resume")->isEnabled());

    // What was measured is written in three forms.
    const QTemporaryDir place;
    for (const char* name : {"levers.json", "levers.csv", "levers.svg"}) page->save_to(place.filePath(name));
    QTRY_VERIFY(QFileInfo::exists(place.filePath("levers.svg")));
    const auto loaded = app::load_levers(place.filePath("levers.json").toStdString());
    QVERIFY(loaded.has_value());
    QCOMPARE(loaded->rows.size(), static_cast<std::size_t>(names.size()));
    page->save_to("/nowhere/levers.json");
    QTRY_VERIFY(b.find<QLabel>("levers_state")->property("look").toString() == "bad");
  }

  void settings_of_a_row_are_taken_and_put_back() {
    const BenchWindow b(*theme_);
    choose_small(b);
    LeversPage* page = open_page(b);
    QTRY_VERIFY(page->model().row_of("backend:sage") > 0);
    auto* use = b.find<QPushButton>("levers_use");
    auto* back = b.find<QPushButton>("levers_back");
    QVERIFY(!use->isEnabled() && !back->isEnabled());
    b.bench->services().levers.use("backend:sage");
    const LeversState& state = b.bench->services().levers.state();
    QTRY_COMPARE(state.used, QString("backend:sage"));
    QTRY_COMPARE(b.chain(), QString("sage>sdpa"));
    QTRY_VERIFY(back->isEnabled());
    const QModelIndex cell = page->model().index(page->model().row_of("sparse:flex:30"), LeversModel::speedup);
    page->table().scrollTo(cell);
    QTest::mouseClick(page->table().viewport(), Qt::LeftButton, {}, page->table().visualRect(cell).center());
    QTRY_VERIFY(use->isEnabled());
    b.click(use);
    QTRY_COMPARE(state.used, QString("sparse:flex:30"));
    QTRY_COMPARE(b.chain(), QString("flex>sdpa"));
    QTRY_VERIFY(b.bench->engine().values().boolean("sparse_attention_enabled"));
    b.click(back);
    QTRY_COMPARE(b.chain(), QString("sdpa"));
    QTRY_VERIFY(!b.bench->engine().values().boolean("sparse_attention_enabled"));
    QTRY_VERIFY(!back->isEnabled());
    // Each is one step of the window's history, whatever it changed.
    QTest::keyClick(b.window.get(), Qt::Key_Z, Qt::ControlModifier);
    QTRY_COMPARE(b.chain(), QString("flex>sdpa"));
    QVERIFY(b.bench->engine().values().boolean("sparse_attention_enabled"));
    QTest::keyClick(b.window.get(), Qt::Key_Z, Qt::ControlModifier);
    QTRY_COMPARE(b.chain(), QString("sage>sdpa"));
    QTest::keyClick(b.window.get(), Qt::Key_Z, Qt::ControlModifier);
    QTRY_COMPARE(b.chain(), QString("sdpa"));
  }

  void tuning_chooses_within_the_limits_and_is_applied_and_undone() {
    const BenchWindow b(*theme_);
    choose_small(b);
    LeversPage* page = open_page(b);
    QTRY_VERIFY(page->model().row_of("backend:sage") > 0);
    tick_only(page, {"baseline", "backend:sage", "backend:flash"});
    TuneDialog* dialog = open_tune(b);
    auto* run = dialog->findChild<QPushButton*>("tune_run");
    auto* apply = dialog->findChild<QPushButton*>("tune_apply");
    auto* undo = dialog->findChild<QPushButton*>("tune_undo");
    QVERIFY(run->isEnabled() && !apply->isEnabled() && !undo->isEnabled());
    tune_to_the_end(b, dialog);
    if (QTest::currentTestFailed()) return;
    const LeversState& state = b.bench->services().levers.state();
    for (const FactRow& row : dialog->findChild<FactTable*>("tune_picks")->rows()) QVERIFY(!row[3].text.isEmpty());
    QTRY_COMPARE(apply->isEnabled(), state.tune.changed);
    if (!state.tune.changed) return;  // the default was best on this host, which is an answer too
    const QString chain = b.chain();
    b.click(apply);
    QTRY_VERIFY(undo->isEnabled());
    b.click(undo);
    QTRY_VERIFY(!undo->isEnabled());
    QTRY_COMPARE(b.chain(), chain);
  }

  void bundled_model_is_tuned_by_its_pictures() {
    const BenchWindow b(*theme_);
    QVERIFY(b.window->workload().choose_model("shapes"));
    PictureRequest request = b.window->workload().form().request();
    request.width = request.height = 64;
    request.steps = 2;
    b.window->workload().form().set_request(request);
    LeversPage* page = open_page(b);
    QTRY_VERIFY(page->model().row_of("backend:sage") > 0);
    tick_only(page, {"baseline", "backend:sage", "backend:sdnq"});
    TuneDialog* dialog = open_tune(b);
    tune_to_the_end(b, dialog);
  }

  void limits_that_nothing_keeps_are_said() {
    const BenchWindow b(*theme_);
    choose_small(b);
    LeversPage* page = open_page(b);
    QTRY_VERIFY(page->model().row_of("backend:sage") > 0);
    TuneWish wish;
    wish.max_seconds = 1e-9;
    wish.repeat = 2;
    wish.variants = {"baseline", "backend:sage"};
    TuneDialog* dialog = page->open_tune();
    const Expected<void> started = b.bench->services().levers.tune(wish);
    QVERIFY(started.has_value());
    const LeversState& state = b.bench->services().levers.state();
    QTRY_COMPARE_WITH_TIMEOUT(state.tune.phase, LeverPhase::failed, kPatience);
    QTRY_VERIFY(!dialog->findChild<QLabel*>("tune_summary")->text().isEmpty());
    QCOMPARE(dialog->findChild<QLabel*>("tune_summary")->property("look").toString(), QString("bad"));
    QVERIFY(!dialog->findChild<QPushButton*>("tune_apply")->isEnabled());
  }

 private:
  std::unique_ptr<Theme> theme_;
};

QTEST_MAIN(LeversTest)
#include "levers_test.moc"
