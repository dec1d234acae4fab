// SPDX-License-Identifier: GPL-3.0-or-later
// The main job through the real window: real clicks and keys, real engine, backends, trace and jobs.
#include "bench_window.h"
#include "printed.h"
#include "ui/chain_bar/chain_bar.h"
#include "ui/control_panel/change_mark.h"
#include "ui/explain/verdict_card.h"
#include "ui/log/log_feed.h"
#include "ui/log/log_panel.h"
#include "ui/route_table/route_panel.h"
#include "ui/workload_panel/workload_panel.h"

#include <QAbstractItemModelTester>
#include <QClipboard>
#include <QComboBox>
#include <QDockWidget>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QScrollBar>
#include <QTableView>
#include <QTemporaryDir>
#include <QTextBlock>

using namespace attn;
using namespace attn::ui;
using attn::test::BenchWindow;
using attn::test::printed;

namespace {

const QList<int> kRouteColumns{RouteModel::executed, RouteModel::requested, RouteModel::role,
                               RouteModel::steps,    RouteModel::query,     RouteModel::calls};

}  // namespace

class WindowTest : public QObject {
  Q_OBJECT

 private slots:
  void init() { theme_ = std::make_unique<Theme>(); }
  void cleanup() { theme_.reset(); }

  void an_override_clicked_while_idle_rebuilds_at_once() {
    const BenchWindow b(*theme_);
    QCOMPARE(b.chain(), QString("sdpa"));
    b.click(b.box("sdp_overrides/SDNQ attention"));
    QTRY_COMPARE(b.chain(), QString("sdnq>sdpa"));
    b.click(b.box("sdp_overrides/Flash attention"));
    QTRY_COMPARE(b.chain(), QString("sdnq>flash>sdpa"));
    QCOMPARE(b.window->chain_bar().chain_text(), QString("sdnq › flash › sdpa"));
    QVERIFY(!b.find<QLabel>("pending_sentence")->isVisible());
    QTest::keyClick(b.box("sdp_overrides/SDNQ attention"), Qt::Key_Space);
    QTRY_COMPARE(b.chain(), QString("flash>sdpa"));
  }

  void flux_planned_shows_every_route_with_its_calls() {
    const BenchWindow b(*theme_);
    const QAbstractItemModelTester tester(b.window->routes().view()->model());
    b.click(b.box("sdp_overrides/SDNQ attention"));
    b.click(b.box("sdp_overrides/Sage attention"));
    b.click(b.find<QPushButton>("run"));
    QTRY_COMPARE(printed(b.window->routes().model(), kRouteColumns),
                 (QStringList{"sage cuda fp32-accum | sdnq ≠ | te | 0 | 1×12×77×64 | 12",
                              "sdnq int8 | sdnq | transformer | 0–27 | 1×24×4608×128 | 1\u202f596",
                              "sdpa memory-efficient | sdnq ≠ | vae | 28 | 1×1×16384×512 | 1"}));
    QTRY_VERIFY(b.find<QLabel>("run_state")->text().startsWith("Finished: 1\u202f609 calls in "));
    QVERIFY(b.find<QPushButton>("run")->isEnabled());
    QCOMPARE(b.find<QLabel>("status_dropped")->text(), QString("0 dropped"));
    QTRY_VERIFY(b.window->log().all()->toPlainText().contains("Attention route: backend=sdnq role=transformer step=0"));
    QTRY_COMPARE(b.window->chain_bar().links()[0].calls, 1596);
  }

  void a_toggled_override_moves_the_routes_of_the_next_run_and_keeps_the_selection() {
    const BenchWindow b(*theme_);
    QTableView* view = b.window->routes().view();
    b.click(b.find<QPushButton>("run"));
    QTRY_COMPARE(view->model()->rowCount(), 3);
    QTRY_VERIFY(!b.bench->jobs().running());
    view->selectRow(2);
    QCOMPARE(b.window->selection().route()->id.role, Role::vae);
    b.click(b.box("sdp_overrides/SDNQ attention"));
    QTRY_COMPARE(b.chain(), QString("sdnq>sdpa"));
    QTest::keyClick(b.window.get(), Qt::Key_R, Qt::ControlModifier);
    QTRY_VERIFY(printed(b.window->routes().model(), {RouteModel::executed, RouteModel::role})
                    .contains("sdnq int8 | transformer"));
    QTRY_VERIFY(!b.bench->jobs().running());
    QTRY_COMPARE(view->selectionModel()->selectedRows().size(), 1);
    QCOMPARE(view->currentIndex().siblingAtColumn(RouteModel::role).data().toString(), QString("vae"));
  }

