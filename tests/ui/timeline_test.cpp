// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/timeline/timeline_panel.h"

#include "ui/format/format.h"
#include "ui/timeline/ticks.h"

#include <QComboBox>
#include <QSignalSpy>
#include <QToolButton>
#include <QWheelEvent>
#include <QtTest>

using namespace attn;
using namespace attn::ui;

namespace {

/// A generation: 4 text encoder calls, `steps` steps of 50 calls, one call of the VAE; 1 ms each, 1 ms apart.
trace::CallLog run_of(int steps, bool timed = true) {
  trace::CallLog log;
  int made = 0;
  const auto add = [&](Role role, std::string_view backend, int step) {
    trace::RouteEvent event;
    event.requested = event.selected = event.executed = event.variant = backend;
    event.query = event.key = event.value = {{1, 24, 4608, 128, 0}, 4};
    event.role = role;
    event.step = step;
    if (timed) {
      event.computed = true;
      event.begin_ns = 1'000'000 + made * std::int64_t{2'000'000};
      event.end_ns = event.begin_ns + 1'000'000;
    }
    log.add(event);
    ++made;
  };
  for (int i = 0; i < 4; ++i) add(Role::te, "sage", 0);
  for (int step = 0; step < steps; ++step) {
    for (int i = 0; i < 50; ++i) add(Role::transformer, i % 5 == 4 ? "flash" : "sdnq", step);
  }
  add(Role::vae, "sdpa", steps);
  return log;
}

TimeMap map_over(double end, double width) {
  TimeMap map;
  map.set_pixels(100.0, width);
  map.set_data(end, 4.0);
  return map;
}

/// The real panel in a window of its own.
struct Shown {
  Theme theme;
  Selection selection;
  TimelinePanel panel{selection, theme};
  explicit Shown(const trace::CallLog& log) {
    panel.resize(900, 260);
    panel.show();
    panel.activateWindow();
    if (!QTest::qWaitForWindowActive(&panel)) qFatal("the window does not become active");
    panel.set_calls(log.view());
    panel.view().setFocus();
  }
  TimelineView& view() { return panel.view(); }
  void key(Qt::Key key) { QTest::keyClick(&panel.view(), key); }
};

}  // namespace

class TimelineTest : public QObject {
  Q_OBJECT

