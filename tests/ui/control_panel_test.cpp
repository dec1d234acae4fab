// SPDX-License-Identifier: GPL-3.0-or-later
// The control panel in the real window: marks, undo, prefer and require, kernels, presets, and what pending edits
// would do, counted against the run that follows.
#include "ui/control_panel/control_panel.h"
#include "bench_window.h"
#include "ui/control_panel/backend_row.h"
#include "ui/control_panel/change_mark.h"
#include "ui/control_panel/effect.h"
#include "ui/control_panel/preset_service.h"
#include "ui/control_panel/require_toggle.h"
#include "ui/control_panel/section.h"
#include "ui/control_panel/value_rows.h"
#include "ui/format/format.h"
#include "ui/panel/panel_title.h"
#include "ui/policy/policy_service.h"
#include "ui/route_table/route_panel.h"
#include "ui/workload_panel/workload_panel.h"

#include <QComboBox>
#include <QElapsedTimer>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QSlider>
#include <QTableView>
#include <QTemporaryDir>
#include <QToolButton>
#include <map>

using namespace attn;
using namespace attn::ui;
using attn::test::BenchWindow;

namespace {

using Moves = std::map<std::pair<QString, QString>, std::int64_t>;

/// Calls by backend of every kind of call.
std::map<QString, std::map<QString, std::int64_t>> by_kind(const trace::TraceSnapshot& run) {
  std::map<QString, std::map<QString, std::int64_t>> kinds;
  for (const trace::RouteRow& row : run.routes) {
    const QString kind = text_of(name_of(row.id.role)) + ' ' + ui::shape_text(row.id.query) + ' ' +
                         ui::shape_text(row.id.key) + (row.id.masked ? " masked" : "");
    kinds[kind][text_of(row.id.backend)] += row.calls;
  }
  return kinds;
}

/// Calls that another backend served in the second run: of a kind, what one lost the others gained.
Moves moved_between(const trace::TraceSnapshot& before, const trace::TraceSnapshot& after) {
  Moves moves;
  const auto then = by_kind(after);
  for (const auto& [kind, servers] : by_kind(before)) {
    if (servers.size() != 1) qFatal("the first run serves a kind of call by two backends");
    const QString from = servers.begin()->first;
    for (const auto& [to, calls] : then.at(kind)) {
      if (to != from) moves[{from, to}] += calls;
    }
  }
  return moves;
}

Moves moves_of(const Effect& effect) {
  Moves moves;
  for (const EffectMove& move : effect.moves) moves[{move.from, move.to}] += move.calls;
  return moves;
}

}  // namespace

class ControlPanelTest : public QObject {
  Q_OBJECT

 private slots:
  void init() {
    theme_ = std::make_unique<Theme>();
    own_ = std::make_unique<QTemporaryDir>();
    qputenv("ATTNSCOPE_PRESETS", own_->path().toUtf8());
  }
  void cleanup() { theme_.reset(); }

  void marks_rise_to_the_section_and_the_title_of_the_dock() {
    const BenchWindow b(*theme_);
    auto* title = b.find<QWidget>("control_dock")->findChild<PanelTitle*>();
    auto* edited = title->findChild<ChangeMark*>("title_edited");
    auto* changed = title->findChild<ChangeMark*>("title_changed");
    QVERIFY(!edited->isVisible() && !changed->isVisible());
    b.click(b.box("sdp_overrides/SDNQ attention"));
    QTRY_VERIFY(changed->isVisible());
    QVERIFY(!edited->isVisible());
    QCOMPARE(header(b, "Overrides")->accessibleDescription(), QString("has values that are not the default"));
    b.start_latched();
    QTRY_VERIFY(b.bench->engine().job_running());
    b.click(b.box("sdp_overrides/Sage attention"));
    QTRY_VERIFY(edited->isVisible());
    QCOMPARE(header(b, "Overrides")->accessibleDescription(),
             QString("has edits that are not applied, has values that are not the default"));
    QCOMPARE(header(b, "Kernel flags")->accessibleDescription(), QString());
    QVERIFY(b.find<QLabel>("effect_edits")->isVisible());
  }

