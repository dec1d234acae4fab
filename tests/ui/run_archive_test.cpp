// SPDX-License-Identifier: GPL-3.0-or-later
// The runs of a window as values, over the real engine and real jobs.
#include "ui/compare/run_archive.h"

#include "app/gui/workbench.h"
#include "printed.h"
#include "support/tiny_shapes.h"
#include "ui/compare/comparison_text.h"
#include "ui/compare/run_list.h"
#include "ui/format/format.h"

#include <QAbstractItemModelTester>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QtTest>

using namespace attn;
using namespace attn::ui;
using attn::test::printed;

namespace {

struct Desk {
  explicit Desk(std::size_t most_runs = RunArchive::kMostRuns, std::size_t most_bytes = RunArchive::kMostBytes,
                const QString& model = {}) {
    auto opened = app::Workbench::open("rtx-3090", model.toStdString());
    if (!opened) qFatal("%s", opened.error().c_str());
    bench = std::move(*opened);
    const Services services = bench->services();
    archive = std::make_unique<RunArchive>(services.engine, services.jobs, services.trace, services.pictures, nullptr,
                                           most_runs, most_bytes);
  }
  [[nodiscard]] static RunRequest small(Work work = Work::planned) {
    RunRequest request;
    request.model = "sd-1.5";
    request.inputs = {{"width", 64}, {"height", 64}, {"steps", 4}};
    request.work = work;
    return request;
  }
  bool run(const RunRequest& request) {
    const auto before = archive->newest();
    if (!bench->jobs().run(request)) return false;
    archive->begin(request);
    return QTest::qWaitFor([&] { return archive->newest() != before; }, 60000);
  }
  void set(const char* key, OptionValue value) const {
    const auto done = bench->engine().set(key, std::move(value));
    if (!done) qFatal("%s", done.error().c_str());
  }

  std::unique_ptr<app::Workbench> bench;
  std::unique_ptr<RunArchive> archive;
};

}  // namespace

class RunArchiveTest : public QObject {
  Q_OBJECT

 private slots:
  void a_run_that_ended_is_kept_with_all_that_made_it() {
    Desk desk;
    QVERIFY(archive_is_empty(*desk.archive));
    desk.set("sdp_overrides", OptionList{"Sage attention", "Flash attention"});
    QVERIFY(desk.run(Desk::small()));
    const ArchivedRun& run = *desk.archive->newest();
    QCOMPARE(run.number, 1);
    QCOMPARE(run.title(), QString("#1 Stable Diffusion 1.5 · sage, flash · planned"));
    QCOMPARE(run.request.inputs.at("steps"), 4.0);
    QVERIFY(run.settings.values.list("sdp_overrides") == (OptionList{"Sage attention", "Flash attention"}));
    QVERIFY(run.finished());
    QVERIFY(run.trace.calls > 0);
    QCOMPARE(run.trace.calls, desk.bench->services().trace.snapshot().calls);
    QVERIFY(run.ended.isValid());
    QVERIFY(run.bytes() > sizeof(ArchivedRun));
    // The next run and other settings change nothing of it.
    const std::int64_t calls = run.trace.calls;
    desk.set("sdp_overrides", OptionList{});
    RunRequest longer = Desk::small();
    longer.inputs["steps"] = 8;
    QVERIFY(desk.run(longer));
    QCOMPARE(run.trace.calls, calls);
    QCOMPARE(run.chain_names(), QString("sage, flash"));
    QCOMPARE(desk.archive->newest()->title(), QString("#2 Stable Diffusion 1.5 · sdpa · planned"));
  }

  void a_computed_run_has_a_time_and_says_when_it_is_scaled() {
    Desk desk;
    QVERIFY(desk.run(Desk::small(Work::representatives)));
    QVERIFY2(desk.archive->newest()->outcome().startsWith("≈ "), qPrintable(desk.archive->newest()->outcome()));
    for (const Work whole : {Work::all, Work::compiled}) {
      QVERIFY(desk.run(Desk::small(whole)));
      QVERIFY(!desk.archive->newest()->outcome().contains("≈"));
      QVERIFY(desk.archive->newest()->end.seconds > 0.0);
    }
    // A compiled run makes the same calls.
    const auto& runs = desk.archive->runs();
    QCOMPARE(runs.at(runs.size() - 1)->trace.calls, runs.at(runs.size() - 2)->trace.calls);
  }

