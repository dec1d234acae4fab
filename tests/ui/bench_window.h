// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/gui/workbench.h"
#include "ui/main_window/main_window.h"

#include <QAbstractSpinBox>
#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QSettings>
#include <QTemporaryDir>
#include <QtTest>
#include <condition_variable>
#include <memory>
#include <mutex>

namespace attn::test {

/// A job that opens a real generation, makes one call and then waits between two steps until it is let go.
class LatchJob final : public app::Job {
 public:
  struct Latch {
    std::mutex mutex;
    std::condition_variable wake;
    bool open = false;
    void release() {
      {
        const std::lock_guard lock(mutex);
        open = true;
      }
      wake.notify_all();
    }
  };
  explicit LatchJob(std::shared_ptr<Latch> latch) : latch_(std::move(latch)) {}

  [[nodiscard]] std::string title() const override { return "waits"; }
  [[nodiscard]] Expected<app::JobOutcome> run(const app::JobEnvironment& environment) override {
    Pipe pipe;
    auto scope = environment.engine.begin_job(pipe, 2, environment.observer, environment.timing);
    if (!scope) return fail(scope.error());
    const RoleScope role(scope->context(), Role::transformer);
    AttentionCall call;
    call.query = call.key = call.value = TensorView::contiguous({1, 24, 4608, 128}, DType::bfloat16);
    scope->attention(call);
    std::unique_lock lock(latch_->mutex);
    // The stop token wakes the wait too.
    const std::stop_callback woken(environment.stop, [this] { latch_->wake.notify_all(); });
    latch_->wake.wait(lock, [&] { return latch_->open || environment.stop.stop_requested(); });
    if (environment.stop.stop_requested()) return app::JobOutcome::stopped;
    scope->attention(call);
    return app::JobOutcome::finished;
  }

 private:
  std::shared_ptr<Latch> latch_;
};

/// What every test function has for itself: a theme, and a folder for what its windows keep.
struct Fresh {
  ui::Theme theme;
  QTemporaryDir place;
};

/// The real window over the real engine, backends, trace and jobs.
class BenchWindow {
 public:
  /// `model` is a folder with another model that draws than the bundled one.
  explicit BenchWindow(ui::Theme& theme, std::unique_ptr<QSettings> settings = nullptr, const QString& model = {}) {
    auto opened = app::Workbench::open("rtx-3090", model.toStdString());
    if (!opened) qFatal("%s", opened.error().c_str());
    bench = std::move(*opened);
    window = std::make_unique<ui::MainWindow>(bench->services(), theme, std::move(settings));
    window->arrange({1680, 1050});
    window->show();
    window->activateWindow();
    if (!QTest::qWaitForWindowActive(window.get())) qFatal("the window does not become active");
  }
  ~BenchWindow() { latch->release(); }

  template <class T>
  [[nodiscard]] T* find(const char* name) const {
    auto* found = window->findChild<T*>(name);
    if (found == nullptr) qFatal("no widget is called %s", name);
    return found;
  }
  /// The check box in the row of an option or of one choice of it.
  [[nodiscard]] QCheckBox* box(const char* row) const {
    auto* found = find<QWidget>(row)->findChild<QCheckBox*>();
    if (found == nullptr) qFatal("no check box in %s", row);
    return found;
  }
  void click(QWidget* widget) const {
    // A check box takes a click on its indicator, anything else in its middle.
    const bool check = qobject_cast<QCheckBox*>(widget) != nullptr;
    QTest::mouseClick(widget, Qt::LeftButton, {}, check ? QPoint(8, widget->height() / 2) : widget->rect().center());
  }
  /// Types a number into the spin box of an option and confirms it.
  void type(const char* row, const QString& number) const {
    auto* spin = find<QWidget>(row)->findChild<QAbstractSpinBox*>();
    if (spin == nullptr) qFatal("no spin box in %s", row);
    spin->setFocus();
    spin->selectAll();
    QTest::keyClicks(spin, number);
    QTest::keyClick(spin, Qt::Key_Return);
  }
  /// As a person chooses it in the list.
  void choose_target(const char* name) const {
    auto* target = find<QComboBox>("target");
    const int at = target->findData(QString(name));
    if (at < 0) qFatal("no target is called %s", name);
    target->setCurrentIndex(at);
    emit target->activated(at);
  }
  [[nodiscard]] QString chain() const { return find<QLabel>("status_chain")->text(); }
  void start_latched() const {
    const auto started = bench->jobs().start(std::make_unique<LatchJob>(latch));
    if (!started) qFatal("%s", started.error().c_str());
  }

  std::shared_ptr<LatchJob::Latch> latch = std::make_shared<LatchJob::Latch>();
  std::unique_ptr<app::Workbench> bench;
  std::unique_ptr<ui::MainWindow> window;
};

}  // namespace attn::test
