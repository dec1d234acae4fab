// SPDX-License-Identifier: GPL-3.0-or-later
// Undo and redo as a value: what is a step, what merges, what is forgotten.
#include "core/settings/history.h"

#include <QTest>

using namespace attn;
using namespace std::chrono_literals;

class HistoryTest : public QObject {
  Q_OBJECT

 private slots:
  void a_step_is_undone_and_done_again() {
    History<int> history(30);
    QVERIFY(!history.can_undo() && !history.can_redo());
    QVERIFY(history.record(45, "budget", "", 0ms));
    QVERIFY(history.record(7, "steps", "preset low", 10ms));
    QCOMPARE(history.undo_name(), std::string("preset low"));
    QCOMPARE(history.undo(), 45);
    QCOMPARE(history.redo_name(), std::string("preset low"));
    QCOMPARE(history.undo(), 30);
    QVERIFY(!history.can_undo());
    QCOMPARE(history.undo(), 30);
    QCOMPARE(history.redo(), 45);
    QCOMPARE(history.redo(), 7);
    QVERIFY(!history.can_redo());
  }

  void what_does_not_differ_is_no_step() {
    History<int> history(30);
    QVERIFY(!history.record(30, "budget", "", 0ms));
    QVERIFY(!history.can_undo());
  }

  void quick_steps_of_one_option_are_one_step() {
    History<int> history(30);
    for (int i = 1; i <= 20; ++i) history.record(30 + i, "budget", "", i * 100ms);
    QCOMPARE(history.now(), 50);
    QCOMPARE(history.undo(), 30);
    QVERIFY(!history.can_undo());
    QCOMPARE(history.redo(), 50);
  }

  void a_pause_another_option_and_a_seal_end_the_merging() {
    History<int> history(30);
    history.record(31, "budget", "", 0ms);
    history.record(32, "budget", "", History<int>::kPause + 1ms);
    QCOMPARE(history.before(), 31);
    history.record(33, "steps", "", 1502ms);
    QCOMPARE(history.before(), 32);
    history.seal();
    history.record(34, "steps", "", 1503ms);
    QCOMPARE(history.before(), 33);
    history.record(35, "", "", 1504ms);
    history.record(36, "", "", 1505ms);
    QCOMPARE(history.before(), 35);
  }

  void a_step_after_an_undo_does_not_merge_and_forgets_what_was_undone() {
    History<int> history(1);
    history.record(2, "budget", "", 0ms);
    history.record(3, "steps", "", 1ms);
    QCOMPARE(history.undo(), 2);
    QCOMPARE(history.after(), 3);
    history.record(4, "budget", "", 2ms);
    QVERIFY(!history.can_redo());
    QCOMPARE(history.undo(), 2);
    QCOMPARE(history.undo(), 1);
  }

  void a_drag_back_to_the_start_leaves_no_step() {
    History<int> history(30);
    history.record(40, "budget", "", 0ms);
    history.record(30, "budget", "", 100ms);
    QVERIFY(!history.can_undo());
    QCOMPARE(history.now(), 30);
  }

  void what_arrives_late_belongs_to_the_last_step() {
    History<int> history(30);
    QVERIFY(!history.amend(31));
    history.record(40, "", "tuned", 0ms);
    QVERIFY(history.amend(41));
    QCOMPARE(history.now(), 41);
    QCOMPARE(history.undo(), 30);
    QVERIFY(!history.amend(50));
    QCOMPARE(history.redo(), 41);
    QVERIFY(!history.amend(50));  // it was gone back to, nobody has just made it
  }

  void the_oldest_steps_are_forgotten() {
    History<int> history(0, 3);
    for (int i = 1; i <= 10; ++i) history.record(i, "", "", 0ms);
    QCOMPARE(history.now(), 10);
    QCOMPARE(history.undo(), 9);
    QCOMPARE(history.undo(), 8);
    QCOMPARE(history.undo(), 7);
    QVERIFY(!history.can_undo());
  }
};

QTEST_GUILESS_MAIN(HistoryTest)
#include "history_test.moc"