  void jobs_that_are_no_runs_are_not_kept() {
    Desk desk;
    QVERIFY(desk.run(Desk::small()));
    desk.bench->services().platform.set_workload(Desk::small());
    QSignalSpy ended(&desk.bench->jobs(), &JobControl::ended);
    QVERIFY(desk.bench->services().platform.repeat().has_value());
    QVERIFY(ended.wait(60000));
    QCOMPARE(desk.archive->runs().size(), std::size_t{1});
  }

  void a_stopped_run_says_where_and_is_refused_as_a_baseline() {
    Desk desk;
    RunRequest request;
    request.model = "sd-1.5";
    request.inputs = {{"width", 256}, {"height", 256}, {"steps", 50}};
    request.work = Work::all;
    QVERIFY(desk.bench->jobs().run(request).has_value());
    desk.archive->begin(request);
    const auto in_steps = [&] {
      for (const auto& share : desk.bench->services().trace.snapshot().shares) {
        if (share.role == Role::transformer && share.step >= 1) return true;
      }
      return false;
    };
    QVERIFY(QTest::qWaitFor(in_steps, 60000));
    desk.bench->jobs().stop();
    QVERIFY(QTest::qWaitFor([&] { return !desk.archive->runs().empty(); }, 60000));
    const ArchivedRun& run = *desk.archive->newest();
    QVERIFY(!run.finished());
    QVERIFY2(QRegularExpression("^stopped at step \\d+ of 50$").match(run.where).hasMatch(), qPrintable(run.where));
    QVERIFY(run.title().endsWith(run.where));
    const auto kept = desk.archive->keep(1);
    QVERIFY(!kept);
    QCOMPARE(text_of(kept.error()), RunArchive::problem_of(run));
    QVERIFY2(text_of(kept.error()).startsWith("Run #1 stopped at step"), kept.error().c_str());
    QVERIFY(!desk.archive->baseline());
  }

  void any_finished_run_becomes_the_baseline_and_one_only() {
    Desk desk;
    QVERIFY(desk.run(Desk::small()));
    QVERIFY(desk.run(Desk::small()));
    QSignalSpy changed(desk.archive.get(), &RunArchive::baseline_changed);
    QVERIFY(desk.archive->keep(1).has_value());
    QVERIFY(desk.archive->keep(1).has_value());
    QCOMPARE(changed.size(), 1);
    QVERIFY(desk.archive->keep(2).has_value());
    QCOMPARE(desk.archive->baseline()->number, 2);
    QVERIFY(!desk.archive->keep(3));
    QCOMPARE(desk.archive->baseline()->number, 2);
    desk.archive->drop_baseline();
    QVERIFY(!desk.archive->baseline());
  }

  void the_oldest_that_is_no_baseline_goes_first() {
    Desk desk(3);
    RunListModel list(*desk.archive, theme_);
    const QAbstractItemModelTester tester(&list, QAbstractItemModelTester::FailureReportingMode::QtTest);
    for (int i = 0; i < 2; ++i) QVERIFY(desk.run(Desk::small()));
    QVERIFY(desk.archive->keep(1).has_value());
    for (int i = 0; i < 4; ++i) QVERIFY(desk.run(Desk::small()));
    QCOMPARE(printed(list, {RunListModel::run, RunListModel::model, RunListModel::outcome}),
             (QStringList{"#6 | Stable Diffusion 1.5 | planned", "#5 | Stable Diffusion 1.5 | planned",
                          "#1 baseline | Stable Diffusion 1.5 | planned"}));
    QCOMPARE(desk.archive->find(4), nullptr);
  }

  void memory_is_bounded_too_and_the_newest_stays() {
    Desk desk(RunArchive::kMostRuns, 1);
    for (int i = 0; i < 3; ++i) QVERIFY(desk.run(Desk::small()));
    QCOMPARE(desk.archive->runs().size(), std::size_t{1});
    QCOMPARE(desk.archive->newest()->number, 3);
  }

