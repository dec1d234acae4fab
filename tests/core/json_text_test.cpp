// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/exchange/json_text.h"

#include "support/oracle.h"

#include <QElapsedTimer>
#include <QtTest>

#include <string>
#include <vector>

using attn::JsonEdit;
using attn::JsonKind;
using attn::JsonText;
using attn::OptionList;
using attn::OptionValue;
using attn::test::q;

namespace {

using Int = std::int64_t;

JsonText parsed(const std::string& text) {
  auto result = JsonText::parse(text);
  if (!result) qFatal("%s", result.error().c_str());
  return *std::move(result);
}

std::string edited(const std::string& text, const std::vector<JsonEdit>& edits) { return parsed(text).with(edits); }

}  // namespace

class JsonTextTest : public QObject {
  Q_OBJECT

 private slots:
  void values_are_decoded();
  void agrees_with_another_reader_on_both_samples();
  void escapes_and_surrogates_become_characters();
  void what_is_wrong_is_said_with_line_and_column_data();
  void what_is_wrong_is_said_with_line_and_column();
  void every_cut_of_a_text_is_refused();
  void deep_nesting_is_refused_and_not_a_crash();
  void a_repeated_key_counts_with_its_last_value();
  void replacing_keeps_every_other_byte();
  void lists_keep_their_style();
  void new_members_follow_the_files_style_data();
  void new_members_follow_the_files_style();
  void members_can_be_taken_away_data();
  void members_can_be_taken_away();
  void strings_written_are_read_back();
  void numbers_written_are_read_back();
  void five_megabytes_are_quick();
};

void JsonTextTest::values_are_decoded() {
  const JsonText text = parsed(
      R"({"b":true,"f":false,"i":-42,"big":9223372036854775807,"huge":92233720368547758080,"r":5.000000e-01,)"
      R"("s":"x","l":["a", "b"],"e":[],"n":null,"m":[1,"a"],"o":{"k":[{}]},"nan":NaN,"inf":-Infinity,"ll":[["a"]]})");
  const auto value = [&text](const char* key) { return text.value(*text.find(key)); };
  QVERIFY(value("b") == OptionValue(true));
  QVERIFY(value("f") == OptionValue(false));
  QVERIFY(value("i") == OptionValue(Int{-42}));
  QVERIFY(value("big") == OptionValue(Int{9223372036854775807}));
  QVERIFY(value("huge") == OptionValue(92233720368547758080.0));
  QVERIFY(value("r") == OptionValue(0.5));
  QVERIFY(value("s") == OptionValue(std::string("x")));
  QVERIFY((value("l") == OptionValue(OptionList{"a", "b"})));
  QVERIFY(value("e") == OptionValue(OptionList{}));
  const std::pair<const char*, JsonKind> other[]{{"n", JsonKind::null},           {"m", JsonKind::array},
                                                 {"o", JsonKind::object},         {"nan", JsonKind::not_a_number},
                                                 {"inf", JsonKind::not_a_number}, {"ll", JsonKind::array}};
  for (const auto& [key, kind] : other) {
    QVERIFY2(text.find(key)->kind == kind, key);
    QVERIFY2(!value(key), key);
  }
  QVERIFY(text.find("absent") == nullptr);
  QCOMPARE(text.members().size(), std::size_t{15});
}

void JsonTextTest::agrees_with_another_reader_on_both_samples() {
  std::size_t members = 0;
  for (const char* name : {"sdnext/sdnext-config-overrides.json", "sdnext/sdnext-config-selector.json"}) {
    const std::string bytes = attn::test::file_bytes(std::string(ATTN_ORACLES) + "/" + name);
    const JsonText text = parsed(bytes);
    const auto other = nlohmann::json::parse(bytes);
    QCOMPARE(text.members().size(), other.size());
    for (const attn::JsonMember& member : text.members()) {
      const nlohmann::json& wanted = other.at(member.key);
      QVERIFY(nlohmann::json::parse(text.raw(member)) == wanted);
      const std::optional<OptionValue> value = text.value(member);
      if (wanted.is_boolean()) QVERIFY(value == OptionValue(wanted.get<bool>()));
      if (wanted.is_number_integer()) QVERIFY(value == OptionValue(wanted.get<Int>()));
      if (wanted.is_number_float()) QVERIFY(value == OptionValue(wanted.get<double>()));
      if (wanted.is_string()) QVERIFY(value == OptionValue(wanted.get<std::string>()));
      if (wanted.is_null()) QVERIFY(!value);
      ++members;
    }
    QVERIFY(text.duplicates().empty());
    QCOMPARE(q(text.with({})), q(bytes));
  }
  QCOMPARE(members, std::size_t{410 + 409});
}

