// SPDX-License-Identifier: GPL-3.0-or-later
// Recover after a kill in the middle of a run: the real program is killed, and the next start offers what it had.
#include "app/gui/session_folder.h"
#include "bench_window.h"
#include "test_files.h"
#include "ui/format/format.h"
#include "ui/route_table/route_panel.h"
#include "ui/workload_panel/workload_panel.h"
#include "ui/workspace/notice_banner.h"
#include "ui/workspace/workspace_document.h"
#include "ui/workspace/workspace_text.h"

#include <QDir>
#include <QFile>
#include <QProcess>
#include <QPushButton>
#include <QTemporaryDir>
#include <csignal>

using namespace attn;
using namespace attn::ui;
using attn::test::BenchWindow;
using attn::test::bytes_of;

namespace {

constexpr int kPatience = 60000;

/// The workspaces that windows keep in a folder.
QStringList kept_in(const QString& folder) { return QDir(folder).entryList({"session-*.json"}, QDir::Files); }

std::optional<Workspace> only_kept_in(const QString& folder) {
  const QStringList files = kept_in(folder);
  if (files.size() != 1) return std::nullopt;
  const auto workspace = read_workspace(bytes_of(QDir(folder).filePath(files[0])).toStdString());
  return workspace ? std::optional(*workspace) : std::nullopt;
}

/// The real program without a display, with its own place for everything it keeps.
class Program {
 public:
  explicit Program(const QString& place) {
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.insert("QT_QPA_PLATFORM", "offscreen");
    environment.insert("XDG_CONFIG_HOME", place + "/config");
    environment.insert("ATTNSCOPE_STATE", place + "/state");
    process_.setProcessEnvironment(environment);
    process_.setProcessChannelMode(QProcess::ForwardedErrorChannel);
  }
  void start(const QStringList& arguments) {
    process_.start(QString(ATTN_BIN) + "/attnscope", arguments);
    if (!process_.waitForStarted()) qFatal("the program does not start");
  }
  /// As a power cut: nothing of the program gets to run any more.
  void kill() {
    ::kill(static_cast<pid_t>(process_.processId()), SIGKILL);
    process_.waitForFinished();
  }
  [[nodiscard]] QProcess& process() { return process_; }

 private:
  QProcess process_;
};

}  // namespace

class RecoveryTest : public QObject {
  Q_OBJECT

 private slots:
  void init() {
    fresh_ = std::make_unique<test::Fresh>();
    state_ = fresh_->place.filePath("state");
  }
  void cleanup() { fresh_.reset(); }

