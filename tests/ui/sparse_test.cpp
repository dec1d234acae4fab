// SPDX-License-Identifier: GPL-3.0-or-later
// The sparse side through the real window: real clicks and keys, real engine, backends, stage and jobs.
#include "bench_window.h"
#include "printed.h"
#include "ui/block_mask/block_mask_panel.h"
#include "ui/control_panel/change_mark.h"
#include "ui/explain/verdict_card.h"
#include "ui/route_table/route_panel.h"
#include "ui/sparse/exclusion_chip.h"
#include "ui/sparse/schedule_plot.h"
#include "ui/sparse/sparse_service.h"
#include "ui/sparse/sweep_page.h"
#include "ui/sparse/sweep_plot.h"
#include "ui/workload_panel/workload_panel.h"

#include <QAbstractItemView>
#include <QCompleter>
#include <QFileDialog>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QSlider>
#include <QSpinBox>
#include <QTabBar>
#include <QTableView>
#include <QTemporaryDir>
#include <QToolButton>

using namespace attn;
using namespace attn::ui;
using attn::test::BenchWindow;
using attn::test::printed;

namespace {

constexpr int kComputing = 120000;

/// A window with a finished planned run of FLUX through SDNQ, sparse on.
class SparseWindow : public BenchWindow {
 public:
  explicit SparseWindow(Theme& theme, int min_tokens = 4096) : BenchWindow(theme) {
    click(box("sdp_overrides/SDNQ attention"));
    click(box("sparse_attention_enabled"));
    type("sparse_attention_min_tokens", QString::number(min_tokens));
    run();
  }
  void run() const {
    auto* state = find<QLabel>("run_state");
    click(find<QPushButton>("run"));
    if (!QTest::qWaitFor([&] { return !bench->jobs().running() && state->text().startsWith("Finished"); },
                         kComputing)) {
      qFatal("the run does not end: %s", qPrintable(state->text()));
    }
    if (!QTest::qWaitFor([&] { return window->routes().model().rowCount() > 0; })) qFatal("no routes");
  }
  void select(const QString& role) const {
    QTableView* view = window->routes().view();
    for (int row = 0; row < view->model()->rowCount(); ++row) {
      if (view->model()->index(row, RouteModel::role).data().toString() == role) return view->selectRow(row);
    }
    qFatal("no route of %s", qPrintable(role));
  }
  [[nodiscard]] QStringList chips() const {
    QStringList texts;
    for (const ExclusionChip* chip : find<QWidget>("sparse_attention_exclude")->findChildren<ExclusionChip*>()) {
      if (!chip->isHidden()) texts << chip->entry().text;
    }
    return texts;
  }
  [[nodiscard]] std::string excluded() const { return bench->engine().values().text("sparse_attention_exclude"); }
  [[nodiscard]] QString text(const char* label) const { return find<QLabel>(label)->text(); }
};

QByteArray bytes_of(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

}  // namespace

class SparseTest : public QObject {
  Q_OBJECT

 private slots:
  void init() { theme_ = std::make_unique<Theme>(); }
  void cleanup() { theme_.reset(); }

  void the_budget_says_what_it_keeps_skips_and_computes() {
    const SparseWindow b(*theme_);
    QTRY_COMPARE(b.text("sparse_density"), QString("keep 30 % (skip 70 %) · density 0.47\nat 4\u202f608 tokens"));
    b.type("sparse_attention_budget", "60");
    QTRY_COMPARE(b.text("sparse_density"), QString("keep 60 % (skip 40 %) · density 0.70\nat 4\u202f608 tokens"));
    // While the slider is held the words follow, and the engine does not.
    auto* slider = b.find<QWidget>("sparse_attention_budget")->findChild<QSlider*>();
    slider->setSliderDown(true);
    slider->setValue(1);
    QCOMPARE(b.text("sparse_density"), QString("keep 10 % (skip 90 %) · density 0.32\nat 4\u202f608 tokens"));
    QCOMPARE(b.bench->engine().values().integer("sparse_attention_budget"), 60);
    slider->setSliderDown(false);
    QTRY_COMPARE(b.bench->engine().values().integer("sparse_attention_budget"), 10);
    b.type("sparse_attention_min_tokens", "8192");
    QTRY_COMPARE(b.text("sparse_density"),
                 QString("keep 10 % (skip 90 %)\n4\u202f608 tokens stay dense: below the minimum sequence"));
  }

