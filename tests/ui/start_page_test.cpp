// SPDX-License-Identifier: GPL-3.0-or-later
// The first start: three examples that set everything and run with one click.
#include "ui/start/start_page.h"
#include "bench_window.h"
#include "ui/explain/verdict_card.h"
#include "ui/format/format.h"
#include "ui/preview/preview_panel.h"
#include "ui/route_table/route_panel.h"
#include "ui/sparse/sweep_page.h"
#include "ui/workload_panel/workload_panel.h"
#include "ui/workspace/notice_banner.h"

#include <QLineEdit>
#include <QPushButton>
#include <QTabBar>
#include <QTemporaryDir>

using namespace attn;
using namespace attn::ui;
using attn::test::BenchWindow;

class StartPageTest : public QObject {
  Q_OBJECT

 private slots:
  void init() { fresh_ = std::make_unique<test::Fresh>(); }
  void cleanup() { fresh_.reset(); }

  void the_first_start_shows_three_examples_and_the_second_none() {
    {
      BenchWindow b(fresh_->theme, settings());
      b.window->start(false);
      QVERIFY(b.find<StartPage>("start_page")->isVisible());
      QCOMPARE(b.find<StartPage>("start_page")->findChildren<QPushButton*>(QRegularExpression("^example\\.")).size(),
               3);
      b.window->close();
    }
    BenchWindow b(fresh_->theme, settings());
    b.window->start(false);
    QVERIFY(!b.find<StartPage>("start_page")->isVisible());
    QVERIFY(b.window->routes().isVisible());
    b.window->commands().run("help.examples");
    QVERIFY(b.find<StartPage>("start_page")->isVisible());
    b.click(b.find<QPushButton>("start_close"));
    QVERIFY(!b.find<StartPage>("start_page")->isVisible());
  }

  void it_goes_away_when_something_runs_or_is_looked_for() {
    const BenchWindow b(fresh_->theme);
    b.window->show_examples();
    b.click(b.find<QPushButton>("run"));
    QVERIFY(!b.find<StartPage>("start_page")->isVisible());
    QTRY_VERIFY(!b.bench->jobs().running());
    b.window->show_examples();
    QTest::keyClick(b.window.get(), Qt::Key_L, Qt::ControlModifier);
    QVERIFY(!b.find<StartPage>("start_page")->isVisible());
    QVERIFY(b.window->routes().filter().field().hasFocus());
    b.window->show_examples();
    b.window->show_levers();
    QVERIFY(!b.find<StartPage>("start_page")->isVisible());
  }

  void why_a_call_fell_back_is_on_screen_after_one_click() {
    const BenchWindow b(fresh_->theme);
    (void)b.bench->engine().set("sparse_attention_enabled", true);  // of somebody before: an example starts clean
    b.window->routes().filter().set_line("role:te");
    b.window->show_examples();
    b.click(b.find<QPushButton>("example.flux"));
    QTRY_VERIFY(!b.bench->jobs().running());
    QTRY_COMPARE(b.window->selection().role().value_or(Role::none), Role::vae);
    QVERIFY(is_fallback(*b.window->selection().route()));
    QCOMPARE(b.bench->engine().target().name, std::string("rtx-4090"));
    QCOMPARE(b.bench->engine().values().boolean("sparse_attention_enabled"), false);
    QTRY_COMPARE(b.chain(), QString("sdnq>sage>flash>sdpa"));
    QCOMPARE(b.find<QTabBar>("route_tabs")->currentIndex(), 0);
    QTRY_VERIFY(b.window->findChildren<VerdictCard*>().size() >= 4);
    QVERIFY(b.window->routes().filter().line().isEmpty());
    // Settings of before are one step back.
    QTest::keyClick(b.window.get(), Qt::Key_Z, Qt::ControlModifier);
    QTRY_COMPARE(b.bench->engine().values().boolean("sparse_attention_enabled"), true);
    QCOMPARE(b.bench->engine().target().name, std::string("rtx-3090"));
  }

  void what_thirty_percent_costs_is_on_screen_after_one_click() {
    const BenchWindow b(fresh_->theme);
    b.window->show_examples();
    b.click(b.find<QPushButton>("example.sparse"));
    const auto backend = [&] {
      const auto& route = b.window->selection().route();
      return route ? text_of(route->id.backend) : QString();
    };
    QTRY_COMPARE(backend(), QString("sdnq+sparse"));
    QTRY_VERIFY(b.window->sweep().isVisible());
    QCOMPARE(b.window->workload().request().model, QString("wan-2.1-14b"));
    // The sweep is under way, and ends when somebody stops it.
    const SweepState& sweep = b.bench->services().sparse.sweep_state();
    QTRY_COMPARE(sweep.phase, SweepState::Phase::running);
    QVERIFY(b.bench->jobs().running());
    b.click(b.find<QPushButton>("sweep_stop"));
    QTRY_VERIFY_WITH_TIMEOUT(!b.bench->jobs().running(), 60000);
    QTRY_COMPARE(sweep.phase, SweepState::Phase::stopped);
  }

  void an_example_right_after_another_shows_only_its_own() {
    const BenchWindow b(fresh_->theme);
    QVERIFY(b.window->commands().run("example.sparse"));
    bool ran = false;
    connect(&b.bench->jobs(), &JobControl::ended, b.window.get(), [&] {
      if (!std::exchange(ran, true)) QVERIFY(b.window->commands().run("example.flux"));
    });
    QTRY_COMPARE(b.window->selection().role().value_or(Role::none), Role::vae);
    QVERIFY(!b.window->sweep().isVisible());
    QCOMPARE(b.find<QTabBar>("route_tabs")->currentIndex(), 0);
  }

  void a_picture_forms_after_one_click_with_the_keyboard() {
    const BenchWindow b(fresh_->theme);
    if (!b.bench->services().pictures.missing().isEmpty()) QSKIP("the bundled model is not there");
    b.window->show_examples();
    auto* open = b.find<QPushButton>("example.shapes");
    open->setFocus();
    QTest::keyClick(open, Qt::Key_Space);
    QTRY_VERIFY(b.bench->jobs().running());
    QVERIFY(b.window->preview().isVisible());
    QTRY_VERIFY_WITH_TIMEOUT(b.bench->services().pictures.frame().step > 1, 60000);
    b.window->workload().stop();
    QTRY_VERIFY_WITH_TIMEOUT(!b.bench->jobs().running(), 60000);
  }

  void an_example_waits_for_a_running_job_and_says_so() {
    const BenchWindow b(fresh_->theme);
    b.start_latched();
    QTRY_VERIFY(b.bench->engine().job_running());
    b.window->show_examples();
    b.click(b.find<QPushButton>("example.flux"));
    auto* banner = b.find<NoticeBanner>("notice_banner");
    QVERIFY(banner->isVisible());
    QVERIFY2(banner->sentence().contains("a job is running"), qPrintable(banner->sentence()));
    QCOMPARE(b.bench->engine().target().name, std::string("rtx-3090"));
    b.latch->release();
    QTRY_VERIFY(!b.bench->jobs().running());
  }

 private:
  [[nodiscard]] std::unique_ptr<QSettings> settings() const {
    return std::make_unique<QSettings>(fresh_->place.filePath("attnscope.ini"), QSettings::IniFormat);
  }

  std::unique_ptr<test::Fresh> fresh_;
};

QTEST_MAIN(StartPageTest)
#include "start_page_test.moc"
