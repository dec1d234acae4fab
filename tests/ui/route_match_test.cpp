// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/compare/route_match.h"

#include "ui/format/change_text.h"

#include <QtTest>

using namespace attn;
using namespace attn::ui;

namespace {

trace::RouteRow row_of(const char* backend, Role role, int tokens) {
  trace::RouteRow row;
  row.id.backend = backend;
  row.id.role = role;
  row.id.query.size = {1, 24, tokens, 128};
  row.id.query.rank = 4;
  row.id.key = row.id.query;
  row.value = row.id.key;
  row.executed = QString(backend).section('+', 0, 0).toStdString();
  return row;
}

/// A run whose calls take `each` seconds.
struct Run {
  trace::TraceSnapshot trace;

  std::uint32_t route(const trace::RouteRow& row) {
    trace.routes.push_back(row);
    return static_cast<std::uint32_t>(trace.routes.size() - 1);
  }
  void calls(std::uint32_t at, int step, std::int64_t count, double each = 0.0) {
    trace.steps.push_back({at, step, count, each > 0.0 ? count : 0, each * static_cast<double>(count)});
    trace::RouteRow& row = trace.routes[at];
    row.calls += count;
    trace.calls += count;
    if (each > 0.0) row.computed_calls += count;
    row.seconds += each * static_cast<double>(count);
  }
};

QStringList printed(const RouteMatch& match, const trace::TraceSnapshot& then, const trace::TraceSnapshot& now) {
  QStringList lines;
  for (const RouteFlow& flow : match.flows()) {
    const QString from =
        flow.then == RouteFlow::kNone ? "new" : QString::fromStdString(then.routes[flow.then].id.backend);
    const QString to = flow.now == RouteFlow::kNone ? "gone" : QString::fromStdString(now.routes[flow.now].id.backend);
    lines << QString("%1 > %2: %3 now, %4 then").arg(from, to).arg(flow.calls_now).arg(flow.calls_then);
  }
  lines.sort();
  return lines;
}

}  // namespace

class RouteMatchTest : public QObject {
  Q_OBJECT

 private slots:
  void calls_are_matched_by_what_they_were_and_not_by_who_served() {
    Run then;
    const auto flash = then.route(row_of("flash", Role::transformer, 4608));
    for (int step = 0; step < 4; ++step) then.calls(flash, step, 57, 0.01);
    Run now;
    const auto sage = now.route(row_of("sage", Role::transformer, 4608));
    for (int step = 0; step < 4; ++step) now.calls(sage, step, 57, 0.005);
    const RouteMatch match(CallIndex(then.trace), CallIndex(now.trace));
    QCOMPARE(printed(match, then.trace, now.trace), QStringList{"flash > sage: 228 now, 228 then"});
    QVERIFY(match.then(0).moved);
    QCOMPARE(match.then(0).backends, QStringList{"flash"});
    QCOMPARE(match.then(0).calls, 228);
    QVERIFY(std::abs(match.then(0).time.seconds - 2.28) < 1e-9);
    QVERIFY(std::abs(match.then(0, 2).time.seconds - 0.57) < 1e-9);
  }

  void a_route_that_two_backends_share_is_split_by_step() {
    Run then;
    const auto dense = then.route(row_of("sdnq", Role::transformer, 4608));
    for (int step = 0; step < 10; ++step) then.calls(dense, step, 10);
    Run now;
    const auto first = now.route(row_of("sdnq", Role::transformer, 4608));
    const auto sparse = now.route(row_of("sdnq+sparse", Role::transformer, 4608));
    for (int step = 0; step < 10; ++step) now.calls(step < 3 ? first : sparse, step, 10);
    const RouteMatch match(CallIndex(then.trace), CallIndex(now.trace));
    QCOMPARE(printed(match, then.trace, now.trace),
             (QStringList{"sdnq > sdnq+sparse: 70 now, 70 then", "sdnq > sdnq: 30 now, 30 then"}));
    QVERIFY(!match.then(first).moved);
    QVERIFY(match.then(sparse).moved);
  }

  void in_a_step_the_same_backend_is_matched_first() {
    Run then;
    const auto a = then.route(row_of("sdnq", Role::transformer, 64));
    const auto b = then.route(row_of("flash", Role::transformer, 64));
    then.calls(a, 0, 6);
    then.calls(b, 0, 4);
    Run now;
    const auto c = now.route(row_of("flash", Role::transformer, 64));
    const auto d = now.route(row_of("sdnq", Role::transformer, 64));
    now.calls(c, 0, 6);
    now.calls(d, 0, 4);
    const RouteMatch match(CallIndex(then.trace), CallIndex(now.trace));
    QCOMPARE(
        printed(match, then.trace, now.trace),
        (QStringList{"flash > flash: 4 now, 4 then", "sdnq > flash: 2 now, 2 then", "sdnq > sdnq: 4 now, 4 then"}));
  }