  void the_schedule_is_drawn_over_the_steps_of_the_run() {
    const SparseWindow b(*theme_);
    const auto* plot = b.find<SchedulePlot>("schedule_plot");
    QCOMPARE(plot->budgets(), std::vector<double>(28, 0.3));
    b.type("sparse_attention_schedule_steps", "2");
    b.type("sparse_attention_schedule_bump", "40");
    QTRY_COMPARE(plot->budgets().front(), 0.7);
    QCOMPARE(std::count(plot->budgets().begin(), plot->budgets().end(), 0.3), 24);
    QCOMPARE(plot->budgets()[1], plot->budgets()[26]);
    QTRY_VERIFY(b.text("sparse_density").endsWith("in the dense steps"));
    QVERIFY(b.window->workload().set_input("steps", 6));
    QTRY_COMPARE(plot->budgets().size(), std::size_t{6});
  }

  void sparse_that_served_nothing_says_why_and_what_to_do() {
    // Field case 53: the one backend that serves takes no block mask.
    const BenchWindow b(*theme_);
    auto* headline = b.find<QLabel>("sparse_headline");
    QVERIFY(headline->isHidden());
    b.click(b.box("sdp_overrides/Flash attention"));
    b.click(b.box("sparse_attention_enabled"));
    b.type("sparse_attention_min_tokens", "4096");
    QTRY_COMPARE(b.chain(), QString("flash>sdpa"));
    b.click(b.find<QPushButton>("run"));
    QTRY_COMPARE(
        headline->text(),
        QString("⚠ Sparse is on but served 0 of 1\u202f609 calls: no enabled backend takes a block mask: enable "
                "sdnq or flex."));
    QVERIFY(!headline->isHidden());
    QTRY_VERIFY(!b.bench->jobs().running());
    b.click(b.box("sdp_overrides/Flex attention"));
    QTRY_COMPARE(b.chain(), QString("flash>flex>sdpa"));
    b.click(b.find<QPushButton>("run"));
    QTRY_COMPARE(
        headline->text(),
        QString("⚠ Sparse is on but served 0 of 1\u202f609 calls: flash and sdpa served every call and take no "
                "block mask, while flex came after or declined; Explain says why for the selected route."));
    QTRY_VERIFY(!b.bench->jobs().running());
    b.click(b.box("sdp_overrides/Flash attention"));
    QTRY_COMPARE(b.chain(), QString("flex>sdpa"));
    b.click(b.find<QPushButton>("run"));
    QTRY_COMPARE(headline->text(), QString("Sparse served 1\u202f596 of 1\u202f609 calls."));
    QTRY_VERIFY(!b.bench->jobs().running());
    b.click(b.box("sparse_attention_enabled"));
    QTRY_VERIFY(headline->isHidden());
  }

  void a_stage_that_left_every_call_dense_says_its_reasons() {
    const SparseWindow b(*theme_, 8192);
    b.select("transformer");
    QTRY_COMPARE(
        b.text("sparse_headline"),
        QString("⚠ Sparse is on but served 0 of 1\u202f609 calls: below the minimum sequence (1\u202f596 calls). "
                "To change that, set the minimum sequence to 4\u202f608 or less."));
    const auto stage = [&] {
      for (const VerdictCard* card : b.find<QWidget>("explain_panel")->findChildren<VerdictCard*>()) {
        if (card->accessibleName().startsWith("sparse stage")) return card->accessibleName();
      }
      return QString();
    };
    QTRY_COMPARE(stage(),
                 QString("sparse stage, stays dense, 1\u202f596 of 1\u202f596 calls stayed dense: below the minimum "
                         "sequence\nTo change that, set the minimum sequence to 4\u202f608 or less."));
  }

