// SPDX-License-Identifier: GPL-3.0-or-later
// Drawing pictures in the real window: real clicks and keys, a real model of the bundled one's form, real jobs.
#include "app/gui/picture_job.h"
#include "bench_window.h"
#include "printed.h"
#include "support/tiny_shapes.h"
#include "ui/preview/picture_form.h"
#include "ui/preview/picture_view.h"
#include "ui/preview/preview_panel.h"
#include "ui/preview/prompt_edit.h"
#include "ui/route_table/route_panel.h"
#include "ui/workload_panel/workload_panel.h"

#include <QComboBox>
#include <QCompleter>
#include <QDropEvent>
#include <QLineEdit>
#include <QMimeData>
#include <QPushButton>
#include <QSpinBox>
#include <QTabBar>
#include <QTableView>
#include <QTemporaryDir>
#include <QToolButton>

using namespace attn;
using namespace attn::ui;
using attn::test::BenchWindow;
using attn::test::printed;

namespace {

constexpr const char* kPrompt = "a red circle on a blue background";

/// A window with the model that draws chosen, set to something small.
class DrawingWindow : public BenchWindow {
 public:
  DrawingWindow(Theme& theme, const QString& model) : BenchWindow(theme, nullptr, model) {
    if (!window->workload().choose_model("shapes")) qFatal("there is no model that draws");
    PictureRequest request;
    request.prompt = kPrompt;
    request.seed = 5;
    request.width = request.height = 64;
    request.steps = 3;
    window->workload().form().set_request(request);
  }
  [[nodiscard]] PreviewPanel& panel() const { return window->preview(); }
  [[nodiscard]] PictureView& view() const { return window->preview().view(); }
  [[nodiscard]] QString text(const char* label) const { return find<QLabel>(label)->text().replace(QChar::Nbsp, ' '); }
  void press(const char* button) const { click(find<QPushButton>(button)); }
  /// Runs and waits for the picture; false when none came.
  [[nodiscard]] bool draw() const {
    press("run");
    return QTest::qWaitFor([this] { return !bench->jobs().running() && panel().picture().is_there(); }, 60000);
  }
};

}  // namespace