  void other_shapes_dtypes_and_masks_are_other_calls() {
    Run then;
    then.calls(then.route(row_of("sdpa", Role::transformer, 64)), 0, 4);
    for (int kind = 0; kind < 6; ++kind) {
      trace::RouteRow row = row_of("sdpa", Role::transformer, 64);
      if (kind == 0) row.id.key.size[2] = 65;
      if (kind == 1) row.id.dtype = row.key_dtype = row.value_dtype = DType::float32;
      if (kind == 2) row.mask = trace::MaskKind::boolean;
      if (kind == 3) row.causal = true;
      if (kind == 4) row.id.role = Role::vae;
      if (kind == 5) row.query_layout = Layout::fused_qkv;
      Run now;
      now.calls(now.route(row), 0, 4);
      const RouteMatch match(CallIndex(then.trace), CallIndex(now.trace));
      QCOMPARE(printed(match, then.trace, now.trace),
               (QStringList{"new > sdpa: 4 now, 0 then", "sdpa > gone: 0 now, 4 then"}));
      QCOMPARE(match.then(0).calls, 0);
    }
    // What a mask says is known of computed calls only: the same mask is matched with and without that.
    trace::RouteRow masked = row_of("sdpa", Role::transformer, 64);
    masked.mask = trace::MaskKind::boolean;
    Run planned;
    planned.calls(planned.route(masked), 0, 4);
    masked.mask_pattern = trace::MaskPattern::key_padding;
    Run computed;
    computed.calls(computed.route(masked), 0, 4);
    QCOMPARE(RouteMatch(CallIndex(planned.trace), CallIndex(computed.trace)).then(0).calls, 4);
  }

  void a_run_of_more_steps_has_new_calls_and_keeps_its_vae() {
    const auto run = [](int steps) {
      Run made;
      const auto denoiser = made.route(row_of("sdnq", Role::transformer, 4608));
      const auto vae = made.route(row_of("sdpa", Role::vae, 64));
      for (int step = 0; step < steps; ++step) made.calls(denoiser, step, 10);
      made.calls(vae, steps, 1);
      return made;
    };
    const Run few = run(4);
    const Run many = run(6);
    const RouteMatch more(CallIndex(few.trace), CallIndex(many.trace));
    QCOMPARE(printed(more, few.trace, many.trace),
             (QStringList{"new > sdnq: 20 now, 0 then", "sdnq > sdnq: 40 now, 40 then", "sdpa > sdpa: 1 now, 1 then"}));
    // Sums over rows stay right: what has no counterpart in a step stands against its route all the same.
    const RouteMatch less(CallIndex(many.trace), CallIndex(few.trace));
    QCOMPARE(less.then(0).calls, 60);
    QCOMPARE(less.then(1).calls, 1);
    QVERIFY(!less.then(0).moved);
  }

  void time_of_representatives_is_scaled_and_planned_time_is_unknown() {
    Run run;
    const auto at = run.route(row_of("sdnq", Role::transformer, 4608));
    run.calls(at, 0, 10);
    run.calls(at, 1, 10);
    QVERIFY(!CallIndex(run.trace).time().known);
    run.trace.routes[at].computed_calls = 1;
    run.trace.routes[at].seconds = 0.25;
    const CallTime time = CallIndex(run.trace).time();
    QVERIFY(time.known && time.scaled);
    QCOMPARE(time.seconds, 5.0);
  }

  void changes_read_with_their_sign_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("expected");
    QTest::newRow("less") << seconds_and_relative(2.0, 1.5) << "−500 ms (−25 %)";
    QTest::newRow("more") << seconds_and_relative(0.1, 0.104) << "+4.0 ms (+4.0 %)";
    QTest::newRow("same") << seconds_and_relative(1.0, 1.0) << "±0";
    QTest::newRow("from nothing") << seconds_and_relative(0.0, 1.0) << "+1.0 s";
    QTest::newRow("many times") << relative_change(1.0, 25.0) << "×25";
    QTest::newRow("minutes") << seconds_and_relative(527.0, 396.0) << "−2.2 min (−25 %)";
    QTest::newRow("hours") << seconds_change(0.0, 9000.0) << "+2.5 h";
    QTest::newRow("calls") << count_change(57, 1596) << "+1\u202f539";
    QTest::newRow("fewer calls") << count_change(12, 0) << "−12";
    QTest::newRow("share") << share_change(0.5, 0.469) << "−3.1 pp";
    QTest::newRow("no share") << share_change(0.5, 0.5) << "±0";
  }
  void changes_read_with_their_sign() {
    QFETCH(QString, text);
    QTEST(text, "expected");
  }
};

QTEST_GUILESS_MAIN(RouteMatchTest)
#include "route_match_test.moc"