  void ten_settings_changed_during_a_job_are_applied_in_one_rebuild_after_it() {
    const BenchWindow b(*theme_);
    b.start_latched();
    QTRY_VERIFY(b.bench->engine().job_running());
    const std::uint64_t rebuilds = b.bench->engine().rebuilds();
    b.click(b.box("sdp_overrides/SDNQ attention"));
    b.click(b.box("sdp_options/Math"));
    b.click(b.box("sparse_attention_enabled"));
    b.click(b.box("sparse_attention_head_shared"));
    b.type("sparse_attention_budget", "45");
    b.type("sparse_attention_min_tokens", "2048");
    b.type("sparse_attention_schedule_steps", "3");
    b.type("sparse_attention_schedule_bump", "40");
    b.click(b.box("sdnq_attention_smooth_k"));
    b.click(b.box("sdnq_attention_use_hadamard"));
    auto* sentence = b.find<QLabel>("pending_sentence");
    QTRY_COMPARE(sentence->text(), QString("● 10 edits pending — applied when this job ends"));
    QVERIFY(sentence->isVisible());
    QVERIFY(b.find<QPushButton>("revert")->isEnabled());
    QCOMPARE(b.bench->engine().rebuilds(), rebuilds);
    QCOMPARE(b.chain(), QString("sdpa"));
    QCOMPARE(b.window->chain_bar().links().front().name, QString("sdnq"));
    QCOMPARE(b.window->chain_bar().links().front().state, ChainLink::State::joins);
    b.latch->release();
    QTRY_COMPARE(b.chain(), QString("sdnq>sdpa"));
    QTRY_VERIFY(!sentence->isVisible());
    QTRY_VERIFY(!b.bench->jobs().running());
    QCOMPARE(b.bench->engine().rebuilds(), rebuilds + 1);
    QCOMPARE(b.bench->engine().plan()->captured().integer("sparse_attention_budget"), 45);
  }

  void revert_puts_pending_edits_back() {
    const BenchWindow b(*theme_);
    b.start_latched();
    QTRY_VERIFY(b.bench->engine().job_running());
    b.click(b.box("sdp_overrides/Sage attention"));
    b.type("sparse_attention_budget", "55");
    auto* sentence = b.find<QLabel>("pending_sentence");
    QTRY_VERIFY(sentence->isVisible());
    b.click(b.find<QPushButton>("revert"));
    QTRY_VERIFY(!sentence->isVisible());
    QTRY_VERIFY(!b.box("sdp_overrides/Sage attention")->isChecked());
    const std::uint64_t rebuilds = b.bench->engine().rebuilds();
    b.latch->release();
    QTRY_VERIFY(!b.bench->jobs().running());
    QCOMPARE(b.bench->engine().rebuilds(), rebuilds);
  }

  void each_mark_reverts_just_its_own_step() {
    const BenchWindow b(*theme_);
    auto* row = b.find<QWidget>("sparse_attention_budget");
    auto* edited = row->findChild<ChangeMark*>("edited_mark");
    auto* changed = row->findChild<ChangeMark*>("changed_mark");
    QVERIFY(!edited->is_on() && !changed->is_on());
    b.type("sparse_attention_budget", "45");
    QTRY_VERIFY(changed->is_on());
    QVERIFY(!edited->is_on());
    b.start_latched();
    QTRY_VERIFY(b.bench->engine().job_running());
    b.type("sparse_attention_budget", "60");
    QTRY_VERIFY(edited->is_on());
    QVERIFY(changed->is_on());
    QVERIFY(edited->toolTip().contains("45 %"));
    QVERIFY(changed->toolTip().contains("30 %"));
    b.click(edited);
    QTRY_VERIFY(!edited->is_on());
    QCOMPARE(b.bench->engine().values().integer("sparse_attention_budget"), 45);
    b.latch->release();
    QTRY_VERIFY(!b.bench->engine().job_running());
    b.click(changed);
    QTRY_VERIFY(!changed->is_on());
    QCOMPARE(b.bench->engine().values().integer("sparse_attention_budget"), 30);

    auto* choice = b.find<QWidget>("sdp_overrides/Flex attention");
    b.click(b.box("sdp_overrides/Flex attention"));
    QTRY_VERIFY(choice->findChild<ChangeMark*>("changed_mark")->is_on());
    b.click(choice->findChild<ChangeMark*>("changed_mark"));
    QTRY_COMPARE(b.chain(), QString("sdpa"));
    QTRY_VERIFY(!b.box("sdp_overrides/Flex attention")->isChecked());
  }

