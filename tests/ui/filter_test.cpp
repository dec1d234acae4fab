// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/filter/filter_completion.h"
#include "ui/filter/filter_parser.h"
#include "ui/format/format.h"

#include <QRandomGenerator>
#include <QtTest>

using namespace attn;
using namespace attn::ui;

namespace {

/// Five routes that differ in everything a filter asks about; the letters name them in the tables below.
std::vector<FilterRow> five_rows() {
  const auto route = [](const char* backend, const char* variant, Role role, trace::EventShape query, int keys,
                        std::int64_t calls) {
    trace::RouteRow row;
    row.id.backend = backend;
    row.executed = QString(backend).section('+', 0, 0).toStdString();
    row.requested = row.selected = "sdnq";
    row.variant = variant;
    row.id.role = role;
    row.id.query = query;
    row.id.key = query;
    row.id.key.size[2] = keys;
    row.calls = calls;
    return row;
  };
  trace::RouteRow a = route("sdnq", "int8", Role::transformer, {{1, 24, 4608, 128, 0}, 4}, 4608, 676);
  a.last_step = 12;
  trace::RouteRow b = route("sdnq+sparse", "int8", Role::transformer, {{1, 24, 9216, 128, 0}, 4}, 9216, 114);
  b.first_step = 3;
  b.last_step = 27;
  b.density = 0.3;
  b.query_layout = b.key_layout = b.value_layout = Layout::fused_qkv;
  b.computed_calls = 114;
  trace::RouteRow c = route("flash", "exact", Role::te, {{2, 12, 77, 64, 0}, 4}, 77, 12);
  c.causal = true;
  c.id.dtype = DType::float16;
  c.nan_count = 4;
  trace::RouteRow d = route("sdpa", "memory-efficient", Role::vae, {{1, 1, 16384, 512, 0}, 4}, 16384, 1);
  d.first_step = d.last_step = 28;
  d.error = 0.031;
  trace::RouteRow e = route("flex", "block", Role::transformer, {{2, 8, 4096, 40, 0}, 4}, 77, 24);
  e.mask = trace::MaskKind::boolean;
  e.mask_pattern = trace::MaskPattern::key_padding;
  std::vector<FilterRow> rows;
  for (const trace::RouteRow& row : {a, b, c, d, e}) {
    const QStringList words{attn::ui::text_of(row.id.backend), attn::ui::text_of(row.variant), shape_text(row.id.query),
                            mask_text(row)};
    rows.push_back(filter_row(row, 9.8, static_cast<double>(row.calls) / 827.0, words.join('\n')));
  }
  return rows;
}

QString matching(const Filter& filter) {
  QString names;
  QChar name = 'a';
  for (const FilterRow& row : five_rows()) {
    if (filter.matches(row)) names += name;
    name = QChar(name.unicode() + 1);
  }
  return names;
}

}  // namespace

class FilterTest : public QObject {
  Q_OBJECT

 private slots:
  void a_line_keeps_the_rows_that_it_describes_data() {
    QTest::addColumn<QString>("line");
    QTest::addColumn<QString>("rows");
    const auto row = [](const char* line, const char* rows) { QTest::newRow(line) << line << rows; };
    row("", "abcde");
    row("   ", "abcde");
    row("role:vae", "d");
    row("role:te", "c");
    row("role:t", "abce");
    row("role=t", "");
    row("ROLE:VAE", "d");
    row("role:te,vae", "cd");
    row("role!=transformer", "cd");
    row("-role:transformer", "cd");
    row("backend:sdnq", "ab");
    row("backend=sdnq", "a");
    row("backend:sparse", "b");
    row("backend:nq", "");
    row("backend:sd -backend:sdnq", "d");
    row("kernel:memory-eff", "d");
    row("variant:int8", "ab");
    row("q>8192", "bd");
    row("q>=9216", "bd");
    row("q>9216", "d");
    row("q<77", "");
    row("q<=77", "c");
    row("q:4608,77", "ac");
    row("q=4608", "a");
    row("q!=4608", "bcde");
    row("q:4k..5k", "ae");
    row("q:..77", "c");
    row("q:9216..", "bd");
    row("calls > 100", "ab");
    row("calls> 100 -backend: sdnq+sparse", "a");
    row("k:77", "ce");
    row("key:77", "ce");
    row("heads<=1", "d");
    row("dim:64,128", "abc");
    row("batch>1", "ce");
    row("dtype:fp16", "c");
    row("mask:none", "abd");
    row("-mask:none", "ce");
    row("mask:padding", "e");
    row("mask=\"key padding\"", "e");
    row("strides:qkv", "b");
    row("strides:fused-qkv", "b");
    row("step:0", "ace");
    row("step:20", "b");
    row("step>27", "d");
    row("step<3", "ace");
    row("-step:0", "bd");
    row("step:13..28", "bd");
    row("fallback:yes", "cde");
    row("fallback:no", "ab");
    row("-fallback:yes", "ab");
    row("sparse:on", "b");
    row("share>50%", "a");
    row("share>50", "a");
    row("share:0..2", "cd");
    row("kept<50%", "b");
    row("nan>0", "c");
    row("nan=0", "abde");
    row("inf>0", "");
    row("time>9s", "b");
    row("time>9800ms", "");
    row("time<1min", "b");
    row("-time<1min", "acde");
    row("error>0.01", "d");
    row("error>1%", "d");
    row("error<10%", "d");
    row("int8", "ab");
    row("INT8 9216", "b");
    row("-int8", "cde");
    row("\"key padding\"", "e");
    row("1×24×4608", "a");
    row("role:te OR role:vae", "cd");
    row("role:te | role:vae", "cd");
    row("role:transformer q>8192 OR role:te", "bc");
    row("role:transformer (q>8192 OR k:77)", "be");
    row("-(role:te OR role:vae)", "abe");
    row("(((int8)))", "ab");
    row("orange", "");
    row("calls", "");
  }
  void a_line_keeps_the_rows_that_it_describes() {
    QFETCH(QString, line);
    QFETCH(QString, rows);
    const ParsedFilter parsed = parse_filter(line);
    QVERIFY2(!parsed.error, parsed.error ? qPrintable(parsed.error->sentence) : "");
    QCOMPARE(matching(parsed.filter), rows);
  }

