// SPDX-License-Identifier: GPL-3.0-or-later
// Results of the levers as files: JSON that can be gone on with, CSV, the plot, and merging.
#include "app/jobs/files/atomic_file.h"
#include "app/jobs/levers/plot.h"
#include "app/jobs/levers/results_file.h"
#include "app/jobs/targets/targets.h"
#include "backends/all.h"
#include "support/lever_jobs.h"

#include <QTemporaryDir>
#include <QXmlStreamReader>
#include <QtTest>

#include <algorithm>
#include <nlohmann/json.hpp>

using namespace attn;
using namespace attn::app;
using nlohmann::json;

namespace {

std::unique_ptr<LeverJob> real_job() { return make_lever_job(make_schedule(*parse_call("q[1,2,160,64] fp16")), 0); }

const std::vector<std::string> kTried{"backend:sage", "backend:flex", "backend:triton", "kernels:Math",
                                      "sparse:flex:30"};

LeverResult probe(LeverShard shard = {}) {
  Engine engine(make_registry(), *find_target("rtx-3090"));
  const auto job = real_job();
  attn::test::TimedJob timed(*job, {{"sdpa", 1.0}, {"sage", 0.6}, {"flex+sparse", 0.4}}, 0.02, 3);
  LeverRun run{.variants = *narrow_variants(lever_variants(engine, false), kTried), .shard = shard, .repeat = 3};
  auto result = measure_levers(timed, engine, run);
  if (!result) qFatal("%s", result.error().c_str());
  return *std::move(result);
}

/// Fields of one line of CSV, as RFC 4180 reads it.
QStringList fields_of(const QString& line) {
  QStringList fields{""};
  bool quoted = false;
  for (qsizetype i = 0; i < line.size(); ++i) {
    const QChar c = line[i];
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += c;
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields << "";
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

}  // namespace

class LeversFileTest : public QObject {
  Q_OBJECT

  LeverResult result_;

 private slots:
  void initTestCase() {
    result_ = probe();
    // One row of each kind, and texts that have to be escaped.
    QCOMPARE(result_.rows.size(), kTried.size() + 1);
    result_.rows[2].notes = {"without <b> & \"c\", d"};
    result_.rows[1].measure.picture = PictureDistance{0.0, 0, std::numeric_limits<double>::infinity(), 1.0};
  }

  void json_reads_back_as_it_was_written() {
    const std::string text = levers_json(result_);
    const auto again = read_levers(text);
    QVERIFY2(again.has_value(), again ? "" : again.error().c_str());
    QCOMPARE(levers_json(*again), text);
    QVERIFY(again->header == result_.header);
    QCOMPARE(again->rows.size(), result_.rows.size());
    for (std::size_t i = 0; i < result_.rows.size(); ++i) {
      QVERIFY(again->rows[i].measure == result_.rows[i].measure);
      QVERIFY(again->rows[i].variant == result_.rows[i].variant);
      QCOMPARE(again->rows[i].reason, result_.rows[i].reason);
      QCOMPARE(again->rows[i].notes, result_.rows[i].notes);
    }
  }

  void json_has_the_figures_that_people_look_for() {
    const json table = json::parse(levers_json(result_));
    QCOMPARE(table["rows"].size(), result_.rows.size());
    for (const json& row : table["rows"]) {
      if (row["state"] != "measured") {
        QVERIFY(!row["reason"].get<std::string>().empty() && !row.contains("seconds"));
        continue;
      }
      for (const char* key : {"seconds", "spread", "relative_time", "noise", "memory_bytes", "relative_l1", "cosine"}) {
        QVERIFY2(row[key].is_number(), key);
      }
      const json& role = row["roles"]["transformer"];
      QVERIFY(role["relative_l1"].is_number() && role["cosine"].is_number() && role["calls"] == 1);
      QVERIFY(row["noise"].get<double>() >= 0.02);
    }
    QVERIFY(table["memory_is"].is_string() && table["seconds_are"].is_string());
    QVERIFY(table["errors_are"].get<std::string>().find("independent normals") != std::string::npos);
    QCOMPARE(table["pareto"].size(), pareto_front(result_).size());
  }

  void a_text_that_is_no_table_is_refused_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("part");
    QTest::newRow("empty") << ""
                           << "no table of levers";
    QTest::newRow("other") << "{\"attnscope\": \"profile\"}"
                           << "no table of levers";
    QTest::newRow("list") << "[1]"
                          << "no table of levers";
    QTest::newRow("version") << "{\"attnscope\": \"levers\", \"version\": 99}"
                             << "version 99";
    QTest::newRow("nothing in it") << "{\"attnscope\": \"levers\", \"version\": 1}"
                                   << "is needed";
    const auto with = [this](const char* pointer, const json& value) {
      json table = json::parse(levers_json(result_));
      table[json::json_pointer(pointer)] = value;
      return QString::fromStdString(table.dump());
    };
    QTest::newRow("seconds") << with("/rows/0/samples/seconds", "fast") << "row 1 samples \"seconds\"";
    QTest::newRow("samples") << with("/rows/0/samples/seconds", json::array({1.0})) << "as many as baseline_seconds";
    QTest::newRow("state") << with("/rows/1/state", "done") << "row 2 \"state\"";
    QTest::newRow("group") << with("/rows/1/group", "lever") << "row 2 \"group\"";
    QTest::newRow("role") << with("/rows/0/routes/0/role", "unet") << "\"role\"";
    QTest::newRow("settings") << with("/rows/1/settings/sdp_overrides", json::array({1})) << "settings sdp_overrides";
    QTest::newRow("rows") << with("/rows", 3) << "\"rows\"";
  }

  void a_text_that_is_no_table_is_refused() {
    QFETCH(QString, text);
    QFETCH(QString, part);
    const auto read = read_levers(text.toStdString());
    QVERIFY(!read);
    QVERIFY2(read.error().find(part.toStdString()) != std::string::npos, read.error().c_str());
  }

  void csv_has_one_line_a_row_and_as_many_fields() {
    const QString text = QString::fromStdString(levers_csv(result_));
    QVERIFY(text.endsWith("\r\n"));
    const QStringList lines = text.trimmed().split("\r\n");
    QCOMPARE(lines.size(), static_cast<qsizetype>(result_.rows.size()) + 1);
    const QStringList names = fields_of(lines[0]);
    for (qsizetype i = 1; i < lines.size(); ++i) {
      const QStringList fields = fields_of(lines[i]);
      QCOMPARE(fields.size(), names.size());
      const LeverRow& row = result_.rows[static_cast<std::size_t>(i - 1)];
      QCOMPARE(fields[names.indexOf("variant")], QString::fromStdString(row.variant.name));
      QCOMPARE(fields[names.indexOf("reason")], QString::fromStdString(row.reason));
      QCOMPARE(fields[names.indexOf("chain")], QString::fromStdString(row.chain));
      const bool measured = row.state == LeverState::measured;
      QCOMPARE(fields[names.indexOf("seconds")].isEmpty(), !measured);
      if (measured) QCOMPARE(fields[names.indexOf("relative_time")].toDouble(), row.relative_time());
    }
  }

  void the_plot_has_a_mark_for_each_measured_row_and_the_front() {
    LeverResult named = result_;
    named.header.job = "a <job> & \"more\"";
    const std::string svg = levers_svg(named);
    QXmlStreamReader reader(QByteArray::fromStdString(svg));
    std::size_t marks = 0;
    qsizetype corners = 0;
    QStringList texts;
    while (!reader.atEnd()) {
      if (reader.readNext() != QXmlStreamReader::StartElement) continue;
      if (reader.name() == u"circle") {
        ++marks;
        const double x = reader.attributes().value("cx").toDouble();
        const double y = reader.attributes().value("cy").toDouble();
        QVERIFY(x > 0 && x < 960 && y > 0 && y < 600);
      }
      if (reader.name() == u"polyline") corners = reader.attributes().value("points").split(' ').size();
      if (reader.name() == u"text") texts << reader.readElementText();
    }
    QVERIFY2(!reader.hasError(), qPrintable(reader.errorString()));
    std::size_t measured = 0;
    for (const LeverRow& row : named.rows) {
      if (row.state != LeverState::measured) continue;
      ++measured;
      QVERIFY2(texts.contains(QString::fromStdString(row.variant.name)), row.variant.name.c_str());
    }
    QCOMPARE(marks, measured);
    QCOMPARE(corners, static_cast<qsizetype>(pareto_front(named).size()));
    QVERIFY(texts.contains(QString::fromStdString(named.header.job)));
  }

  void a_plot_of_nothing_and_of_equal_rows_is_a_plot() {
    LeverResult none;
    for (const LeverResult& result : {none, [this] {
                                        LeverResult same = result_;
                                        same.rows.resize(1);
                                        return same;
                                      }()}) {
      QXmlStreamReader reader(QByteArray::fromStdString(levers_svg(result)));
      while (!reader.atEnd()) reader.readNext();
      QVERIFY2(!reader.hasError(), qPrintable(reader.errorString()));
      QVERIFY(levers_svg(result).find("nan") == std::string::npos);
    }
  }

  void shards_merge_into_the_whole_table() {
    std::vector<LeverResult> parts;
    std::vector<std::string> names;
    for (int i = 1; i <= 3; ++i) {
      parts.push_back(probe({i, 3}));
      names.push_back(std::to_string(i) + ".json");
    }
    const auto all = merge_levers(parts, names);
    QVERIFY2(all.has_value(), all ? "" : all.error().c_str());
    const LeverResult whole = probe();
    QCOMPARE(all->rows.size(), whole.rows.size());
    for (const LeverRow& row : whole.rows) {
      const LeverRow* merged = all->find(row.variant.name);
      QVERIFY(merged != nullptr);
      QCOMPARE(merged->state, row.state);
      QCOMPARE(merged->same_as, row.same_as);
      QCOMPARE(merged->measure.hash, row.measure.hash);
    }
    QCOMPARE(all->outcome, JobOutcome::finished);
    QCOMPARE(all->rows.front().variant.name, std::string("baseline"));
    QVERIFY(!pareto_front(*all).empty());
    parts[1].rows.pop_back();
    const auto incomplete = merge_levers(parts, names);
    QCOMPARE(incomplete->missing(), std::size_t{1});
    QCOMPARE(incomplete->outcome, JobOutcome::stopped);
  }

  void a_measured_row_stands_over_one_that_failed() {
    LeverResult failed = result_;
    failed.rows[1].state = LeverState::failed;
    failed.rows[1].measure = {};
    QCOMPARE(merge_levers({failed, result_}, {"a", "b"})->rows[1].state, LeverState::measured);
    QCOMPARE(merge_levers({result_, failed}, {"a", "b"})->rows[1].state, LeverState::measured);
  }

  void a_mix_is_refused_unless_told_data() {
    QTest::addColumn<QString>("field");
    QTest::addColumn<QString>("part");
    for (const auto& [field, part] :
         std::vector<std::pair<const char*, const char*>>{{"version", "program's version"},
                                                          {"job", "the job differs"},
                                                          {"identity", "other calls, prompt, seed or threads"},
                                                          {"settings", "the settings differ"},
                                                          {"target", "the target differs"},
                                                          {"machine", "the machine differs"},
                                                          {"repeat", "the repetitions differ"},
                                                          {"bits", "exact attention gave other bits"}}) {
      QTest::newRow(field) << field << part;
    }
  }

  void a_mix_is_refused_unless_told() {
    QFETCH(QString, field);
    QFETCH(QString, part);
    LeverResult other = result_;
    LeverHeader& header = other.header;
    if (field == "version") header.version = "9.9";
    if (field == "job") header.job = "another";
    if (field == "identity") header.identity = "another";
    if (field == "settings") {
      const std::size_t at = header.settings.find("\"sdnq_attention_smooth_k\": true");
      QVERIFY(at != std::string::npos);
      header.settings.replace(at, 31, "\"sdnq_attention_smooth_k\": false");
    }
    if (field == "target") header.target = "h100";
    if (field == "machine") header.machine = "another, 64 threads";
    if (field == "repeat") header.repeat = 9;
    if (field == "bits") other.rows[0].measure.baseline_hash = "0";
    const auto refused = merge_levers({result_, other}, {"a.json", "b.json"});
    QVERIFY(!refused);
    QVERIFY2(refused.error().starts_with("b.json does not belong to a.json: "), refused.error().c_str());
    QVERIFY2(refused.error().find(part.toStdString()) != std::string::npos, refused.error().c_str());
    if (field == "settings") QVERIFY(refused.error().find("smooth_k") != std::string::npos);
    const auto mixed = merge_levers({result_, other}, {"a.json", "b.json"}, true);
    QVERIFY(mixed.has_value());
    QCOMPARE(mixed->mixed.size(), std::size_t{1});
    QCOMPARE(read_levers(levers_json(*mixed))->mixed, mixed->mixed);
    QVERIFY(levers_svg(*mixed).find("rows of different runs") != std::string::npos);
  }

  void a_file_is_whole_or_not_there() {
    QTemporaryDir folder;
    const std::string path = folder.filePath("levers.json").toStdString();
    QVERIFY(!load_levers(path));
    QVERIFY(save_levers(path, result_).has_value());
    QCOMPARE(levers_json(*load_levers(path)), levers_json(result_));
    QVERIFY(!save_levers(folder.filePath("no/such/folder.json").toStdString(), result_));
    QVERIFY(write_atomically(path, levers_json(result_).substr(0, 500)).has_value());
    const auto torn = load_levers(path);
    QVERIFY(!torn && torn.error().find("levers.json") != std::string::npos);
  }
};

QTEST_GUILESS_MAIN(LeversFileTest)
#include "levers_file_test.moc"
