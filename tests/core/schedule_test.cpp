// SPDX-License-Identifier: GPL-3.0-or-later
// The budget of every step: every row of schedule.json.
#include "core/sparse/schedule.h"
#include "support/oracle.h"

#include <QtTest>
#include <limits>
#include <set>

using namespace attn;
using nlohmann::json;

class ScheduleTest : public QObject {
  Q_OBJECT

 private slots:
  void the_budgets_of_a_pass_are_the_oracles() {
    const json oracle = test::oracle("schedule.json");
    int met = 0;
    for (const json& row : oracle["rows"]) {
      const std::string pattern = row[6];
      const std::vector<double> table = BudgetSchedule{row[1], row[2], row[3]}.table(row[0]);
      std::vector<double> expected;
      for (const char digit : pattern) expected.push_back(digit == '1' ? row[5].get<double>() : row[1].get<double>());
      if (table != expected || table.size() != row[4].get<std::size_t>()) QFAIL(row.dump().c_str());
      ++met;
    }
    QCOMPARE(met, 22440);
  }

  void a_step_looks_its_budget_up() {
    const json oracle = test::oracle("schedule.json");
    int met = 0;
    for (const json& row : oracle["lookup"]) {
      QCOMPARE((BudgetSchedule{row[1], row[2], row[3]}.at(row[4], row[0])), row[5].get<double>());
      ++met;
    }
    QCOMPARE(met, 128);
  }

  void a_negative_step_counts_from_the_end() {
    const BudgetSchedule schedule{0.3, 0.4, 2};
    QCOMPARE(schedule.at(-5, 10), 0.3);
    QCOMPARE(schedule.at(-1, 10), 0.7);
    QCOMPARE(schedule.at(-1000, 10), 0.7);
  }

  void there_are_at_most_two_budgets_and_the_ends_mirror() {
    for (std::int64_t steps = 0; steps < 60; ++steps) {
      for (std::int64_t edge = -1; edge < 40; ++edge) {
        const std::vector<double> table = BudgetSchedule{0.2, 0.5, edge}.table(steps);
        QVERIFY(std::set<double>(table.begin(), table.end()).size() <= 2);
        QVERIFY(std::equal(table.begin(), table.end(), table.rbegin()));
      }
    }
  }

  void numbers_that_make_no_sense_change_nothing() {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    QCOMPARE((BudgetSchedule{0.3, nan, 2}.at(0, 10)), 0.3);
    QCOMPARE((BudgetSchedule{0.3, 0.4, most}.at(most, most)), 0.7);
    QCOMPARE((BudgetSchedule{0.3, 0.4, 2}.at(most / 2, most)), 0.3);
    QVERIFY((BudgetSchedule{0.3, 0.4, 2}.table(std::numeric_limits<std::int64_t>::min()).empty()));
  }
};

QTEST_GUILESS_MAIN(ScheduleTest)
#include "schedule_test.moc"