  void a_model_is_excluded_by_any_of_its_names_and_taken_back() {
    const SparseWindow b(*theme_);
    QCOMPARE(b.chips(), QStringList("CosmosTransformer3DModel"));
    QTRY_COMPARE(b.text("exclusion_verdict"), QString("FLUX.1 dev matches no entry — 0 of 1\u202f609 calls excluded"));
    auto* add = b.find<QLineEdit>("exclusion_add");
    add->setFocus();
    QTest::keyClicks(add, "fluxpipeline");
    QTest::keyClick(add, Qt::Key_Return);
    QTRY_COMPARE(b.excluded(), std::string("CosmosTransformer3DModel, fluxpipeline"));
    QTRY_COMPARE(b.text("exclusion_verdict"),
                 QString("FLUX.1 dev matches fluxpipeline — 0 of 1\u202f609 calls excluded"));
    b.run();
    QTRY_COMPARE(b.text("exclusion_verdict"),
                 QString("FLUX.1 dev matches fluxpipeline — 1\u202f596 of 1\u202f609 calls excluded"));
    auto* chip = b.find<ExclusionChip>("exclusion_fluxpipeline");
    QVERIFY(chip->entry().matches);
    QVERIFY(chip->toolTip().contains("pipeline class of FLUX.1 dev"));
    auto* row = b.find<QWidget>("sparse_attention_exclude");
    QTRY_VERIFY(row->findChild<ChangeMark*>("changed_mark")->is_on());
    b.click(chip);
    QTRY_COMPARE(b.excluded(), std::string("CosmosTransformer3DModel"));
    QTRY_COMPARE(b.chips(), QStringList("CosmosTransformer3DModel"));
    QVERIFY(!row->findChild<ChangeMark*>("changed_mark")->is_on());
  }

  void the_add_field_completes_over_the_known_names() {
    const SparseWindow b(*theme_);
    auto* add = b.find<QLineEdit>("exclusion_add");
    QTRY_VERIFY(add->completer() != nullptr);
    add->setFocus();
    QTest::keyClicks(add, "transformer2d");
    QAbstractItemModel* hits = add->completer()->completionModel();
    QTRY_VERIFY(hits->rowCount() > 3);
    bool flux = false;
    for (int row = 0; row < hits->rowCount(); ++row) {
      flux |= hits->index(row, 0).data().toString().startsWith("FluxTransformer2DModel   denoiser class · ");
    }
    QVERIFY(flux);
    add->clear();
    QTest::keyClicks(add, "FluxTransformer2D");
    QTRY_VERIFY(add->completer()->popup()->isVisible());
    QTest::keyClick(add->completer()->popup(), Qt::Key_Down);
    QTest::keyClick(add->completer()->popup(), Qt::Key_Return);
    QTRY_COMPARE(b.excluded(), std::string("CosmosTransformer3DModel, FluxTransformer2DModel"));
    QTRY_VERIFY(add->text().isEmpty());
  }

  void unknown_names_are_kept_and_marked_and_repeats_are_left_out() {
    const SparseWindow b(*theme_);
    auto* add = b.find<QLineEdit>("exclusion_add");
    add->setFocus();
    QTest::keyClicks(add, " MyFineTune,, cosmostransformer3dmodel , myfinetune");
    QTest::keyClick(add, Qt::Key_Return);
    QTRY_COMPARE(b.excluded(), std::string("CosmosTransformer3DModel, MyFineTune"));
    QTRY_COMPARE(b.chips(), (QStringList{"CosmosTransformer3DModel", "MyFineTune"}));
    QVERIFY(b.find<ExclusionChip>("exclusion_MyFineTune")->entry().known_as.isEmpty());
    QVERIFY(!b.find<ExclusionChip>("exclusion_CosmosTransformer3DModel")->entry().known_as.isEmpty());
    // The keyboard takes an entry off as well.
    auto* chip = b.find<ExclusionChip>("exclusion_CosmosTransformer3DModel");
    chip->setFocus();
    QTest::keyClick(chip, Qt::Key_Delete);
    QTRY_COMPARE(b.excluded(), std::string("MyFineTune"));
  }

