// SPDX-License-Identifier: GPL-3.0-or-later
// Sparse attention in other systems' units (field case 31) and spellings (field case 49).
#include "core/exchange/formats.h"
#include "core/exchange/sparse_share.h"
#include "core/settings/settings.h"
#include "support/kernels.h"
#include "support/oracle.h"

#include <QtTest>

using namespace attn;
using attn::test::q;

namespace {

ProductionSettings settings_with(std::vector<std::pair<std::string, OptionValue>> changes) {
  Registry registry;
  registry.set_original(test::reference_original());
  ProductionSettings settings{option_specs(registry, test::target_of("cuda")), {}, {}, {}};
  for (const OptionSpec& spec : settings.specs) settings.values.put(spec.key, spec.fallback);
  for (auto& [key, value] : changes) settings.values.put(key, std::move(value));
  return settings;
}

ProductionSettings keeping(std::int64_t percent) {
  return settings_with({{"sparse_attention_enabled", true}, {"sparse_attention_budget", percent}});
}

std::string exported(const char* format, const ProductionSettings& settings, const ExportOptions& options = {}) {
  auto made = (*find_exchange_format(format))->write(settings, options);
  if (!made) qFatal("%s", made.error().c_str());
  return made->text;
}

ImportText imported(const char* format, std::string_view text, std::int64_t steps = 0) {
  ExportOptions options;
  options.steps = steps;
  auto read = (*find_exchange_format(format))->read(text, settings_with({}), options);
  if (!read) qFatal("%s", read.error().c_str());
  return *std::move(read);
}

OptionValue value_in(const ImportText& read, std::string_view key) {
  for (const auto& [name, value] : read.values) {
    if (name == key) return value;
  }
  return std::string("absent");
}

bool mentions(const std::vector<std::string>& sentences, std::string_view part) {
  return std::any_of(sentences.begin(), sentences.end(),
                     [part](const std::string& one) { return one.find(part) != std::string::npos; });
}

/// A node as a workflow's API form has it.
std::string node(const std::string& selection, const std::string& rest = "") {
  return "{\"class_type\": \"BlockSparseAttention\", \"inputs\": {" + selection +
         "\"selection.keep_percent\": 30.0, \"start_percent\": 0.0, \"end_percent\": 1.0, \"min_tokens\": 8192" + rest +
         "}}";
}

}  // namespace

class SparseExchangeTest : public QObject {
  Q_OBJECT

 private slots:
  void case_31_a_share_is_read_in_its_own_unit_data();
  void case_31_a_share_is_read_in_its_own_unit();
  void case_31_a_share_is_written_in_every_unit();
  void case_31_every_share_comes_back_from_every_system();
  void case_31_what_is_no_share_is_refused_data();
  void case_31_what_is_no_share_is_refused();
  void dense_steps_at_both_ends_are_a_window();
  void case_49_old_and_new_names_give_the_same_settings();
  void case_49_an_absent_choice_is_named();
  void case_49_the_spelling_follows_the_target();
  void a_node_is_found_wherever_it_stands();
  void values_out_of_range_are_named();
};

void SparseExchangeTest::case_31_a_share_is_read_in_its_own_unit_data() {
  QTest::addColumn<QString>("format");
  QTest::addColumn<int>("kept");
  QTest::addColumn<bool>("warns");
  const auto row = [](const char* format, const char* text, int kept, bool warns) {
    QTest::newRow((std::string(format) + " " + text).c_str()) << format << kept << warns;
  };
  row("svg", "sparsity=0.10", 10, true);
  row("svg", "--sparsity=0.25\n", 25, false);
  row("svg", "sparsity=0.20", 20, false);
  row("vsa", "sparsity=0.9", 10, true);
  row("vsa", "sparsity=0.70", 30, false);
  row("sglang", "keep=[0.30, 0.30]", 30, false);
  row("sglang", "keep=[0.05]", 5, true);
}

void SparseExchangeTest::case_31_a_share_is_read_in_its_own_unit() {
  QFETCH(QString, format);
  QFETCH(int, kept);
  QFETCH(bool, warns);
  const std::string tag = QTest::currentDataTag();
  const ImportText read = imported(qPrintable(format), tag.substr(tag.find(' ') + 1));
  QVERIFY2(read.problems.empty(), read.problems.empty() ? "" : read.problems.front().c_str());
  QCOMPARE(value_in(read, "sparse_attention_budget"), OptionValue(std::int64_t{kept}));
  QCOMPARE(value_in(read, "sparse_attention_enabled"), OptionValue(true));
  const std::string warning =
      "warning: keep " + std::to_string(kept) + " % (skip " + std::to_string(100 - kept) + " %)";
  QCOMPARE(mentions(read.notes, warning), warns);
}

