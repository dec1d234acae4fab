// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/theme/theme.h"

#include "backends/all.h"
#include "ui/format/format.h"

#include <QLabel>
#include <QSet>
#include <QtTest>
#include <set>

using namespace attn;
using namespace attn::ui;

class ThemeTest : public QObject {
  Q_OBJECT

 private slots:
  void contrast_is_wcags() {
    QCOMPARE(contrast(Qt::black, Qt::white), 21.0);
    QCOMPARE(contrast(Qt::white, Qt::white), 1.0);
    QVERIFY(std::abs(contrast(QColor(0x77, 0x77, 0x77), Qt::white) - 4.48) < 0.01);
  }

  void text_is_readable_on_every_ground_data() { themes(); }
  void text_is_readable_on_every_ground() {
    QFETCH(bool, dark);
    const Colors colors = dark ? Colors::dark() : Colors::light();
    int checked = 0;
    for (const Ink ground : {Ink::window, Ink::panel, Ink::raised, Ink::selection}) {
      for (const Ink text : {Ink::text, Ink::dim}) {
        checked += expect_contrast(colors, text, ground, 4.5);
      }
    }
    for (const Ink ground : {Ink::window, Ink::panel, Ink::raised}) {
      for (const Ink text : {Ink::accent, Ink::pending, Ink::applied, Ink::ok, Ink::bad}) {
        checked += expect_contrast(colors, text, ground, 4.5);
      }
    }
    checked += expect_contrast(colors, Ink::on_accent, Ink::accent_fill, 4.5);
    QCOMPARE(checked, 24);
  }

  void states_and_backends_stand_out_on_every_ground_data() { themes(); }
  void states_and_backends_stand_out_on_every_ground() {
    QFETCH(bool, dark);
    const Colors colors = dark ? Colors::dark() : Colors::light();
    for (const Ink ground : {Ink::window, Ink::panel, Ink::raised}) {
      expect_contrast(colors, Ink::faint, ground, 2.5);
      for (const std::string_view name : Colors::backends()) {
        const double got = contrast(colors.backend(text_of(name)), colors[ground]);
        QVERIFY2(got >= 3.0,
                 qPrintable(QString("%1 on %2 has %3").arg(text_of(name), text_of(name_of(ground))).arg(got)));
      }
    }
  }

  /// Colours that carry a state are read as text on every ground where they stand, and seen as marks on all of them.
  void every_colour_of_the_table_has_a_use_that_its_contrast_suffices_for_data() { themes(); }
  void every_colour_of_the_table_has_a_use_that_its_contrast_suffices_for() {
    QFETCH(bool, dark);
    constexpr double kText = 4.5;  // WCAG 2.1, 1.4.3
    constexpr double kMark = 3.0;  // 1.4.11
    const Colors colors = dark ? Colors::dark() : Colors::light();
    const std::set<Ink> grounds{Ink::window, Ink::panel, Ink::raised, Ink::hover, Ink::selection};
    const std::set<Ink> texts{Ink::text, Ink::dim};
    const std::set<Ink> states{Ink::accent, Ink::pending, Ink::applied, Ink::ok, Ink::bad};
    const std::set<Ink> tiles{Ink::tile_chosen, Ink::tile_pinned, Ink::tile_dropped};
    // Never the only carrier of a fact, and what it is drawn on is said beside it.
    const std::set<Ink> ornaments{Ink::line, Ink::faint, Ink::tile_diagonal};
    const std::set<Ink> filled{Ink::accent_fill, Ink::on_accent};
    QCOMPARE(grounds.size() + texts.size() + states.size() + tiles.size() + ornaments.size() + filled.size(), kInks);
    for (const Ink ground : grounds) {
      for (const Ink text : texts) expect_contrast(colors, text, ground, kText);
      for (const Ink state : states) expect_contrast(colors, state, ground, kMark);
    }
    for (const Ink ground : {Ink::window, Ink::panel, Ink::raised}) {
      for (const Ink state : states) expect_contrast(colors, state, ground, kText);
    }
    for (const Ink tile : tiles) expect_contrast(colors, tile, Ink::window, kMark);
    expect_contrast(colors, Ink::on_accent, Ink::accent_fill, kText);
    // A filled control and a selected row are told from what is around them.
    expect_contrast(colors, Ink::accent_fill, Ink::panel, kMark);
  }

  void every_backend_has_one_colour_of_its_own_data() { themes(); }
  void every_backend_has_one_colour_of_its_own() {
    QFETCH(bool, dark);
    const Colors colors = dark ? Colors::dark() : Colors::light();
    const Registry registry = make_registry();
    QSet<QRgb> seen;
    for (const BackendSpec& spec : registry.ascending()) seen.insert(colors.backend(text_of(spec.name)).rgb());
    seen.insert(colors.backend(text_of(registry.original().name)).rgb());
    QCOMPARE(static_cast<std::size_t>(seen.size()), registry.ascending().size() + 1);
    QVERIFY(!seen.contains(colors[Ink::dim].rgb()));
    QCOMPARE(colors.backend(u"sdnq+sparse"), colors.backend(u"sdnq"));
    QCOMPARE(colors.backend(u"nobody"), colors[Ink::dim]);
  }

  void the_style_sheet_has_no_name_left_data() { themes(); }
  void the_style_sheet_has_no_name_left() {
    QFETCH(bool, dark);
    const Theme theme;
    const QString sheet = style_sheet(dark ? Colors::dark() : Colors::light(), theme.small_font(), theme.fixed_font());
    QVERIFY(sheet.size() > 1000);
    QVERIFY2(!sheet.contains('@'), qPrintable(sheet.mid(sheet.indexOf('@'), 40)));
  }

  void a_choice_reaches_the_application_and_says_so() {
    Theme theme;
    theme.choose(ThemeChoice::light);
    QSignalSpy changed(&theme, &Theme::changed);
    theme.choose(ThemeChoice::dark);
    QCOMPARE(changed.size(), 1);
    QCOMPARE(QApplication::palette().color(QPalette::Window), Colors::dark()[Ink::panel]);
    theme.choose(ThemeChoice::dark);
    QCOMPARE(changed.size(), 1);
    QVERIFY(!theme.icon("run").isNull());
    QVERIFY(theme.icon("no such icon").isNull());
  }

 private:
  static void themes() {
    QTest::addColumn<bool>("dark");
    QTest::newRow("dark") << true;
    QTest::newRow("light") << false;
  }
  static int expect_contrast(const Colors& colors, Ink text, Ink ground, double least) {
    const double got = contrast(colors[text], colors[ground]);
    if (got < least) {
      const QString said = QString("%1 on %2 has %3, needs %4")
                               .arg(text_of(name_of(text)), text_of(name_of(ground)))
                               .arg(got)
                               .arg(least);
      QTest::qFail(qPrintable(said), __FILE__, __LINE__);
    }
    return 1;
  }
};

QTEST_MAIN(ThemeTest)
#include "theme_test.moc"
