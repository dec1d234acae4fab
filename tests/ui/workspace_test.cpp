// SPDX-License-Identifier: GPL-3.0-or-later
// A workspace as one value: its file, what opens where, the layout slots and the three ways to begin again.
#include "ui/workspace/workspace.h"

#include "app/jobs/levers/results_file.h"
#include "app/jobs/tensors/safetensors.h"
#include "bench_window.h"
#include "test_files.h"
#include "ui/block_mask/block_mask_panel.h"
#include "ui/block_mask/npy_file.h"
#include "ui/compare/compare_desk.h"
#include "ui/export/import_dialog.h"
#include "ui/format/format.h"
#include "ui/levers/levers_page.h"
#include "ui/main_window/about.h"
#include "ui/platform/platform_service.h"
#include "ui/preview/preview_panel.h"
#include "ui/route_table/route_panel.h"
#include "ui/timeline/timeline_panel.h"
#include "ui/workload_panel/workload_panel.h"
#include "ui/workspace/file_kinds.h"
#include "ui/workspace/notice_banner.h"
#include "ui/workspace/workspace_document.h"
#include "ui/workspace/workspace_text.h"

#include <QDockWidget>
#include <QDropEvent>
#include <QFile>
#include <QHeaderView>
#include <QLineEdit>
#include <QMenu>
#include <QMimeData>
#include <QPushButton>
#include <QSplitter>
#include <QTabBar>
#include <QTemporaryDir>

using namespace attn;
using namespace attn::ui;
using attn::test::BenchWindow;
using attn::test::bytes_of;
using attn::test::write_file;