  void an_exclusion_edited_during_a_job_is_pending_and_its_mark_undoes_it() {
    const BenchWindow b(*theme_);
    b.start_latched();
    QTRY_VERIFY(b.bench->engine().job_running());
    b.click(b.find<ExclusionChip>("exclusion_CosmosTransformer3DModel"));
    auto* mark = b.find<QWidget>("sparse_attention_exclude")->findChild<ChangeMark*>("edited_mark");
    QTRY_VERIFY(mark->is_on());
    b.click(mark);
    QTRY_VERIFY(!mark->is_on());
    QCOMPARE(b.bench->engine().values().text("sparse_attention_exclude"), std::string("CosmosTransformer3DModel"));
  }

  void thousands_of_exclusions_do_not_become_thousands_of_chips() {
    const SparseWindow b(*theme_);
    std::string many = "CosmosTransformer3DModel";
    for (int i = 0; i < 10000; ++i) many += ", model" + std::to_string(i);
    many += ", flux";
    QVERIFY(b.bench->engine().set("sparse_attention_exclude", many).has_value());
    QTRY_COMPARE(b.chips().size(), 40);
    // The entry that holds for the loaded model is among them, wherever it stands.
    QTRY_VERIFY(b.text("exclusion_verdict").startsWith("FLUX.1 dev matches"));
  }

  void a_planned_route_shows_geometry_and_says_so() {
    const SparseWindow b(*theme_);
    b.find<QTabBar>("route_tabs")->setCurrentIndex(1);
    auto& panel = b.window->block_mask();
    b.select("vae");
    QTRY_VERIFY(!b.find<TileView>("tile_view")->isVisible());
    b.select("transformer");
    QTRY_VERIFY(panel.view().isVisible());
    const TileMap& map = panel.view().map();
    QVERIFY(!map.has_tiles());
    QCOMPARE(map.grid().query_tiles(), 36);
    QCOMPARE(map.grid().key_tiles(), 72);
    const std::vector<TileKind> kinds = map.kinds(0, 0);
    // 512 text tokens pin four rows and eight columns; a row's diagonal is two key tiles.
    QCOMPARE(std::count(kinds.begin(), kinds.end(), TileKind::pinned), 4 * 72 + 32 * 8);
    QCOMPARE(std::count(kinds.begin(), kinds.end(), TileKind::diagonal), 32 * 2);
    QCOMPARE(std::count(kinds.begin(), kinds.end(), TileKind::candidate), 32 * 62);
    QVERIFY(b.text("mask_note").startsWith("Planned: "));
    QVERIFY(!b.find<QPushButton>("mask_npy")->isEnabled());
    QVERIFY(panel.export_npy("nowhere.npy").error().find("compute them first") != std::string::npos);
  }