  void an_option_of_the_next_generation_waits_while_one_runs() {
    const BenchWindow b(*theme_);
    b.start_latched();
    QTRY_COMPARE(b.find<QPushButton>("rebuild")->text(), QString("Rebuild between jobs"));  // the window knows of it
    QVERIFY(b.bench->engine().set("attention_slicing", std::string("Enabled")).has_value());
    auto* row = b.find<QWidget>("attention_slicing");
    QTRY_VERIFY(row->findChild<ChangeMark*>("edited_mark")->is_on());
    QVERIFY(!row->findChild<ChangeMark*>("changed_mark")->is_on());
    b.latch->release();
    QTRY_VERIFY(!row->findChild<ChangeMark*>("edited_mark")->is_on());
    QVERIFY(row->findChild<ChangeMark*>("changed_mark")->is_on());
  }

  void a_mark_is_taken_back_with_the_keyboard() {
    const BenchWindow b(*theme_);
    b.click(b.box("sparse_attention_enabled"));
    auto* mark = b.find<QWidget>("sparse_attention_enabled")->findChild<ChangeMark*>("changed_mark");
    QTRY_VERIFY(mark->is_on());
    QVERIFY(mark->focusPolicy() & Qt::TabFocus);
    QVERIFY(mark->accessibleName().contains("default off"));
    mark->setFocus(Qt::TabFocusReason);
    QTest::keyClick(mark, Qt::Key_Space);
    QTRY_VERIFY(!mark->is_on());
    QVERIFY(!b.bench->engine().values().boolean("sparse_attention_enabled"));
  }

