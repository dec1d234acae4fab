// SPDX-License-Identifier: GPL-3.0-or-later
// The window at three times the usual scale: what carries words is as large as its words, and the picture is sharp.
#include "bench_window.h"
#include "ui/commands/key_sheet.h"
#include "ui/panel/elided_label.h"
#include "ui/route_table/route_panel.h"
#include "ui/workload_panel/workload_panel.h"

#include <QAbstractButton>
#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QTabBar>
#include <QToolButton>

using namespace attn;
using namespace attn::ui;
using attn::test::BenchWindow;

namespace {

constexpr int kScale = 3;

/// Words that a widget shows whole or not at all; empty for one that elides, scrolls or has none.
QString words_of(const QWidget& widget) {
  if (dynamic_cast<const ElidedLabel*>(&widget) != nullptr) return {};
  if (const auto* label = qobject_cast<const QLabel*>(&widget)) return label->text();
  if (qobject_cast<const QPushButton*>(&widget) != nullptr || qobject_cast<const QCheckBox*>(&widget) != nullptr ||
      qobject_cast<const QToolButton*>(&widget) != nullptr) {
    return static_cast<const QAbstractButton&>(widget).text();
  }
  return {};
}

/// The room that the words need; a wrapped label may be as narrow as its layout wants and then needs the height.
QSize needed(const QWidget& widget) {
  const auto* label = qobject_cast<const QLabel*>(&widget);
  if (label != nullptr && label->wordWrap()) return {0, widget.heightForWidth(widget.width())};
  if (label != nullptr) return widget.sizeHint();
  return {widget.minimumSizeHint().width(), 0};
}

QString described(const QWidget& widget) {
  const QSize need = needed(widget);
  return QStringLiteral("%1 %2 \"%3\" has %4 x %5, needs %6 x %7")
      .arg(widget.metaObject()->className(), widget.objectName(), words_of(widget))
      .arg(widget.width())
      .arg(widget.height())
      .arg(need.width())
      .arg(need.height());
}

/// Visible words that are cut off, in a window.
QStringList cut_in(const QWidget& top, int& looked_at) {
  QStringList cut;
  for (const QWidget* widget : top.findChildren<QWidget*>()) {
    if (!widget->isVisible() || words_of(*widget).isEmpty()) continue;
    ++looked_at;
    const QSize need = needed(*widget);
    if (widget->width() < need.width() || widget->height() < need.height()) cut << described(*widget);
  }
  return cut;
}

/// The same once everything is laid out; a text that changed a moment ago waits for its turn.
QStringList cut_for_good(const QWidget& top, int& looked_at) {
  QStringList cut;
  (void)QTest::qWaitFor(
      [&] {
        looked_at = 0;
        cut = cut_in(top, looked_at);
        return cut.isEmpty();
      },
      1500);
  return cut;
}

}  // namespace

class ScaleTest : public QObject {
  Q_OBJECT

 private slots:
  void init() { theme_ = std::make_unique<Theme>(); }
  void cleanup() { theme_.reset(); }

  void nothing_is_cut_at_three_times_the_scale_data() {
    QTest::addColumn<QSize>("size");
    // What is left of 3840 x 2160 and of 5120 x 2880 at this scale, and the smallest window that is meant to work.
    QTest::newRow("3840x2160") << QSize(1280, 720);
    QTest::newRow("5120x2880") << QSize(1706, 960);
  }
  void nothing_is_cut_at_three_times_the_scale() {
    QFETCH(QSize, size);
    BenchWindow b(*theme_);
    b.window->arrange(size);
    int looked_at = 0;
    int most = 0;
    b.window->show_examples();
    QStringList cut = cut_for_good(*b.window, looked_at);
    QVERIFY(b.bench->engine().set("sdp_overrides", OptionList{"SDNQ attention", "Sage attention"}));
    b.click(b.find<QPushButton>("run"));
    QTRY_VERIFY(!b.bench->jobs().running() && b.window->routes().model().rowCount() > 0);
    b.window->routes().view()->selectRow(0);
    QTRY_VERIFY(b.window->selection().route().has_value());
    for (const char* tab : {"view.timeline", "view.steps", "view.sweep", "view.levers", "view.block_mask",
                            "view.preview", "view.explain", "view.explain", "view.platform"}) {
      QVERIFY2(b.window->commands().run(tab), tab);
      cut += cut_for_good(*b.window, looked_at);
      most = std::max(most, looked_at);
    }
    b.window->show_keys();
    cut += cut_for_good(*b.find<KeySheet>("key_sheet"), looked_at);
    cut.removeDuplicates();
    for (const QString& one : cut) qWarning("%s", qPrintable(one));
    QVERIFY2(cut.isEmpty(), qPrintable(QString::number(cut.size()) + " are cut"));
    QVERIFY2(most > 60, qPrintable(QString::number(most)));
  }

  void a_picture_of_the_window_has_three_dots_for_one() {
    const BenchWindow b(*theme_);
    b.window->arrange({1280, 720});
    const QPixmap picture = b.window->grab();
    QCOMPARE(picture.devicePixelRatio(), 3.0);
    QCOMPARE(picture.width(), b.window->width() * kScale);
    // Words are drawn at the finer grid, not blown up: neighbours within a block of three differ somewhere.
    const QImage image = picture.toImage();
    int fine = 0;
    for (int y = 0; y + 2 < image.height(); y += kScale) {
      for (int x = 0; x + 2 < image.width(); x += kScale) fine += image.pixel(x, y) != image.pixel(x + 1, y) ? 1 : 0;
    }
    QVERIFY2(fine > 1000, qPrintable(QString::number(fine)));
  }

 private:
  std::unique_ptr<Theme> theme_;
};

// The scale is fixed for the life of a process and has to be known before there is an application.
int main(int argc, char** argv) {
  qputenv("QT_SCALE_FACTOR", QByteArray::number(kScale));
  const QApplication application(argc, argv);
  ScaleTest test;
  return QTest::qExec(&test, argc, argv);
}
#include "scale_test.moc"