  void tiles_are_computed_on_generated_tensors_and_exported() {
    const SparseWindow b(*theme_);
    b.find<QTabBar>("route_tabs")->setCurrentIndex(1);
    b.select("transformer");
    auto& panel = b.window->block_mask();
    QTRY_VERIFY(panel.view().isVisible());
    b.click(b.find<QPushButton>("mask_compute"));
    QTRY_VERIFY_WITH_TIMEOUT(panel.view().map().has_tiles(), kComputing);
    const TileMap& map = panel.view().map();
    QCOMPARE(map.heads(), 24);
    QVERIFY(map.origin() == TileOrigin::generated);
    // 30 % of 62 candidates are 19 of each of the 32 free rows.
    for (int head = 0; head < 24; ++head) {
      const std::vector<TileKind> kinds = map.kinds(0, head);
      QCOMPARE(std::count(kinds.begin(), kinds.end(), TileKind::chosen), 32 * 19);
    }
    QVERIFY(b.text("mask_note").startsWith("Chosen on generated tensors in "));
    QVERIFY2(b.text("mask_facts").contains("density 0.469 in head 0 of 24"), qPrintable(b.text("mask_facts")));
    auto* head = b.find<QSpinBox>("mask_head");
    head->setFocus();
    QTest::keyClick(head, Qt::Key_Down);
    QTRY_COMPARE(panel.view().head(), -1);
    QVERIFY(b.text("mask_facts").contains("density 0.469 over 24 heads"));
    QTest::keyClick(head, Qt::Key_Up);
    QTest::keyClick(head, Qt::Key_Up);
    QTRY_COMPARE(panel.view().head(), 1);

    const QTemporaryDir place;
    const auto save = [&](const char* button, const QString& path) {
      QTRY_VERIFY(b.window->findChild<QFileDialog*>("mask_save") == nullptr);
      b.click(b.find<QPushButton>(button));
      auto* dialog = b.find<QFileDialog>("mask_save");
      dialog->setOption(QFileDialog::DontUseNativeDialog);
      auto* name = dialog->findChild<QLineEdit*>();
      name->setText(path);
      QTest::keyClick(name, Qt::Key_Return);
    };
    const QString npy = place.filePath("mask.npy");
    save("mask_npy", npy);
    QTRY_VERIFY2(b.text("mask_note").contains("Written: " + npy), qPrintable(b.text("mask_note")));
    const QByteArray bytes = bytes_of(npy);
    QVERIFY(bytes.startsWith(QByteArray("\x93NUMPY\x01\x00", 8)));
    QVERIFY(bytes.contains("{'descr': '|b1', 'fortran_order': False, 'shape': (24, 36, 72), }"));
    QCOMPARE(bytes.size() % 64, (24 * 36 * 72) % 64);
    const std::vector<std::uint8_t> keep = map.keep(0);
    QCOMPARE(bytes.right(static_cast<qsizetype>(keep.size())),
             QByteArray(reinterpret_cast<const char*>(keep.data()), static_cast<qsizetype>(keep.size())));
    const QString png = place.filePath("mask.png");
    save("mask_png", png);
    QTRY_VERIFY(QFile::exists(png));
    const QImage picture(png);
    QVERIFY(picture.width() >= 1152 && picture.height() > 1152);
  }

  void another_step_has_the_schedules_budget() {
    const SparseWindow b(*theme_);
    b.type("sparse_attention_schedule_steps", "2");
    QTRY_COMPARE(b.bench->engine().values().integer("sparse_attention_schedule_steps"), 2);
    b.find<QTabBar>("route_tabs")->setCurrentIndex(1);
    b.select("transformer");
    auto* step = b.find<QSpinBox>("mask_step");
    QTRY_COMPARE(step->value(), 13);
    QVERIFY(b.text("mask_facts").startsWith("keep 30 %"));
    step->setValue(1);
    QTRY_VERIFY(b.text("mask_facts").startsWith("keep 60 % (skip 40 %)"));
    step->setValue(27);
    QTRY_VERIFY(b.text("mask_facts").startsWith("keep 60 %"));
  }