void JsonTextTest::escapes_and_surrogates_become_characters() {
  const JsonText text = parsed(
      R"({"a":"\"\\\/\b\f\n\r\t","b":"\u00e9\u6771","c":"\ud83d\ude00","d":"\ud83d!","e":"\ude00","f":"\ud83d\u0041",)"
      R"("\u0073dp":"größe 夜景 😀","l":["\"", "a]\\", "\u00e9"]})");
  const auto word = [&text](const char* key) { return std::get<std::string>(text.value(*text.find(key)).value()); };
  QCOMPARE(q(word("a")), q("\"\\/\b\f\n\r\t"));
  QCOMPARE(q(word("b")), q("é東"));
  QCOMPARE(q(word("c")), q("😀"));
  QCOMPARE(q(word("d")), q("\uFFFD!"));
  QCOMPARE(q(word("e")), q("\uFFFD"));
  QCOMPARE(q(word("f")), q("\uFFFDA"));
  QCOMPARE(q(word("sdp")), q("größe 夜景 😀"));
  QVERIFY((text.value(*text.find("l")) == OptionValue(OptionList{"\"", "a]\\", "é"})));
}

void JsonTextTest::what_is_wrong_is_said_with_line_and_column_data() {
  QTest::addColumn<QByteArray>("text");
  QTest::addColumn<QString>("error");
  const auto row = [](const char* name, QByteArray text, const char* error) {
    QTest::newRow(name) << text << q(error);
  };
  row("empty", "", "the text is empty; expected a JSON object, which begins with '{'");
  row("blank", " \n\t", "the text is empty; expected a JSON object, which begins with '{'");
  row("no json", "attention = sage\n", "line 1, column 1: expected '{', the start of a JSON object, found 'a'");
  row("a list", "[1]", "line 1, column 1: expected '{', the start of a JSON object, found '['");
  row("only open", "{", "line 1, column 2: expected a key in double quotes, found the end of the text");
  row("bare key", "{\n  a: 1\n}", "line 2, column 3: expected a key in double quotes, found 'a'");
  row("single quotes", "{'a': 1}", "line 1, column 2: expected a key in double quotes, found '''");
  row("no colon", "{\"a\" 1}", "line 1, column 6: expected ':' behind a key, found '1'");
  row("no value", "{\"a\": }", "line 1, column 7: expected a value, found '}'");
  row("python True", "{\"a\": True}", "line 1, column 7: expected a value, found 'T'");
  row("half a word", "{\"a\": tru}", "line 1, column 7: expected a value, found 't'");
  row("no comma", "{\"a\": 1\n \"b\": 2}", "line 2, column 2: expected ',' or '}' behind a value, found '\"'");
  row("comma at the end", "{\"a\": 1,\n}", "line 2, column 1: expected another member behind ',', found '}'");
  row("comma in a list", "{\"a\": [1,]}", "line 1, column 10: expected a value, found ']'");
  row("comment", "{\"a\": 1 // x\n}", "line 1, column 9: expected ',' or '}' behind a value, found '/'");
  row("text behind", "{} x", "line 1, column 4: expected the end of the text behind the object, found 'x'");
  row("two objects", "{}\n{}", "line 2, column 1: expected the end of the text behind the object, found '{'");
  row("leading zero", "{\"a\": 012}", "line 1, column 8: expected no digit behind a leading zero, found '1'");
  row("lone minus", "{\"a\": -}", "line 1, column 8: expected a digit behind '-', found '}'");
  row("lone dot", "{\"a\": 1.}", "line 1, column 9: expected a digit behind '.', found '}'");
  row("lone exponent", "{\"a\": 1e}", "line 1, column 9: expected a digit in the exponent, found '}'");
  row("plus", "{\"a\": +1}", "line 1, column 7: expected a value, found '+'");
  row("hex", "{\"a\": 0x10}", "line 1, column 8: expected ',' or '}' behind a value, found 'x'");
  row("open text", "{\"a\": \"x", "line 1, column 9: expected '\"', the end of a text, found the end of the text");
  row("line break in a text", "{\"a\": \"x\n\"}",
      "line 1, column 9: expected '\"' at the end of a text; control characters are escaped, found byte 0x0A");
  row("wrong escape", "{\"a\": \"\\q\"}",
      "line 1, column 9: expected an escape such as \\n, \\\" or \\u00e9, found 'q'");
  row("short escape", "{\"a\": \"\\u12\"}",
      "line 1, column 12: expected four hexadecimal digits behind \\u, found '\"'");
  row("not utf-8", "{\"a\": \"\xff\"}", "line 1, column 8: expected text in UTF-8, found byte 0xFF");
  row("surrogate as utf-8", "{\"a\": \"\xed\xa0\x80\"}", "line 1, column 8: expected text in UTF-8, found byte 0xED");
  row("overlong", "{\"a\": \"\xc0\x80\"}", "line 1, column 8: expected text in UTF-8, found byte 0xC0");
  row("columns count characters", "{\"größe\": 東}", "line 1, column 11: expected a value, found '東'");
  row("nested closer", "{\"a\": {\"b\": [1}}", "line 1, column 15: expected ',' or ']' behind a value, found '}'");
  row("nested key", "{\"a\": {1: 2}}", "line 1, column 8: expected a key in double quotes, found '1'");
  row("utf-16", QByteArray("\xff\xfe{\0}\0", 6),
      "line 1, column 1: expected '{', the start of a JSON object, found byte 0xFF");
}