  void undo_and_redo_go_through_every_kind_of_edit() {
    const BenchWindow b(*theme_);
    QAction* undo = action(b, "edit.undo");
    QAction* redo = action(b, "edit.redo");
    QVERIFY(!undo->isEnabled() && !redo->isEnabled());
    b.click(b.box("sdp_overrides/SDNQ attention"));
    QTRY_COMPARE(undo->text(), QString("&Undo SDNQ attention on"));
    b.type("sparse_attention_budget", "45");
    QTRY_COMPARE(undo->text(), QString("&Undo KV budget 30 % → 45 %"));
    // The focus is in the spin box: its letters have no undo of their own.
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Z, Qt::ControlModifier);
    QTRY_COMPARE(b.bench->engine().values().integer("sparse_attention_budget"), 30);
    QTRY_COMPARE(redo->text(), QString("&Redo KV budget 30 % → 45 %"));
    QTest::keyClick(b.window.get(), Qt::Key_Z, Qt::ControlModifier);
    QTRY_COMPARE(b.chain(), QString("sdpa"));
    QTRY_VERIFY(!undo->isEnabled());
    QTest::keyClick(b.window.get(), Qt::Key_Z, Qt::ControlModifier | Qt::ShiftModifier);
    QTRY_COMPARE(b.chain(), QString("sdnq>sdpa"));
    QTest::keyClick(b.window.get(), Qt::Key_Z, Qt::ControlModifier | Qt::ShiftModifier);
    QTRY_COMPARE(b.bench->engine().values().integer("sparse_attention_budget"), 45);
    QTRY_VERIFY(!redo->isEnabled());
    const std::string before = b.bench->engine().target().name;
    b.bench->engine().set_target(Target(b.bench->services().targets.targets().front()));
    QTRY_VERIFY(undo->text().startsWith("&Undo target "));
    undo->trigger();
    QTRY_COMPARE(b.bench->engine().target().name, before);
    QCOMPARE(b.bench->engine().values().integer("sparse_attention_budget"), 45);
    QTRY_COMPARE(b.chain(), QString("sdnq>sdpa"));
  }

  void steps_of_a_spin_box_and_a_drag_of_a_slider_are_one_step_each() {
    const BenchWindow b(*theme_);
    QAction* undo = action(b, "edit.undo");
    auto* row = b.find<QWidget>("sparse_attention_budget");
    auto* spin = row->findChild<QAbstractSpinBox*>();
    spin->setFocus();
    for (int i = 0; i < 6; ++i) {
      QTest::keyClick(spin, Qt::Key_Up);
      QTRY_COMPARE(b.bench->engine().values().integer("sparse_attention_budget"), 35 + 5 * i);
      QTRY_VERIFY(undo->text().endsWith(QString("→ %1 %").arg(35 + 5 * i)));
    }
    QCOMPARE(undo->text(), QString("&Undo KV budget 30 % → 60 %"));
    undo->trigger();
    QTRY_COMPARE(b.bench->engine().values().integer("sparse_attention_budget"), 30);
    QVERIFY(!undo->isEnabled());
    auto* slider = row->findChild<QSlider*>();
    slider->setSliderDown(true);
    for (int at = 6; at <= 12; ++at) {
      slider->setValue(at);
      QCoreApplication::processEvents();
    }
    QVERIFY(!undo->isEnabled());
    slider->setSliderDown(false);
    QTRY_COMPARE(undo->text(), QString("&Undo KV budget 30 % → 65 %"));
    undo->trigger();
    QTRY_COMPARE(b.bench->engine().values().integer("sparse_attention_budget"), 30);
    QTRY_VERIFY(!undo->isEnabled());
  }

  void undo_never_touches_results() {
    const BenchWindow b(*theme_);
    b.click(b.box("sdp_overrides/SDNQ attention"));
    QTRY_COMPARE(b.chain(), QString("sdnq>sdpa"));
    run(b);
    const trace::TraceSnapshot before = b.bench->services().trace.snapshot();
    QCOMPARE(before.calls, 1609);
    action(b, "edit.undo")->trigger();
    QTRY_COMPARE(b.chain(), QString("sdpa"));
    const trace::TraceSnapshot after = b.bench->services().trace.snapshot();
    QCOMPARE(after.calls, before.calls);
    QCOMPARE(after.routes.size(), before.routes.size());
    QVERIFY(moved_between(before, after).empty());
  }

  void an_import_is_one_step() {
    const BenchWindow b(*theme_);
    QAction* undo = action(b, "edit.undo");
    ImportPreview preview;
    preview.path = "config.json";
    preview.read.values = {{std::string(keys::overrides), OptionList{"Sage attention", "Flash attention"}},
                           {"sparse_attention_budget", std::int64_t{20}},
                           {"sdnq_attention_smooth_k", false}};
    preview.read.attention = AttentionChoices{};
    preview.read.attention->all = "flash";
    b.bench->services().exports.apply(preview);
    QTRY_COMPARE(undo->text(), QString("&Undo import"));
    QTRY_COMPARE(b.chain(), QString("sage>flash>sdpa"));
    undo->trigger();
    QTRY_COMPARE(b.chain(), QString("sdpa"));
    QVERIFY(!undo->isEnabled());
    QCOMPARE(b.bench->engine().values().integer("sparse_attention_budget"), 30);
    QVERIFY(!b.bench->engine().attention().all.has_value());
    action(b, "edit.redo")->trigger();
    QTRY_COMPARE(b.chain(), QString("sage>flash>sdpa"));
    QCOMPARE(*b.bench->engine().attention().all, std::string("flash"));
  }

  void options_and_attention_backend_of_one_tuned_choice_are_one_step() {
    const BenchWindow b(*theme_);
    QAction* undo = action(b, "edit.undo");
    QVERIFY(b.bench->engine()
                .set_all({{std::string(keys::overrides), OptionList{"Sage attention"}},
                          {"sparse_attention_budget", std::int64_t{20}}})
                .has_value());
    QTRY_VERIFY(undo->isEnabled());
    AttentionChoices tuned;
    tuned.measured[Role::transformer] = {"sage", 0.3, 0.02};
    QVERIFY(b.bench->engine().set_attention(tuned).has_value());
    QTRY_VERIFY(b.bench->services().policy.state().wanted == tuned);
    QCoreApplication::processEvents();
    QCOMPARE(undo->text(), QString("&Undo 2 settings"));
    undo->trigger();
    QTRY_COMPARE(b.chain(), QString("sdpa"));
    QVERIFY(b.bench->engine().attention().measured.empty());
    QVERIFY(!undo->isEnabled());
  }

  void a_backend_says_its_state_and_what_it_served() {
    const BenchWindow b(*theme_);
    auto* sdnq = b.find<BackendRow>("sdp_overrides/SDNQ attention");
    auto* triton = b.find<BackendRow>("sdp_overrides/Triton Flash attention");
    QVERIFY2(triton->note().startsWith("unavailable here: needs "), qPrintable(triton->note()));
    QCOMPARE(sdnq->note(), QString());
    b.click(b.box("sdp_overrides/SDNQ attention"));
    QTRY_COMPARE(sdnq->note(), QString("✓ ready"));
    run(b);
    QTRY_COMPARE(sdnq->note(), QString("✓ ready · 1\u202f596 calls of the last run"));
    b.start_latched();
    QTRY_VERIFY(b.bench->engine().job_running());
    b.click(b.box("sdp_overrides/Flash attention"));
    auto* flash = b.find<BackendRow>("sdp_overrides/Flash attention");
    QTRY_COMPARE(flash->note(), QString("joins when the chain is rebuilt"));
  }

  void the_words_for_a_backend_s_state_data() {
    QTest::addColumn<int>("state");
    QTest::addColumn<QString>("reason");
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("look");
    const auto row = [](const char* name, BackendState state, const char* reason, const char* text, const char* look) {
      QTest::newRow(name) << static_cast<int>(state) << QString(reason) << QString::fromUtf8(text) << QString(look);
    };
    row("ready", BackendState::ready, "", "✓ ready", "ok");
    row("narrowed", BackendState::ready, "no masks", "✓ ready, narrowed: no masks", "ok");
    row("failed", BackendState::failed, "no module", "✕ failed to prepare: no module", "bad");
    row("skipped", BackendState::skipped, "no device", "nothing to serve: no device", "dim");
    row("barred", BackendState::unavailable, "quarantined", "unavailable here: quarantined", "dim");
    row("off", BackendState::disabled, "", "", "dim");
  }
  void the_words_for_a_backend_s_state() {
    QFETCH(const int, state);
    QFETCH(const QString, reason);
    BackendSpec spec;
    spec.name = "sage";
    BackendReport report;
    report.state = static_cast<BackendState>(state);
    report.reason = reason.toStdString();
    const BackendFact fact = backend_fact(spec, &report, Target{}, true, true);
    QTEST(fact.text, "text");
    QTEST(QString(fact.look), "look");
    QCOMPARE(backend_fact(spec, &report, Target{}, false, true).text, QString("leaves when the chain is rebuilt"));
  }

  void what_is_required_is_served_or_nothing_runs() {
    const BenchWindow b(*theme_);
    b.click(b.box("sdp_overrides/Flash attention"));
    b.click(b.box("sdp_overrides/SDNQ attention"));
    QTRY_COMPARE(b.chain(), QString("sdnq>flash>sdpa"));
    auto* flash = b.find<QWidget>("sdp_overrides/Flash attention")->findChild<RequireToggle*>("require");
    QTRY_VERIFY(flash->isVisible());
    QCOMPARE(flash->accessibleName(), QString("Flash attention is preferred"));
    flash->setFocus();
    QTest::keyClick(flash, Qt::Key_Space);
    QCOMPARE(flash->accessibleName(), QString("Flash attention is required"));
    QVERIFY(b.bench->services().jobs.required() == std::vector<std::string>{"flash"});
    b.click(b.find<QPushButton>("run"));
    const Expected<void> refused = b.bench->jobs().run(b.window->workload().request());
    QVERIFY(!refused.has_value());
    QVERIFY2(refused.error().starts_with("flash is required but would not serve the transformer call"),
             refused.error().c_str());
    QVERIFY(!b.bench->jobs().running());
    QCOMPARE(b.bench->services().trace.snapshot().calls, 0);
    // SDNQ serves every call of the denoiser, so it may be required; text encoder and VAE fall back as they must.
    auto* sdnq = b.find<QWidget>("sdp_overrides/SDNQ attention")->findChild<RequireToggle*>("require");
    b.click(sdnq);
    run(b);
    QCOMPARE(b.bench->services().trace.snapshot().calls, 1609);
    action(b, "edit.undo")->trigger();
    QVERIFY(b.bench->services().jobs.required() == std::vector<std::string>{"flash"});
    QVERIFY(!sdnq->isChecked());
    QTest::keyClick(flash, Qt::Key_Left);
    QVERIFY(b.bench->services().jobs.required().empty());
  }

  void a_flag_stands_beside_what_really_runs() {
    const BenchWindow b(*theme_);
    auto* math = b.find<ChoiceRow>("sdp_options/Math");
    auto* flash = b.find<ChoiceRow>("sdp_options/Flash");
    QTRY_COMPARE(math->note(), QString("unknown"));  // the card is not in this machine
    auto& panel = b.window->control();
    panel.show_kernels({{"flash", true, Support::not_supported, "no kernel image", "Flash"},
                        {"math", false, Support::supported, "", "Math"},
                        {"cudnn", true, Support::supported, "", ""}});
    QCOMPARE(flash->note(), QString("on, but does not run here"));
    QCOMPARE(math->note(), QString("✓ runs"));
    QCOMPARE(b.find<QLabel>("kernel_note")->text(), QString("cudnn has no switch: ✓ runs"));
  }

  void a_preset_is_chosen_gets_a_star_and_is_one_step_back() {
    const BenchWindow b(*theme_);
    auto* list = b.find<QComboBox>("preset_list");
    QTRY_COMPARE(list->count(), 4);
    QCOMPARE(list->currentIndex(), -1);
    choose(list, "sparse 30 %");
    QTRY_COMPARE(b.chain(), QString("sdnq>flash>sdpa"));
    QTRY_COMPARE(list->currentText(), QString("sparse 30 %"));
    QCOMPARE(action(b, "edit.undo")->text(), QString("&Undo preset sparse 30 %"));
    QVERIFY(b.find<QLabel>("preset_about")->text().startsWith("Long self-attention"));
    b.type("sparse_attention_budget", "45");
    QTRY_COMPARE(list->currentText(), QString("sparse 30 % *"));
    action(b, "edit.undo")->trigger();
    QTRY_COMPARE(list->currentText(), QString("sparse 30 %"));
    action(b, "edit.undo")->trigger();
    QTRY_COMPARE(b.chain(), QString("sdpa"));
    QVERIFY(!action(b, "edit.undo")->isEnabled());
    QTRY_COMPARE(list->currentText(), QString("sparse 30 % *"));
  }

  void an_own_preset_is_saved_renamed_and_deleted_in_place() {
    const BenchWindow b(*theme_);
    auto* list = b.find<QComboBox>("preset_list");
    auto* name = b.find<QLineEdit>("preset_name");
    QTRY_COMPARE(list->count(), 4);
    QVERIFY(!action(b, "preset_save")->isEnabled() && !action(b, "preset_remove")->isEnabled());
    b.click(b.box("sdp_overrides/Sage attention"));
    action(b, "preset_save_as")->trigger();
    QVERIFY(name->isVisible() && name->hasFocus());
    QTest::keyClicks(name, "mine");
    QTest::keyClick(name, Qt::Key_Return);
    QTRY_COMPARE(list->currentText(), QString("mine"));
    QVERIFY(!name->isVisible());
    b.click(b.box("sdp_overrides/Flash attention"));
    QTRY_COMPARE(list->currentText(), QString("mine *"));
    QVERIFY(action(b, "preset_save")->isEnabled());
    action(b, "preset_save")->trigger();
    QTRY_COMPARE(list->currentText(), QString("mine"));
    action(b, "preset_rename")->trigger();
    QTest::keyClicks(name, "exact");
    QTest::keyClick(name, Qt::Key_Return);
    QTRY_VERIFY(b.find<QLabel>("preset_problem")->text().contains("is taken"));
    action(b, "preset_rename")->trigger();
    QTest::keyClicks(name, "yours");
    QTest::keyClick(name, Qt::Key_Return);
    QTRY_COMPARE(list->currentText(), QString("yours"));
    b.bench->services().presets.export_file("yours", own_->filePath("given.txt"));
    QTRY_VERIFY(QFile::exists(own_->filePath("given.txt")));
    action(b, "preset_remove")->trigger();
    QVERIFY(!name->isVisible());
    b.click(b.find<QPushButton>("preset_yes"));
    QTRY_COMPARE(list->count(), 4);
    QTRY_COMPARE(list->currentIndex(), -1);
    b.bench->services().presets.import_file(own_->filePath("given.txt"));
    QTRY_VERIFY(list->findText("yours") > 0);
    QCOMPARE(b.chain(), QString("sage>flash>sdpa"));
  }

  void search_finds_presets_and_backends_by_their_names() {
    const BenchWindow b(*theme_);
    auto* search = b.find<QLineEdit>("option_search");
    QTRY_COMPARE(b.find<QComboBox>("preset_list")->count(), 4);
    search->setText("low memory");
    QVERIFY(b.find<QWidget>("presets")->isVisible());
    QVERIFY(!b.find<QWidget>("sdp_overrides/SDNQ attention")->isVisible());
    search->setText("sdnq");
    QVERIFY(b.find<QWidget>("sdp_overrides/SDNQ attention")->isVisible());
    QVERIFY(!b.find<QWidget>("sdp_overrides/Flash attention")->isVisible());
    search->clear();
    QVERIFY(b.find<QWidget>("sdp_overrides/Flash attention")->isVisible());
  }

  void the_predicted_moves_are_those_of_the_run_after_the_rebuild_data() {
    QTest::addColumn<QString>("model");
    QTest::addColumn<QStringList>("before");
    QTest::addColumn<QStringList>("after");
    QTest::addColumn<bool>("sparse");
    const QStringList sdnq{"SDNQ attention", "Flash attention"};
    QTest::newRow("sdpa to sdnq") << "flux.1-dev" << QStringList() << sdnq << false;
    QTest::newRow("sdnq to flash") << "flux.1-dev" << sdnq << QStringList{"Flash attention"} << false;
    QTest::newRow("flash to dynamic") << "sd-1.5" << QStringList{"Flash attention"} << QStringList{"Dynamic attention"}
                                      << false;
    QTest::newRow("to sage") << "sd-1.5" << QStringList() << QStringList{"Sage attention"} << false;
    QTest::newRow("dense to sparse with dense steps") << "flux.1-dev" << sdnq << sdnq << true;
  }
  void the_predicted_moves_are_those_of_the_run_after_the_rebuild() {
    QFETCH(const QString, model);
    QFETCH(const QStringList, before);
    QFETCH(const QStringList, after);
    QFETCH(const bool, sparse);
    const auto list = [](const QStringList& labels) {
      OptionList out;
      for (const QString& label : labels) out.push_back(label.toStdString());
      return out;
    };
    const BenchWindow b(*theme_);
    Engine& engine = b.bench->engine();
    QVERIFY(b.window->workload().choose_model(model));
    QVERIFY(engine.set(keys::overrides, list(before)).has_value());
    run(b);
    const trace::TraceSnapshot first = b.bench->services().trace.snapshot();
    const RunFacts facts = b.bench->services().sparse.last_run();
    Pipe pipe;
    Effect effect;
    {
      const auto job = engine.begin_job(pipe, 1, nullptr, false);
      QVERIFY(job.has_value());
      QVERIFY(engine
                  .set_all({{std::string(keys::overrides), list(after)},
                            {"sparse_attention_enabled", sparse},
                            {"sparse_attention_min_tokens", std::int64_t{4096}},
                            {"sparse_attention_schedule_steps", std::int64_t{sparse ? 3 : 0}},
                            {"sparse_attention_schedule_bump", std::int64_t{70}}})
                  .has_value());
      effect = predict_effect(engine.registry(), *engine.plan(), *engine.wanted_plan(), first, facts);
    }
    QCOMPARE(effect.unknown, 0);
    QVERIFY(effect.moved() > 0);
    run(b);
    const trace::TraceSnapshot second = b.bench->services().trace.snapshot();
    QCOMPARE(second.calls, first.calls);
    QVERIFY(moves_of(effect) == moved_between(first, second));
    if (sparse) QCOMPARE(effect.moves, (std::vector<EffectMove>{{"sdnq", "sdnq+sparse", 57 * 22}}));
    QVERIFY(effect.memory_after >= 0);
  }

  void the_panel_shows_the_effect_while_edits_wait_and_takes_it_away() {
    const BenchWindow b(*theme_);
    b.click(b.box("sdp_overrides/Flash attention"));
    QVERIFY(b.window->workload().choose_model("sd-1.5"));
    run(b);
    const trace::TraceSnapshot planned = b.bench->services().trace.snapshot();
    auto* box = b.find<QWidget>("effect");
    QVERIFY(!box->isVisible());
    b.window->workload().choose_work(Work::all);
    b.window->workload().run();
    QTRY_VERIFY(b.bench->services().trace.snapshot().calls > 0);
    b.click(b.box("sdp_overrides/Sage attention"));
    auto* moves = b.find<QLabel>("effect_moves");
    QTRY_VERIFY2(moves->accessibleName().contains("→ sage"), qPrintable(moves->text()));
    QVERIFY(box->isVisible());
    // The job is like the run before: all of that is weighed, not the few calls that were made so far.
    const Engine& engine = b.bench->engine();
    const Effect whole = predict_effect(engine.registry(), *engine.plan(), *engine.wanted_plan(), planned,
                                        b.bench->services().sparse.last_run());
    QTRY_COMPARE(moves->accessibleName(), move_texts(whole).join(". "));
    QVERIFY(b.find<QLabel>("effect_edits")->text().startsWith("1 edit pending"));
    QVERIFY(b.find<QLabel>("effect_memory")->text().startsWith("Largest call: "));
    b.click(b.find<QPushButton>("revert"));
    QTRY_VERIFY(!box->isVisible());
    b.window->workload().stop();
    QTRY_VERIFY(!b.bench->jobs().running());
  }

  void a_run_of_ten_thousand_calls_is_planned_anew_within_fifty_milliseconds() {
    const BenchWindow b(*theme_);
    Engine& engine = b.bench->engine();
    QVERIFY(engine.set(keys::overrides, OptionList{"SDNQ attention", "Flash attention"}).has_value());
    QVERIFY(b.window->workload().choose_model("flux.1-dev"));
    QVERIFY(b.window->workload().set_input("steps", 180));
    run(b);
    const trace::TraceSnapshot run_of = b.bench->services().trace.snapshot();
    QVERIFY2(run_of.calls > 10000, qPrintable(QString::number(run_of.calls)));
    Pipe pipe;
    const auto job = engine.begin_job(pipe, 1, nullptr, false);
    QVERIFY(engine
                .set_all({{std::string(keys::overrides), OptionList{"Sage attention", "SDNQ attention"}},
                          {"sparse_attention_enabled", true},
                          {"sparse_attention_min_tokens", std::int64_t{1024}}})
                .has_value());
    qint64 best = 1'000'000'000;
    for (int i = 0; i < 5; ++i) {
      QElapsedTimer clock;
      clock.start();
      const Effect effect = predict_effect(engine.registry(), *engine.plan(), *engine.wanted_plan(), run_of,
                                           b.bench->services().sparse.last_run());
      best = std::min(best, clock.nsecsElapsed());
      QVERIFY(effect.moved() > 0);
    }
    qInfo("%lld calls planned anew in %.2f ms", static_cast<long long>(run_of.calls), static_cast<double>(best) / 1e6);
    QVERIFY(best < 50'000'000);
  }

 private:
  static SectionHeader* header(const BenchWindow& b, const QString& title) {
    for (SectionHeader* one : b.window->control().findChildren<SectionHeader*>()) {
      if (one->text() == title) return one;
    }
    qFatal("no section %s", qPrintable(title));
  }
  static QAction* action(const BenchWindow& b, const char* name) {
    auto* found = b.window->findChild<QAction*>(name);
    if (found == nullptr) qFatal("no action %s", name);
    return found;
  }
  static void run(const BenchWindow& b) {
    b.window->workload().choose_work(Work::planned);
    b.click(b.find<QPushButton>("run"));
    QTRY_VERIFY(!b.bench->jobs().running());
    QTRY_VERIFY(b.window->routes().model().rowCount() > 0);
  }
  static void choose(QComboBox* list, const QString& name) {
    const int at = list->findText(name);
    list->setCurrentIndex(at);
    emit list->activated(at);
  }

  std::unique_ptr<Theme> theme_;
  std::unique_ptr<QTemporaryDir> own_;
};

QTEST_MAIN(ControlPanelTest)
#include "control_panel_test.moc"