  void an_error_has_a_place_a_length_and_a_sentence_data() {
    QTest::addColumn<QString>("line");
    QTest::addColumn<QString>("wrong");
    QTest::addColumn<QString>("says");
    const auto row = [](const char* line, const char* wrong, const char* says) {
      QTest::newRow(line) << line << wrong << says;
    };
    row("rolle:vae", "rolle", "did you mean role?");
    row("te bakcend:sdnq", "bakcend", "did you mean backend?");
    row("colour:red", "colour", "There is no field \"colour\"");
    row("role:", "role:", "role needs a value, such as role:vae");
    row("te role: ", "role: ", "role needs a value");
    row("role:te,", "role:te,", "role needs a value");
    row("q>many", "many", "q takes a number, such as q>8192, not \"many\"");
    row("q>8192x", "8192x", "q takes a number");
    row("q>5ms", "5ms", "q takes a number");
    row("time>5%", "5%", "time takes a number");
    row("q>1..2", "1..2", "q takes a number");
    row("step:12..3", "12..3", "write the smaller number first");
    row("step:..", "..", "is no range");
    row("q<1,2", "2", "< compares with one number");
    row("role>te", "role>te", "role is no number");
    row("fallback:maybe", "maybe", "fallback is yes or no");
    row("fallback>1", "fallback>1", "fallback is no number");
    row("sdnq :te", ":", "A comparison needs a field before it");
    row("role:vae \"key padd", "\"key padd", "not closed");
    row("mask:\"key", "\"key", "not closed");
    row("role:vae -", "-", "right after it");
    row("- mask", "-", "right after it");
    row("--vae", "-", "right after it");
    row("(role:vae", "(", "not closed");
    row("role:vae)", ")", "closes none");
    row("()", "()", "Nothing stands between");
    row("role:vae OR", "OR", "write one after it");
    row("OR role:vae", "OR", "write one before it");
    row("te OR | vae", "OR", "write one after it");
    row("q>nan", "nan", "q takes a number");
    row("q>inf", "inf", "q takes a number");
  }
  void an_error_has_a_place_a_length_and_a_sentence() {
    QFETCH(QString, line);
    QFETCH(QString, wrong);
    QFETCH(QString, says);
    const ParsedFilter parsed = parse_filter(line);
    QVERIFY(parsed.error.has_value());
    QCOMPARE(line.mid(parsed.error->at, parsed.error->length), wrong);
    QVERIFY2(parsed.error->sentence.contains(says), qPrintable(parsed.error->sentence));
    QVERIFY(parsed.filter.is_empty());
  }

  void every_example_of_the_field_list_is_a_filter() {
    for (const FieldSpec& spec : filter_fields()) {
      const ParsedFilter parsed = parse_filter(spec.example);
      QVERIFY2(!parsed.error && parsed.marks.size() == 1, spec.example);
      QCOMPARE(static_cast<std::size_t>(spec.field), static_cast<std::size_t>(&spec - filter_fields().data()));
    }
  }

  void a_written_term_reads_back_as_its_value() {
    for (const char* value : {"sdnq+sparse", "key padding", "a \"b\" c", "", "x,y", "(z", "1|2", "OR"}) {
      FilterRow row;
      row.set_text(FilterField::backend, value);
      const ParsedFilter parsed = parse_filter(written_term(FilterField::backend, value));
      QVERIFY2(!parsed.error, value);
      QVERIFY2(parsed.filter.matches(row), value);
      row.set_text(FilterField::backend, QString(value) + "z");
      QVERIFY2(!parsed.filter.matches(row), value);
    }
  }

