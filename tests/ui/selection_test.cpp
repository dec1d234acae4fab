// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/selection/selection.h"

#include <QAction>
#include <QPushButton>
#include <QSignalSpy>
#include <QtTest>

using namespace attn;
using namespace attn::ui;

namespace {

trace::RouteRow route_of(const char* backend, Role role, int first, int last) {
  trace::RouteRow row;
  row.id.backend = backend;
  row.id.role = role;
  row.first_step = first;
  row.last_step = last;
  return row;
}

SelectedCall call_of(std::uint64_t run, std::size_t index, int step) {
  SelectedCall call{run, index, {}};
  call.record.step = step;
  return call;
}

/// "sdnq transformer step 3 call 7", what is there of it.
QString text_of(const Selection& selection) {
  QStringList parts;
  if (selection.route()) parts << QString::fromStdString(selection.route()->id.backend);
  if (selection.role()) parts << QString::fromUtf8(name_of(*selection.role()).data());
  if (selection.step()) parts << QString("step %1").arg(*selection.step());
  if (selection.call()) parts << QString("call %1").arg(selection.call()->index);
  return parts.join(' ');
}

}  // namespace

class SelectionTest : public QObject {
  Q_OBJECT

 private slots:
  void a_narrow_choice_brings_the_wider_ones() {
    Selection selection;
    const auto sdnq = route_of("sdnq", Role::transformer, 0, 27);
    selection.choose(sdnq, nullptr);
    QCOMPARE(text_of(selection), QString("sdnq transformer"));
    selection.choose_step(Role::transformer, 12, nullptr);
    QCOMPARE(text_of(selection), QString("sdnq transformer step 12"));
    selection.choose(route_of("flex", Role::transformer, 3, 20), nullptr);
    QCOMPARE(text_of(selection), QString("flex transformer step 12"));
    selection.choose_step(Role::transformer, 1, nullptr);  // flex is not there
    QCOMPARE(text_of(selection), QString("transformer step 1"));
    selection.choose_call(call_of(0, 7, 3), sdnq, nullptr);
    QCOMPARE(text_of(selection), QString("sdnq transformer step 3 call 7"));
    selection.choose(sdnq, nullptr);
    QCOMPARE(text_of(selection), QString("sdnq transformer step 3 call 7"));
    selection.choose_role(Role::vae, nullptr);
    QCOMPARE(text_of(selection), QString("vae"));
    selection.choose(std::nullopt, nullptr);
    QCOMPARE(text_of(selection), QString());
  }

  void the_cause_is_named_and_the_same_choice_says_nothing() {
    Selection selection;
    const QObject* heard = this;
    int times = 0;
    connect(&selection, &Selection::changed, this, [&](const QObject* origin) {
      heard = origin;
      ++times;
    });
    QObject panel;
    selection.choose(route_of("sdnq", Role::te, 0, 0), &panel);
    QCOMPARE(heard, &panel);
    selection.choose(route_of("sdnq", Role::te, 0, 5), this);
    QCOMPARE(times, 1);
    selection.go_back();
    QCOMPARE(heard, nullptr);
    QCOMPARE(times, 2);
  }

  void back_and_forward_walk_through_what_was_selected() {
    Selection selection;
    QVERIFY(!selection.can_go_back() && !selection.back_action()->isEnabled());
    for (const char* name : {"a", "b", "c"}) selection.choose(route_of(name, Role::te, 0, 0), nullptr);
    selection.go_back();
    selection.go_back();
    QCOMPARE(text_of(selection), QString("a te"));
    selection.go_forward();
    QCOMPARE(text_of(selection), QString("b te"));
    QVERIFY(selection.can_go_forward());
    selection.choose(route_of("d", Role::te, 0, 0), nullptr);  // a new turn forgets the old way on
    QVERIFY(!selection.can_go_forward() && !selection.forward_action()->isEnabled());
    for (int i = 0; i < 3; ++i) selection.go_back();
    QCOMPARE(text_of(selection), QString());
    QVERIFY(!selection.can_go_back());
    selection.go_back();
    QCOMPARE(text_of(selection), QString());
  }

  void the_trail_is_bounded() {
    Selection selection;
    for (int i = 0; i < 1000; ++i) selection.choose_step(Role::transformer, i, nullptr);
    int steps = 0;
    for (; selection.can_go_back(); ++steps) selection.go_back();
    QCOMPARE(steps, static_cast<int>(Selection::kMostSteps) - 1);
    QCOMPARE(text_of(selection), QString("transformer step 800"));
  }

  void another_run_takes_the_call_away_and_leaves_the_route() {
    Selection selection;
    selection.set_run(1);
    selection.choose_call(call_of(1, 7, 3), route_of("sdnq", Role::transformer, 0, 27), nullptr);
    selection.choose_role(Role::vae, nullptr);
    selection.set_run(2);
    selection.go_back();
    QCOMPARE(text_of(selection), QString("sdnq transformer step 3"));
    selection.choose_call(call_of(2, 1, 0), route_of("sdnq", Role::transformer, 0, 27), nullptr);
    QSignalSpy changed(&selection, &Selection::changed);
    selection.set_run(2);
    QCOMPARE(changed.size(), 0);
    selection.set_run(3);
    QCOMPARE(changed.size(), 1);
    QCOMPARE(text_of(selection), QString("sdnq transformer step 0"));
  }

  void keys_and_side_buttons_work_anywhere_in_the_window() {
    Selection selection;
    QWidget window;
    auto* button = new QPushButton("inside", &window);
    selection.serve(&window);
    window.show();
    window.activateWindow();
    QVERIFY(QTest::qWaitForWindowActive(&window));
    selection.choose(route_of("a", Role::te, 0, 0), nullptr);
    selection.choose(route_of("b", Role::te, 0, 0), nullptr);
    QTest::keyClick(&window, Qt::Key_Left, Qt::AltModifier);
    QCOMPARE(text_of(selection), QString("a te"));
    QTest::keyClick(&window, Qt::Key_Right, Qt::AltModifier);
    QCOMPARE(text_of(selection), QString("b te"));
    QTest::mouseClick(button, Qt::BackButton);
    QCOMPARE(text_of(selection), QString("a te"));
    QTest::mouseClick(button, Qt::ForwardButton);
    QCOMPARE(text_of(selection), QString("b te"));
    QWidget other;
    QTest::mouseClick(&other, Qt::BackButton);
    QCOMPARE(text_of(selection), QString("b te"));
  }
};

QTEST_MAIN(SelectionTest)
#include "selection_test.moc"
