// SPDX-License-Identifier: GPL-3.0-or-later
// How the window answers while it is used, and what it takes when it is not.
//   watchdog  a job of 20,000 calls a second runs and a person clicks about; every event that the GUI thread handles is
//             timed. longest_ms, and the slowest by receiver on stderr
//   start     the program from nothing to its first paint and back out, a process each time: median of 9
//   idle      share of one core that the program takes while nothing happens, and its memory
#include "app/jobs/resources.h"
#include "ui/bench_window.h"
#include "ui/control_panel/control_panel.h"
#include "ui/route_table/route_panel.h"

#include <benchmark/benchmark.h>

#include <unistd.h>
#include <QAction>
#include <QApplication>
#include <QEventLoop>
#include <QFile>
#include <QMetaEnum>
#include <QProcess>
#include <QTabBar>
#include <QTableView>
#include <QTemporaryDir>
#include <QTimer>
#include <QToolBar>
#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

using namespace attn;

namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

/// Times every event that the GUI thread takes out of its queue, with all that its handling calls.
class TimedApplication final : public QApplication {
 public:
  using QApplication::QApplication;

  bool notify(QObject* receiver, QEvent* event) override {
    if (!watching || depth_ > 0) return QApplication::notify(receiver, event);
    const QString what = QStringLiteral("%1 %2 %3")
                             .arg(receiver->metaObject()->className(), receiver->objectName(),
                                  QMetaEnum::fromType<QEvent::Type>().valueToKey(event->type()));
    ++depth_;
    const auto begin = Clock::now();
    const bool taken = QApplication::notify(receiver, event);
    const double took = ms_since(begin);
    --depth_;
    all.push_back(took);
    double& most = slowest[what];
    most = std::max(most, took);
    return taken;
  }

  bool watching = false;
  std::vector<double> all;
  std::map<QString, double> slowest;  ///< by receiver and event

 private:
  int depth_ = 0;
};

TimedApplication* application = nullptr;

/// Makes planned calls of many kinds at an even pace, as a job of 50 steps that runs for `seconds`.
class PacedJob final : public app::Job {
 public:
  PacedJob(double seconds, std::int64_t rate) : seconds_(seconds), rate_(rate) {}

  [[nodiscard]] std::string title() const override { return "paced"; }
  [[nodiscard]] Expected<app::JobOutcome> run(const app::JobEnvironment& environment) override {
    constexpr std::int64_t kSteps = 50;
    Pipe pipe;
    pipe.info = {"FluxPipeline", "FluxTransformer2DModel", {}, {}, {"transformer"}};
    auto scope = environment.engine.begin_job(pipe, kSteps, environment.observer, environment.timing);
    if (!scope) return fail(scope.error());
    std::vector<AttentionCall> calls;
    for (const std::int64_t tokens : {4608, 1024, 4096, 77, 512, 9216, 2304, 16384}) {
      for (const std::int64_t heads : {24, 16, 12, 8, 1}) {
        AttentionCall call;
        call.query = call.key = call.value = TensorView::contiguous({1, heads, tokens, 128}, DType::bfloat16);
        calls.push_back(call);
      }
    }
    const auto begin = Clock::now();
    const auto total = static_cast<std::int64_t>(seconds_ * static_cast<double>(rate_));
    std::int64_t made = 0;
    app::JobProgress progress;
    progress.calls_total = total;
    progress.steps = kSteps;
    for (std::int64_t step = 0; step < kSteps; ++step) {
      const Role kind = step == 0 ? Role::te : step + 1 == kSteps ? Role::vae : Role::transformer;
      const RoleScope role(scope->context(), kind);
      for (; made < total * (step + 1) / kSteps; ++made) {
        if (environment.stop.stop_requested()) return app::JobOutcome::stopped;
        scope->attention(calls[static_cast<std::size_t>(made) % calls.size()]);
        if (made % (rate_ / 1000) != 0) continue;
        progress.calls_done = made;
        progress.step = static_cast<int>(step);
        progress.elapsed_seconds = ms_since(begin) * 1e-3;
        if (environment.progress) environment.progress(progress);
        std::this_thread::sleep_until(begin + std::chrono::milliseconds(made * 1000 / rate_));
      }
      scope->context().tick(step + 1);
    }
    return app::JobOutcome::finished;
  }

 private:
  double seconds_;
  std::int64_t rate_;
};

/// What a person does, one thing every 70 ms, over and over.
std::vector<std::function<void()>> doings(test::BenchWindow& b) {
  ui::MainWindow& window = *b.window;
  auto* charts = b.find<QTabBar>("chart_tabs");
  auto* sides = b.find<QTabBar>("route_tabs");
  QTableView* table = window.routes().view();
  std::vector<std::function<void()>> all;
  for (int tab = 0; tab < charts->count(); ++tab) all.emplace_back([=] { charts->setCurrentIndex(tab); });
  for (int tab = 0; tab < sides->count(); ++tab) all.emplace_back([=] { sides->setCurrentIndex(tab); });
  for (const char* filter : {"role:vae", "tokens>4000 backend:sdpa", "q>", ""}) {
    all.emplace_back([&window, filter] { window.routes().filter().set_line(filter); });
  }
  for (const int row : {3, 20, 0, 11}) {
    all.emplace_back([table, row] {
      table->selectRow(std::min(row, table->model()->rowCount() - 1));
      table->scrollTo(table->currentIndex());
    });
  }
  for (const int column : {0, 5, 2}) {
    all.emplace_back([table, column] { table->sortByColumn(column, Qt::DescendingOrder); });
  }
  for (const int value : {40, 20, 30}) {
    all.emplace_back([&b, value] {
      const auto set = b.bench->engine().set("sparse_attention_budget", std::int64_t{value});
      if (!set) qFatal("%s", set.error().c_str());
    });
  }
  for (const bool on : {true, false}) {
    all.emplace_back([&b, on] {
      const auto set = b.bench->engine().set("sdp_overrides", on ? OptionList{"Sage attention"} : OptionList{});
      if (!set) qFatal("%s", set.error().c_str());
    });
  }
  for (const QSize size : {QSize(1280, 720), QSize(1680, 1050)})
    all.emplace_back([&window, size] { window.resize(size); });
  return all;
}