void JsonTextTest::what_is_wrong_is_said_with_line_and_column() {
  QFETCH(QByteArray, text);
  QFETCH(QString, error);
  const auto result = JsonText::parse(text.toStdString());
  QVERIFY(!result);
  QCOMPARE(q(result.error()), error);
}

void JsonTextTest::every_cut_of_a_text_is_refused() {
  const std::string whole =
      "{\r\n\t\"a\": {\"x\": [1, -2.5e3, \"\\u00e9\"]}, \"b\": [\"x\", \"é\"],\n \"c\": null, \"d\": [[], {}], \"e\": "
      "false}";
  QVERIFY(JsonText::parse(whole));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    QVERIFY2(!JsonText::parse(whole.substr(0, length)), whole.substr(0, length).c_str());
  }
}

void JsonTextTest::deep_nesting_is_refused_and_not_a_crash() {
  QVERIFY(JsonText::parse("{\"a\": " + std::string(200, '[') + std::string(200, ']') + "}"));
  const auto deep = JsonText::parse("{\"a\": " + std::string(1'000'000, '['));
  QVERIFY(!deep);
  QCOMPARE(q(deep.error()), q("line 1, column 207: expected values nested no deeper than 200 levels, found '['"));
}

void JsonTextTest::a_repeated_key_counts_with_its_last_value() {
  const std::string text = R"({"a": 1, "b": 2, "a": 3, "c": 4, "b": 5, "a": 6})";
  const JsonText read = parsed(text);
  QVERIFY((read.duplicates() == std::vector<std::string>{"a", "b"}));
  QVERIFY(read.value(*read.find("a")) == OptionValue(Int{6}));
  QCOMPARE(q(read.with({{"a", OptionValue(Int{7})}})), q(R"({"a": 1, "b": 2, "a": 3, "c": 4, "b": 5, "a": 7})"));
  QCOMPARE(q(read.with({{"a", std::nullopt}})), q(R"({"b": 2, "c": 4, "b": 5})"));
}