namespace {

Workspace sample() {
  Workspace out;
  out.file = "/of a person/tuning \"best\".attnscope";
  out.target = "rtx-4090";
  out.profile = "{\"attnscope\": \"profile\", \"version\": 1}";
  out.required = QStringList{"sdnq", "sage"};
  out.workload.model = "flux.1-dev";
  out.workload.work = Work::representatives;
  out.workload.inputs = {{"height", 1024}, {"shift", 0.125}, {"width", 768}};
  PictureRequest picture;
  picture.prompt = "a red circle";
  picture.seed = 18446744073709551615ULL;
  picture.guidance = 2.75;
  picture.dtype = DType::bfloat16;
  picture.compiled = true;
  picture.second = SecondPass{192, 256, 7, 0.45, true};
  out.workload.picture = picture;
  out.filter = "role:vae -mask:none";
  out.layout = {QByteArray("\0\1\2", 3), "docks", "center", 2, 1};
  out.view = {{"routes/grouping", 2.0},
              {"workload/more", true},
              {"route_table/columns", QByteArray("\xff\0\x10", 3)},
              {"control_panel/flipped_sections", QStringList{"SDNQ options", "Presets"}},
              {"words", QString("plain")}};
  out.run = RunContext{RunContext::State::running, "flux.1-dev", Work::compiled, 123, 1609, 11, 28};
  out.role = Role::transformer;
  out.step = 12;
  return out;
}

/// As a person drops a file onto the window.
void drop(QWidget& on, const QString& path) {
  QMimeData data;
  data.setUrls({QUrl::fromLocalFile(path)});
  QDragEnterEvent enter({10, 10}, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QCoreApplication::sendEvent(&on, &enter);
  QVERIFY(enter.isAccepted());
  QDropEvent event(QPointF(10, 10), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QCoreApplication::sendEvent(&on, &event);
  QVERIFY(event.isAccepted());
}

}  // namespace

class WorkspaceTest : public QObject {
  Q_OBJECT

 private slots:
  void init() { fresh_ = std::make_unique<test::Fresh>(); }
  void cleanup() { fresh_.reset(); }

  void a_workspace_comes_back_from_its_text_as_it_was() {
    const Workspace wanted = sample();
    const std::string text = write_workspace(wanted);
    QVERIFY(looks_like_workspace(text));
    const auto read = read_workspace(text);
    QVERIFY2(read.has_value(), read ? "" : read.error().c_str());
    QCOMPARE(write_workspace(*read), text);
    QCOMPARE(read->file, wanted.file);
    QCOMPARE(read->required, wanted.required);
    QCOMPARE(read->workload.inputs, wanted.workload.inputs);
    QVERIFY(read->workload.picture == wanted.workload.picture);
    QVERIFY(read->layout == wanted.layout);
    QVERIFY(read->view == wanted.view);
    QVERIFY(read->run == wanted.run);
    QVERIFY(read->role == wanted.role && read->step == wanted.step);
    QCOMPARE(content_of(*read), content_of(wanted));
    QVERIFY(!text_of(content_of(wanted)).contains("docks"));
  }

  void a_wrong_text_is_refused_with_one_sentence_data() {
    QTest::addColumn<QByteArray>("from");
    QTest::addColumn<QByteArray>("to");
    QTest::addColumn<QString>("sentence");
    const auto row = [](const char* name, const char* from, const char* to, const char* sentence) {
      QTest::newRow(name) << QByteArray(from) << QByteArray(to) << QString::fromUtf8(sentence);
    };
    row("no JSON", "\"version\": 1,", "\"version\" 1,", "line 3, column 13");
    row("no workspace", "\"attnscope\": \"workspace\"", "\"attnscope\": \"profile\"",
        "this is no workspace of Attnscope");
    row("no version", "\"version\": 1,", "\"version\": null,", "the workspace's version is missing");
    row("newer", "\"version\": 1,", "\"version\": 9,", "is of version 9; this program reads version 1");
    row("no target", "\"target\": \"rtx-4090\",", "", "the workspace lacks target");
    row("target of a wrong kind", "\"target\": \"rtx-4090\",", "\"target\": 7,", "target is 7; it takes a text");
    row("unknown member", "\"filter\":", "\"fliter\":", "fliter is not known in version 1 of a workspace");
    row("wrong list", "\"required\": [\"sdnq\", \"sage\"]", "\"required\": \"sdnq\"",
        "required is \"sdnq\"; it takes a list of texts");
    row("unknown work", "\"representatives\"", "\"most\"",
        "workload.work is \"most\"; it takes planned, representatives, all or compiled");
    row("input is no number", "\"width\": 768\n", "\"width\": \"wide\"\n",
        "workload.inputs.width is \"wide\"; it takes a number");
    row("steps too few", "\"steps\": 20", "\"steps\": 0",
        "workload.picture.steps is 0; it takes a whole number from 1 to 1048576");
    row("half a pixel", "\"width\": 192", "\"width\": 192.5", "workload.picture.second.width is 192.5; it takes");
    row("seed is a number", "\"seed\": \"18446744073709551615\"", "\"seed\": 5",
        "workload.picture.seed is 5; it takes a whole number from 0 in quotes");
    row("unknown dtype", "\"bfloat16\"", "\"int4\"", "workload.picture.dtype is \"int4\"; it takes float32");
    row("no Base64", "\"docks\": \"ZG9ja3M=\"", "\"docks\": \"%%\"", "layout.docks is \"%%\"; it takes Base64");
    row("tab below 0", "\"chart\": 2", "\"chart\": -1", "layout.chart is -1; it takes a whole number from 0 to 100");
    row("view holds an object", "\"words\": \"plain\"", "\"words\": {}", "view.words is an object; it takes");
    row("unknown state", "\"running\"", "\"asleep\"",
        "run.state is \"asleep\"; it takes running, finished, stopped or");
    row("unknown role", "\"role\": \"transformer\"", "\"role\": \"unet\"", "selection.role is \"unet\"; it takes");
    row("profile is a text", "\"profile\": {\"attnscope\": \"profile\", \"version\": 1}", "\"profile\": \"fast\"",
        "profile is \"fast\"; it takes a profile, which is an object");
  }
  void a_wrong_text_is_refused_with_one_sentence() {
    QFETCH(QByteArray, from);
    QFETCH(QByteArray, to);
    QFETCH(QString, sentence);
    Workspace workspace = sample();
    if (from.contains("\"steps\": 20")) workspace.run.reset();
    QByteArray text = QByteArray::fromStdString(write_workspace(workspace));
    QVERIFY2(text.contains(from), text.constData());
    text.replace(text.indexOf(from), from.size(), to);
    const auto read = read_workspace(text.toStdString());
    QVERIFY(!read.has_value());
    const QString said = text_of(read.error());
    QVERIFY2(said.contains(sentence), qPrintable(said));
    QCOMPARE(said.count('\n'), 0);
  }

  void what_a_person_arranged_is_saved_opened_and_the_same_again() {
    const QString file = fresh_->place.filePath("mine.attnscope");
    std::string content;
    {
      BenchWindow b(fresh_->theme);
      b.choose_target("rtx-4090");
      b.click(b.box("sdp_overrides/SDNQ attention"));
      b.type("sparse_attention_budget", "45");
      b.bench->jobs().require({"sdnq"});
      b.window->workload().choose_model("hunyuanvideo");
      b.window->workload().set_input("frames", 65);
      b.window->workload().choose_work(Work::representatives);
      b.window->routes().filter().set_line("role:vae");
      b.window->commands().run("view.levers");
      b.window->document().save_as(file);
      QTRY_COMPARE(b.window->document().path(), file);
      content = content_of(b.window->state().take());
    }
    BenchWindow b(fresh_->theme);
    QVERIFY(content_of(b.window->state().take()) != content);
    b.window->open_file(file);
    QTRY_COMPARE(b.window->document().path(), file);
    QCOMPARE(content_of(b.window->state().take()), content);
    QCOMPARE(b.find<QTabBar>("chart_tabs")->currentIndex(), 3);
    QTRY_COMPARE(b.chain(), QString("sdnq>sdpa"));
    QCOMPARE(b.window->windowTitle(), QString("mine[*] — Attnscope"));
    QVERIFY(!b.window->isWindowModified());
    // Settings are one step back, all of them.
    QTest::keyClick(b.window.get(), Qt::Key_Z, Qt::ControlModifier);
    QTRY_COMPARE(b.bench->engine().values().integer("sparse_attention_budget"), 30);
    QCOMPARE(b.bench->engine().target().name, std::string("rtx-3090"));
    b.window->document().autosave_now();
    QVERIFY(b.window->isWindowModified());
    QTest::keyClick(b.window.get(), Qt::Key_Z, Qt::ControlModifier | Qt::ShiftModifier);
    QTRY_COMPARE(b.bench->engine().values().integer("sparse_attention_budget"), 45);
    b.window->document().autosave_now();
    QVERIFY(!b.window->isWindowModified());
  }

  void a_workspace_that_does_not_hold_changes_nothing_data() {
    QTest::addColumn<QByteArray>("from");
    QTest::addColumn<QByteArray>("to");
    QTest::addColumn<QString>("sentence");
    QTest::newRow("damaged") << QByteArray("\"filter\"") << QByteArray("\"filter") << "line";
    QTest::newRow("value out of range") << QByteArray("\"sparse_attention_budget\": 30")
                                        << QByteArray("\"sparse_attention_budget\": 3000") << "sparse_attention_budget";
    QTest::newRow("no such machine") << QByteArray("\"rtx-3090\"") << QByteArray("\"rtx-9090\"")
                                     << "the target rtx-9090 is not in the list";
    QTest::newRow("no such model") << QByteArray("\"flux.1-dev\"") << QByteArray("\"flux.9\"")
                                   << "there is no model flux.9";
    QTest::newRow("no such input") << QByteArray("\"width\":") << QByteArray("\"wide\":") << "has no input wide";
  }
  void a_workspace_that_does_not_hold_changes_nothing() {
    QFETCH(QByteArray, from);
    QFETCH(QByteArray, to);
    QFETCH(QString, sentence);
    BenchWindow b(fresh_->theme);
    QByteArray text = QByteArray::fromStdString(write_workspace(b.window->state().take()));
    QVERIFY2(text.contains(from), text.constData());
    text.replace(from, to);
    write_file(fresh_->place.filePath("bad.attnscope"), text);
    b.type("sparse_attention_budget", "45");
    const std::string before = content_of(b.window->state().take());
    b.window->open_file(fresh_->place.filePath("bad.attnscope"));
    auto* banner = b.find<NoticeBanner>("notice_banner");
    QTRY_VERIFY(banner->isVisible());
    QVERIFY2(banner->sentence().startsWith("Nothing of bad.attnscope was taken: "), qPrintable(banner->sentence()));
    QVERIFY2(banner->sentence().contains(sentence), qPrintable(banner->sentence()));
    QCOMPARE(content_of(b.window->state().take()), before);
    QVERIFY(b.window->document().path().isEmpty());
    QVERIFY(b.window->document().recent().isEmpty());
    b.click(b.find<QPushButton>("notice_dismiss"));
    QVERIFY(!banner->isVisible());
  }

  void a_file_that_another_window_saved_is_not_written_over_unasked() {
    const QString file = fresh_->place.filePath("shared.attnscope");
    BenchWindow first(fresh_->theme);
    first.window->document().save_as(file);
    QTRY_COMPARE(first.window->document().path(), file);
    BenchWindow second(fresh_->theme);
    second.window->open_file(file);
    QTRY_COMPARE(second.window->document().path(), file);
    second.type("sparse_attention_budget", "45");
    second.window->document().save();
    QTRY_VERIFY(bytes_of(file).contains("\"sparse_attention_budget\": 45"));
    const QByteArray theirs = bytes_of(file);
    first.type("sparse_attention_budget", "60");
    first.window->document().save();
    auto* banner = first.find<NoticeBanner>("notice_banner");
    QTRY_VERIFY(banner->isVisible());
    QVERIFY2(banner->sentence().contains("changed by somebody else"), qPrintable(banner->sentence()));
    QCOMPARE(bytes_of(file), theirs);
    first.click(first.find<QPushButton>("save_over"));
    QTRY_VERIFY(bytes_of(file).contains("\"sparse_attention_budget\": 60"));
    QVERIFY(!banner->isVisible());
  }

  void a_file_that_cannot_be_written_is_said_and_nothing_is_lost() {
    BenchWindow b(fresh_->theme);
    b.window->document().save_as(fresh_->place.filePath("no/such/folder/mine.attnscope"));
    auto* banner = b.find<NoticeBanner>("notice_banner");
    QTRY_VERIFY(banner->isVisible());
    QVERIFY2(banner->sentence().startsWith("The workspace was not saved: "), qPrintable(banner->sentence()));
    QVERIFY(b.window->document().path().isEmpty());
  }

  void recent_files_stand_in_the_menu_and_outlive_the_window() {
    const QString kept = fresh_->place.filePath("attnscope.ini");
    const auto settings = [&] { return std::make_unique<QSettings>(kept, QSettings::IniFormat); };
    const QString file = fresh_->place.filePath("one & two.attnscope");
    {
      BenchWindow b(fresh_->theme, settings());
      b.window->document().save_as(file);
      QTRY_COMPARE(b.window->document().recent(), QStringList{file});
      b.window->close();
    }
    BenchWindow b(fresh_->theme, settings());
    QCOMPARE(b.window->document().recent(), QStringList{file});
    const Command* first = b.window->commands().find("file.recent.1");
    QVERIFY(first->action->isVisible());
    QCOMPARE(first->text(), QString("Open one & two.attnscope"));
    QVERIFY(!b.window->commands().find("file.recent.2")->action->isVisible());
    first->action->trigger();
    QTRY_COMPARE(b.window->document().path(), file);
    QVERIFY(b.window->commands().run("file.recent.forget"));
    QVERIFY(!first->action->isVisible());
    QVERIFY(!b.window->commands().find("file.recent.forget")->action->isEnabled());
  }

  void a_layout_slot_brings_an_arrangement_back_without_the_rest() {
    const QString kept = fresh_->place.filePath("attnscope.ini");
    const auto settings = [&] { return std::make_unique<QSettings>(kept, QSettings::IniFormat); };
    {
      BenchWindow b(fresh_->theme, settings());
      QVERIFY(!b.window->commands().find("layout.slot1.load")->action->isEnabled());
      b.find<QDockWidget>("log_dock")->hide();
      b.find<QTabBar>("chart_tabs")->setCurrentIndex(1);
      QTest::keyClick(b.window.get(), Qt::Key_1, Qt::ControlModifier | Qt::ShiftModifier);
      QVERIFY(b.window->commands().find("layout.slot1.load")->action->isEnabled());
      b.window->close();
    }
    BenchWindow b(fresh_->theme, settings());
    b.window->commands().run("layout.reset");
    b.find<QTabBar>("chart_tabs")->setCurrentIndex(0);
    QVERIFY(b.find<QDockWidget>("log_dock")->isVisible());
    b.type("sparse_attention_budget", "45");
    QTest::keyClick(b.window.get(), Qt::Key_1, Qt::ControlModifier);
    QTRY_VERIFY(!b.find<QDockWidget>("log_dock")->isVisible());
    QCOMPARE(b.find<QTabBar>("chart_tabs")->currentIndex(), 1);
    QCOMPARE(b.bench->engine().values().integer("sparse_attention_budget"), 45);
  }

  void the_three_ways_back_are_three() {
    BenchWindow b(fresh_->theme);
    b.click(b.find<QPushButton>("run"));
    QTRY_VERIFY(!b.bench->jobs().running());
    QTRY_VERIFY(b.window->routes().model().rowCount() > 0);
    const auto mess_up = [&] {
      b.find<QDockWidget>("log_dock")->hide();
      b.window->timeline().view().zoom(8.0);
      b.window->routes().filter().set_line("role:vae");
      b.window->routes().view()->sortByColumn(RouteModel::calls, Qt::AscendingOrder);
      b.window->routes().view()->setColumnHidden(RouteModel::role, true);
      b.type("sparse_attention_budget", "45");
    };
    const auto layout_is_reset = [&] { return b.find<QDockWidget>("log_dock")->isVisible(); };
    const auto view_is_reset = [&] {
      return b.window->routes().filter().line().isEmpty() &&
             b.window->routes().view()->horizontalHeader()->sortIndicatorSection() == -1 &&
             !b.window->routes().view()->isColumnHidden(RouteModel::role) &&
             b.window->timeline().view().map().shows_all();
    };
    const auto options_are_reset = [&] { return b.bench->engine().values().integer("sparse_attention_budget") == 30; };
    mess_up();
    QVERIFY(!layout_is_reset() && !view_is_reset() && !options_are_reset());
    b.window->commands().run("layout.reset");
    QVERIFY(layout_is_reset() && !view_is_reset() && !options_are_reset());
    mess_up();
    b.window->commands().run("view.reset");
    QVERIFY(!layout_is_reset() && view_is_reset() && !options_are_reset());
    mess_up();
    b.window->commands().run("options.reset");
    QVERIFY(!layout_is_reset() && !view_is_reset() && options_are_reset());
    QTRY_COMPARE(b.window->commands().find("edit.undo")->text(), QString("Undo defaults of all options"));
    b.window->commands().run("edit.undo");
    QTRY_COMPARE(b.bench->engine().values().integer("sparse_attention_budget"), 45);
  }

  void a_file_is_known_by_what_is_in_it_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<int>("kind");
    QTest::addColumn<QString>("refusal");
    const auto row = [](const char* name, const QByteArray& bytes, FileKind kind, const char* refusal = "") {
      QTest::newRow(name) << bytes << static_cast<int>(kind) << QString::fromUtf8(refusal);
    };
    row("workspace", QByteArray::fromStdString(write_workspace(sample())), FileKind::workspace);
    row("broken workspace", "{ \"attnscope\" : \"workspace\", \"ver", FileKind::workspace);
    row("config.json of SD.Next", R"({"samples_format": "jpg", "sdp_overrides": ["Dynamic attention"]})",
        FileKind::settings);
    row("profile", R"({"attnscope": "profile", "version": 1, "settings": {}})", FileKind::settings);
    row("load request", R"({"model_path": "x", "attention_backend": "sage"})", FileKind::settings);
    row("node of a workflow", R"({"3": {"class_type": "SparseAttention", "inputs": {}}})", FileKind::settings);
    row("call of diffusers", "pipe.transformer.set_attention_backend(\"sage\")\n", FileKind::settings);
    row("launch flags", "python main.py --use-sage-attention\n", FileKind::settings);
    row("environment", "export DIFFUSERS_ATTN_BACKEND=sage\n", FileKind::settings);
    row("picture", QByteArray("\x89PNG\r\n\x1a\n\0\0", 10), FileKind::picture);
    row("log", "10:00:42 ERROR Torch attention: No module named 'flash_attn'\n", FileKind::log);
    row("levers", R"({"attnscope": "levers", "version": 1})", FileKind::levers);
    row("NumPy", QByteArray("\x93NUMPY\x01\x00v\x00", 10), FileKind::mask);
    row("safetensors", QByteArray("\x02\0\0\0\0\0\0\0{}", 10), FileKind::tensors);
    row("nothing", "", FileKind::empty, "x is an empty file; a file with something in it is needed.");
    row("a letter", "Dear reader,\n", FileKind::other,
        "x is a text without any setting; a workspace, measured levers, ");
    row("foreign JSON", R"({"name": "package", "version": "1.0"})", FileKind::other, "x is a text without any setting");
    row("a program",
        QByteArray("\x7f"
                   "ELF\2\1\1\0\0\0",
                   10),
        FileKind::other, "x is not of a kind that is known");
  }
  void a_file_is_known_by_what_is_in_it() {
    QFETCH(QByteArray, bytes);
    QFETCH(int, kind);
    QFETCH(QString, refusal);
    const FileLook look{"/somewhere/x", bytes, bytes.size(), {}};
    const FileKindRow& row = kind_of(look);
    QCOMPARE(static_cast<int>(row.kind), kind);
    QCOMPARE(row.opens, refusal.isEmpty());
    if (refusal.isEmpty()) return;
    QVERIFY2(refusal_of(look).startsWith(refusal), qPrintable(refusal_of(look)));
    QVERIFY(refusal_of(look).endsWith('.'));
  }

  void a_dropped_file_opens_where_it_belongs() {
    BenchWindow b(fresh_->theme);
    const QString settings = fresh_->place.filePath("config.json");
    write_file(settings, R"({"sdp_overrides": ["Sage attention"]})");
    drop(*b.window, settings);
    QTRY_COMPARE(b.window->findChildren<QLineEdit*>("import_path").size(), 1);
    QTRY_COMPARE(b.find<QLineEdit>("import_path")->text(), settings);
    b.window->open_import()->close();

    const QString log = fresh_->place.filePath("server.txt");
    write_file(log, "10:00:42 ERROR Torch attention: No module named 'flash_attn'\n");
    drop(*b.window, log);
    QTRY_VERIFY(!b.bench->services().platform.state().incidents.empty());
    QVERIFY(b.find<QDockWidget>("platform_dock")->isVisible());

    MadePicture made;
    made.image = QImage(16, 16, QImage::Format_RGB32);
    made.image.fill(Qt::red);
    made.request = b.bench->services().pictures.defaults();
    made.request.prompt = "a red circle";
    made.target = "rtx-4090";
    made.settings = {{"sparse_attention_budget", std::int64_t{45}}};
    const QString picture = fresh_->place.filePath("made.bin");  // the name decides nothing
    QSignalSpy saved(&b.bench->services().pictures, &PreviewService::saved);
    b.bench->services().pictures.save(picture, made);
    QTRY_COMPARE(saved.size(), 1);
    drop(*b.window, picture);
    QTRY_COMPARE(b.window->workload().request().model, QString("shapes"));
    QTRY_COMPARE(b.bench->engine().values().integer("sparse_attention_budget"), 45);
    QCOMPARE(b.window->document().recent(), (QStringList{picture, log, settings}));

    const QString nothing = fresh_->place.filePath("empty.npy");
    write_file(nothing, {});
    drop(*b.window, nothing);
    auto* banner = b.find<NoticeBanner>("notice_banner");
    QTRY_VERIFY(banner->isVisible());
    QVERIFY2(banner->sentence().startsWith("empty.npy is an empty file; "), qPrintable(banner->sentence()));
    QCOMPARE(b.window->document().recent().size(), 3);
    drop(*b.window, fresh_->place.filePath("gone"));
    QTRY_VERIFY2(banner->sentence().startsWith("gone was not opened: "), qPrintable(banner->sentence()));
  }

  void a_dropped_mask_is_drawn_until_a_route_is_chosen() {
    const BenchWindow b(fresh_->theme);
    // Two heads of 256 tokens; the second keeps every tile.
    const QString file = fresh_->place.filePath("mask.npy");
    write_file(file,
               npy_of_bools(std::vector<std::uint8_t>{1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1}, {2, 2, 4}));
    drop(*b.window, file);
    QTRY_VERIFY(b.window->block_mask().view().map().origin() == TileOrigin::file);
    QVERIFY(b.window->block_mask().isVisible());
    const TileMap& map = b.window->block_mask().view().map();
    QCOMPARE(map.heads(), 2);
    QCOMPARE(map.density(0, 0), 0.25);
    QCOMPARE(map.density(0, 1), 1.0);
    QVERIFY(b.find<QLabel>("mask_facts")->text().startsWith("as written · density 0.250 in head 0 of 2"));
    // The run's own again as soon as there is one.
    b.click(b.find<QPushButton>("run"));
    QTRY_VERIFY(b.window->block_mask().view().map().origin() == TileOrigin::geometry);
    // What is no mask says what is wrong with it, where it would have been drawn.
    for (const auto& [bytes, words] :
         {std::pair{npy_of_bools(std::vector<std::uint8_t>(10, 1), {2, 5}), "its 2 × 5 tiles are no square"},
          std::pair{npy_of_bools(std::vector<std::uint8_t>(6, 1), {6}), "it has 1 dims"},
          std::pair{QByteArray("\x93NUMPY\x01\x00v\x00{}", 12), "its header does not fit"}}) {
      write_file(file, bytes);
      drop(*b.window, file);
      const auto said = [&, words = words] {
        for (const QLabel* label : b.window->block_mask().findChildren<QLabel*>()) {
          if (label->isVisible() && label->text().contains(QString::fromUtf8(words))) return true;
        }
        return false;
      };
      QTRY_VERIFY2(said(), words);
    }
  }

  void dropped_levers_are_listed_as_they_were_measured() {
    const BenchWindow b(fresh_->theme);
    app::LeverResult rows;
    rows.header.job = "FLUX.1 dev of a server";
    rows.header.target = "h100";
    rows.header.settings = "{}";
    for (const char* name : {"baseline", "backend:of-the-server"}) {
      app::LeverRow row;
      row.variant.name = name;
      row.state = app::LeverState::skipped;
      row.reason = "not asked";
      rows.rows.push_back(row);
      rows.variants.push_back(name);
    }
    const QString file = fresh_->place.filePath("levers.json");
    write_file(file, QByteArray::fromStdString(app::levers_json(rows)));
    drop(*b.window, file);
    const LeversState& state = b.bench->services().levers.state();
    QTRY_COMPARE(state.opened, QString("levers.json: FLUX.1 dev of a server on h100"));
    QVERIFY(b.find<LeversPage>("levers_page")->isVisible());
    QVERIFY(b.find<LeversPage>("levers_page")->model().row_of("backend:of-the-server") >= 0);
    QVERIFY(!state.stale && !state.can_resume);
    write_file(file, R"({"attnscope": "levers", "version": 1})");
    drop(*b.window, file);
    QTRY_VERIFY(!state.error.isEmpty());
    QVERIFY2(state.error.contains("levers.json"), qPrintable(state.error));
  }

  void dropped_tensors_are_run_through_the_chain() {
    const BenchWindow b(fresh_->theme);
    std::vector<float> values(std::size_t{8} * 64 * 64, 0.5F);
    TensorView q = TensorView::contiguous({1, 8, 64, 64}, DType::float32);
    q.data = values.data();
    const QString file = fresh_->place.filePath("dump.safetensors");
    QVERIFY(app::write_safetensors(file.toStdString(), "q", q).has_value());
    drop(*b.window, file);
    QTRY_VERIFY(b.window->compare().archive().newest() != nullptr);
    QCOMPARE(b.window->compare().archive().newest()->model, QString("dump.safetensors"));
    QTRY_COMPARE(b.window->routes().model().rowCount(), 1);
    const trace::RouteRow& row = b.window->routes().model().row(0);
    QCOMPARE(row.calls, 1);
    QCOMPARE(row.computed_calls, 1);
    QCOMPARE(row.id.query.size[2], 64);
    // What is wrong with such a file stands where a run's problem stands.
    write_file(file, QByteArray("\x02\0\0\0\0\0\0\0{}", 10));
    drop(*b.window, file);
    QTRY_VERIFY2(b.find<QLabel>("run_state")->text().contains("dump.safetensors"),
                 qPrintable(b.find<QLabel>("run_state")->text()));
  }

  void about_says_that_nothing_is_told_and_under_which_licences() {
    const QString text = about_text();
    for (const char* words : {"No telemetry, no update check.", "GNU General Public License, version 3 or later",
                              "QCustomPlot (GPL-3.0-or-later)", "Qt (LGPL-3.0)", "Highway (Apache-2.0)"}) {
      QVERIFY2(text.contains(words), words);
    }
    const BenchWindow b(fresh_->theme);
    QVERIFY(b.window->commands().run("help.about"));
    auto* box = b.find<QWidget>("about_box");
    QVERIFY(box->isVisible());
    QVERIFY(!box->isModal());
  }

 private:
  std::unique_ptr<test::Fresh> fresh_;
};

QTEST_MAIN(WorkspaceTest)
#include "workspace_test.moc"