  void a_kind_is_decided_where_its_calls_cannot_differ_data() {
    QTest::addColumn<QString>("line");
    QTest::addColumn<int>("answer");  // 1 yes, 0 no, -1 it depends
    QTest::newRow("empty") << "" << 1;
    QTest::newRow("yes") << "role:vae" << 1;
    QTest::newRow("no") << "role:te" << 0;
    QTest::newRow("step") << "step:3" << -1;
    QTest::newRow("no, whatever the step") << "step:3 role:te" << 0;
    QTest::newRow("depends") << "role:vae step:3" << -1;
    QTest::newRow("yes, whatever the time") << "time>1 OR role:vae" << 1;
    QTest::newRow("not no") << "-(role:te nan>0)" << 1;
  }
  void a_kind_is_decided_where_its_calls_cannot_differ() {
    QFETCH(QString, line);
    QFETCH(int, answer);
    trace::CallKind kind;
    kind.route.id.role = Role::vae;
    const std::optional<bool> decided = parse_filter(line).filter.decide(filter_row(kind, "vae"));
    QCOMPARE(decided ? static_cast<int>(*decided) : -1, answer);
  }

  void completion_offers_what_can_stand_at_the_cursor_data() {
    QTest::addColumn<QString>("line");  // the cursor is at the bar
    QTest::addColumn<QStringList>("offered");
    QTest::addColumn<QString>("replaces");
    const auto row = [](const char* line, const QStringList& offered, const char* replaces) {
      QTest::newRow(line) << line << offered << replaces;
    };
    row("ro^", {"role:"}, "ro");
    row("-ro^", {"role:"}, "ro");
    row("role:vae (sh^", {"share>"}, "sh");
    row("role:^", {"te", "vae"}, "");
    row("role:v^", {"vae"}, "v");
    row("role:te,^", {"te", "vae"}, "");
    row("role:te,v^", {"vae"}, "v");
    row("role:vae^", {}, "vae");
    row("mask:k^", {"\"key padding\""}, "k");
    row("sparse:^", {"yes", "no"}, "");
    row("nosuch:^", {}, "");
    row("\"ro^", {}, "");
    row("role:^ q>5", {"te", "vae"}, "");
  }
  void completion_offers_what_can_stand_at_the_cursor() {
    QFETCH(QString, line);
    QFETCH(QStringList, offered);
    QFETCH(QString, replaces);
    const qsizetype cursor = line.indexOf('^');
    line.remove(cursor, 1);
    const FilterCompletion completion = complete_filter(line, cursor, [](FilterField field) {
      if (field == FilterField::role) return QStringList{"te", "vae"};
      return field == FilterField::mask ? QStringList{"none", "key padding"} : QStringList();
    });
    QStringList texts;
    for (const auto& choice : completion.choices) texts << choice.text;
    QCOMPARE(texts, offered);
    QCOMPARE(line.mid(completion.at, completion.length), replaces);
  }

  void random_text_never_crashes_and_errors_lie_inside_it() {
    const QStringList pieces{"role", "q", ":", "=",  "!=", "<",  ">=",  "..", ",",  "\"",  "-",   "(",          ")",
                             "OR",   "|", " ", "8k", "5%", "ms", "vae", "×",  "\t", "nan", "1e9", "\U0001F600", "!"};
    QRandomGenerator dice(20261002);
    int errors = 0;
    for (int round = 0; round < 20'000; ++round) {
      QString line;
      const int length = dice.bounded(14);
      for (int i = 0; i < length; ++i) {
        line += dice.bounded(8) == 0 ? QString(QChar(dice.bounded(1, 0xD7FF))) : pieces[dice.bounded(pieces.size())];
      }
      const ParsedFilter parsed = parse_filter(line);
      for (const FilterMark& mark : parsed.marks) QVERIFY(mark.at >= 0 && mark.at + mark.length <= line.size());
      if (parsed.error) {
        ++errors;
        QVERIFY2(parsed.error->at >= 0 && parsed.error->length > 0, qPrintable(line));
        QVERIFY2(parsed.error->at + parsed.error->length <= line.size(), qPrintable(line));
        QVERIFY(parsed.error->sentence.size() > 10);
        QVERIFY(parsed.filter.is_empty());
      } else {
        matching(parsed.filter);
      }
      const FilterCompletion completion = complete_filter(line, dice.bounded(static_cast<int>(line.size()) + 1),
                                                          [](FilterField) { return QStringList{"a b"}; });
      QVERIFY(completion.at >= 0 && completion.length >= 0 && completion.at + completion.length <= line.size());
    }
    QVERIFY(errors > 1'000 && errors < 19'000);
    QVERIFY(parse_filter(QString(100'000, '(')).error.has_value());
    QVERIFY(!parse_filter(QString(1'000, 'x')).error.has_value());
  }
};

QTEST_GUILESS_MAIN(FilterTest)
#include "filter_test.moc"