void SparseExchangeTest::case_31_a_share_is_written_in_every_unit() {
  const ProductionSettings thirty = keeping(30);
  QVERIFY(exported("sdnext-options", thirty).find("\"sparse_attention_budget\": 30,") != std::string::npos);
  QVERIFY(exported("comfyui-sparse", thirty).find("\"selection\": \"sla\",\n    \"selection.keep_percent\": 30.0") !=
          std::string::npos);
  QCOMPARE(q(exported("svg", thirty)), QString("sparsity=0.30\n"));
  QCOMPARE(q(exported("vsa", thirty)), QString("sparsity=0.70\n"));
  QCOMPARE(q(exported("sglang", thirty)), QString("keep=[0.30]\n"));
  QCOMPARE(q(share_text(*find_share_unit("sdnext"), 30).value()), QString("30"));
  const auto sol = share_text(*find_share_unit("sol-attn"), 30);
  QVERIFY(!sol && sol.error().find("not expressible") != std::string::npos);
  ExportOptions options;
  options.selection = "sol-attn";
  const auto node_of_sol = (*find_exchange_format("comfyui-sparse"))->write(thirty, options);
  QVERIFY(!node_of_sol && node_of_sol.error().find("not expressible; nearest is sla") != std::string::npos);
}

void SparseExchangeTest::case_31_every_share_comes_back_from_every_system() {
  int checked = 0;
  for (const ShareUnit& unit : share_units()) {
    if (!unit.has_share) continue;
    for (int percent = 0; percent <= 100; ++percent) {
      const auto text = share_text(unit, percent);
      const auto back = read_share(unit, *text);
      QVERIFY2(back, back ? "" : back.error().c_str());
      QCOMPARE(back->percent, static_cast<double>(percent));
      QCOMPARE(back->warning.empty(), percent >= 20);
      ++checked;
    }
  }
  QCOMPARE(checked, 5 * 101);
}

void SparseExchangeTest::case_31_what_is_no_share_is_refused_data() {
  QTest::addColumn<QString>("problem");
  QTest::newRow("svg sparsity=30") << "svg sparsity is 30; it takes a number from 0 to 1";
  QTest::newRow("svg sparsity=-0.1") << "it takes a number from 0 to 1";
  QTest::newRow("svg sparsity=nan") << "it takes a number from 0 to 1";
  QTest::newRow("svg sparsity=") << "is empty";
  QTest::newRow("svg other=1") << "there is no sparsity=NUMBER";
  QTest::newRow("sglang keep=[0.3,0.5]") << "differs from layer to layer";
  QTest::newRow("vsa sparsity=0.97") << "sparse_attention_budget";  // keep 3 %, below the least there is
}

void SparseExchangeTest::case_31_what_is_no_share_is_refused() {
  QFETCH(QString, problem);
  const std::string tag = QTest::currentDataTag();
  const ImportText read = imported(tag.substr(0, tag.find(' ')).c_str(), tag.substr(tag.find(' ') + 1));
  QVERIFY(!read.problems.empty() && read.values.empty());
  QVERIFY2(q(read.problems.front()).contains(problem), read.problems.front().c_str());
}

void SparseExchangeTest::dense_steps_at_both_ends_are_a_window() {
  for (const std::int64_t steps : {1, 2, 4, 20, 28, 50}) {
    for (std::int64_t dense = 0; dense <= 10; ++dense) {
      const Window window = window_of(dense, steps);
      QVERIFY(window.begin >= 0.0 && window.begin <= window.end && window.end <= 1.0);
      bool uneven = true;
      const std::int64_t back = dense_steps_of(window, steps, uneven);
      const std::int64_t most = (steps + 1) / 2;
      QCOMPARE(back, std::min(dense, most));
      if (dense * 2 <= steps) QVERIFY(!uneven);
    }
  }
  ProductionSettings settings = keeping(30);
  settings.values.put("sparse_attention_schedule_steps", std::int64_t{2});
  settings.values.put("sparse_attention_schedule_bump", std::int64_t{70});
  ExportOptions options;
  options.steps = 20;
  const std::string text = exported("comfyui-sparse", settings, options);
  QVERIFY2(text.find("\"start_percent\": 0.1,\n    \"end_percent\": 0.9,") != std::string::npos, text.c_str());
  const ImportText read = imported("comfyui-sparse", text, 20);
  QCOMPARE(value_in(read, "sparse_attention_schedule_steps"), OptionValue(std::int64_t{2}));
  QCOMPARE(value_in(read, "sparse_attention_schedule_bump"), OptionValue(std::int64_t{70}));
  QVERIFY(mentions(imported("comfyui-sparse", text).notes, "say how many steps a generation has"));
  const ImportText uneven = imported(
      "comfyui-sparse",
      R"({"class_type": "BlockSparseAttention", "inputs": {"selection": "sla", "start_percent": 0.2, "end_percent": 1.0,
          "keep_percent": 30, "min_tokens": 8192}})",
      20);
  QVERIFY(mentions(uneven.notes, "different ends; 4 dense steps are taken at both"));
}

