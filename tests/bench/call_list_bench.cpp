// SPDX-License-Identifier: GPL-3.0-or-later
// What a million calls cost the window's thread: until the list can be used, while it is scrolled, filtered and sorted,
// and while 200,000 calls a second arrive in 60 snapshots a second. The longest time in one go is what a person feels.
#include "ui/call_list/call_list.h"
#include "ui/filter/filter_parser.h"

#include <QApplication>
#include <QElapsedTimer>
#include <QScrollBar>
#include <algorithm>
#include <cstdio>
#include <functional>

using namespace attn;
using namespace attn::ui;

namespace {

constexpr int kCalls = 1'000'000;

trace::RouteEvent event_of(int at) {
  static constexpr std::string_view kNames[] = {"sdnq", "sage", "flash", "sdpa"};
  trace::RouteEvent event;
  event.requested = event.selected = "sdnq";
  event.executed = event.variant = kNames[at % 4];
  event.query = event.key = event.value = {{1, 24, 512 + at % 50 * 64, 128, 0}, 4};
  event.role = at % 97 == 0 ? Role::te : Role::transformer;
  event.step = at / 20'000;
  event.computed = true;
  event.begin_ns = 1 + at * std::int64_t{5'000};
  event.end_ns = event.begin_ns + (at * std::int64_t{7919}) % 1000 * 1000 + 1000;
  return event;
}

/// Runs the event loop until `done`, and says how long its longest turn took and how long all took, in milliseconds.
struct Turns {
  double longest = 0.0;
  double whole = 0.0;
};
Turns turns_until(const std::function<bool()>& done) {
  Turns turns;
  QElapsedTimer whole;
  whole.start();
  do {
    QElapsedTimer turn;
    turn.start();
    QApplication::processEvents(QEventLoop::AllEvents);
    turns.longest = std::max(turns.longest, static_cast<double>(turn.nsecsElapsed()) * 1e-6);
  } while (!done());
  turns.whole = static_cast<double>(whole.nsecsElapsed()) * 1e-6;
  return turns;
}

void say(const char* what, const Turns& turns) {
  if (*what == '\0') return;
  std::printf("%-44s %9.1f %12.1f\n", what, turns.whole, turns.longest);
}

class Bench {
 public:
  Bench() : list_(selection_, theme_) {
    for (int i = 0; i < kCalls; ++i) log_.add(event_of(i));
    list_.resize(1100, 620);
    list_.show();
    turns_until([] { return true; });
  }

  void open() {
    QElapsedTimer timer;
    timer.start();
    list_.set_calls(log_.view());
    list_.view()->viewport()->repaint();
    const double first = static_cast<double>(timer.nsecsElapsed()) * 1e-6;
    Turns turns = turns_until([] { return true; });
    turns.longest = std::max(turns.longest, first);
    turns.whole += first;
    say("1 000 000 calls shown and painted", turns);
  }

  void scroll() {
    Turns sum;
    QScrollBar* bar = list_.view()->verticalScrollBar();
    for (int i = 0; i <= 500; ++i) {
      QElapsedTimer turn;
      turn.start();
      bar->setValue(static_cast<int>(static_cast<double>(bar->maximum()) * i / 500));
      list_.view()->viewport()->repaint();
      const double took = static_cast<double>(turn.nsecsElapsed()) * 1e-6;
      sum.whole += took;
      sum.longest = std::max(sum.longest, took);
    }
    say("501 places scrolled to and painted", sum);
  }

  void query(const char* what, const std::function<void()>& ask) {
    QElapsedTimer timer;
    timer.start();
    ask();
    const double asking = static_cast<double>(timer.nsecsElapsed()) * 1e-6;
    Turns turns = turns_until([this] { return !list_.model().is_busy(); });
    turns.longest = std::max(turns.longest, asking);
    turns.whole += asking;
    say(what, turns);
  }
  void filter(const char* what, const char* line) {
    query(what, [&] { list_.set_filter(parse_filter(line).filter); });
  }
  void sort(const char* what, CallColumn column) {
    query(what, [&] { list_.view()->sortByColumn(static_cast<int>(column), Qt::DescendingOrder); });
  }
  void unsort() {
    list_.view()->sortByColumn(-1, Qt::AscendingOrder);
    list_.set_filter({});
    turns_until([this] { return !list_.model().is_busy(); });
  }

  void live(const char* what, int seconds) {
    constexpr int kEach = 200'000 / 60;
    Turns frames;
    for (int frame = 0; frame < seconds * 60; ++frame) {
      for (int i = 0; i < kEach; ++i) log_.add(event_of(made_++));
      QElapsedTimer turn;
      turn.start();
      list_.set_calls(log_.view());
      QApplication::processEvents(QEventLoop::AllEvents);
      const double took = static_cast<double>(turn.nsecsElapsed()) * 1e-6;
      frames.whole += took;
      frames.longest = std::max(frames.longest, took);
    }
    frames.whole /= seconds * 60;
    say(what, frames);
  }

  void begin_live() {
    log_.reset();
    made_ = 0;
    list_.set_calls(log_.view());
  }

 private:
  trace::CallLog log_;
  Theme theme_;
  Selection selection_;
  CallList list_;
  int made_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  const QApplication application(argc, argv);
  Bench bench;
  std::printf("%-44s %9s %12s\n", "", "whole ms", "longest ms");
  bench.open();
  bench.scroll();
  bench.filter("filter by kind: role:te", "role:te");
  bench.filter("filter by call: time>500us", "time>500us");
  bench.filter("filter of both: backend:sage q>2048 step:3..9", "backend:sage q>2048 step:3..9");
  bench.filter("no filter", "");
  bench.sort("sort by time", CallColumn::time);
  bench.sort("sort by query", CallColumn::query);
  bench.unsort();
  std::printf("%-44s %9s %12s\n", "200 000 calls a second, 60 snapshots", "mean ms", "longest ms");
  bench.begin_live();
  bench.live("as they were made, from nothing", 5);
  bench.filter("", "time>500us");
  bench.live("with a filter by call", 5);
  bench.filter("", "");
  bench.sort("", CallColumn::time);
  bench.live("sorted by time", 5);
  return 0;
}