  void a_kill_in_the_middle_of_a_run_costs_nothing_that_was_set() {
    // A person's own file: settings that are not the defaults, and a run that takes long.
    const QString file = fresh_->place.filePath("tuning.attnscope");
    {
      BenchWindow b(fresh_->theme);
      b.choose_target("rtx-4090");
      QVERIFY(b.bench->engine().set("sdp_overrides", OptionList{"SDNQ attention", "Flash attention"}));
      QVERIFY(b.bench->engine().set("sparse_attention_budget", std::int64_t{45}));
      b.window->workload().choose_model("flux.1-dev");
      b.window->workload().choose_work(Work::all);
      b.window->workload().set_input("steps", 31);
      b.window->routes().filter().set_line("role:transformer");
      b.window->document().save_as(file);
      QTRY_VERIFY(!bytes_of(file).isEmpty());
    }
    const QByteArray as_saved = bytes_of(file);

    Program program(fresh_->place.path());
    program.start({file, "--run-command", "run.start"});
    std::optional<Workspace> kept;
    const auto in_the_middle = [&] {
      kept = only_kept_in(state_);
      return kept && kept->run && kept->run->state == RunContext::State::running && kept->run->calls_done > 0;
    };
    QTRY_VERIFY_WITH_TIMEOUT(in_the_middle(), kPatience);
    program.kill();
    QVERIFY(program.process().exitStatus() == QProcess::CrashExit);
    kept = only_kept_in(state_);
    QVERIFY(kept.has_value());
    QCOMPARE(kept->file, file);
    QCOMPARE(bytes_of(file), as_saved);  // beside the person's file, never over it

    // The next start offers it, and nothing is taken before somebody says so.
    BenchWindow b(fresh_->theme);
    QVERIFY(b.bench->workspace().begin_session(state_.toStdString()));
    b.window->start(false);
    auto* banner = b.find<NoticeBanner>("notice_banner");
    QVERIFY(banner->isVisible());
    QVERIFY2(banner->sentence().contains("tuning.attnscope"), qPrintable(banner->sentence()));
    QVERIFY2(banner->sentence().contains("FLUX.1 dev at "), qPrintable(banner->sentence()));
    QVERIFY2(banner->sentence().contains(" calls, step "), qPrintable(banner->sentence()));
    QCOMPARE(b.bench->engine().values().integer("sparse_attention_budget"), 30);
    b.click(b.find<QPushButton>("recovery_restore"));
    QVERIFY(!banner->isVisible());
    QCOMPARE(content_of(b.window->state().take()), content_of(*kept));
    QCOMPARE(b.bench->engine().target().name, std::string("rtx-4090"));
    QCOMPARE(b.bench->engine().values().integer("sparse_attention_budget"), 45);
    QCOMPARE(b.window->workload().request().inputs.at("steps"), 31.0);
    QCOMPARE(b.window->document().path(), file);
    QTRY_COMPARE(b.window->windowTitle(), QString("tuning[*] — Attnscope"));
    QTRY_VERIFY(!b.window->document().is_modified());
    // It goes on from there, and afterwards nothing is left to be offered.
    b.window->workload().choose_work(Work::planned);
    b.click(b.find<QPushButton>("run"));
    QTRY_VERIFY_WITH_TIMEOUT(!b.bench->jobs().running() && b.window->routes().model().rowCount() > 0, kPatience);
    b.window->close();
    QCOMPARE(kept_in(state_), QStringList());
    QVERIFY(!bytes_of(state_ + "/last.json").isEmpty());
    QCOMPARE(bytes_of(file), as_saved);
  }

  void a_normal_end_is_taken_up_again_and_offers_nothing() {
    {
      BenchWindow b(fresh_->theme);
      QVERIFY(b.bench->workspace().begin_session(state_.toStdString()));
      b.window->start(false);
      QVERIFY(b.bench->engine().set("sparse_attention_budget", std::int64_t{55}));
      b.window->workload().choose_model("sdxl");
      b.window->close();
    }
    BenchWindow b(fresh_->theme);
    QVERIFY(b.bench->workspace().begin_session(state_.toStdString()));
    b.window->start(false);
    QVERIFY(!b.find<NoticeBanner>("notice_banner")->isVisible());
    QCOMPARE(b.bench->engine().values().integer("sparse_attention_budget"), 55);
    QCOMPARE(b.window->workload().request().model, QString("sdxl"));
    b.window->close();
    BenchWindow fresh(fresh_->theme);
    QVERIFY(fresh.bench->workspace().begin_session(state_.toStdString()));
    fresh.window->start(true);
    QCOMPARE(fresh.bench->engine().values().integer("sparse_attention_budget"), 30);
  }

  void what_is_discarded_is_gone_and_the_next_one_is_offered() {
    leave_behind(41);
    leave_behind(42);
    BenchWindow b(fresh_->theme);
    QVERIFY(b.bench->workspace().begin_session(state_.toStdString()));
    b.window->start(false);
    QTRY_COMPARE(kept_in(state_).size(), 3);  // two that were left, and this window's own
    b.click(b.find<QPushButton>("recovery_discard"));
    QTRY_COMPARE(kept_in(state_).size(), 2);
    QVERIFY(b.find<NoticeBanner>("notice_banner")->isVisible());
    b.click(b.find<QPushButton>("recovery_discard"));
    QTRY_COMPARE(kept_in(state_).size(), 1);
    QVERIFY(!b.find<NoticeBanner>("notice_banner")->isVisible());
  }

