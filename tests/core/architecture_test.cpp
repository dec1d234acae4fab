// SPDX-License-Identifier: GPL-3.0-or-later
// The arrows of the house, read from the sources themselves: who may include whom, and what a part stays free of.
#include <QRegularExpression>
#include <QSet>
#include <QTest>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace {

/// One source: path from the top of the tree, lines, and what it includes.
struct Source {
  QString path;
  QStringList lines;
  QStringList includes;

  [[nodiscard]] QString part() const { return path.section('/', 0, 0); }
  [[nodiscard]] QString folder() const { return path.section('/', 1, 1); }
  [[nodiscard]] bool is_below(const QString& folder) const { return path.startsWith(folder + "/"); }
};

const QStringList& parts() {
  static const QStringList kParts = {"core", "backends", "trace", "ui", "app", "tests"};
  return kParts;
}

/// The folders of core in the order in which they stand on each other.
const QStringList& core_folders() {
  static const QStringList kFolders = {"tensor", "call",     "layout", "registry", "context", "sparse",
                                       "router", "settings", "policy", "engine",   "exchange"};
  return kFolders;
}

/// Parts that a part may include, itself among them.
QStringList allowed_parts(const QString& part) {
  if (part == "core") return {"core"};
  if (part == "backends") return {"core", "backends"};
  if (part == "trace") return {"core", "trace"};
  if (part == "ui") return {"core", "trace", "ui"};
  return {"core", "backends", "trace", "ui", "app"};
}

Source read(const fs::path& file, const fs::path& top) {
  static const QRegularExpression kInclude("^\\s*#\\s*include\\s*[<\"]([^>\"]+)[>\"]");
  Source source;
  source.path = QString::fromStdString(fs::relative(file, top).generic_string());
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    source.lines << QString::fromStdString(line);
    if (const auto match = kInclude.match(source.lines.back()); match.hasMatch()) source.includes << match.captured(1);
  }
  return source;
}

std::vector<Source> read_tree(const fs::path& top) {
  std::vector<Source> sources;
  for (const QString& part : parts()) {
    if (!fs::exists(top / part.toStdString())) continue;
    for (const auto& entry : fs::recursive_directory_iterator(top / part.toStdString())) {
      const std::string type = entry.path().extension().string();
      const bool is_source = type == ".cpp" || type == ".h" || type == ".inc" || type == ".cu" || type == ".cuh";
      if (is_source && entry.is_regular_file()) sources.push_back(read(entry.path(), top));
    }
  }
  return sources;
}

/// What a source does against the arrows, one sentence each.
QStringList arrow_faults(const Source& source) {
  QStringList faults;
  for (const QString& include : source.includes) {
    const QString part = include.section('/', 0, 0);
    if (parts().contains(part) && include.contains('/') && !allowed_parts(source.part()).contains(part)) {
      faults << source.path + " includes " + include;
    }
    if (source.part() != "core" || part != "core") continue;
    const auto own = core_folders().indexOf(source.folder());
    const auto other = core_folders().indexOf(include.section('/', 1, 1));
    if (own < 0 || other < 0 || other > own) faults << source.path + " includes " + include;
  }
  return faults;
}

/// Qt's headers as this tree writes them: <QString>, <QtNetwork/QTcpSocket>.
bool is_qt(const QString& include) {
  static const QRegularExpression kQt("^Q[A-Za-z]");
  return kQt.match(include).hasMatch();
}

/// What a source includes although its part stays free of it.
QStringList purity_faults(const Source& source) {
  static const QStringList kIo = {"iostream", "fstream", "thread", "future", "filesystem"};
  const bool qt_free = source.is_below("core") || source.is_below("backends") ||
                       (source.is_below("trace") && !source.is_below("trace/remote"));
  QStringList faults;
  for (const QString& include : source.includes) {
    if (qt_free && is_qt(include)) faults << source.path + " includes Qt: " + include;
    if (source.part() == "core" && kIo.contains(include)) faults << source.path + " includes " + include;
  }
  return faults;
}

/// Where the compiler looks for headers, of one entry of compile_commands.json.
QStringList include_folders(const std::string& command) {
  static const QRegularExpression kFolder("(?:-I|-isystem )(\\S+)");
  QStringList folders;
  for (auto found = kFolder.globalMatch(QString::fromStdString(command)); found.hasNext();) {
    folders << found.next().captured(1);
  }
  return folders;
}

Source made_up(const QString& path, const QStringList& includes) { return {path, {}, includes}; }

}  // namespace