  void stop_ends_the_job_and_the_window_says_so() {
    const BenchWindow b(*theme_);
    b.start_latched();
    auto* stop = b.find<QPushButton>("stop");
    QTRY_VERIFY(stop->isEnabled());
    QVERIFY(!b.find<QPushButton>("run")->isEnabled());
    b.click(stop);
    QTRY_VERIFY(b.find<QLabel>("run_state")->text().startsWith("Stopped"));
    QVERIFY(!stop->isEnabled());
    QVERIFY(b.find<QPushButton>("run")->isEnabled());
    QVERIFY(!b.bench->engine().job_running());
  }

  void a_computed_run_of_one_call_per_route_is_timed() {
    const BenchWindow b(*theme_);
    auto& workload = b.window->workload();
    QVERIFY(workload.choose_model("sd-1.5"));
    QVERIFY(workload.set_input("width", 128));
    QVERIFY(workload.set_input("height", 128));
    QVERIFY(workload.set_input("steps", 2));
    workload.choose_work(Work::representatives);
    b.click(b.find<QPushButton>("run"));
    QTRY_VERIFY_WITH_TIMEOUT(b.find<QLabel>("run_state")->text().startsWith("Finished"), 120000);
    QTRY_VERIFY(b.window->routes().model().shares_time());
    const QStringList times = printed(b.window->routes().model(), {RouteModel::time});
    QVERIFY(times.size() >= 3);
    for (const QString& time : times) QVERIFY2(time != "–", qPrintable(times.join(", ")));
  }

  void a_selected_route_is_explained_and_follows_the_chain() {
    const BenchWindow b(*theme_);
    b.click(b.box("sdp_overrides/SDNQ attention"));
    b.click(b.find<QPushButton>("run"));
    QTRY_COMPARE(b.window->routes().model().rowCount(), 3);
    QTRY_VERIFY(!b.bench->jobs().running());
    auto* panel = b.find<QWidget>("explain_panel");
    QVERIFY(panel->findChildren<VerdictCard*>().isEmpty());
    b.window->routes().view()->selectRow(2);
    const auto card_of = [&](const QString& name) {
      for (const VerdictCard* card : panel->findChildren<VerdictCard*>()) {
        if (card->accessibleName().startsWith(name + ',')) return card->accessibleName();
      }
      return QString();
    };
    QTRY_VERIFY2(card_of("sdnq").startsWith("sdnq, declined, 1 heads, needs 2"), qPrintable(card_of("sdnq")));
    QVERIFY(card_of("sdpa").startsWith("sdpa, serves"));
    QVERIFY(card_of("flex").startsWith("flex, off · would accept"));
    b.click(b.box("sdp_overrides/Flex attention"));
    QTRY_VERIFY2(card_of("flex").startsWith("flex, serves"), qPrintable(card_of("flex")));
  }

  void a_burst_of_log_lines_comes_in_order_and_in_small_parts() {
    LogFeed feed;
    for (int i = 0; i < 1000; ++i) feed.push({LogLevel::info, "line " + std::to_string(i)});
    QCOMPARE(feed.take(10).size(), std::size_t{10});
    LogPanel panel(feed, *theme_);
    const QPlainTextEdit* view = nullptr;
    for (const auto* one : panel.findChildren<QPlainTextEdit*>()) {
      if (one->accessibleName() == "Trace log") view = one;
    }
    QTRY_COMPARE(view->document()->blockCount(), 990);
    QCOMPARE(view->document()->firstBlock().text(), QString("line 10"));
    QCOMPARE(view->document()->lastBlock().text(), QString("line 999"));
    QVERIFY(feed.take(10).empty());
  }

  void another_target_changes_what_can_serve() {
    const BenchWindow b(*theme_);
    auto* triton = b.find<QWidget>("sdp_overrides/Triton Flash attention");
    const auto says = [&](const QString& words) {
      for (const QLabel* label : triton->findChildren<QLabel*>()) {
        if (label->text().contains(words)) return true;
      }
      return false;
    };
    QVERIFY(says("needs rocm or zluda"));
    auto* target = b.find<QComboBox>("target");
    const int at = target->findData("mi300x");
    QVERIFY(at >= 0);
    target->setFocus();
    target->setCurrentIndex(at);
    emit target->activated(at);
    b.click(b.box("sdp_overrides/Triton Flash attention"));
    // Dynamic attention is this architecture's default.
    QTRY_COMPARE(b.chain(), QString("triton>dynamic"));
    QTRY_VERIFY(says("ready"));
  }

