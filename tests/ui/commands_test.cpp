// SPDX-License-Identifier: GPL-3.0-or-later
// The one list of commands: palette, sheet of keys, menus, command line, and the way round the window by keys alone.
#include "app/gui/window_commands.h"
#include "bench_window.h"
#include "ui/commands/command_palette.h"
#include "ui/commands/fuzzy.h"
#include "ui/commands/key_sheet.h"
#include "ui/commands/panel_ring.h"
#include "ui/route_table/route_panel.h"
#include "ui/timeline/timeline_panel.h"
#include "ui/workload_panel/workload_panel.h"

#include <QAbstractButton>
#include <QAbstractItemModelTester>
#include <QAbstractItemView>
#include <QAbstractSlider>
#include <QAccessible>
#include <QComboBox>
#include <QDockWidget>
#include <QLineEdit>
#include <QListView>
#include <QMenu>
#include <QMenuBar>
#include <QPlainTextEdit>
#include <QProcess>
#include <QPushButton>
#include <QRegularExpression>
#include <QScrollArea>
#include <QScrollBar>
#include <QSet>
#include <QStackedWidget>
#include <QTabBar>
#include <QTemporaryDir>
#include <QToolButton>

using namespace attn;
using namespace attn::ui;
using attn::test::BenchWindow;

namespace {

QStringList shown(const CommandModel& model, int most) {
  QStringList rows;
  for (int row = 0; row < std::min(most, model.rowCount()); ++row) rows << model.index(row).data().toString();
  return rows;
}

QString letters(const QString& text, const std::vector<int>& places) {
  QString out;
  for (const int place : places) out += text[place];
  return out;
}

/// Every action below a menu, however deep.
void collect(const QList<QAction*>& actions, QList<QAction*>& into) {
  for (QAction* action : actions) {
    if (action->isSeparator()) continue;
    if (action->menu() != nullptr) {
      collect(action->menu()->actions(), into);
    } else {
      into << action;
    }
  }
}

/// What a person can act on, and a screen reader therefore has to name.
bool is_interactive(const QWidget& widget) {
  // A mark that says nothing now.
  if (!widget.isEnabled() && widget.focusPolicy() == Qt::NoFocus) return false;
  return qobject_cast<const QAbstractButton*>(&widget) != nullptr ||
         qobject_cast<const QAbstractSpinBox*>(&widget) != nullptr ||
         qobject_cast<const QComboBox*>(&widget) != nullptr || qobject_cast<const QLineEdit*>(&widget) != nullptr ||
         qobject_cast<const QPlainTextEdit*>(&widget) != nullptr ||
         qobject_cast<const QAbstractItemView*>(&widget) != nullptr ||
         (qobject_cast<const QAbstractSlider*>(&widget) != nullptr &&
          qobject_cast<const QScrollBar*>(&widget) == nullptr) ||
         (widget.focusPolicy() & Qt::TabFocus) != 0;
}

/// Parts of Qt's own widgets that speak through the widget around them.
bool is_inner(const QWidget& widget) {
  const QString name = widget.objectName();
  if (name.startsWith("qt_")) return true;
  const QWidget* parent = widget.parentWidget();
  const bool in_field =
      qobject_cast<const QLineEdit*>(&widget) != nullptr &&
      (qobject_cast<const QAbstractSpinBox*>(parent) != nullptr || qobject_cast<const QComboBox*>(parent) != nullptr);
  const bool in_line =
      qobject_cast<const QToolButton*>(&widget) != nullptr && qobject_cast<const QLineEdit*>(parent) != nullptr;
  const bool scrolls = qobject_cast<const QTabBar*>(parent) != nullptr;
  const bool corner = qobject_cast<const QAbstractItemView*>(parent) != nullptr;
  const bool popup = widget.window() != nullptr && widget.window()->windowType() == Qt::Popup;
  return in_field || in_line || scrolls || corner || popup;
}

QString described(const QWidget& widget) {
  QStringList path;
  for (const QWidget* at = &widget; at != nullptr && path.size() < 4; at = at->parentWidget()) {
    const QString name = at->objectName();
    path.prepend(QString(at->metaObject()->className()) + (name.isEmpty() ? QString() : '#' + name));
  }
  return path.join(" > ");
}

QString accessible_name(QWidget& widget) {
  // Qt names a tab bar after its tab in front, of which there may be none yet.
  if (!widget.accessibleName().isEmpty()) return widget.accessibleName();
  QAccessibleInterface* seen = QAccessible::queryAccessibleInterface(&widget);
  return seen == nullptr ? QString() : seen->text(QAccessible::Name);
}

}  // namespace

