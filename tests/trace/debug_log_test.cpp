// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/text/debug_log.h"

#include "support/oracle.h"
#include "trace/text/route_text.h"

#include <QDir>
#include <QProcess>
#include <QRegularExpression>
#include <QTemporaryDir>
#include <QtTest>

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>

using attn::LogLevel;
using attn::LogLine;
using attn::test::q;
using attn::trace::DebugLogOptions;
using attn::trace::make_debug_log;
using attn::trace::module_of;

namespace {

const char* const kRoute =
    "Attention route: backend=sdnq role=transformer step=0 q=[1, 24, 4608, 128] k=[1, 24, 4608, 128] "
    "dtype=torch.bfloat16 mask=False contiguous=True";
const char* const kChain = "Torch attention: chain=sdnq>sdpa overrides=['SDNQ attention'] backend=cuda sparse=False";

/// What is written to stderr while this lives goes to a file.
class StderrTo {
 public:
  explicit StderrTo(const std::filesystem::path& path) : saved_(::dup(STDERR_FILENO)) {
    std::FILE* file = std::fopen(path.c_str(), "w");
    ::dup2(::fileno(file), STDERR_FILENO);
    std::fclose(file);
  }
  ~StderrTo() {
    ::dup2(saved_, STDERR_FILENO);
    ::close(saved_);
  }
  StderrTo(const StderrTo&) = delete;
  StderrTo& operator=(const StderrTo&) = delete;

 private:
  int saved_;
};

}  // namespace

class DebugLogTest : public QObject {
  Q_OBJECT

 private slots:
  void the_file_form_is_the_mirrored_systems();
  void the_console_form_is_the_mirrored_systems();
  void each_line_names_its_module();
  void a_large_file_rolls_over_and_old_ones_are_kept();
  void a_file_that_cannot_be_opened_is_a_sentence();
  void a_full_disk_ends_the_file_and_nothing_else();

 private:
  [[nodiscard]] std::filesystem::path path(const char* name) const { return dir_.filePath(name).toStdString(); }
  QTemporaryDir dir_;
};

void DebugLogTest::the_file_form_is_the_mirrored_systems() {
  DebugLogOptions options;
  options.file = path("sdnext.log");
  options.host = "pine %H 100%";
  const auto sink = make_debug_log(options);
  QVERIFY(sink);
  for (const LogLine& line : {LogLine{LogLevel::debug, kRoute}, LogLine{LogLevel::debug, kChain},
                              LogLine{LogLevel::trace, "Sparse attention: inactive at tokens=4608"},
                              LogLine{LogLevel::warning, "100% {} %v"}}) {
    (*sink)(line);
  }
  const QStringList lines = q(attn::test::file_bytes(*options.file)).split('\n');
  QCOMPARE(lines.size(), 5);
  const QString time = R"(^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} \| pine %H 100% \| sd \| )";
  const QStringList ends{"DEBUG | debug | " + q(kRoute), "DEBUG | router | " + q(kChain),
                         "TRACE | stage | Sparse attention: inactive at tokens=4608", "WARNING | router | 100% {} %v"};
  for (int i = 0; i < 4; ++i) {
    const QRegularExpression form(time + QRegularExpression::escape(ends[i]) + "$");
    QVERIFY2(form.match(lines[i]).hasMatch(), qPrintable(lines[i]));
  }
  QVERIFY(attn::trace::parse_route(lines[0].toStdString()));
  QVERIFY(attn::trace::parse_chain(lines[1].toStdString()));
}

void DebugLogTest::the_console_form_is_the_mirrored_systems() {
  DebugLogOptions options;
  options.console = true;
  options.console_level = LogLevel::info;
  {
    const StderrTo captured(path("stderr"));
    const auto sink = make_debug_log(options);
    QVERIFY(sink);
    (*sink)({LogLevel::debug, kRoute});
    (*sink)({LogLevel::info, "Sparse attention: backend=sdnq"});
    (*sink)({LogLevel::warning, "Torch attention: type=\"Sage attention\" not available on backend=cpu"});
  }
  const QStringList lines = q(attn::test::file_bytes(path("stderr"))).split('\n');
  QCOMPARE(lines.size(), 3);
  QVERIFY(QRegularExpression(R"(^\d\d:\d\d:\d\d-\d{6} INFO     Sparse attention: backend=sdnq$)")
              .match(lines[0])
              .hasMatch());
  QVERIFY(QRegularExpression(R"(^\d\d:\d\d:\d\d-\d{6} WARNING  Torch attention: type)").match(lines[1]).hasMatch());
}

void DebugLogTest::each_line_names_its_module() {
  const std::pair<const char*, const char*> known[]{
      {kRoute, "debug"},
      {"Attention routes: backend=sdpa role=te", "debug"},
      {kChain, "router"},
      {"Attention: chain=sdpa backend=cuda sparse=False", "router"},
      {"Torch attention: type=\"Sage attention\" not available on backend=cpu", "router"},
      {"Torch attention: type=\"Sage attention\" sage unavailable", "router"},
      {"Attention: type=\"sdpa\" kernels=['Flash']", "devices"},
      {"Attention: type=\"SDNQ attention\" matmul=enabled:disabled smooth=True", "sdnq"},
      {"Sparse attention: backend=sdnq budget=30% gate=8192 schedule=0x+30%", "router"},
      {"Sparse attention: no token layout (none published)", "stage"},
      {"Attention dispatcher: target=x", "dispatcher"},
  };
  for (const auto& [text, module] : known) QCOMPARE(q(module_of(text)), q(module));
}

void DebugLogTest::a_large_file_rolls_over_and_old_ones_are_kept() {
  DebugLogOptions options;
  options.file = path("rolling.log");
  options.file_bytes = 4096;
  options.old_files = 3;
  const auto sink = make_debug_log(options);
  QVERIFY(sink);
  for (int i = 0; i < 300; ++i) (*sink)({LogLevel::debug, kRoute});
  QCOMPARE(QDir(dir_.path()).entryList({"rolling*.log"}, QDir::Files).size(), 4);
  for (const QFileInfo& file : QDir(dir_.path()).entryInfoList({"rolling*.log"}, QDir::Files)) {
    QVERIFY(file.size() <= 4096);
  }
}

void DebugLogTest::a_file_that_cannot_be_opened_is_a_sentence() {
  DebugLogOptions options;
  options.file = dir_.path().toStdString();
  const auto sink = make_debug_log(options);
  QVERIFY(!sink);
  QVERIFY2(sink.error().find(options.file->string()) != std::string::npos, sink.error().c_str());
}

void DebugLogTest::a_full_disk_ends_the_file_and_nothing_else() {
  if (!std::filesystem::exists("/dev/full")) QSKIP("this system has no /dev/full");
  DebugLogOptions options;
  options.file = "/dev/full";
  options.file_bytes = std::size_t{1} << 30;
  options.console = true;
  {
    const StderrTo captured(path("full"));
    const auto sink = make_debug_log(options);
    QVERIFY2(sink.has_value(), sink ? "" : sink.error().c_str());
    (*sink)({LogLevel::debug, kRoute});
    (*sink)({LogLevel::debug, kChain});
  }
  const QString text = q(attn::test::file_bytes(path("full")));
  QCOMPARE(text.count("takes no more lines"), 1);
  QVERIFY(text.contains(kRoute) && text.contains(kChain));
}

QTEST_GUILESS_MAIN(DebugLogTest)
#include "debug_log_test.moc"