  void the_map_zooms_at_the_pointer_moves_and_fits() {
    const SparseWindow b(*theme_);
    b.find<QTabBar>("route_tabs")->setCurrentIndex(1);
    b.select("transformer");
    TileView& view = b.window->block_mask().view();
    QTRY_VERIFY(view.isVisible());
    QCOMPARE(view.zoom_factor(), 1.0);
    b.click(b.find<QToolButton>("mask_zoom_in"));
    QCOMPARE(view.zoom_factor(), 1.5);
    b.click(b.find<QToolButton>("mask_fit"));
    QCOMPARE(view.zoom_factor(), 1.0);
    const QPointF at(view.width() * 0.75, view.height() * 0.75);
    const QString before = view.text_at(at);
    QVERIFY2(before.contains("query tile"), qPrintable(before));
    QWheelEvent wheel(at, view.mapToGlobal(at), {}, {0, 360}, Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase, false);
    QApplication::sendEvent(&view, &wheel);
    QVERIFY(view.zoom_factor() > 1.7);
    QCOMPARE(view.text_at(at), before);  // what lies under the pointer stays there
    view.setFocus();
    QTest::keyClick(&view, Qt::Key_Left);
    QVERIFY(view.text_at(at) != before);
    QTest::keyClick(&view, Qt::Key_0);
    QCOMPARE(view.zoom_factor(), 1.0);
    QTest::keyClick(&view, Qt::Key_Plus);
    QVERIFY(view.zoom_factor() > 1.0);
    QTest::keyClick(&view, Qt::Key_Minus);
    QCOMPARE(view.zoom_factor(), 1.0);
    QCOMPARE(view.text_at({20.0, 20.0}),
             QString("query tile 0 · tokens 0–127 · text\nkey tile 0 · tokens 0–63 · text\npinned"));
    QCOMPARE(view.text_at({view.width() / 2.0, 5.0}), QString("image: tokens 512–4\u202f607"));
  }

  void a_computed_run_shows_the_tiles_that_it_used() {
    const BenchWindow b(*theme_);
    auto& workload = b.window->workload();
    QVERIFY(workload.choose_model("flux.1-dev"));
    for (const auto& [key, value] : {std::pair{"width", 256.0}, std::pair{"height", 256.0}, std::pair{"steps", 2.0}}) {
      QVERIFY(workload.set_input(key, value));
    }
    workload.choose_work(Work::representatives);
    b.click(b.box("sdp_overrides/SDNQ attention"));
    b.click(b.box("sparse_attention_enabled"));
    b.type("sparse_attention_min_tokens", "0");
    b.click(b.find<QPushButton>("run"));
    QTRY_VERIFY_WITH_TIMEOUT(b.find<QLabel>("run_state")->text().startsWith("Finished"), kComputing);
    b.find<QTabBar>("route_tabs")->setCurrentIndex(1);
    TileView& view = b.window->block_mask().view();
    QTRY_VERIFY(view.map().has_tiles());
    QVERIFY(view.map().origin() == TileOrigin::run);
    QVERIFY(b.find<QLabel>("mask_note")->text().startsWith("The tiles that the last run used."));
    QVERIFY(!b.find<QPushButton>("mask_compute")->isVisible());
  }

  void a_sweep_draws_both_curves_and_leaves_the_routes_alone() {
    const SparseWindow b(*theme_);
    small_run(b);
    const qint64 calls = b.bench->services().trace.snapshot().calls;
    b.find<QTabBar>("chart_tabs")->setCurrentIndex(2);
    auto* run = b.find<QPushButton>("sweep_run");
    QTRY_VERIFY(run->isEnabled());
    b.click(run);
    QTRY_VERIFY(b.find<QPushButton>("sweep_stop")->isEnabled());
    const SweepState& sweep = b.bench->services().sparse.sweep_state();
    QTRY_VERIFY_WITH_TIMEOUT(sweep.phase == SweepState::Phase::finished, kComputing);
    QTRY_COMPARE(b.window->sweep().model().rowCount(), 18);
    const std::pair<int, int> nine{9, 9};
    QCOMPARE(b.window->sweep().plot().points(), nine);
    const QStringList rows = printed(b.window->sweep().model(), {SweepModel::keep, SweepModel::pattern});
    QCOMPARE(rows.first(), QString("5 % | adaptive"));
    QCOMPARE(rows.last(), QString("100 % | radial"));
    for (std::size_t i = 1; i < sweep.adaptive.size(); ++i) {
      QVERIFY(sweep.adaptive[i].density >= sweep.adaptive[i - 1].density);
    }
    QCOMPARE(sweep.adaptive.back().relative_l1, 0.0);
    QVERIFY(sweep.dense_seconds > 0.0);
    QCOMPARE(b.bench->services().trace.snapshot().calls, calls);
    QTRY_VERIFY(b.find<QLabel>("run_state")->text().startsWith("Finished: 19 measurements"));
    QVERIFY(b.find<QLabel>("sweep_notes")->isHidden());
  }

