// SPDX-License-Identifier: GPL-3.0-or-later
// A story in the real window, told with keys and clicks alone: INT8 is switched on; why does the VAE not use it?
#include "bench_window.h"
#include "ui/explain/verdict_card.h"
#include "ui/route_table/route_panel.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QLineEdit>
#include <QPushButton>
#include <QTableView>

using namespace attn;
using namespace attn::ui;
using attn::test::BenchWindow;

class StoryFallbackTest : public QObject {
  Q_OBJECT

 private slots:
  void a_call_that_fell_back_says_why_and_what_would_move_it() {
    Theme theme;
    const BenchWindow b(theme);
    const auto key = [&](Qt::Key code, Qt::KeyboardModifiers with) { QTest::keyClick(b.window.get(), code, with); };
    const RouteModel& table = b.window->routes().model();

    // SDNQ is switched on, and FLUX.1 runs.
    b.click(b.box("sdp_overrides/SDNQ attention"));
    QTRY_COMPARE(b.chain(), QString("sdnq>sdpa"));
    key(Qt::Key_R, Qt::ControlModifier);
    QTRY_COMPARE(table.rowCount(), 3);
    QTRY_VERIFY(!b.bench->jobs().running());

    // Which calls did not go there? The filter line knows, and one row is left: the VAE's.
    key(Qt::Key_L, Qt::ControlModifier);
    QWidget* line = QApplication::focusWidget();
    QVERIFY(qobject_cast<QLineEdit*>(line) != nullptr);
    QTest::keyClicks(line, "role:vae -backend:sdnq");
    QTest::keyClick(line, Qt::Key_Return);
    const QAbstractItemModel& shown = *b.window->routes().view()->model();
    QTRY_COMPARE(shown.rowCount(), 1);

    // Selected with the keys, its record opens: what SDNQ asked for, and what the call has.
    b.window->routes().view()->setFocus();
    QTest::keyClick(b.window->routes().view(), Qt::Key_Down);
    const auto card = [&](const QString& name) -> const VerdictCard* {
      for (const auto* one : b.find<QWidget>("explain_panel")->findChildren<VerdictCard*>()) {
        if (one->isVisible() && one->accessibleName().startsWith(name + ',')) return one;
      }
      return nullptr;
    };
    QTRY_VERIFY(card("sdnq") != nullptr);
    QVERIFY2(card("sdnq")->accessibleName().startsWith("sdnq, declined, 1 heads, needs 2"),
             qPrintable(card("sdnq")->accessibleName()));
    QVERIFY2(card("sdnq")->text().contains("✗ min_heads ≥\u00a02 1"), qPrintable(card("sdnq")->text()));
    QVERIFY(card("sdpa")->accessibleName().startsWith("sdpa, serves"));

    // The record goes to whoever asked, by the palette.
    key(Qt::Key_P, Qt::ControlModifier | Qt::ShiftModifier);
    auto* palette = b.find<QWidget>("command_palette");
    QTRY_VERIFY(palette->isVisible());
    auto* command = b.find<QLineEdit>("command_line");
    QTest::keyClicks(command, "copy explanation");
    QTest::keyClick(command, Qt::Key_Return);
    QTRY_VERIFY(!palette->isVisible());
    const QString record = QGuiApplication::clipboard()->text();
    QVERIFY2(record.contains("sdnq: declined") && record.contains("no  min_heads"), qPrintable(record));

    QVERIFY2(record.contains("To move this call"), qPrintable(record));

    // Back to all routes.
    key(Qt::Key_L, Qt::ControlModifier);
    QTest::keyClick(line, Qt::Key_A, Qt::ControlModifier);
    QTest::keyClick(line, Qt::Key_Delete);
    QTest::keyClick(line, Qt::Key_Return);
    QTRY_COMPARE(shown.rowCount(), 3);
  }
};

QTEST_MAIN(StoryFallbackTest)
#include "story_fallback_test.moc"