class CommandsTest : public QObject {
  Q_OBJECT

 private slots:
  void init() { theme_ = std::make_unique<Theme>(); }
  void cleanup() { theme_.reset(); }

  void letters_find_a_text_in_their_order_data() {
    QTest::addColumn<QString>("pattern");
    QTest::addColumn<QString>("text");
    QTest::addColumn<bool>("fits");
    QTest::newRow("nothing typed") << ""
                                   << "Chain: Rebuild" << true;
    QTest::newRow("a beginning") << "reb"
                                 << "Chain: Rebuild" << true;
    QTest::newRow("beginnings of words") << "cr"
                                         << "Chain: Rebuild" << true;
    QTest::newRow("without case") << "REBUILD"
                                  << "Chain: Rebuild" << true;
    QTest::newRow("spaces do not count") << "ch re"
                                         << "Chain: Rebuild" << true;
    QTest::newRow("scattered") << "hnbd"
                               << "Chain: Rebuild" << true;
    QTest::newRow("wrong order") << "dliub"
                                 << "Chain: Rebuild" << false;
    QTest::newRow("a letter too many") << "rebuildx"
                                       << "Chain: Rebuild" << false;
    QTest::newRow("longer than the text") << "abcdefghijklmnop"
                                          << "abc" << false;
    QTest::newRow("empty text") << "a"
                                << "" << false;
  }
  void letters_find_a_text_in_their_order() {
    QFETCH(QString, pattern);
    QFETCH(QString, text);
    QFETCH(bool, fits);
    const auto match = fuzzy_match(pattern, text);
    QCOMPARE(match.has_value(), fits);
    if (!match) return;
    QCOMPARE(letters(text, match->places).toLower(), QString(pattern).remove(' ').toLower());
    QVERIFY(std::is_sorted(match->places.begin(), match->places.end()));
  }

  void letters_that_belong_together_win() {
    const auto score = [](const char* pattern, const char* text) {
      return fuzzy_match(QString(pattern), QString(text))->score;
    };
    QVERIFY(score("rl", "View: Reset layout") > score("rl", "Theme: Dark colour"));
    QVERIFY(score("dark", "Theme: Dark") > score("dark", "Drop a rank"));
    QVERIFY(score("und", "Edit: Undo") > score("und", "Run: no deal"));
    // The best place is taken, not the first: the r of Run would leave "eset" scattered.
    const QString text = "Run: Reset";
    const auto match = fuzzy_match(u"reset", text);
    QCOMPARE(match->places, (std::vector<int>{5, 6, 7, 8, 9}));
  }

  void every_action_of_the_menus_is_a_command_with_an_id_of_its_own() {
    const BenchWindow b(*theme_);
    QList<QAction*> actions;
    collect(b.window->menuBar()->actions(), actions);
    const CommandRegistry& commands = b.window->commands();
    QCOMPARE(static_cast<std::size_t>(actions.size()), commands.all().size());
    QVERIFY2(actions.size() >= 50, qPrintable(QString::number(actions.size())));
    static const QRegularExpression kId("^[a-z_]+(\\.[a-z0-9_]+)+$");
    QSet<QString> ids;
    QSet<QKeySequence> keys;
    for (const Command& command : commands.all()) {
      QVERIFY2(kId.match(command.id()).hasMatch(), qPrintable(command.id()));
      QVERIFY2(!ids.contains(command.id()), qPrintable(command.id()));
      ids.insert(command.id());
      QVERIFY2(actions.contains(command.action), qPrintable(command.id()));
      for (const QKeySequence& sequence : command.action->shortcuts()) {
        QVERIFY2(!keys.contains(sequence), qPrintable(command.id() + " " + sequence.toString()));
        keys.insert(sequence);
      }
    }
    for (const char* id : {"run.start", "chain.rebuild", "view.levers", "edit.undo", "filter.find_next", "theme.dark",
                           "layout.slot1.load", "explain.copy", "selection.back", "file.save", "example.flux"}) {
      QVERIFY2(ids.contains(id), id);
    }
  }

