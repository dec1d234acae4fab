// SPDX-License-Identifier: GPL-3.0-or-later
// The chains since start, in the real window.
#include "ui/chain_bar/chain_history.h"

#include "bench_window.h"
#include "printed.h"
#include "ui/chain_bar/chain_bar.h"
#include "ui/panel/fact_table.h"

#include <QPushButton>
#include <QToolButton>

using namespace attn;
using namespace attn::ui;
using attn::test::BenchWindow;
using attn::test::printed;

class ChainHistoryTest : public QObject {
  Q_OBJECT

 private slots:
  void init() { theme_ = std::make_unique<Theme>(); }
  void cleanup() { theme_.reset(); }

  void each_chain_is_listed_with_what_changed_it() {
    const BenchWindow b(*theme_);
    b.click(b.box("sdp_overrides/SDNQ attention"));
    QTRY_COMPARE(b.chain(), QString("sdnq>sdpa"));
    b.click(b.box("sdp_overrides/Flash attention"));
    QTRY_COMPARE(b.chain(), QString("sdnq>flash>sdpa"));
    QCOMPARE(b.find<QToolButton>("chain_history_button")->text(), QString("History 3 ▾"));
    b.click(b.find<QToolButton>("chain_history_button"));
    auto* table = b.find<FactTable>("chain_history_table");
    QVERIFY(table->isVisible());
    QCOMPARE(printed(*table->model(), {1, 2}), (QStringList{"sdnq › flash › sdpa | Flash attention on",
                                                            "sdnq › sdpa | SDNQ attention on", "sdpa | start"}));
    // The newest one is chosen and is the present one.
    QVERIFY(b.find<QLabel>("chain_history_detail")->text().startsWith("Backends: + flash"));
    QVERIFY(!b.find<QPushButton>("chain_go_back")->isEnabled());
  }

  void going_back_is_one_step_that_can_be_undone() {
    const BenchWindow b(*theme_);
    b.choose_target("cpu");
    QTRY_VERIFY(b.bench->engine().target().is_cpu());
    b.choose_target("rtx-3090");
    QTRY_VERIFY(!b.bench->engine().target().is_cpu());
    for (const char* box : {"sdp_overrides/SDNQ attention", "sdp_overrides/Flash attention"}) b.click(b.box(box));
    QTRY_COMPARE(b.chain(), QString("sdnq>flash>sdpa"));
    b.click(b.find<QToolButton>("chain_history_button"));
    auto* table = b.find<FactTable>("chain_history_table");
    const int last = table->model()->rowCount() - 1;
    QTest::mouseClick(table->viewport(), Qt::LeftButton, {},
                      table->visualRect(table->model()->index(last, 1)).center());
    const QString detail = b.find<QLabel>("chain_history_detail")->text();
    QVERIFY2(detail.contains("Going back sets: SDNQ attention off, Flash attention off") ||
                 detail.contains("Going back sets: Flash attention off, SDNQ attention off"),
             qPrintable(detail));
    b.click(b.find<QPushButton>("chain_go_back"));
    QTRY_COMPARE(b.chain(), QString("sdpa"));
    QVERIFY(!table->isVisible());
    QTest::keyClick(b.window.get(), Qt::Key_Z, Qt::ControlModifier);
    QTRY_COMPARE(b.chain(), QString("sdnq>flash>sdpa"));
  }

  void keys_alone_lead_back() {
    const BenchWindow b(*theme_);
    b.click(b.box("sdp_overrides/SDNQ attention"));
    QTRY_COMPARE(b.chain(), QString("sdnq>sdpa"));
    b.find<QAction>("chain.history")->trigger();
    auto* table = b.find<FactTable>("chain_history_table");
    QTRY_VERIFY(table->isVisible());
    QTest::keyClick(table, Qt::Key_Down);
    QTest::keyClick(table, Qt::Key_Return);
    QTRY_COMPARE(b.chain(), QString("sdpa"));
  }

  void a_number_that_is_dragged_is_one_chain_and_bounded_are_all() {
    const BenchWindow b(*theme_);
    Engine& engine = b.bench->engine();
    QVERIFY(engine.set("sparse_attention_enabled", true).has_value());
    const ChainHistory& history = b.window->chain_bar().history();
    QTRY_COMPARE(history.moments().size(), std::size_t{2});
    for (const std::int64_t budget : {35, 40, 45}) {
      QVERIFY(engine.set("sparse_attention_budget", budget).has_value());
      QTest::qWait(5);
    }
    QTRY_COMPARE(history.moments().size(), std::size_t{3});
    QCOMPARE(history.moments().back().words(), QString("KV budget 30 % → 45 %"));
    for (std::size_t i = 0; i < ChainHistory::kMost + 20; ++i) {
      const std::size_t before = history.moments().size();
      QVERIFY(engine.set(keys::overrides, i % 2 == 0 ? OptionList{"SDNQ attention"} : OptionList{}).has_value());
      QTRY_VERIFY(history.moments().size() > before || before == ChainHistory::kMost);
      QCoreApplication::processEvents();
    }
    QCOMPARE(history.moments().size(), ChainHistory::kMost);
  }

  void while_a_job_runs_going_back_waits_as_edits_do() {
    const BenchWindow b(*theme_);
    b.click(b.box("sdp_overrides/SDNQ attention"));
    QTRY_COMPARE(b.chain(), QString("sdnq>sdpa"));
    b.start_latched();
    QTRY_VERIFY(b.bench->engine().job_running());
    b.find<QAction>("chain.history")->trigger();
    auto* table = b.find<FactTable>("chain_history_table");
    QTest::keyClick(table, Qt::Key_Down);
    b.click(b.find<QPushButton>("chain_go_back"));
    QTRY_VERIFY(b.find<QLabel>("pending_sentence")->text().contains("1 edit pending"));
    QCOMPARE(b.chain(), QString("sdnq>sdpa"));
    b.latch->release();
    QTRY_COMPARE(b.chain(), QString("sdpa"));
  }

 private:
  std::unique_ptr<Theme> theme_;
};

QTEST_MAIN(ChainHistoryTest)
#include "chain_history_test.moc"