class PreviewTest : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() { test::TinyShapes::write(model_.path()); }
  void init() { theme_ = std::make_unique<Theme>(); }
  void cleanup() { theme_.reset(); }

  void the_model_is_chosen_by_its_name_and_its_form_and_preview_appear() {
    const BenchWindow b(*theme_, nullptr, model_.path());
    QVERIFY(!b.find<QWidget>("picture_form")->isVisible());
    auto* model = b.find<QComboBox>("model");
    model->lineEdit()->setFocus();
    model->lineEdit()->selectAll();
    QTest::keyClicks(model->lineEdit(), "Shapes (bundled model)");
    QTest::keyClick(model->lineEdit(), Qt::Key_Return);
    QTRY_VERIFY(b.find<QWidget>("picture_form")->isVisible());
    QVERIFY(b.find<QWidget>("preview_panel")->isVisible());
    QVERIFY(!b.find<QWidget>("work")->isVisible());
    QVERIFY(b.window->workload().choose_model("sd-1.5"));
    QVERIFY(!b.find<QWidget>("picture_form")->isVisible());
    QVERIFY(b.find<QWidget>("work")->isVisible());
  }

  void a_prompt_is_completed_while_it_is_typed() {
    const DrawingWindow b(*theme_, model_.path());
    auto* prompt = b.find<PromptEdit>("prompt");
    prompt->setFocus();
    prompt->selectAll();
    QTest::keyClicks(prompt, "a re");
    auto* words = prompt->completer()->popup();
    QTRY_VERIFY(words->isVisible());
    QVERIFY2(!b.find<QLabel>("prompt_problem")->isVisible(), "a word that is being typed is not wrong yet");
    QCOMPARE(words->model()->rowCount(), 1);
    QTest::keyClick(words, Qt::Key_Return);
    QTRY_COMPARE(prompt->toPlainText(), QString("a red "));
    QVERIFY(!words->isVisible());
    QTest::keyClicks(prompt, "s");
    QTRY_VERIFY(words->isVisible());
    QCOMPARE(words->model()->rowCount(), 3);  // small, square, star
    QTest::keyClick(words, Qt::Key_Down);
    QTest::keyClick(words, Qt::Key_Return);
    QTRY_COMPARE(prompt->prompt(), QString("a red square"));
    QTest::keyClick(prompt, Qt::Key_Return);
    QCOMPARE(prompt->prompt(), QString("a red square"));
    QVERIFY(!b.find<QLabel>("prompt_problem")->isVisible());
  }

  void an_unknown_word_is_marked_and_named_and_nothing_runs() {
    const DrawingWindow b(*theme_, model_.path());
    auto* prompt = b.find<PromptEdit>("prompt");
    prompt->setFocus();
    prompt->selectAll();
    QTest::keyClicks(prompt, "a redd, Star");
    QTest::keyClick(prompt, Qt::Key_Escape);
    QCOMPARE(prompt->unknown(), (QList<std::pair<int, int>>{{2, 6}}));
    QCOMPARE(prompt->extraSelections().size(), 1);
    auto* problem = b.find<QLabel>("prompt_problem");
    QVERIFY(problem->isVisible());
    QVERIFY2(problem->text().startsWith("The model does not know the word \"redd\"; nearest: red"),
             qPrintable(problem->text()));
    b.press("run");
    QVERIFY(!b.bench->jobs().running());
    QVERIFY(b.text("run_state").contains("redd"));
    PictureRequest request;
    request.prompt = kPrompt;
    request.negative_prompt = "bluee";
    b.window->workload().form().set_request(request);
    QVERIFY2(problem->text().startsWith("Negative prompt: The model does not know the word \"bluee\""),
             qPrintable(problem->text()));
  }

  void a_run_draws_and_its_calls_have_roles_and_steps() {
    const DrawingWindow b(*theme_, model_.path());
    QSignalSpy frames(&b.bench->services().pictures, &PreviewService::frame_changed);
    QVERIFY(b.draw());
    QVERIFY(!frames.isEmpty());
    QCOMPARE(b.panel().picture().image.size(), QSize(64, 64));
    QCOMPARE(b.view().picture().size(), QSize(64, 64));
    QTRY_COMPARE(
        printed(b.window->routes().model(),
                {RouteModel::role, RouteModel::steps, RouteModel::query, RouteModel::calls}),
        (QStringList{"te | 0 | 2×2×12×16 | 1", "transformer | 0–2 | 2×2×268×64 | 6", "vae | 3 | 1×1×256×32 | 1"}));
    QVERIFY2(b.text("preview_state").startsWith("64 × 64 · 3 steps · "), qPrintable(b.text("preview_state")));
    QVERIFY(b.text("preview_state").endsWith(" in all · seed 5"));
    QTRY_VERIFY(b.text("run_state").startsWith("Finished: 8 calls in "));
    QVERIFY(b.find<QPushButton>("preview_keep")->isEnabled());
  }

  void the_same_seed_gives_the_same_picture_and_a_random_one_another() {
    const DrawingWindow b(*theme_, model_.path());
    QVERIFY(b.draw());
    const QImage first = b.panel().picture().image;
    QVERIFY(b.draw());
    QCOMPARE(b.panel().picture().image, first);
    b.click(b.find<QCheckBox>("picture_random"));
    QVERIFY(b.draw());
    QVERIFY(b.panel().picture().image != first);
    QCOMPARE(QString::number(b.panel().picture().request.seed), b.find<QLineEdit>("picture_seed")->text());
  }

  void a_baseline_is_compared_with_the_next_picture() {
    const DrawingWindow b(*theme_, model_.path());
    b.click(b.find<QCheckBox>("picture_random"));
    QVERIFY(b.draw());
    QVERIFY(!b.find<QTabBar>("preview_modes")->isVisible());
    b.press("preview_keep");
    QVERIFY(!b.find<QCheckBox>("picture_random")->isChecked());
    QTRY_COMPARE(b.text("preview_numbers"), QString("Equal to the baseline, bit for bit"));
    QCOMPARE(b.text("preview_changes"), QString("The same settings as the baseline."));

    const QImage kept = b.panel().picture().image;
    auto* steps = b.find<QSpinBox>("picture_steps");
    steps->setFocus();
    steps->selectAll();
    QTest::keyClicks(steps, "2");
    b.click(b.box("sdp_overrides/SDNQ attention"));
    QTRY_COMPARE(b.chain(), QString("sdnq>sdpa"));
    QVERIFY(b.draw());
    QTRY_VERIFY2(b.text("preview_numbers").startsWith("PSNR "), qPrintable(b.text("preview_numbers")));
    QVERIFY(b.text("preview_numbers").contains("SSIM "));
    QCOMPARE(b.text("preview_changes"), QString("steps: 3 → 2\nsdp_overrides: none → SDNQ attention"));
    QCOMPARE(b.panel().baseline().image, kept);
    QCOMPARE(b.view().baseline(), kept);
    QCOMPARE(b.view().mode(), PictureView::Mode::slider);
  }

  void the_divider_is_dragged_and_moved_by_keys() {
    const DrawingWindow b(*theme_, model_.path());
    QVERIFY(b.draw());
    b.press("preview_keep");
    QTRY_VERIFY(!b.text("preview_numbers").isEmpty());
    auto* modes = b.find<QTabBar>("preview_modes");
    QTest::mouseClick(modes, Qt::LeftButton, {}, modes->tabRect(1).center());
    PictureView& view = b.view();
    QCOMPARE(view.mode(), PictureView::Mode::slider);
    const QRect place = view.frame();
    const auto at = [&](double share) {
      return QPoint(place.left() + qRound(share * place.width()), place.center().y());
    };
    QTest::mousePress(&view, Qt::LeftButton, {}, at(0.5));
    QTest::mouseMove(&view, at(0.25));
    QTest::mouseRelease(&view, Qt::LeftButton, {}, at(0.25));
    QVERIFY2(std::abs(view.divider() - 0.25) < 0.01, qPrintable(QString::number(view.divider())));
    QTest::keyClick(&view, Qt::Key_Home);
    QCOMPARE(view.divider(), 0.0);
    for (int i = 0; i < 3; ++i) QTest::keyClick(&view, Qt::Key_Right);
    QTest::keyClick(&view, Qt::Key_PageDown);
    QTest::keyClick(&view, Qt::Key_Left);
    QVERIFY(std::abs(view.divider() - 0.12) < 1e-9);
    QTest::keyClick(&view, Qt::Key_End);
    QTest::keyClick(&view, Qt::Key_Right);
    QCOMPARE(view.divider(), 1.0);
    QTest::mouseClick(modes, Qt::LeftButton, {}, modes->tabRect(2).center());
    QCOMPARE(view.mode(), PictureView::Mode::difference);
  }

  void the_slider_shows_the_baseline_left_and_the_picture_right() {
    PictureView view(*theme_);
    view.resize(200, 200);
    QImage red(100, 100, QImage::Format_RGB888);
    red.fill(Qt::red);
    QImage blue(100, 100, QImage::Format_RGB888);
    blue.fill(Qt::blue);
    view.set_baseline(red);
    view.set_picture(blue);
    view.set_mode(PictureView::Mode::slider);
    view.set_divider(0.4);
    const QImage seen = view.grab().toImage();
    const auto colour = [&](double share) {
      return seen.pixelColor(view.frame().left() + qRound(share * view.frame().width()),
                             view.frame().center().y() + 40);
    };
    QCOMPARE(colour(0.35), QColor(Qt::red));
    QCOMPARE(colour(0.45), QColor(Qt::blue));
    view.set_mode(PictureView::Mode::picture);
    QCOMPARE(view.grab().toImage().pixelColor(40, 150), QColor(Qt::blue));
  }

  void pictures_of_two_sizes_are_told_apart_in_words() {
    const DrawingWindow b(*theme_, model_.path());
    QVERIFY(b.draw());
    b.press("preview_keep");
    b.find<QSpinBox>("picture_width")->setValue(72);
    QVERIFY(b.draw());
    QTRY_COMPARE(b.text("preview_numbers"),
                 QString("the pictures have different sizes, 64x64 and 72x64; PSNR and SSIM need one size"));
    QCOMPARE(b.text("preview_changes"), QString("width: 64 → 72"));
  }

  void a_saved_picture_brings_its_settings_back() {
    const QTemporaryDir place;
    const QString path = place.filePath("kept.png");
    PictureRequest drawn;
    QImage image;
    {
      const DrawingWindow b(*theme_, model_.path());
      b.click(b.box("sdp_overrides/Sage attention"));
      b.click(b.find<QCheckBox>("picture_second"));
      PictureRequest request = b.window->workload().form().request();
      request.second = SecondPass{96, 80, 2, 0.35, true};
      request.negative_prompt = "a white star";
      request.trimmed_text = true;
      request.dtype = DType::bfloat16;
      request.seed = 18'446'744'073'709'551'615ULL;
      b.window->workload().form().set_request(request);
      QCOMPARE(b.window->workload().form().request(), request);
      QVERIFY(b.draw());
      drawn = b.panel().picture().request;
      image = b.panel().picture().image;
      QCOMPARE(image.size(), QSize(96, 80));
      b.panel().save_as(path);
      QTRY_COMPARE(b.text("preview_state"), QString("Saved with its settings: %1").arg(path));
    }
    const BenchWindow b(*theme_, nullptr, model_.path());
    QCOMPARE(b.chain(), QString("sdpa"));
    b.window->show_preview();
    QMimeData data;
    data.setUrls({QUrl::fromLocalFile(path)});
    PreviewPanel& panel = b.window->preview();
    QDragEnterEvent enter({10, 10}, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(&panel, &enter);
    QVERIFY(enter.isAccepted());
    QDropEvent drop({10, 10}, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(&panel, &drop);
    QTRY_COMPARE(b.window->workload().request().model, QString("shapes"));
    QCOMPARE(b.window->workload().form().request(), drawn);
    QCOMPARE(panel.picture().image, image);
    QTRY_COMPARE(b.chain(), QString("sage>sdpa"));
    // The same picture comes out of the restored settings.
    b.click(b.find<QPushButton>("run"));
    QTRY_VERIFY(b.bench->jobs().running() || panel.picture().seconds > 0.0);
    QTRY_VERIFY_WITH_TIMEOUT(!b.bench->jobs().running() && panel.picture().seconds > 0.0, 60000);
    QCOMPARE(panel.picture().image, image);
  }

  void a_file_without_settings_is_refused_with_a_sentence() {
    const DrawingWindow b(*theme_, model_.path());
    const QTemporaryDir place;
    const QString path = place.filePath("other.png");
    QImage plain(20, 20, QImage::Format_RGB888);
    plain.fill(Qt::gray);
    QVERIFY(plain.save(path));
    b.panel().open_file(path);
    QTRY_VERIFY(b.text("preview_advice").contains("holds no settings of Attnscope"));
    QCOMPARE(b.window->workload().form().request().prompt, QString(kPrompt));
    QVERIFY(b.draw());
    b.panel().save_as(place.filePath("nowhere/out.png"));
    QTRY_VERIFY(b.text("preview_state").contains("nowhere"));
  }

  void stop_ends_the_job_within_one_step() {
    const DrawingWindow b(*theme_, model_.path());
    b.find<QSpinBox>("picture_steps")->setValue(1000);
    b.press("run");
    const PreviewService& service = b.bench->services().pictures;
    QTRY_VERIFY_WITH_TIMEOUT(service.frame().step >= 2, 60000);
    QVERIFY(b.view().picture().width() == 16 || b.view().picture().isNull());
    b.press("stop");
    const int then = service.frame().step;
    QTRY_VERIFY(!b.bench->jobs().running());
    QVERIFY(service.frame().step <= then + 1);
    QTRY_COMPARE(b.text("preview_state"), QString("Stopped at step %1 of 1000").arg(service.frame().step));
    QVERIFY(!b.find<QPushButton>("preview_keep")->isEnabled());
    QVERIFY(b.text("run_state").startsWith("Stopped after "));
  }

  void handing_a_frame_over_costs_a_job_next_to_nothing() {
    QObject receiver;
    const Postbox postbox(&receiver);
    auto slot = std::make_shared<app::PreviewSlot>(postbox.address(), [] {});
    app::PictureSettings settings;
    for (int i = 0; i < 60; ++i) settings.settings.emplace_back("setting_" + std::to_string(i), std::int64_t{i});
    app::SlotObserver observer(slot, settings);
    app::GenerationStep step;
    step.preview = {128, 128, std::vector<std::uint8_t>(128 * 128 * 3, 7)};  // of the largest picture
    constexpr int kTimes = 500;
    QElapsedTimer timer;
    timer.start();
    for (int i = 0; i < kTimes; ++i) observer.step_done(step);
    // The bundled model's shortest step, two prompts at 64 pixels, takes over 20 ms; 2 % of that.
    QVERIFY2(static_cast<double>(timer.nsecsElapsed()) / kTimes < 0.02 * 20e6,
             qPrintable(QString::number(timer.nsecsElapsed() / kTimes)));
    QCOMPARE(slot->newest().made.image.size(), QSize(128, 128));
  }

  void without_weights_the_window_says_so_and_everything_else_works() {
    const QTemporaryDir empty;
    const BenchWindow b(*theme_, nullptr, empty.path());
    QVERIFY(b.window->workload().choose_model("shapes"));
    auto* problem = b.find<QLabel>("prompt_problem");
    QVERIFY(problem->isVisible());
    QVERIFY2(problem->text().startsWith("The bundled model cannot draw: "), qPrintable(problem->text()));
    QCOMPARE(b.find<QLabel>("preview_advice")->text(), problem->text());
    b.click(b.find<QPushButton>("run"));
    QVERIFY(!b.bench->jobs().running());
    QVERIFY(b.find<QLabel>("run_state")->text().contains("cannot draw"));
    QVERIFY(b.window->workload().choose_model("flux.1-dev"));
    b.click(b.find<QPushButton>("run"));
    QTRY_COMPARE(b.window->routes().model().rowCount(), 3);
  }

  void broken_weights_fail_the_job_with_a_sentence() {
    const QTemporaryDir broken;
    test::TinyShapes::write(broken.path());
    QFile weights(broken.filePath("shapes.safetensors"));
    QVERIFY(weights.resize(weights.size() / 2));
    const DrawingWindow b(*theme_, broken.path());
    b.press("run");
    QTRY_VERIFY(b.text("run_state").startsWith("Failed: "));
    QVERIFY(b.text("preview_state").contains("shapes.safetensors"));
    QVERIFY(b.find<QPushButton>("run")->isEnabled());
  }

  void every_control_of_the_form_and_the_preview_has_a_name() {
    const DrawingWindow b(*theme_, model_.path());
    b.click(b.find<QCheckBox>("picture_second"));
    b.click(b.find<QToolButton>("picture_more"));
    QVERIFY(b.draw());
    b.press("preview_keep");
    QTRY_VERIFY(b.find<QTabBar>("preview_modes")->isVisible());
    for (const char* part : {"picture_form", "preview_panel"}) {
      for (const QWidget* widget : b.find<QWidget>(part)->findChildren<QWidget*>()) {
        const auto* button = qobject_cast<const QAbstractButton*>(widget);
        const bool control = button != nullptr || qobject_cast<const QAbstractSpinBox*>(widget) != nullptr ||
                             qobject_cast<const QComboBox*>(widget) != nullptr;
        const bool inner = qobject_cast<const QTabBar*>(widget->parentWidget()) != nullptr;
        if (!control || inner || !widget->isVisible()) continue;
        QVERIFY2(!widget->accessibleName().isEmpty() || (button != nullptr && !button->text().isEmpty()),
                 qPrintable(widget->objectName()));
      }
    }
  }

 private:
  QTemporaryDir model_;
  std::unique_ptr<Theme> theme_;
};

QTEST_MAIN(PreviewTest)
#include "preview_test.moc"