void JsonTextTest::replacing_keeps_every_other_byte() {
  const std::string text = "\xEF\xBB\xBF \r\n{ \"a\" :  1.50 ,\t\"b\":[ 1,{\"a\": 2} ]\n,\"c\" : \"été\" } \n\n";
  QCOMPARE(q(edited(text, {{"c", OptionValue(std::string("n\"ew"))}, {"a", OptionValue(true)}})),
           q("\xEF\xBB\xBF \r\n{ \"a\" :  true ,\t\"b\":[ 1,{\"a\": 2} ]\n,\"c\" : \"n\\\"ew\" } \n\n"));
  QCOMPARE(q(edited(text, {{"b", OptionValue(Int{3})}})),
           q("\xEF\xBB\xBF \r\n{ \"a\" :  1.50 ,\t\"b\":3\n,\"c\" : \"été\" } \n\n"));
}

void JsonTextTest::lists_keep_their_style() {
  const std::string text = "{\n\t\"a\": [\n\t\t\"x\"\n\t],\n\t\"b\": [\"y\"],\n\t\"c\": []\n}";
  const OptionValue two = OptionList{"1", "2"};
  QCOMPARE(q(edited(text, {{"a", two}, {"b", two}, {"c", two}})),
           q("{\n\t\"a\": [\n\t\t\"1\",\n\t\t\"2\"\n\t],\n\t\"b\": [\"1\", \"2\"],\n\t\"c\": "
             "[\n\t\t\"1\",\n\t\t\"2\"\n\t]\n}"));
  QCOMPARE(q(edited(text, {{"a", OptionValue(OptionList{})}})),
           q("{\n\t\"a\": [],\n\t\"b\": [\"y\"],\n\t\"c\": []\n}"));
}

void JsonTextTest::new_members_follow_the_files_style_data() {
  QTest::addColumn<QString>("text");
  QTest::addColumn<QString>("result");
  const auto row = [](const char* name, const char* text, const char* result) {
    QTest::newRow(name) << q(text) << q(result);
  };
  row("python", "{\n  \"a\": 1\n}\n", "{\n  \"a\": 1,\n  \"k\": 0.5,\n  \"l\": [\n    \"x\",\n    \"y\"\n  ]\n}\n");
  row("four blanks", "{\n    \"a\": 1\n}",
      "{\n    \"a\": 1,\n    \"k\": 0.5,\n    \"l\": [\n        \"x\",\n        \"y\"\n    ]\n}");
  row("tabs", "{\n\t\"a\": 1\n}", "{\n\t\"a\": 1,\n\t\"k\": 0.5,\n\t\"l\": [\n\t\t\"x\",\n\t\t\"y\"\n\t]\n}");
  row("crlf", "{\r\n  \"a\": 1\r\n}\r\n",
      "{\r\n  \"a\": 1,\r\n  \"k\": 0.5,\r\n  \"l\": [\r\n    \"x\",\r\n    \"y\"\r\n  ]\r\n}\r\n");
  row("one line", "{\"a\": 1}", "{\"a\": 1, \"k\": 0.5, \"l\": [\"x\", \"y\"]}");
  row("compact", "{\"a\":1}", "{\"a\":1,\"k\":0.5,\"l\":[\"x\",\"y\"]}");
  row("lists on a line", "{\n  \"a\": [\"b\"]\n}", "{\n  \"a\": [\"b\"],\n  \"k\": 0.5,\n  \"l\": [\"x\", \"y\"]\n}");
  row("empty", "{}", "{\n  \"k\": 0.5,\n  \"l\": [\n    \"x\",\n    \"y\"\n  ]\n}");
  row("empty with blanks", " { \n } \n", " {\n  \"k\": 0.5,\n  \"l\": [\n    \"x\",\n    \"y\"\n  ]\n} \n");
  row("byte order mark", "\xEF\xBB\xBF{\n \"a\" : 1\n}",
      "\xEF\xBB\xBF{\n \"a\" : 1,\n \"k\" : 0.5,\n \"l\" : [\n  \"x\",\n  \"y\"\n ]\n}");
}