  void a_picture_belongs_to_its_run_and_keeping_it_keeps_the_run() {
    const QTemporaryDir folder;
    test::TinyShapes::write(folder.path());
    Desk desk(RunArchive::kMostRuns, RunArchive::kMostBytes, folder.path());
    RunRequest request;
    request.model = "shapes";
    request.picture = PictureRequest();
    request.picture->prompt = "a red circle on a blue background";
    request.picture->width = request.picture->height = 64;
    request.picture->steps = 2;
    QVERIFY(desk.run(request));
    request.picture->seed = 9;
    QVERIFY(desk.run(request));
    const RunValue first = desk.archive->find(1);
    QVERIFY(first->picture.is_there());
    desk.archive->keep_picture(first->picture);
    QCOMPARE(desk.archive->baseline(), first);
    MadePicture other = first->picture;
    other.image = other.image.copy();
    desk.archive->keep_picture(other);
    QVERIFY(!desk.archive->baseline());
  }

  void two_runs_are_compared_in_words_and_numbers() {
    Desk desk;
    desk.set("sdp_overrides", OptionList{"Flash attention"});
    QVERIFY(desk.run(Desk::small(Work::representatives)));
    desk.set("sdp_overrides", OptionList{"Sage attention", "Flash attention"});
    RunRequest longer = Desk::small(Work::representatives);
    longer.inputs["steps"] = 6;
    QVERIFY(desk.run(longer));
    const RunComparison made = compare_runs(*desk.archive->find(1), *desk.archive->find(2),
                                            desk.bench->engine().specs(), desk.bench->jobs().models());
    QStringList settings;
    for (const SettingChange& change : made.settings) settings << change.words;
    QCOMPARE(settings, (QStringList{"Steps 4 → 6", "Sage attention on"}));
    QVERIFY(made.moved_calls > 0);
    QCOMPARE(made.moved.front().from, QString("flash"));
    QCOMPARE(made.moved.front().to, QString("sage"));
    QCOMPARE(made.steps.size(), std::size_t{6});
    QCOMPARE(made.steps.back().calls_then, 0);
    QVERIFY(made.total.timed());
    std::int64_t calls = 0;
    for (const PartChange& role : made.roles) calls += role.calls_now;
    QCOMPARE(calls, desk.archive->find(2)->trace.calls);
    const QString report = report_text(made, std::nullopt);
    for (const char* part : {"Baseline  #1 Stable Diffusion 1.5 · flash", "Moved calls", "flash", "Time by step",
                             "Sage attention, Flash attention", "then  flash › sdpa", "now   sage › flash › sdpa"}) {
      QVERIFY2(report.contains(part), part);
    }
    const QString csv = report_csv(made, std::nullopt);
    QVERIFY(csv.contains("setting,sdp_overrides,,Flash attention,\"Sage attention, Flash attention\""));
    for (const QString& line : csv.split("\r\n", Qt::SkipEmptyParts)) {
      QString cells = line;
      cells.remove(QRegularExpression("\"[^\"]*\""));
      QCOMPARE(cells.count(','), 8);
    }
  }

  void a_planned_run_beside_a_computed_one_says_why_there_are_no_times() {
    Desk desk;
    QVERIFY(desk.run(Desk::small()));
    QVERIFY(desk.run(Desk::small(Work::representatives)));
    const RunComparison made = compare_runs(*desk.archive->find(1), *desk.archive->find(2),
                                            desk.bench->engine().specs(), desk.bench->jobs().models());
    QVERIFY(untimed_reason(made.total).contains("baseline was planned"));
    QCOMPARE(time_change_text(made.total), QString("–"));
    QCOMPARE(made.moved_calls, 0);
    QVERIFY(made.sentence().startsWith("No call moved"));
  }

 private:
  static bool archive_is_empty(const RunArchive& archive) {
    return archive.runs().empty() && !archive.newest() && !archive.settings_in_view();
  }
  Theme theme_;
};

QTEST_MAIN(RunArchiveTest)
#include "run_archive_test.moc"