void SparseExchangeTest::case_49_old_and_new_names_give_the_same_settings() {
  const ImportText old = imported("comfyui-sparse", node("\"selection\": \"top-k (SLA)\", "));
  const ImportText now = imported("comfyui-sparse", node("\"selection\": \"sla\", "));
  QVERIFY(old.problems.empty() && now.problems.empty());
  QVERIFY(old.values == now.values && !now.values.empty());
  QVERIFY(mentions(old.notes, "renamed choice: top-k (SLA) is sla today"));
  QVERIFY(!mentions(now.notes, "renamed choice"));
  // Every renamed name is understood, also where its choice cannot be taken.
  for (const auto& [before, after] :
       {std::pair{"Sol-Attn (adaptive tau)", "sol-attn"}, std::pair{"VSA (FastVideo)", "vsa"}}) {
    for (const char* name : {before, after}) {
      const ImportText read = imported("comfyui-sparse", node("\"selection\": \"" + std::string(name) + "\", "));
      QCOMPARE(read.problems.size(), std::size_t{1});
      QVERIFY(mentions(read.problems, "keeps no share that could be taken; nearest is sla"));
      QCOMPARE(mentions(read.notes, "renamed choice"), std::string(name) == before);
    }
  }
  QVERIFY(
      mentions(imported("comfyui-sparse", node("\"selection\": \"sls\", ")).problems, "selection sls is not known"));
}

void SparseExchangeTest::case_49_an_absent_choice_is_named() {
  for (const char* selection : {"", "\"selection\": null, ", "\"selection\": 3, "}) {
    const ImportText read = imported("comfyui-sparse", node(selection));
    QVERIFY(read.values.empty());
    QVERIFY2(mentions(read.problems, "selection is missing; sla is the one"), selection);
  }
  QVERIFY(mentions(imported("comfyui-sparse", "{\"3\": {\"class_type\": \"KSampler\", \"inputs\": {}}}").problems,
                   "there is no node BlockSparseAttention"));
}

void SparseExchangeTest::case_49_the_spelling_follows_the_target() {
  ExportOptions old;
  old.old_spelling = true;
  const std::string before = exported("comfyui-sparse", keeping(30), old);
  const std::string now = exported("comfyui-sparse", keeping(30));
  QVERIFY(before.find("\"top-k (SLA)\"") != std::string::npos && now.find("\"sla\"") != std::string::npos);
  QVERIFY(imported("comfyui-sparse", before).values == imported("comfyui-sparse", now).values);
}

void SparseExchangeTest::a_node_is_found_wherever_it_stands() {
  const std::string plain = node("\"selection\": \"sla\", ");
  const ImportText::Values wanted = imported("comfyui-sparse", plain).values;
  const ImportText api = imported(
      "comfyui-sparse", "{\"1\": {\"class_type\": \"KSampler\", \"inputs\": {\"seed\": 1}}, \"7\": " + plain + "}");
  QVERIFY(api.values == wanted);
  const ImportText window = imported("comfyui-sparse",
                                     "{\"nodes\": [{\"type\": \"X\"}, {\"type\": \"BlockSparseAttention\", "
                                     "\"widgets_values\": [\"top-k (SLA)\", 30, 0.0, 1.0, \"\"]}]}");
  QCOMPARE(value_in(window, "sparse_attention_budget"), OptionValue(std::int64_t{30}));
  QVERIFY(mentions(window.notes, "min_tokens stands without its name"));
  const ImportText two = imported("comfyui-sparse", "{\"1\": " + plain + ", \"2\": " + plain + "}");
  QVERIFY(mentions(two.notes, "2 such nodes are there"));
}

void SparseExchangeTest::values_out_of_range_are_named() {
  const auto problems = [](const std::string& key, const std::string& value) {
    const std::string inputs = "{\"selection\": \"sla\", \"" + key + "\": " + value + "}";
    return imported("comfyui-sparse", "{\"class_type\": \"BlockSparseAttention\", \"inputs\": " + inputs + "}")
        .problems;
  };
  QVERIFY(mentions(problems("keep_percent", "0.1"), "keep_percent is 0.1; it takes a number from 0.5 to 95.0"));
  QVERIFY(mentions(problems("keep_percent", "\"30\""), "keep_percent is \"30\"; it takes a number"));
  QVERIFY(mentions(problems("start_percent", "20"), "start_percent is 20; it takes a number from 0.0 to 1.0"));
  QVERIFY(mentions(problems("end_percent", "null"), "end_percent is null"));
}

QTEST_GUILESS_MAIN(SparseExchangeTest)
#include "sparse_exchange_test.moc"