void JsonTextTest::new_members_follow_the_files_style() {
  QFETCH(QString, text);
  QFETCH(QString, result);
  const std::string out =
      edited(text.toStdString(), {{"k", OptionValue(0.5)}, {"l", OptionValue(OptionList{"x", "y"})}});
  QCOMPARE(q(out), result);
  QVERIFY(JsonText::parse(out));
}

void JsonTextTest::members_can_be_taken_away_data() {
  QTest::addColumn<QStringList>("keys");
  QTest::addColumn<QString>("result");
  QTest::newRow("first") << QStringList{"a"} << "{\n  \"b\": [\n    1\n  ],\n  \"c\": 3\n}";
  QTest::newRow("middle") << QStringList{"b"} << "{\n  \"a\": 1,\n  \"c\": 3\n}";
  QTest::newRow("last") << QStringList{"c"} << "{\n  \"a\": 1,\n  \"b\": [\n    1\n  ]\n}";
  QTest::newRow("first two") << QStringList{"b", "a"} << "{\n  \"c\": 3\n}";
  QTest::newRow("last two") << QStringList{"b", "c"} << "{\n  \"a\": 1\n}";
  QTest::newRow("outer two") << QStringList{"a", "c"} << "{\n  \"b\": [\n    1\n  ]\n}";
  QTest::newRow("all") << QStringList{"a", "b", "c"} << "{}";
  QTest::newRow("none") << QStringList{"absent"} << "{\n  \"a\": 1,\n  \"b\": [\n    1\n  ],\n  \"c\": 3\n}";
}

void JsonTextTest::members_can_be_taken_away() {
  QFETCH(QStringList, keys);
  QFETCH(QString, result);
  std::vector<JsonEdit> edits;
  for (const QString& key : keys) edits.push_back({key.toStdString(), std::nullopt});
  QCOMPARE(q(edited("{\n  \"a\": 1,\n  \"b\": [\n    1\n  ],\n  \"c\": 3\n}", edits)), result);
}

void JsonTextTest::strings_written_are_read_back() {
  std::string all;
  for (int c = 1; c < 128; ++c) all += static_cast<char>(c);
  for (const std::string& word : {all, std::string("größe 夜景 😀"), std::string(), std::string("\0x", 2)}) {
    const std::string text = "{" + attn::json_string(word) + ": " + attn::json_string(word) + "}";
    const JsonText read = parsed(text);
    QCOMPARE(q(read.members().at(0).key), q(word));
    QVERIFY(read.value(read.members().at(0)) == OptionValue(word));
    QVERIFY(nlohmann::json::parse(text).contains(word));
  }
}

void JsonTextTest::numbers_written_are_read_back() {
  for (const double number : {0.1, 0.5, 1.0, -3.0, 1e300, 5e-324, 123456789.125, 0.30000000000000004}) {
    const JsonText read = parsed(edited("{}", {{"n", OptionValue(number)}}));
    QVERIFY(read.value(*read.find("n")) == OptionValue(number));
    QVERIFY(read.find("n")->kind == JsonKind::real);
  }
  QCOMPARE(q(edited("{\"n\":0}", {{"n", OptionValue(1.0)}})), q("{\"n\":1.0}"));
}

void JsonTextTest::five_megabytes_are_quick() {
  std::string text = "{\n";
  for (int i = 0; text.size() < 5'000'000; ++i) {
    text += "  \"key_" + std::to_string(i) + "\": [\n    \"größe\",\n    {\"deep\": [1, 2.5e-1, null]}\n  ],\n";
  }
  text += "  \"sparse_attention_budget\": 30\n}\n";
  QElapsedTimer clock;
  clock.start();
  const std::string out = edited(text, {{"sparse_attention_budget", OptionValue(Int{45})}, {"new", OptionValue(true)}});
  const qint64 took = clock.elapsed();
  QVERIFY(out.ends_with("  \"sparse_attention_budget\": 45,\n  \"new\": true\n}\n"));
  QCOMPARE(out.size(), text.size() + std::string(",\n  \"new\": true").size());
  QVERIFY2(took < 5000, qPrintable(QString::number(took)));
}

QTEST_GUILESS_MAIN(JsonTextTest)
#include "json_text_test.moc"