void watchdog(benchmark::State& state) {
  constexpr std::int64_t kRate = 20000;
  ui::Theme theme;
  test::BenchWindow b(theme);
  const auto todo = doings(b);
  for (const auto& one : todo) {  // what is made only once is made before
    one();
    QApplication::processEvents();
  }
  for (auto _ : state) {
    std::size_t next = 0;
    QTimer person;
    QObject::connect(&person, &QTimer::timeout, b.window.get(), [&] { todo[next++ % todo.size()](); });
    QEventLoop loop;
    QObject::connect(&b.bench->jobs(), &ui::JobControl::ended, &loop, &QEventLoop::quit);
    application->all.clear();
    application->slowest.clear();
    application->watching = true;
    const auto begin = Clock::now();
    if (const auto started = b.bench->jobs().start(std::make_unique<PacedJob>(12.0, kRate)); !started) {
      qFatal("%s", started.error().c_str());
    }
    person.start(70);
    loop.exec();
    application->watching = false;
    const double seconds = ms_since(begin) * 1e-3;
    auto& all = application->all;
    std::sort(all.begin(), all.end());
    state.counters["longest_ms"] = all.back();
    state.counters["p999_ms"] = all[all.size() * 999 / 1000];
    state.counters["over_16_ms"] = static_cast<double>(all.end() - std::upper_bound(all.begin(), all.end(), 16.0));
    state.counters["events"] = static_cast<double>(all.size());
    state.counters["calls_per_s"] = static_cast<double>(b.bench->services().trace.snapshot().calls) / seconds;
  }
  std::vector<std::pair<double, QString>> worst;
  for (const auto& [what, took] : application->slowest) worst.emplace_back(took, what);
  std::sort(worst.rbegin(), worst.rend());
  worst.resize(std::min<std::size_t>(worst.size(), 12));
  for (const auto& [took, what] : worst) std::fprintf(stderr, "  %6.2f ms  %s\n", took, qPrintable(what));
}
BENCHMARK(watchdog)->Iterations(1)->Unit(benchmark::kSecond);

/// The program beside this one, without the person's own files.
struct Program {
  QTemporaryDir home;
  QProcess process;

  explicit Program(const QStringList& arguments) {
    QProcessEnvironment variables = QProcessEnvironment::systemEnvironment();
    for (const char* name : {"HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"}) {
      variables.insert(name, home.path());
    }
    process.setProcessEnvironment(variables);
    process.setProcessChannelMode(QProcess::ForwardedErrorChannel);
    process.start(QCoreApplication::applicationDirPath() + "/attnscope", arguments);
    if (!process.waitForStarted()) qFatal("attnscope does not start");
  }
};

void start(benchmark::State& state) {
  std::vector<double> all;
  for (auto _ : state) {
    const auto begin = Clock::now();
    Program program({"--run-command", "file.quit"});
    if (!program.process.waitForFinished(60000) || program.process.exitCode() != 0) qFatal("attnscope does not end");
    all.push_back(ms_since(begin));
  }
  std::sort(all.begin(), all.end());
  state.counters["median_ms"] = all[all.size() / 2];
  state.counters["fastest_ms"] = all.front();
}
BENCHMARK(start)->Iterations(9)->Unit(benchmark::kMillisecond);

/// Seconds of processor time that a process has taken.
double cpu_seconds(qint64 pid) {
  QFile file(QStringLiteral("/proc/%1/stat").arg(pid));
  if (!file.open(QIODevice::ReadOnly)) return 0.0;
  const QByteArray text = file.readAll();
  const QList<QByteArray> fields = text.mid(text.lastIndexOf(')') + 2).split(' ');
  return (fields[11].toDouble() + fields[12].toDouble()) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

/// A line of /proc/PID/smaps_rollup in MB.
double memory_mb(qint64 pid, const char* line) {
  QFile file(QStringLiteral("/proc/%1/smaps_rollup").arg(pid));
  if (!file.open(QIODevice::ReadOnly)) return 0.0;
  for (const QByteArray& one : file.readAll().split('\n')) {
    if (one.startsWith(line)) return one.mid(qstrlen(line)).trimmed().split(' ').front().toDouble() * 1024e-6;
  }
  return 0.0;
}

void idle(benchmark::State& state) {
  constexpr double kSeconds = 10.0;
  for (auto _ : state) {
    Program program({});
    program.process.waitForFinished(4000);  // until it has settled
    const qint64 pid = program.process.processId();
    const double before = cpu_seconds(pid);
    program.process.waitForFinished(static_cast<int>(1000 * kSeconds));
    state.counters["cpu_percent"] = 100.0 * (cpu_seconds(pid) - before) / kSeconds;
    state.counters["memory_mb"] = memory_mb(pid, "Rss:");
    state.counters["own_mb"] = memory_mb(pid, "Pss:");
    program.process.kill();
    program.process.waitForFinished();
  }
}
BENCHMARK(idle)->Iterations(1)->Unit(benchmark::kSecond);

}  // namespace

int main(int argc, char** argv) {
  if (!qEnvironmentVariableIsSet("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  TimedApplication made(argc, argv);
  application = &made;
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