  void every_command_says_why_it_cannot_start_in_every_state() {
    const BenchWindow b(*theme_);
    int asked = 0;
    const auto all_say_why = [&] {
      for (const Command& command : b.window->commands().all()) {
        if (command.action->isEnabled()) continue;
        ++asked;
        if (command.reason().isEmpty()) return command.id();
      }
      return QString();
    };
    const auto reason = [&](const char* id) { return b.window->commands().find(id)->reason(); };
    QCOMPARE(all_say_why(), QString());
    QCOMPARE(reason("compare.keep_baseline"), QString("no run has ended yet"));
    QCOMPARE(reason("route.measure_error"), QString("no route is selected"));
    b.start_latched();
    QTRY_VERIFY(b.bench->jobs().running());
    QCOMPARE(all_say_why(), QString());
    QCOMPARE(reason("run.start"), QString("a job is running"));
    QCOMPARE(reason("route.measure_error"), QString("a job is running"));
    b.latch->release();
    QTRY_VERIFY(!b.bench->jobs().running());
    QVERIFY(b.window->commands().run("run.start"));
    QTRY_VERIFY(b.window->commands().find("compare.keep_baseline")->action->isEnabled());
    QTRY_VERIFY(!b.bench->jobs().running());
    QCOMPARE(reason("compare.copy_csv"), QString("no baseline is kept"));
    QVERIFY(b.window->commands().run("compare.keep_baseline"));
    QCOMPARE(all_say_why(), QString());
    QCOMPARE(reason("compare.copy_csv"), QString("the selected run is the baseline; select another one"));
    QVERIFY(asked > 40);
  }

  void the_palette_finds_shows_and_starts_with_keys_alone() {
    const BenchWindow b(*theme_);
    const QAbstractItemModelTester tester(&b.window->palette().model());
    auto* line = b.find<QLineEdit>("command_line");
    auto* list = b.find<QListView>("command_list");
    QVERIFY(!b.window->palette().isVisible());
    QTest::keyClick(b.window.get(), Qt::Key_P, Qt::ControlModifier | Qt::ShiftModifier);
    QVERIFY(b.window->palette().isVisible());
    QVERIFY(line->hasFocus());
    QTest::keyClicks(line, "thdark");
    QCOMPARE(list->currentIndex().data().toString(), QString("Theme: Dark"));
    QTest::keyClick(line, Qt::Key_Return);
    QVERIFY(!b.window->palette().isVisible());
    QCOMPARE(theme_->choice(), ThemeChoice::dark);
    QTest::keyClick(b.window.get(), Qt::Key_P, Qt::ControlModifier | Qt::ShiftModifier);
    QVERIFY(line->text().isEmpty());
    QCOMPARE(shown(b.window->palette().model(), 1), QStringList{"Theme: Dark"});  // the one started last
    QTest::keyClick(line, Qt::Key_Down);
    QTest::keyClick(line, Qt::Key_Up);
    QTest::keyClick(line, Qt::Key_Up);
    QCOMPARE(list->currentIndex().row(), b.window->palette().model().rowCount() - 1);  // round the end
    QTest::keyClick(line, Qt::Key_Escape);
    QVERIFY(!b.window->palette().isVisible());
  }

  void the_palette_says_why_a_command_cannot_start_and_keeps_open() {
    const BenchWindow b(*theme_);
    b.window->palette().open();
    auto* line = b.find<QLineEdit>("command_line");
    auto* list = b.find<QListView>("command_list");
    QTest::keyClicks(line, "run: stop");
    const QModelIndex stop = list->currentIndex();
    QCOMPARE(stop.data().toString(), QString("Run: Stop"));
    QCOMPARE(stop.data(CommandModel::reason_role).toString(), QString("no job is running"));
    QVERIFY(!stop.data(CommandModel::enabled_role).toBool());
    QVERIFY2(line->accessibleDescription().contains("no job is running"), qPrintable(line->accessibleDescription()));
    QTest::keyClick(line, Qt::Key_Return);
    QVERIFY(b.window->palette().isVisible());
    line->selectAll();
    QTest::keyClicks(line, "qqqq");
    QCOMPARE(b.window->palette().model().rowCount(), 0);
    QVERIFY(!list->isVisible());
    QTest::keyClick(line, Qt::Key_Return);
    QVERIFY(b.window->palette().isVisible());
  }

  void a_command_that_fits_better_stands_before_one_used_lately() {
    const BenchWindow b(*theme_);
    CommandModel model(b.window->commands());
    const QAbstractItemModelTester tester(&model);
    model.set_pattern({}, {"view.log", "chain.rebuild"});
    QCOMPARE(shown(model, 2), (QStringList{"View: Trace log", "Chain: Rebuild"}));
    model.set_pattern("undo", {"view.log"});
    QCOMPARE(shown(model, 1), QStringList{"Edit: Undo"});
    QCOMPARE(model.index(0).data(CommandModel::places_role).toList().size(), 4);
  }