  void a_sweep_is_stopped_and_keeps_what_it_has() {
    const SparseWindow b(*theme_);
    b.select("transformer");
    b.find<QTabBar>("chart_tabs")->setCurrentIndex(2);
    b.click(b.find<QPushButton>("sweep_run"));
    auto* stop = b.find<QPushButton>("sweep_stop");
    QTRY_VERIFY(stop->isEnabled());
    QVERIFY(!b.find<QPushButton>("run")->isEnabled());
    b.click(stop);
    const SweepState& sweep = b.bench->services().sparse.sweep_state();
    QTRY_VERIFY_WITH_TIMEOUT(sweep.phase == SweepState::Phase::stopped, kComputing);
    QTRY_VERIFY(b.find<QLabel>("sweep_state")->text().startsWith("Stopped after "));
    QTRY_VERIFY(b.find<QPushButton>("sweep_run")->isEnabled());
  }

  void a_sweep_without_a_capable_chain_says_what_it_measured_with() {
    const BenchWindow b(*theme_);
    small_run(b);
    b.find<QTabBar>("chart_tabs")->setCurrentIndex(2);
    b.click(b.find<QPushButton>("sweep_run"));
    const SweepState& sweep = b.bench->services().sparse.sweep_state();
    QTRY_VERIFY_WITH_TIMEOUT(sweep.phase == SweepState::Phase::finished, kComputing);
    QVERIFY2(b.find<QLabel>("sweep_notes")->text().startsWith("Nothing in the chain takes this call with a block mask"),
             qPrintable(b.find<QLabel>("sweep_notes")->text()));
  }

  void every_panel_has_room_at_1280_by_720_data() {
    QTest::addColumn<int>("route_tab");
    QTest::addColumn<int>("chart_tab");
    QTest::newRow("explain, timeline") << 0 << 0;
    QTest::newRow("explain, steps") << 0 << 1;
    QTest::newRow("block mask, sweep") << 1 << 2;
  }
  void every_panel_has_room_at_1280_by_720() {
    QFETCH(int, route_tab);
    QFETCH(int, chart_tab);
    const SparseWindow b(*theme_);
    b.select("transformer");
    b.find<QTabBar>("route_tabs")->setCurrentIndex(route_tab);
    b.find<QTabBar>("chart_tabs")->setCurrentIndex(chart_tab);
    b.window->arrange({1280, 720});
    QTRY_COMPARE(b.window->size(), QSize(1280, 720));
    QVERIFY(b.window->minimumSizeHint().width() <= 1280);
    QVERIFY(b.window->minimumSizeHint().height() <= 720);
    if (route_tab == 1) QTRY_VERIFY(b.window->block_mask().view().height() >= 150);
    if (chart_tab == 2) QTRY_VERIFY(b.window->sweep().height() >= 150);
  }

 private:
  /// A planned run whose self attention is short enough to sweep in a test.
  static void small_run(const BenchWindow& b) {
    auto& workload = b.window->workload();
    QVERIFY(workload.choose_model("flux.1-dev"));
    for (const auto& [key, value] : {std::pair{"width", 256.0}, std::pair{"height", 256.0}, std::pair{"steps", 2.0}}) {
      QVERIFY(workload.set_input(key, value));
    }
    b.click(b.find<QPushButton>("run"));
    QTRY_VERIFY(!b.bench->jobs().running());
    QTRY_VERIFY(b.find<QPushButton>("sweep_run")->isEnabled());
  }

  std::unique_ptr<Theme> theme_;
};

QTEST_MAIN(SparseTest)
#include "sparse_test.moc"