  void two_windows_keep_apart_and_only_one_offers_what_was_left() {
    leave_behind(43);
    auto first = app::SessionFolder::open(state_.toStdString());
    auto second = app::SessionFolder::open(state_.toStdString());
    QVERIFY(first && second);
    QCOMPARE(first->left().size(), std::size_t{1});
    QCOMPARE(second->left().size(), std::size_t{0});  // the first has it, and lives
    QVERIFY(first->keep("one"));
    QVERIFY(second->keep("two"));
    QCOMPARE(kept_in(state_).size(), 3);
    QVERIFY(first->end("one"));
    QCOMPARE(second->last(), std::string("one"));
    QVERIFY(second->end("two"));
    QCOMPARE(app::SessionFolder::open(state_.toStdString())->last(), std::string("two"));
  }

  void an_offer_that_nobody_answered_is_made_again() {
    leave_behind(44);
    { auto window = app::SessionFolder::open(state_.toStdString()); }
    auto next = app::SessionFolder::open(state_.toStdString());
    QCOMPARE(next->left().size(), std::size_t{1});
  }

  void a_damaged_workspace_of_a_crash_is_not_offered() {
    auto folder = app::SessionFolder::open(state_.toStdString());
    QVERIFY(folder->keep("{\"attnscope\": \"workspace\", \"vers"));
    { const auto dies = std::move(*folder); }
    BenchWindow b(fresh_->theme);
    QVERIFY(b.bench->workspace().begin_session(state_.toStdString()));
    b.window->start(false);
    QVERIFY(!b.find<NoticeBanner>("notice_banner")->isVisible());
  }

  void a_folder_that_cannot_be_written_costs_only_the_keeping() {
    QFile blocked(fresh_->place.filePath("blocked"));
    QVERIFY(blocked.open(QIODevice::WriteOnly));
    BenchWindow b(fresh_->theme);
    const auto session =
        b.bench->workspace().begin_session((fresh_->place.filePath("blocked") + "/state").toStdString());
    QVERIFY(!session.has_value());
    QVERIFY(QString::fromStdString(session.error()).contains("blocked"));
    b.window->start(false);
    b.click(b.find<QPushButton>("run"));
    QTRY_VERIFY(!b.bench->jobs().running());
    b.window->close();
  }

  void keeping_holds_the_window_up_for_less_than_a_frame() {
    BenchWindow b(fresh_->theme);
    QVERIFY(b.bench->workspace().begin_session(state_.toStdString()));
    b.window->start(false);
    b.click(b.find<QPushButton>("run"));
    QTRY_VERIFY(!b.bench->jobs().running());
    std::vector<double> took;
    for (int i = 0; i < 21; ++i) {
      QVERIFY(b.bench->engine().set("sparse_attention_budget", std::int64_t{20 + i}));
      took.push_back(b.window->document().autosave_now());
    }
    std::sort(took.begin(), took.end());
    qInfo("autosave holds the window up for %.2f ms (median of 21), %.2f ms at most", took[10], took.back());
    QVERIFY2(took[10] < 16.0, qPrintable(QString::number(took[10])));
  }

 private:
  /// A window that ended without an end, with this budget set.
  void leave_behind(int budget) {
    BenchWindow b(fresh_->theme);
    if (!b.bench->workspace().begin_session(state_.toStdString())) qFatal("no session");
    b.window->start(true);
    const auto before = kept_in(state_).size();
    (void)b.bench->engine().set("sparse_attention_budget", std::int64_t{budget});
    b.window->document().autosave_now();
    QTRY_VERIFY(kept_in(state_).size() >= before);
  }

  std::unique_ptr<test::Fresh> fresh_;
  QString state_;
};

QTEST_MAIN(RecoveryTest)
#include "recovery_test.moc"