  void what_was_used_lately_is_known_at_the_next_start() {
    QTemporaryDir place;
    const QString file = place.filePath("attnscope.ini");
    {
      BenchWindow b(*theme_, std::make_unique<QSettings>(file, QSettings::IniFormat));
      QVERIFY(b.window->commands().run("view.block_mask"));
      b.window->close();
    }
    const BenchWindow b(*theme_, std::make_unique<QSettings>(file, QSettings::IniFormat));
    QCOMPARE(b.window->palette().recent(), QStringList{"view.block_mask"});
  }

  void a_question_mark_shows_every_command_that_has_keys() {
    const BenchWindow b(*theme_);
    QTest::keyClick(b.window.get(), Qt::Key_Question);
    auto* sheet = b.find<KeySheet>("key_sheet");
    QVERIFY(sheet->isVisible());
    int with_keys = 0;
    for (const Command& command : b.window->commands().all()) with_keys += command.keys().isEmpty() ? 0 : 1;
    QCOMPARE(sheet->lines().size(), with_keys);
    QVERIFY(sheet->lines().contains("Chain | Rebuild | Ctrl+B"));
    QVERIFY(sheet->lines().contains("Timeline | Fit the whole run | F"));
    QVERIFY(sheet->lines().contains("Edit | Redo | Ctrl+Shift+Z or Ctrl+Y"));
    QTest::keyClick(sheet, Qt::Key_Escape);
    QTRY_VERIFY(b.window->findChild<KeySheet*>("key_sheet") == nullptr);
  }

  void a_question_mark_in_a_field_is_a_letter() {
    const BenchWindow b(*theme_);
    b.window->routes().focus_filter();
    QTest::keyClick(QApplication::focusWidget(), '?');
    QCOMPARE(b.window->routes().filter().line(), QString("?"));
    QVERIFY(b.window->findChild<KeySheet*>("key_sheet") == nullptr);
  }

  void ids_from_outside_are_checked_and_near_ones_named() {
    const BenchWindow b(*theme_);
    const CommandRegistry& commands = b.window->commands();
    QVERIFY(app::unknown_command(commands, commands.ids()).empty());
    const QString said = QString::fromStdString(app::unknown_command(commands, {"run.start", "chain.rebuid"}));
    QVERIFY2(said.startsWith("there is no command \"chain.rebuid\"; nearest: chain.rebuild"), qPrintable(said));
    const QString far = QString::fromStdString(app::unknown_command(commands, {"zzzzzzzzz"}));
    QVERIFY2(far.contains("--list-commands"), qPrintable(far));
    const QString table = app::command_table(commands);
    QVERIFY(table.contains(QRegularExpression("(?m)^chain\\.rebuild +Ctrl\\+B +Chain: Rebuild$")));
  }

  void commands_are_started_one_after_the_other() {
    const BenchWindow b(*theme_);
    app::run_commands(*b.window, {"theme.dark", "view.levers"}, false);
    QTRY_COMPARE(b.find<QTabBar>("chart_tabs")->currentIndex(), 3);
    QCOMPARE(theme_->choice(), ThemeChoice::dark);
  }

  void the_program_lists_its_commands_and_refuses_an_unknown_one() {
    QProcess program;
    program.setProgram(QString(ATTN_BIN) + "/attnscope");
    QTemporaryDir place;
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.insert("QT_QPA_PLATFORM", "offscreen");
    environment.insert("XDG_CONFIG_HOME", place.path());
    environment.insert("ATTNSCOPE_STATE", place.path());
    program.setProcessEnvironment(environment);
    program.setArguments({"--list-commands"});
    program.start();
    QVERIFY(program.waitForFinished(30000));
    QCOMPARE(program.exitCode(), 0);
    const QString listed = program.readAllStandardOutput();
    QVERIFY2(listed.contains("run.start"), qPrintable(listed));
    program.setArguments({"--run-command", "run.strat"});
    program.start();
    QVERIFY(program.waitForFinished(30000));
    QCOMPARE(program.exitCode(), 2);
    const QString said = program.readAllStandardError();
    QVERIFY2(said.contains("attnscope: there is no command \"run.strat\"; nearest: run.start"), qPrintable(said));
  }

  void f6_goes_round_the_panels_and_back() {
    BenchWindow b(*theme_);
    b.window->show_platform();
    PanelRing& ring = b.window->panels();
    QStringList forward;
    for (int i = 0; i < 8; ++i) {
      QTest::keyClick(b.window.get(), Qt::Key_F6);
      forward << ring.current_name();
      QVERIFY(takes_tab(*QApplication::focusWidget()));
    }
    QCOMPARE(forward, (QStringList{"Run", "Chain", "Control panel", "Workload", "Charts", "Routes and calls",
                                   "Platform", "Trace log"}));
    for (qsizetype i = forward.size() - 2; i >= 0; --i) {
      QTest::keyClick(b.window.get(), Qt::Key_F6, Qt::ShiftModifier);
      QCOMPARE(ring.current_name(), forward[i]);
    }
  }

