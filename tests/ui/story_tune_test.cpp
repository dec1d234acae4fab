// SPDX-License-Identifier: GPL-3.0-or-later
// A story in the real window, told with keys and clicks alone: find what is fastest within a limit, and ship it.
#include "bench_window.h"
#include "test_files.h"
#include "ui/export/export_dialog.h"
#include "ui/levers/levers_page.h"
#include "ui/levers/tune_dialog.h"
#include "ui/panel/fact_table.h"
#include "ui/workload_panel/workload_panel.h"

#include <QDoubleSpinBox>
#include <QLineEdit>
#include <QListWidget>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QTableView>
#include <QTemporaryDir>
#include <nlohmann/json.hpp>

using namespace attn;
using namespace attn::ui;
using attn::test::BenchWindow;
using attn::test::bytes_of;
using attn::test::write_file;

class StoryTuneTest : public QObject {
  Q_OBJECT

 private slots:
  void what_tuning_chose_is_exported_to_a_server() {
    Theme theme;
    const BenchWindow b(theme);
    const auto key = [&](Qt::Key code, Qt::KeyboardModifiers with) { QTest::keyClick(b.window.get(), code, with); };
    const auto type_number = [&](QDoubleSpinBox* spin, const QString& number) {
      spin->setFocus();
      spin->selectAll();
      QTest::keyClicks(spin, number);
      QTest::keyClick(spin, Qt::Key_Return);
    };

    // A small job: the model by its name, a small picture in one step.
    auto* model = b.find<QComboBox>("model");
    model->lineEdit()->setFocus();
    model->lineEdit()->selectAll();
    QTest::keyClicks(model->lineEdit(), "Stable Diffusion 1.5");
    QTest::keyClick(model->lineEdit(), Qt::Key_Return);
    QTRY_COMPARE(b.window->workload().request().model, QString("sd-1.5"));
    for (const char* side : {"input_width", "input_height"}) type_number(b.find<QDoubleSpinBox>(side), "128");
    type_number(b.find<QDoubleSpinBox>("input_steps"), "1");

    // Levers: the plain chain against INT8, then tuned with each measured twice.
    key(Qt::Key_E, Qt::ControlModifier | Qt::ShiftModifier);
    auto* page = b.find<LeversPage>("levers_page");
    QTRY_VERIFY(page->isVisible() && page->model().row_of("backend:sage") > 0);
    page->model().tick({}, false);
    for (const char* name : {"baseline", "backend:sage"}) {
      const QModelIndex cell = page->model().index(page->model().row_of(name), LeversModel::variant);
      page->table().scrollTo(cell);
      page->table().setCurrentIndex(cell);
      QTest::keyClick(&page->table(), Qt::Key_Space);
    }
    b.click(b.find<QPushButton>("levers_tune"));
    auto* tune = b.find<TuneDialog>("tune_dialog");
    QTRY_VERIFY(tune->isVisible());
    auto* repeat = tune->findChild<QSpinBox*>("tune_repeat");
    repeat->setFocus();
    repeat->selectAll();
    QTest::keyClicks(repeat, "2");
    b.click(tune->findChild<QPushButton*>("tune_run"));
    const LeversState& state = b.bench->services().levers.state();
    QTRY_VERIFY_WITH_TIMEOUT(state.tune.phase == LeverPhase::finished || state.tune.phase == LeverPhase::failed,
                             200000);
    QCOMPARE(state.tune.error, QString());
    QTRY_VERIFY(!tune->findChild<FactTable*>("tune_picks")->rows().empty());
    // The default may be the best on this host; then there is nothing to apply, and INT8 is shipped by hand.
    auto* apply = tune->findChild<QPushButton*>("tune_apply");
    QTRY_COMPARE(apply->isEnabled(), state.tune.changed);
    if (state.tune.changed) b.click(apply);
    QTest::keyClick(tune, Qt::Key_Escape);
    QTRY_VERIFY(!tune->isVisible());
    if (!state.tune.changed) b.click(b.box("sdp_overrides/Sage attention"));
    const auto chosen = [&] { return b.bench->engine().values().list("sdp_overrides"); };
    if (!state.tune.changed) QTRY_COMPARE(chosen(), OptionList{"Sage attention"});

    // Export into the server's own file, whose other values stay.
    const QTemporaryDir place;
    const QString path = place.filePath("config.json");
    write_file(path, "{\n  \"sd_model_checkpoint\": \"a model\",\n  \"sdp_overrides\": []\n}\n");
    b.click(b.find<QPushButton>("export"));
    auto* dialog = b.find<ExportDialog>("export_dialog");
    QTRY_VERIFY(dialog->isVisible());
    auto* formats = dialog->findChild<QListWidget*>("export_formats");
    QTest::mouseClick(formats->viewport(), Qt::LeftButton, {}, formats->visualItemRect(formats->item(0)).center());
    auto* file = dialog->findChild<QLineEdit*>("export_path");
    file->setFocus();
    file->selectAll();
    QTest::keyClicks(file, path);
    auto* write = dialog->findChild<QPushButton*>("export_write");
    QTRY_VERIFY(write->isEnabled());
    QTRY_VERIFY(!dialog->findChild<QPlainTextEdit*>("export_diff")->toPlainText().isEmpty());
    b.click(write);
    QTRY_VERIFY(QFile::exists(path + ".bak"));
    const auto stored = nlohmann::json::parse(bytes_of(path).toStdString());
    QCOMPARE(stored["sd_model_checkpoint"].get<std::string>(), std::string("a model"));
    QCOMPARE(stored["sdp_overrides"].get<OptionList>(), chosen());
  }
};

QTEST_MAIN(StoryTuneTest)
#include "story_tune_test.moc"