 private slots:
  void pixels_and_moments_agree_at_every_zoom_data() {
    QTest::addColumn<double>("zoom");
    QTest::addColumn<double>("pan");
    QTest::newRow("whole") << 1.0 << 0.0;
    QTest::newRow("near") << 0.01 << 300.0;
    QTest::newRow("nearer than the least") << 1e-9 << -50.0;
    QTest::newRow("out again") << 50.0 << 10.0;
  }
  void pixels_and_moments_agree_at_every_zoom() {
    QFETCH(double, zoom);
    QFETCH(double, pan);
    TimeMap map = map_over(10'000.0, 800.0);
    map.zoom(zoom, 340.0);
    map.pan(pan);
    for (const double x : {100.0, 333.25, 900.0}) QVERIFY(std::abs(map.x_of(map.at(x)) - x) < 1e-6);
    QVERIFY(map.begin() >= 0.0 && map.end() <= map.data_end() + 1e-9);
    QVERIFY(map.span() >= 4.0 - 1e-9 && map.span() <= 10'000.0 + 1e-9);
  }

  void zoom_holds_what_is_under_the_pointer() {
    TimeMap map = map_over(10'000.0, 800.0);
    const double still = map.at(500.0);
    for (int i = 0; i < 5; ++i) map.zoom(0.7, 500.0);
    QVERIFY(std::abs(map.x_of(still) - 500.0) < 1e-6);
    QVERIFY(!map.shows_all());
    map.fit();
    QVERIFY(map.shows_all() && map.shows_end());
  }

  void a_map_that_shows_all_grows_with_the_data_and_another_does_not() {
    TimeMap map = map_over(1'000.0, 800.0);
    map.set_data(2'000.0, 4.0);
    QCOMPARE(map.end(), 2'000.0);
    map.zoom(0.5, 100.0);
    map.set_data(3'000.0, 4.0);
    QCOMPARE(map.end(), 1'000.0);
    map.reveal(2'500.0, 2'501.0);
    QCOMPARE(map.end(), 2'501.0);
    map.reveal(10.0, 11.0);
    QCOMPARE(map.begin(), 10.0);
  }

  void a_lane_for_each_role_in_the_order_of_a_generation() {
    Lanes lanes;
    QVERIFY(!lanes.set_calls({}));
    const trace::CallLog log = run_of(3);
    lanes.set_calls(log.view());
    QCOMPARE(lanes.lanes().size(), std::size_t{3});
    QCOMPARE(lanes.lanes()[0].role, Role::te);
    QCOMPARE(lanes.lanes()[1].calls.size(), std::size_t{150});
    QCOMPARE(lanes.lanes()[2].calls.front(), 154U);
    QCOMPARE(lanes.steps().size(), std::size_t{3});
    QCOMPARE(lanes.steps()[2].call, std::size_t{104});
    QCOMPARE(lanes.range_of_step(1)->first, 54.0);
    QCOMPARE(lanes.range_of_step(2)->second, 154.0);
    QVERIFY(!lanes.range_of_step(3).has_value());
    lanes.set_axis(TimelineAxis::time);
    QVERIFY(std::abs(lanes.begin_of(54) - 0.108) < 1e-9);
    QVERIFY(std::abs(lanes.data_end() - 0.309) < 1e-6);
  }

  void marks_cover_every_call_once_and_are_never_too_narrow_data() {
    QTest::addColumn<double>("zoom");
    QTest::newRow("all in sight") << 1.0;
    QTest::newRow("some") << 0.05;
    QTest::newRow("a few") << 0.001;
  }
  void marks_cover_every_call_once_and_are_never_too_narrow() {
    QFETCH(double, zoom);
    const trace::CallLog log = run_of(400);
    Lanes lanes;
    lanes.set_calls(log.view());
    TimeMap map = map_over(lanes.data_end(), 800.0);
    map.zoom(zoom, 420.0);
    std::vector<LaneMark> marks;
    lanes.marks(1, map, marks);
    QVERIFY(!marks.empty());
    QVERIFY(marks.size() <= 800 / 3 + 2);
    for (std::size_t i = 0; i < marks.size(); ++i) {
      QVERIFY(marks[i].right - marks[i].left >= Lanes::kLeast - 1e-6);
      QVERIFY(marks[i].samples == std::min<std::size_t>(marks[i].count, LaneMark::kSamples));
      if (i > 0) QCOMPARE(marks[i].first, marks[i - 1].first + marks[i - 1].count);
    }
    const std::size_t first = lanes.lanes()[1].calls[marks.front().first];
    const std::size_t last = lanes.lanes()[1].calls[marks.back().first + marks.back().count - 1];
    QVERIFY(static_cast<double>(first) <= std::max(4.0, map.begin() + 1.0));
    QVERIFY(static_cast<double>(last) + 1.0 >= std::min(map.end(), 20'004.0) - 1.0);
  }

  void the_last_call_of_a_run_is_seen_however_short() {
    const trace::CallLog log = run_of(400);
    Lanes lanes;
    lanes.set_calls(log.view());
    const TimeMap map = map_over(lanes.data_end(), 800.0);
    std::vector<LaneMark> marks;
    lanes.marks(2, map, marks);
    QCOMPARE(marks.size(), std::size_t{1});
    QVERIFY(marks[0].left <= map.right() - Lanes::kLeast + 1e-6 && marks[0].right <= map.right() + 1e-6);
  }

  void a_click_chooses_the_call_that_is_drawn_there_and_keys_go_on() {
    Shown s(run_of(3));
    QCOMPARE(s.view().lanes().axis(), TimelineAxis::time);
    const QRectF box = s.view().lane_box(1);
    const double x = s.view().map().x_of(s.view().lanes().begin_of(60));
    QTest::mouseClick(&s.view(), Qt::LeftButton, {}, QPointF(x + 1, box.center().y()).toPoint());
    QVERIFY(s.selection.call().has_value());
    QCOMPARE(s.selection.call()->index, std::size_t{60});
    QCOMPARE(*s.selection.step(), 1);
    s.key(Qt::Key_Period);
    QCOMPARE(s.selection.call()->index, std::size_t{61});
    s.key(Qt::Key_Comma);
    s.key(Qt::Key_Comma);
    QCOMPARE(s.selection.call()->index, std::size_t{59});
    s.key(Qt::Key_Down);
    QCOMPARE(s.view().focused_lane(), 2);
    s.key(Qt::Key_Period);
    QCOMPARE(s.selection.call()->index, std::size_t{154});
    QVERIFY(s.view().accessibleDescription().contains("lane 3 of 3, vae, 1 call; call 154, step 3: sdpa"));
    QTest::mouseClick(&s.view(), Qt::LeftButton, {}, QPoint(20, qRound(s.view().lane_box(0).center().y())));
    QCOMPARE(*s.selection.role(), Role::te);
    QVERIFY(!s.selection.call().has_value());
    const double step = s.view().map().x_of(s.view().lanes().range_of_step(2)->first);
    QTest::mouseClick(&s.view(), Qt::LeftButton, {}, QPointF(step + 3, 8).toPoint());
    QCOMPARE(*s.selection.step(), 2);
  }

  void letters_zoom_and_move_and_fit() {
    Shown s(run_of(20));
    const double whole = s.view().map().span();
    s.key(Qt::Key_W);
    s.key(Qt::Key_W);
    QVERIFY(s.view().map().span() < whole * 0.6);
    const double begin = s.view().map().begin();
    s.key(Qt::Key_D);
    QVERIFY(s.view().map().begin() > begin);
    s.key(Qt::Key_A);
    s.key(Qt::Key_S);
    QVERIFY(s.view().map().span() > whole * 0.6);
    s.key(Qt::Key_F);
    QVERIFY(s.view().map().shows_all());
    // By the place of the key: what a French keyboard calls Z is W here.
    QKeyEvent french(QEvent::KeyPress, Qt::Key_Z, Qt::NoModifier, 25, 0, 0);
    QCoreApplication::sendEvent(&s.view(), &french);
    QVERIFY(!s.view().map().shows_all());
  }

  void the_end_is_followed_until_somebody_looks_elsewhere() {
    trace::CallLog log = run_of(20, false);
    Shown s(log);
    QCOMPARE(s.view().lanes().axis(), TimelineAxis::number);
    auto* follow = s.panel.findChild<QToolButton*>("timeline_follow");
    QVERIFY(follow->isHidden());
    for (int i = 0; i < 6; ++i) s.key(Qt::Key_W);
    s.key(Qt::Key_End);
    QVERIFY(s.view().follows());
    const double span = s.view().map().span();
    trace::RouteEvent event;
    event.executed = "sdpa";
    event.query = event.key = event.value = {{1, 1, 64, 64, 0}, 4};
    event.role = Role::vae;
    const auto grow = [&] {
      for (int i = 0; i < 100; ++i) log.add(event);
      s.panel.set_calls(log.view());
    };
    grow();
    QCOMPARE(s.view().map().end(), 1105.0);
    QVERIFY(std::abs(s.view().map().span() - span) < 1e-9);
    s.key(Qt::Key_A);
    QVERIFY(!s.view().follows());
    QVERIFY(follow->isVisible());
    const double end = s.view().map().end();
    grow();
    QCOMPARE(s.view().map().end(), end);
    follow->click();
    QVERIFY(s.view().follows() && follow->isHidden());
    QCOMPARE(s.view().map().end(), 1205.0);
    // What was chosen elsewhere comes into view.
    trace::RouteRow route = log.view().kind_of(log.view()[10]).route;
    s.selection.choose_call({log.view().run(), 10, log.view()[10]}, route, nullptr);
    QVERIFY(s.view().map().begin() <= 10.0 && !s.view().follows());
    log.reset();
    grow();
    QVERIFY(s.view().follows() && s.view().map().shows_all());
  }

  void the_axis_is_a_choice_that_stays() {
    Shown s(run_of(3));
    auto* axis = s.panel.findChild<QComboBox*>("timeline_axis");
    QCOMPARE(axis->currentIndex(), 0);
    axis->setCurrentIndex(1);
    emit axis->activated(1);
    QCOMPARE(s.view().lanes().axis(), TimelineAxis::number);
    const trace::CallLog log = run_of(5);
    s.panel.set_calls(log.view());
    QCOMPARE(s.view().lanes().axis(), TimelineAxis::number);
  }

  void ticks_are_round_and_tell_neighbours_apart() {
    QCOMPARE(tick_size(10.0, 5), 2.0);
    QCOMPARE(tick_size(1609.0, 9), 200.0);
    QCOMPARE(tick_size(0.0, 5), 1.0);
    QCOMPARE(precise_seconds(1.25, 2.0), QString("1.3 s"));
    QVERIFY(precise_seconds(12.3456, 0.001) != precise_seconds(12.3457, 0.001));
    QCOMPARE(precise_seconds(0.0035, 0.004), QString("3.5 ms"));
  }
};

QTEST_MAIN(TimelineTest)
#include "timeline_test.moc"