  void a_panel_gets_the_focus_back_where_it_was() {
    const BenchWindow b(*theme_);
    b.window->routes().focus_filter();
    QWidget* before = QApplication::focusWidget();
    QTest::keyClick(b.window.get(), Qt::Key_F6);
    QVERIFY(QApplication::focusWidget() != before);
    QTest::keyClick(b.window.get(), Qt::Key_F6, Qt::ShiftModifier);
    QCOMPARE(QApplication::focusWidget(), before);
  }

  void tab_walks_through_one_panel_before_the_next() {
    const BenchWindow b(*theme_);
    QTest::keyClick(b.window.get(), Qt::Key_F6);
    QWidget* first = QApplication::focusWidget();
    QStringList panels;
    int stops = 0;
    do {
      const QString name = b.window->panels().current_name();
      if (!name.isEmpty() && (panels.isEmpty() || panels.back() != name)) panels << name;
      QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
      ++stops;
    } while (QApplication::focusWidget() != first && stops < 400);
    QVERIFY2(stops > 30 && stops < 400, qPrintable(described(*QApplication::focusWidget())));
    if (panels.size() > 1 && panels.back() == panels.front()) panels.removeLast();
    QCOMPARE(QSet<QString>(panels.begin(), panels.end()).size(), panels.size());
    QVERIFY2(panels.size() >= 6, qPrintable(panels.join(", ")));
  }

  void every_widget_that_can_be_acted_on_has_a_name() {
    BenchWindow b(*theme_);
    b.find<QToolButton>("more_inputs")->click();
    b.click(b.find<QPushButton>("run"));
    QTRY_VERIFY(b.window->routes().model().rowCount() > 0);
    QTRY_VERIFY(!b.bench->jobs().running());
    b.window->routes().view()->selectRow(0);
    b.window->show_platform();
    b.window->open_export();
    b.window->open_import();
    b.window->show_keys();
    b.window->workload().choose_model("shapes");
    QStringList nameless;
    int named = 0;
    const auto windows = QApplication::topLevelWidgets();
    for (QWidget* top : windows) {
      if (top != b.window.get() && !b.window->isAncestorOf(top) && top->parentWidget() == nullptr) continue;
      for (QWidget* widget : top->findChildren<QWidget*>()) {
        if (!is_interactive(*widget) || is_inner(*widget)) continue;
        if (accessible_name(*widget).trimmed().isEmpty()) {
          nameless << described(*widget);
        } else {
          ++named;
        }
      }
    }
    nameless.removeDuplicates();
    for (const QString& one : nameless) qWarning("%s", qPrintable(one));
    QVERIFY2(nameless.isEmpty(), qPrintable("\n" + nameless.join('\n')));
    QVERIFY2(named > 150, qPrintable(QString::number(named)));
  }

  void the_focused_lane_of_the_timeline_is_read_aloud() {
    BenchWindow b(*theme_);
    b.click(b.find<QPushButton>("run"));
    QTRY_VERIFY(!b.bench->jobs().running());
    TimelineView& view = b.window->timeline().view();
    QTRY_COMPARE(view.lanes().lanes().size(), std::size_t{3});
    QTest::keyClick(b.window.get(), Qt::Key_T, Qt::ControlModifier | Qt::ShiftModifier);
    QVERIFY(view.hasFocus());
    QTest::keyClick(&view, Qt::Key_Up);
    QTest::keyClick(&view, Qt::Key_Up);
    QAccessibleInterface* seen = QAccessible::queryAccessibleInterface(&view);
    QCOMPARE(seen->text(QAccessible::Name), QString("Timeline"));
    QVERIFY2(seen->text(QAccessible::Description).startsWith("lane 1 of 3, te, 12 calls"),
             qPrintable(seen->text(QAccessible::Description)));
    QTest::keyClick(&view, Qt::Key_Down);
    QTest::keyClick(&view, Qt::Key_Period);
    QVERIFY2(seen->text(QAccessible::Description).startsWith("lane 2 of 3, transformer, 1\u202f596 calls; call"),
             qPrintable(seen->text(QAccessible::Description)));
  }

 private:
  std::unique_ptr<Theme> theme_;
};

QTEST_MAIN(CommandsTest)
#include "commands_test.moc"