class ArchitectureTest : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() {
    sources_ = read_tree(ATTN_SOURCE);
    QVERIFY2(sources_.size() > 30, "the source tree was not found");
    for (const QString& part : parts()) {
      QVERIFY2(std::ranges::any_of(sources_, [&](const Source& source) { return source.part() == part; }),
               qPrintable(part));
    }
  }

  void the_rules_notice_a_wrong_arrow_data() {
    QTest::addColumn<QString>("path");
    QTest::addColumn<QString>("include");
    QTest::addColumn<bool>("fault");
    QTest::newRow("core to trace") << "core/router/a.cpp"
                                   << "trace/collector.h" << true;
    QTest::newRow("core upwards") << "core/call/a.h"
                                  << "core/router/router.h" << true;
    QTest::newRow("core to an unknown folder") << "core/call/a.h"
                                               << "core/extra/a.h" << true;
    QTest::newRow("core downwards") << "core/router/a.h"
                                    << "core/call/call_text.h" << false;
    QTest::newRow("core sideways") << "core/router/a.h"
                                   << "core/router/plan.h" << false;
    QTest::newRow("backends to trace") << "backends/sdpa/a.h"
                                       << "trace/collector.h" << true;
    QTest::newRow("trace to ui") << "trace/a.h"
                                 << "ui/services.h" << true;
    QTest::newRow("ui to app") << "ui/a.h"
                               << "app/jobs/job.h" << true;
    QTest::newRow("ui to backends") << "ui/a.h"
                                    << "backends/all.h" << true;
    QTest::newRow("ui to trace") << "ui/a.h"
                                 << "trace/collector.h" << false;
    QTest::newRow("app to all") << "app/gui/main.cpp"
                                << "ui/services.h" << false;
    QTest::newRow("app to tests") << "app/gui/main.cpp"
                                  << "tests/support/oracle.h" << true;
    QTest::newRow("qt in core") << "core/router/a.h"
                                << "QString" << true;
    QTest::newRow("qt in trace") << "trace/a.h"
                                 << "QtCore/QString" << true;
    QTest::newRow("qt in remote") << "trace/remote/a.h"
                                  << "QTcpSocket" << false;
    QTest::newRow("qt in ui") << "ui/a.h"
                              << "QWidget" << false;
    QTest::newRow("files in core") << "core/exchange/a.cpp"
                                   << "fstream" << true;
    QTest::newRow("threads in core") << "core/engine/a.cpp"
                                     << "thread" << true;
    QTest::newRow("files in app") << "app/jobs/a.cpp"
                                  << "fstream" << false;
  }
  void the_rules_notice_a_wrong_arrow() {
    QFETCH(QString, path);
    QFETCH(QString, include);
    QFETCH(bool, fault);
    const Source source = made_up(path, {include});
    QCOMPARE(!(arrow_faults(source) + purity_faults(source)).isEmpty(), fault);
  }

  void includes_follow_the_arrows() { expect_none(arrow_faults); }

  void core_backends_and_trace_stay_free_of_what_they_do_not_need() { expect_none(purity_faults); }

  void the_compiler_sees_only_what_a_part_may_include() {
    const std::string build = fs::path(ATTN_BIN).parent_path().string();
    std::ifstream stream(build + "/compile_commands.json");
    QVERIFY2(stream.good(), "the build has no compile_commands.json");
    const QString links = QString::fromStdString(build) + "/include/";
    QSet<QString> seen;
    for (const auto& entry : nlohmann::json::parse(stream)) {
      const fs::path file = fs::relative(entry.at("file").get<std::string>(), ATTN_SOURCE);
      const QString part = QString::fromStdString(file.generic_string()).section('/', 0, 0);
      if (!parts().contains(part) || part == "tests") continue;
      for (const QString& folder : include_folders(entry.at("command").get<std::string>())) {
        const QString where = QString::fromStdString(file.generic_string()) + " sees " + folder;
        QVERIFY2(!QString(ATTN_SOURCE).startsWith(folder + "/") && folder != ATTN_SOURCE, qPrintable(where));
        if (folder.startsWith(links))
          QVERIFY2(allowed_parts(part).contains(folder.mid(links.size())), qPrintable(where));
        if (part == "core" || part == "backends") QVERIFY2(!folder.contains("/qt6"), qPrintable(where));
      }
      seen.insert(part);
    }
    for (const char* part : {"core", "backends", "trace", "app"}) QVERIFY2(seen.contains(part), part);
  }

  void every_folder_of_core_has_its_place_in_the_order() {
    for (const Source& source : sources_) {
      if (source.part() == "core") QVERIFY2(core_folders().contains(source.folder()), qPrintable(source.path));
    }
  }

  void every_source_names_its_licence_first() {
    expect_none([](const Source& source) {
      const bool named = source.lines.value(0) == "// SPDX-License-Identifier: GPL-3.0-or-later";
      return named ? QStringList() : QStringList(source.path);
    });
  }

  void every_header_is_guarded() {
    expect_none([](const Source& source) {
      // Highway includes an -inl.h once for each instruction set.
      const bool once = source.path.endsWith(".h") && !source.path.endsWith("-inl.h");
      const bool good = !once || source.lines.contains("#pragma once");
      return good ? QStringList() : QStringList(source.path);
    });
  }

  void no_source_is_longer_than_600_lines() {
    expect_none([](const Source& source) {
      const auto count = source.lines.size();
      return count <= 600 ? QStringList() : QStringList(source.path + QString(": %1 lines").arg(count));
    });
  }

  void no_source_names_a_path_of_one_machine() {
    static const QRegularExpression kPath("[\" (=](/home|/root|/work|/tmp|/Users)/\\w");
    expect_none([](const Source& source) {
      QStringList faults;
      if (source.path == "tests/core/architecture_test.cpp") return faults;
      for (const QString& line : source.lines) {
        if (kPath.match(line).hasMatch()) faults << source.path + ": " + line.trimmed();
      }
      return faults;
    });
  }

  void every_top_folder_has_a_readme_of_at_most_ten_lines() {
    for (const QString& folder : parts() + QStringList{"resources"}) {
      const fs::path file = fs::path(ATTN_SOURCE) / folder.toStdString() / "README.md";
      QVERIFY2(fs::exists(file), qPrintable(folder + " has no README.md"));
      const auto lines = read(file, ATTN_SOURCE).lines.size();
      QVERIFY2(lines >= 2 && lines <= 10, qPrintable(folder + "/README.md has " + QString::number(lines) + " lines"));
    }
  }

 private:
  template <class Rule>
  void expect_none(Rule rule) {
    QStringList faults;
    for (const Source& source : sources_) faults += rule(source);
    QVERIFY2(faults.isEmpty(), qPrintable("\n  " + faults.join("\n  ")));
  }

  std::vector<Source> sources_;
};

QTEST_GUILESS_MAIN(ArchitectureTest)
#include "architecture_test.moc"