  void the_search_line_narrows_the_options() {
    const BenchWindow b(*theme_);
    QTest::keyClick(b.window.get(), Qt::Key_F, Qt::ControlModifier);
    auto* search = b.find<QLineEdit>("option_search");
    QTest::keyClicks(search, "hadamard");
    QTRY_VERIFY(!b.find<QWidget>("sparse_attention_budget")->isVisible());
    QVERIFY(b.find<QWidget>("sdnq_attention_use_hadamard")->isVisible());
    search->clear();
    QTRY_VERIFY(b.find<QWidget>("sparse_attention_budget")->isVisible());
  }

  void the_log_follows_unless_it_was_scrolled_away() {
    const BenchWindow b(*theme_);
    LogView* view = b.window->log().all();
    const auto push = [&](int lines) {
      for (int i = 0; i < lines; ++i) b.bench->services().log.push({LogLevel::debug, "line " + std::to_string(i)});
    };
    push(200);
    QTRY_VERIFY(view->blockCount() > 200);
    QVERIFY(view->follows());
    view->verticalScrollBar()->setValue(10);
    push(100);
    QTRY_VERIFY(view->blockCount() > 300);
    QCOMPARE(view->verticalScrollBar()->value(), 10);
    push(20000);
    QTRY_COMPARE(view->blockCount(), 5000);
    view->verticalScrollBar()->setValue(view->verticalScrollBar()->maximum());
    b.bench->services().log.push({LogLevel::warning, "careful"});
    QTRY_VERIFY(view->toPlainText().endsWith("careful"));
    QVERIFY(view->follows());
    QVERIFY(b.window->log().problems()->toPlainText().contains("careful"));
  }

  void rows_are_copied_as_a_table() {
    const BenchWindow b(*theme_);
    b.click(b.find<QPushButton>("run"));
    QTRY_COMPARE(b.window->routes().model().rowCount(), 3);
    QTRY_VERIFY(!b.bench->jobs().running());
    QTableView* view = b.window->routes().view();
    view->selectRow(1);
    b.window->routes().copy();
    const QStringList lines = QGuiApplication::clipboard()->text().split('\n', Qt::SkipEmptyParts);
    QCOMPARE(lines.size(), 2);
    QVERIFY(lines[0].startsWith("Executed\tRequested\tRole"));
    QVERIFY(lines[1].contains("1×24×4608×128"));
  }

  void what_a_person_arranged_is_there_again() {
    const QTemporaryDir place;
    const QString file = place.filePath("settings.ini");
    {
      const BenchWindow b(*theme_, std::make_unique<QSettings>(file, QSettings::IniFormat));
      QVERIFY(b.window->workload().choose_model("sdxl"));
      b.window->workload().choose_work(Work::representatives);
      b.find<QDockWidget>("log_dock")->hide();
      theme_->choose(ThemeChoice::dark);
      b.window->close();
    }
    theme_->choose(ThemeChoice::light);
    const BenchWindow b(*theme_, std::make_unique<QSettings>(file, QSettings::IniFormat));
    QCOMPARE(b.window->workload().request().model, QString("sdxl"));
    QCOMPARE(b.window->workload().request().work, Work::representatives);
    QCOMPARE(theme_->choice(), ThemeChoice::dark);
  }

  void every_control_has_a_name_and_can_be_reached() {
    const BenchWindow b(*theme_);
    for (const QWidget* widget : b.window->findChildren<QWidget*>()) {
      if (!widget->isVisible() || !widget->isEnabled()) continue;
      const bool control = qobject_cast<const QAbstractButton*>(widget) != nullptr ||
                           qobject_cast<const QAbstractSpinBox*>(widget) != nullptr ||
                           qobject_cast<const QComboBox*>(widget) != nullptr;
      if (!control || qobject_cast<const QComboBox*>(widget->parentWidget()) != nullptr) continue;
      if (qobject_cast<const QLineEdit*>(widget->parentWidget()) != nullptr) continue;  // Qt's own icons in a line
      const auto* button = qobject_cast<const QAbstractButton*>(widget);
      const bool named = !widget->accessibleName().isEmpty() || (button != nullptr && !button->text().isEmpty());
      QVERIFY2(named, qPrintable(QString("%1 %2").arg(widget->metaObject()->className(), widget->objectName())));
    }
    // Tab goes round and comes back: no trap.
    QWidget* first = b.window->nextInFocusChain();
    int hops = 0;
    for (QWidget* at = first->nextInFocusChain(); at != first && hops < 5000; at = at->nextInFocusChain()) ++hops;
    QVERIFY(hops > 50 && hops < 5000);
  }

 private:
  std::unique_ptr<Theme> theme_;
};

QTEST_MAIN(WindowTest)
#include "window_test.moc"
