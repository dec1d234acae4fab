// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/exchange/diff.h"
#include "core/exchange/json_text.h"
#include "core/exchange/sdnext_config.h"
#include "core/settings/settings.h"
#include "support/oracle.h"

#include <QtTest>

#include <algorithm>
#include <string>
#include <vector>

using attn::ExportResult;
using attn::ImportResult;
using attn::OptionList;
using attn::OptionSpec;
using attn::OptionType;
using attn::OptionValue;
using attn::OptionValues;
using attn::SdNextForm;
using attn::test::q;

namespace {

using Int = std::int64_t;

const std::vector<std::string> kLabels{"SDNQ attention",         "Sage attention", "Flash attention",
                                       "Triton Flash attention", "Flex attention", "Dynamic attention"};
const std::vector<std::string> kKernels{"Flash", "Memory", "Math"};
const std::vector<std::string> kMatmul{"disabled", "enabled", "int8", "uint8", "float8_e4m3fn", "float16"};

OptionSpec flag(const char* key, bool fallback) {
  return {.key = key, .type = OptionType::boolean, .fallback = fallback};
}
OptionSpec choice(const char* key, const char* fallback, std::vector<std::string> choices) {
  return {.key = key, .type = OptionType::choice, .fallback = std::string(fallback), .choices = std::move(choices)};
}
OptionSpec list(const char* key, OptionList fallback, std::vector<std::string> choices) {
  return {.key = key, .type = OptionType::choices, .fallback = std::move(fallback), .choices = std::move(choices)};
}
OptionSpec whole(const char* key, Int fallback, double minimum, double maximum) {
  return {.key = key, .type = OptionType::integer, .fallback = fallback, .minimum = minimum, .maximum = maximum};
}
OptionSpec real(const char* key, double fallback, double minimum, double maximum) {
  return {.key = key, .type = OptionType::real, .fallback = fallback, .minimum = minimum, .maximum = maximum};
}
OptionSpec text(const char* key, const char* fallback) {
  return {.key = key, .type = OptionType::text, .fallback = std::string(fallback)};
}

/// The attention settings of SD.Next, as the reference lists them.
std::vector<OptionSpec> specs(OptionList overrides = {}) {
  return {choice("cross_attention_optimization", "Scaled-Dot-Product", {"Scaled-Dot-Product", "Default"}),
          list("sdp_overrides", std::move(overrides), kLabels),
          list("sdp_options", kKernels, kKernels),
          choice("attention_slicing", "Default", {"Default", "Enabled", "Disabled"}),
          text("hf_attention", ""),
          real("dynamic_attention_slice_rate", 0.5, 0.01, 24),
          real("dynamic_attention_trigger_rate", 1.0, 0.01, 48),
          flag("sdnq_attention_smooth_k", true),
          flag("sdnq_attention_use_hadamard", false),
          choice("sdnq_attention_matmul_type", "enabled", kMatmul),
          choice("sdnq_attention_pv_matmul_type", "disabled", kMatmul),
          whole("sdnq_attention_hadamard_group_size", 256, 4, 1024),
          flag("sparse_attention_enabled", false),
          whole("sparse_attention_budget", 30, 5, 100),
          whole("sparse_attention_min_tokens", 8192, 0, 32768),
          whole("sparse_attention_schedule_steps", 0, 0, 10),
          whole("sparse_attention_schedule_bump", 30, 0, 70),
          flag("sparse_attention_head_shared", false),
          text("sparse_attention_exclude", "CosmosTransformer3DModel")};
}

OptionValues defaults(const std::vector<OptionSpec>& options) {
  OptionValues values;
  for (const OptionSpec& spec : options) values.put(spec.key, spec.fallback);
  return values;
}

OptionValues with(std::vector<std::pair<std::string, OptionValue>> changes) {
  OptionValues values = defaults(specs());
  for (auto& [key, value] : changes) values.put(key, std::move(value));
  return values;
}

std::string sample(SdNextForm form) {
  return attn::test::file_bytes(std::string(ATTN_ORACLES) + "/sdnext/sdnext-config-" + std::string(name_of(form)) +
                                ".json");
}

ExportResult exported(std::string_view existing, const OptionValues& values,
                      std::optional<SdNextForm> form = std::nullopt) {
  auto result = attn::export_config(existing, specs(), values, form);
  if (!result) qFatal("%s", result.error().c_str());
  return *std::move(result);
}

ImportResult imported(std::string_view from, std::optional<SdNextForm> form = std::nullopt) {
  auto result = attn::import_config(from, specs(), form);
  if (!result) qFatal("%s", result.error().c_str());
  return *std::move(result);
}

/// What the settings are after an import over the defaults: the absent keys stand for those anyway.
OptionValues settings_of(const ImportResult& result) {
  OptionValues values = defaults(specs());
  for (const auto& [key, value] : result.values) values.put(key, value);
  return values;
}

void same_settings(const OptionValues& got, const OptionValues& wanted) {
  for (const auto& [key, value] : wanted.all()) {
    QVERIFY2(got.find(key) != nullptr && attn::same_value(*got.find(key), value),
             (key + " is " + attn::value_text(*got.find(key)) + ", not " + attn::value_text(value)).c_str());
  }
}

std::string replaced(std::string whole_text, std::string_view from, std::string_view to) {
  const std::size_t at = whole_text.find(from);
  if (at == std::string::npos || whole_text.find(from, at + 1) != std::string::npos) {
    qFatal("the sample does not hold this once: %s", std::string(from).c_str());
  }
  return whole_text.replace(at, from.size(), to);
}

bool mentions(const std::vector<std::string>& sentences, std::string_view part) {
  return std::any_of(sentences.begin(), sentences.end(),
                     [part](const std::string& sentence) { return sentence.find(part) != std::string::npos; });
}

}  // namespace

class ExchangeTest : public QObject {
  Q_OBJECT

 private slots:
  void the_form_is_seen_data();
  void the_form_is_seen();
  void the_samples_are_read();
  void a_file_that_says_it_all_keeps_every_byte_data();
  void a_file_that_says_it_all_keeps_every_byte();
  void only_changed_values_change_in_the_overrides_sample();
  void only_changed_values_change_in_the_selector_sample();
  void absent_defaults_stay_absent_and_present_keys_are_set();
  void a_new_file_holds_what_differs_from_the_defaults();
  void a_value_that_means_the_same_keeps_its_spelling();
  void old_kernel_names_are_understood_and_kept();
  void every_set_of_overrides_has_a_method();
  void what_a_form_cannot_express_is_listed();
  void zero_tokens_mean_the_same_in_both_forms();
  void changing_the_form_takes_the_other_forms_keys_away();
  void settings_come_back_data();
  void settings_come_back();
  void wrong_values_are_named_and_change_nothing_data();
  void wrong_values_are_named_and_change_nothing();
  void text_that_is_no_object_is_refused();
  void a_file_without_attention_settings_says_so();
  void unusual_texts_are_read_and_kept();
  void repeated_keys_are_told();
  void the_preview_shows_the_changed_lines();
};

void ExchangeTest::the_form_is_seen_data() {
  QTest::addColumn<QString>("text");
  QTest::addColumn<bool>("selector");
  const auto row = [](const char* text, bool selector) { QTest::newRow(text) << q(text) << selector; };
  row("", false);
  row("{}", false);
  row(R"({"sdp_overrides": []})", false);
  row(R"({"cross_attention_optimization": "Scaled-Dot-Product"})", false);
  row(R"({"cross_attention_optimization": "xFormers"})", false);
  row(R"({"cross_attention_optimization": "SDNQ attention"})", true);
  row(R"({"cross_attention_optimization": "Triton AMD Flash attention"})", true);
  row(R"({"cross_attention_optimization": null})", false);
  row(R"({"sparse_attention_exclude": ""})", true);
  row(R"({"sdp_overrides": [], "cross_attention_optimization": "Scaled-Dot-Product"})", false);
  row(R"({"sdp_overrides": ["Sage attention"], "cross_attention_optimization": "SDNQ attention"})", true);
}

void ExchangeTest::the_form_is_seen() {
  QFETCH(QString, text);
  QFETCH(bool, selector);
  QCOMPARE(attn::detect_sdnext_form(text.toStdString()).value() == SdNextForm::selector, selector);
}

void ExchangeTest::the_samples_are_read() {
  const ImportResult overrides = imported(sample(SdNextForm::overrides));
  QVERIFY(overrides.form == SdNextForm::overrides && overrides.problems.empty());
  QCOMPARE(overrides.values.size(), std::size_t{10});
  same_settings(settings_of(overrides), with({{"sdp_overrides", OptionList{"SDNQ attention", "Dynamic attention"}},
                                              {"sdnq_attention_matmul_type", std::string("int8")},
                                              {"sparse_attention_enabled", true},
                                              {"sparse_attention_budget", Int{45}}}));
  QVERIFY(mentions(overrides.notes, "sparse_attention_min_tokens: 0 means 8192"));
  QVERIFY(mentions(overrides.notes, "Math attention is the old spelling of Math"));

  const ImportResult selector = imported(sample(SdNextForm::selector));
  QVERIFY(selector.form == SdNextForm::selector && selector.problems.empty());
  same_settings(settings_of(selector),
                with({{"sdp_overrides", OptionList{"SDNQ attention"}},
                      {"sdp_options", OptionList{"Flash", "Memory", "Math"}},
                      {"sdnq_attention_pv_matmul_type", std::string("uint8")},
                      {"sparse_attention_enabled", true},
                      {"sparse_attention_budget", Int{25}},
                      {"sparse_attention_schedule_steps", Int{3}},
                      {"sparse_attention_schedule_bump", Int{40}},
                      {"sparse_attention_exclude", std::string("CosmosTransformer3DModel, anima")},
                      {"hf_attention", std::string("_native_cudnn")}}));
  // Found and absent keys together are all there are, each once.
  for (const ImportResult* result : {&overrides, &selector}) {
    std::vector<std::string> keys;
    for (const auto& [key, value] : result->values) keys.push_back(key);
    for (const auto& [key, value] : result->absent) keys.push_back(key);
    std::sort(keys.begin(), keys.end());
    QVERIFY(std::unique(keys.begin(), keys.end()) == keys.end());
    QCOMPARE(keys.size(), specs().size() - (result == &overrides ? 1U : 0U));
  }
}

void ExchangeTest::a_file_that_says_it_all_keeps_every_byte_data() {
  QTest::addColumn<bool>("selector");
  QTest::newRow("overrides") << false;
  QTest::newRow("selector") << true;
}

void ExchangeTest::a_file_that_says_it_all_keeps_every_byte() {
  QFETCH(bool, selector);
  const std::string bytes = sample(selector ? SdNextForm::selector : SdNextForm::overrides);
  const ExportResult result = exported(bytes, settings_of(imported(bytes)));
  QCOMPARE(q(result.text), q(bytes));
  QVERIFY(result.changes.empty());
  QVERIFY(attn::diff_lines(bytes, result.text).empty());
}

void ExchangeTest::only_changed_values_change_in_the_overrides_sample() {
  const std::string bytes = sample(SdNextForm::overrides);
  OptionValues values = settings_of(imported(bytes));
  values.put("sdp_overrides", OptionList{"Sage attention"});
  values.put("sdnq_attention_matmul_type", std::string("float16"));
  values.put("dynamic_attention_slice_rate", 0.75);
  values.put("sparse_attention_enabled", false);
  values.put("sparse_attention_budget", Int{60});
  values.put("sdnq_attention_use_hadamard", true);  // not in the file
  const ExportResult result = exported(bytes, values);
  std::string wanted = replaced(bytes, "\"sdp_overrides\": [\n    \"SDNQ attention\",\n    \"Dynamic attention\"\n  ]",
                                "\"sdp_overrides\": [\n    \"Sage attention\"\n  ]");
  wanted = replaced(wanted, "\"sdnq_attention_matmul_type\": \"int8\"", "\"sdnq_attention_matmul_type\": \"float16\"");
  wanted = replaced(wanted, "\"dynamic_attention_slice_rate\": 5.000000e-01", "\"dynamic_attention_slice_rate\": 0.75");
  wanted = replaced(wanted, "\"sparse_attention_enabled\": true", "\"sparse_attention_enabled\": false");
  wanted = replaced(wanted, "\"sparse_attention_budget\": 45", "\"sparse_attention_budget\": 60");
  wanted.replace(wanted.rfind("\n}"), 2, ",\n  \"sdnq_attention_use_hadamard\": true\n}");
  QCOMPARE(q(result.text), q(wanted));
  QCOMPARE(result.changes.size(), std::size_t{6});
  const auto change = std::find_if(result.changes.begin(), result.changes.end(),
                                   [](const auto& one) { return one.key == "dynamic_attention_slice_rate"; });
  QCOMPARE(q(change->before), q("5.000000e-01"));
  QCOMPARE(q(change->after), q("0.75"));
}

void ExchangeTest::only_changed_values_change_in_the_selector_sample() {
  const std::string bytes = sample(SdNextForm::selector);
  OptionValues values = settings_of(imported(bytes));
  values.put("sdp_overrides", OptionList{"Triton Flash attention"});
  values.put("hf_attention", std::string());
  values.put("sparse_attention_min_tokens", Int{0});
  const ExportResult result = exported(bytes, values);
  std::string wanted = replaced(bytes, "\"cross_attention_optimization\": \"SDNQ attention\"",
                                "\"cross_attention_optimization\": \"Triton AMD Flash attention\"");
  wanted = replaced(wanted, "\"hf_attention\": \"_native_cudnn\"", "\"hf_attention\": \"\"");
  wanted.replace(wanted.rfind("\n}"), 2, ",\n  \"sparse_attention_min_tokens\": 0\n}");
  QCOMPARE(q(result.text), q(wanted));
  QVERIFY(result.text.find("sdp_overrides") == std::string::npos);
  same_settings(settings_of(imported(result.text)), values);
}

void ExchangeTest::absent_defaults_stay_absent_and_present_keys_are_set() {
  const ExportResult result = exported(R"({"sparse_attention_budget": 45, "x": 1})", defaults(specs()));
  QCOMPARE(q(result.text), q(R"({"sparse_attention_budget": 30, "x": 1})"));
}

void ExchangeTest::a_new_file_holds_what_differs_from_the_defaults() {
  QCOMPARE(q(exported("", defaults(specs())).text), q("{}\n"));
  const OptionValues values = with({{"sdp_overrides", OptionList{"Sage attention", "Flash attention"}},
                                    {"dynamic_attention_trigger_rate", 2.0},
                                    {"sdnq_attention_smooth_k", false}});
  QCOMPARE(q(exported(" \n", values).text),
           q("{\n  \"sdp_overrides\": [\n    \"Sage attention\",\n    \"Flash attention\"\n  ],\n"
             "  \"dynamic_attention_trigger_rate\": 2.0,\n  \"sdnq_attention_smooth_k\": false\n}\n"));
}

void ExchangeTest::a_value_that_means_the_same_keeps_its_spelling() {
  const std::string text =
      R"({"dynamic_attention_slice_rate": 5.000000e-01, "dynamic_attention_trigger_rate": 1,)"
      R"( "sparse_attention_budget": 30.0, "sdp_overrides": ["Dynamic attention", "Sage attention"],)"
      R"( "sdp_options": ["Math", "Flash attention", "Memory"], "hf_attention": "\u005fnative_cudnn"})";
  const OptionValues values = with({{"sdp_overrides", OptionList{"Sage attention", "Dynamic attention"}},
                                    {"hf_attention", std::string("_native_cudnn")}});
  const ExportResult result = exported(text, values);
  QCOMPARE(q(result.text), q(text));
}

void ExchangeTest::old_kernel_names_are_understood_and_kept() {
  const std::string text = R"({"sdp_options": ["Flash attention", "Math attention"]})";
  QVERIFY((settings_of(imported(text)).list("sdp_options") == OptionList{"Flash", "Math"}));
  QCOMPARE(q(exported(text, with({{"sdp_options", OptionList{"Math", "Memory"}}})).text),
           q(R"({"sdp_options": ["Math attention", "Memory attention"]})"));
  QCOMPARE(q(exported(R"({"sdp_options": ["Flash"]})", with({{"sdp_options", OptionList{"Math"}}})).text),
           q(R"({"sdp_options": ["Math"]})"));
}

void ExchangeTest::every_set_of_overrides_has_a_method() {
  for (unsigned mask = 0; mask < 64; ++mask) {
    OptionList chosen;
    for (std::size_t i = 0; i < kLabels.size(); ++i) {
      if ((mask >> i & 1U) != 0) chosen.insert(chosen.begin(), kLabels[i]);  // lowest priority first
    }
    const std::string first = chosen.empty() ? "Scaled-Dot-Product" : chosen.back();
    const ExportResult result = exported(R"({"cross_attention_optimization": "xFormers"})",
                                         with({{"sdp_overrides", chosen}}), SdNextForm::selector);
    const std::string method = first == "Triton Flash attention" ? "Triton AMD Flash attention" : first;
    QVERIFY2(result.text.find("\"cross_attention_optimization\": \"" + method + "\"") != std::string::npos,
             result.text.c_str());
    QVERIFY(result.text.find("sdp_overrides") == std::string::npos);
    QCOMPARE(result.losses.size(), chosen.size() > 1 ? std::size_t{1} : std::size_t{0});
    for (const std::string& label : chosen) QVERIFY(label == first || mentions(result.losses, label));
    const OptionList kept = settings_of(imported(result.text)).list("sdp_overrides");
    QVERIFY(kept == (chosen.empty() ? OptionList{} : OptionList{first}));
  }
}

void ExchangeTest::what_a_form_cannot_express_is_listed() {
  const auto both =
      with({{"cross_attention_optimization", std::string("Default")}, {"sdp_overrides", OptionList{"Flex attention"}}});
  QVERIFY(mentions(exported("", both, SdNextForm::selector).losses, "Default cannot stand beside a backend"));
  QVERIFY(exported("", both, SdNextForm::overrides).losses.empty());
  const auto alone = with({{"cross_attention_optimization", std::string("Default")}});
  const ExportResult selector = exported("", alone, SdNextForm::selector);
  QVERIFY(selector.losses.empty());
  same_settings(settings_of(imported(selector.text)), alone);

  const auto excluded = with({{"sparse_attention_exclude", std::string("Anima")}});
  const ExportResult older = exported("", excluded, SdNextForm::overrides);
  QVERIFY(mentions(older.losses, "sparse_attention_exclude: the overrides form has no exclusion list; \"Anima\""));
  QVERIFY(older.text.find("Anima") == std::string::npos);
  QVERIFY(exported("", excluded, SdNextForm::selector).losses.empty());
  // The default list matters once the stage runs, and an empty one never.
  const auto running = with({{"sparse_attention_enabled", true}});
  QVERIFY(mentions(exported("", running, SdNextForm::overrides).losses, "CosmosTransformer3DModel"));
  const auto none = with({{"sparse_attention_enabled", true}, {"sparse_attention_exclude", std::string()}});
  QVERIFY(exported("", none, SdNextForm::overrides).losses.empty());

  std::vector<OptionSpec> more = specs();
  more[1].choices.insert(more[1].choices.begin(), "cuDNN attention");
  OptionValues values = defaults(more);
  values.put("sdp_overrides", OptionList{"cuDNN attention", "Sage attention"});
  for (const SdNextForm form : {SdNextForm::overrides, SdNextForm::selector}) {
    const auto result = attn::export_config("", more, values, form);
    QVERIFY(mentions(result->losses, "SD.Next has no cuDNN attention"));
    QVERIFY(result->text.find("cuDNN") == std::string::npos);
    QVERIFY(result->text.find("Sage attention") != std::string::npos);
  }
}

void ExchangeTest::zero_tokens_mean_the_same_in_both_forms() {
  const std::string key = "sparse_attention_min_tokens";
  const auto tokens = [&key](const ImportResult& result) { return settings_of(result).integer(key); };
  QCOMPARE(tokens(imported(R"({"sparse_attention_min_tokens": 0})", SdNextForm::overrides)), qint64{8192});
  QCOMPARE(tokens(imported(R"({"sparse_attention_min_tokens": 0})", SdNextForm::selector)), qint64{0});
  // 8192 is what 0 means there, so the file's 0 stays.
  QCOMPARE(q(exported(R"({"sparse_attention_min_tokens": 0})", defaults(specs())).text),
           q(R"({"sparse_attention_min_tokens": 0})"));
  for (const SdNextForm form : {SdNextForm::overrides, SdNextForm::selector}) {
    const ExportResult result = exported("", with({{key, Int{0}}}), form);
    QCOMPARE(tokens(imported(result.text)), qint64{0});
    QVERIFY(result.losses.empty());
    QCOMPARE(mentions(result.notes, "1 says every sequence"), form == SdNextForm::overrides);
    const ExportResult again = exported(result.text, with({{key, Int{0}}}));
    QVERIFY(again.form == form);
    QCOMPARE(q(again.text), q(result.text));
  }
}

void ExchangeTest::changing_the_form_takes_the_other_forms_keys_away() {
  const std::string older = sample(SdNextForm::overrides);
  const OptionValues values = settings_of(imported(older));
  const ExportResult newer = exported(older, values, SdNextForm::selector);
  QVERIFY(newer.text.find("sdp_overrides") == std::string::npos);
  const auto gone = std::find_if(newer.changes.begin(), newer.changes.end(),
                                 [](const auto& change) { return change.key == "sdp_overrides"; });
  QVERIFY(gone != newer.changes.end() && !gone->before.empty() && gone->after.empty());
  OptionValues kept = values;
  kept.put("sdp_overrides", OptionList{"SDNQ attention"});
  same_settings(settings_of(imported(newer.text)), kept);

  const OptionValues selector = settings_of(imported(sample(SdNextForm::selector)));
  const ExportResult back = exported(sample(SdNextForm::selector), selector, SdNextForm::overrides);
  QVERIFY(back.text.find("sparse_attention_exclude") == std::string::npos);
  OptionValues without = selector;
  without.put("sparse_attention_exclude", std::string("CosmosTransformer3DModel"));
  same_settings(settings_of(imported(back.text)), without);
  QVERIFY(attn::detect_sdnext_form(back.text).value() == SdNextForm::overrides);
}

void ExchangeTest::settings_come_back_data() {
  QTest::addColumn<bool>("selector");
  QTest::addColumn<int>("start");
  for (const bool selector : {false, true}) {
    for (int start = 0; start < 3; ++start) {
      QTest::addRow("%s over file %d", selector ? "selector" : "overrides", start) << selector << start;
    }
  }
}

void ExchangeTest::settings_come_back() {
  QFETCH(bool, selector);
  QFETCH(int, start);
  const SdNextForm form = selector ? SdNextForm::selector : SdNextForm::overrides;
  const std::string file = start == 0   ? std::string()
                           : start == 1 ? sample(SdNextForm::overrides)
                                        : sample(SdNextForm::selector);
  // Every option takes several values; what a form cannot hold is left out of it.
  for (int round = 0; round < 24; ++round) {
    OptionValues values;
    for (const OptionSpec& spec : specs()) {
      const auto pick = [round](std::size_t count) { return static_cast<std::size_t>(round) % count; };
      if (spec.key == "sparse_attention_exclude" && !selector) {
        values.put(spec.key, spec.fallback);
      } else if (spec.key == "cross_attention_optimization") {
        values.put(spec.key, round % 5 == 4 && !selector ? std::string("Default") : std::string("Scaled-Dot-Product"));
      } else if (spec.type == OptionType::boolean) {
        values.put(spec.key, round % 2 == 0);
      } else if (spec.type == OptionType::choice) {
        values.put(spec.key, spec.choices[pick(spec.choices.size())]);
      } else if (spec.type == OptionType::choices) {
        OptionList some{spec.choices[pick(spec.choices.size())]};
        if (!selector && round % 3 == 0) some.push_back(spec.choices[pick(spec.choices.size() - 1) + 1]);
        if (some.size() == 2 && some[0] == some[1]) some.pop_back();
        if (round % 7 == 6) some.clear();
        values.put(spec.key, some);
      } else if (spec.type == OptionType::integer) {
        const double step = (spec.maximum - spec.minimum) / 6;
        values.put(spec.key, static_cast<Int>(spec.minimum + step * static_cast<double>(round % 7)));
      } else if (spec.type == OptionType::real) {
        values.put(spec.key, spec.minimum + 0.37 * static_cast<double>(round));
      } else {
        values.put(spec.key, std::string(round % 3 == 0 ? "" : round % 3 == 1 ? "größe, \"x\"\\" : "Flux"));
      }
    }
    const ExportResult result = exported(file, values, form);
    QVERIFY2(result.losses.empty() || !selector, result.losses.empty() ? "" : result.losses.front().c_str());
    const ImportResult back = imported(result.text);
    QVERIFY(back.problems.empty());
    QVERIFY(back.form == form);
    same_settings(settings_of(back), values);
    QVERIFY(exported(result.text, values).changes.empty());
  }
}

void ExchangeTest::wrong_values_are_named_and_change_nothing_data() {
  QTest::addColumn<QString>("member");
  QTest::addColumn<QString>("problem");
  const auto row = [](const char* member, const char* problem) { QTest::newRow(member) << q(member) << q(problem); };
  const char* const budget = "it takes a whole number from 5 to 100";
  const auto of_budget = [&](const char* value, const std::string& what) {
    row((std::string(R"("sparse_attention_budget": )") + value).c_str(),
        ("line 3: sparse_attention_budget " + what + "; " + budget).c_str());
  };
  of_budget(R"("30")", R"(is a text, "30")");
  of_budget("NaN", "is NaN");
  of_budget("-Infinity", "is -Infinity");
  of_budget("null", "is null");
  of_budget("true", "is true or false, true");
  of_budget("[30]", "is a list of mixed values, [30]");
  of_budget("{}", "is an object, {}");
  of_budget("-1", R"(cannot be "-1")");
  of_budget("250", R"(cannot be "250")");
  of_budget("30.5", R"(cannot be "30.5")");
  of_budget("1e400", "is a number, 1e400");
  row(R"("sparse_attention_enabled": 1)",
      "line 3: sparse_attention_enabled is a whole number, 1; it takes true or false");
  row(R"("sparse_attention_enabled": "yes")",
      R"(line 3: sparse_attention_enabled is a text, "yes"; it takes true or false)");
  row(R"("dynamic_attention_slice_rate": "0.5")",
      R"(line 3: dynamic_attention_slice_rate is a text, "0.5"; it takes a number from 0.01 to 24)");
  row(R"("dynamic_attention_slice_rate": 0)",
      R"(line 3: dynamic_attention_slice_rate cannot be "0"; it takes a number from 0.01 to 24)");
  row(R"("sdnq_attention_matmul_type": "int4")",
      R"(line 3: sdnq_attention_matmul_type cannot be "int4"; it takes one of: disabled, enabled, int8, uint8, float8_e4m3fn, float16)");
  row(R"("sdp_overrides": "Sage attention")",
      R"(line 3: sdp_overrides is a text, "Sage attention"; it takes any of: SDNQ attention, Sage attention, Flash attention, Triton Flash attention, Flex attention, Dynamic attention)");
  row(R"("sdp_overrides": ["sage"])",
      R"(line 3: sdp_overrides cannot be "sage"; it takes any of: SDNQ attention, Sage attention, Flash attention, Triton Flash attention, Flex attention, Dynamic attention)");
  row(R"("sdp_overrides": ["Sage attention", 3])",
      R"(line 3: sdp_overrides is a list of mixed values, ["Sage attention", 3]; it takes any of: SDNQ attention, Sage attention, Flash attention, Triton Flash attention, Flex attention, Dynamic attention)");
  row(R"("sdp_options": ["cuDNN"])", R"(line 3: sdp_options cannot be "cuDNN"; it takes any of: Flash, Memory, Math)");
  row(R"("hf_attention": null)", "line 3: hf_attention is null; it takes a text");
  row(R"("cross_attention_optimization": "xFormers")",
      R"(line 3: cross_attention_optimization cannot be "xFormers"; it takes one of: Scaled-Dot-Product, Default)");
  row(R"("sparse_attention_exclude": "", "cross_attention_optimization": "xFormers")",
      R"(line 3: cross_attention_optimization is a text, "xFormers"; it takes one of: Scaled-Dot-Product, Default, SDNQ attention, Sage attention, Flash attention, Triton AMD Flash attention, Flex attention, Dynamic attention)");
  row(R"("sparse_attention_exclude": "", "cross_attention_optimization": ["SDNQ attention"])",
      R"(line 3: cross_attention_optimization is a list of texts, ["SDNQ attention"]; it takes one of: Scaled-Dot-Product, Default, SDNQ attention, Sage attention, Flash attention, Triton AMD Flash attention, Flex attention, Dynamic attention)");
}

void ExchangeTest::wrong_values_are_named_and_change_nothing() {
  QFETCH(QString, member);
  QFETCH(QString, problem);
  const std::string text = "{\n  \"sdnq_attention_smooth_k\": false,\n  " + member.toStdString() + "\n}\n";
  const ImportResult result = imported(text);
  QCOMPARE(result.problems.size(), std::size_t{1});
  QCOMPARE(q(result.problems.front()), problem);
  QVERIFY(result.values.empty());
}

void ExchangeTest::text_that_is_no_object_is_refused() {
  const OptionValues values = defaults(specs());
  const std::string whole_text = sample(SdNextForm::overrides);
  for (const std::string& bad : {std::string("attention: sage"), std::string("[]"), std::string("{\"a\": 1,}"),
                                 whole_text.substr(0, whole_text.size() / 2), std::string("null"),
                                 std::string("{\"a\": 'b'}"), std::string("\xff\xfe{")}) {
    const auto in = attn::import_config(bad, specs());
    const auto out = attn::export_config(bad, specs(), values);
    QVERIFY(!in && !out && !attn::detect_sdnext_form(bad));
    QVERIFY2(in.error().starts_with("line ") && in.error().find("expected ") != std::string::npos, in.error().c_str());
    QCOMPARE(q(in.error()), q(out.error()));
  }
  QVERIFY(attn::import_config("", specs()).error().starts_with("the text is empty"));
}

void ExchangeTest::a_file_without_attention_settings_says_so() {
  for (const char* text : {"{}", "{\"sd_backend\": \"diffusers\"}"}) {
    const ImportResult result = imported(text);
    QVERIFY(result.values.empty() && result.problems.empty());
    QVERIFY(mentions(result.notes, "no attention setting"));
    QCOMPARE(result.absent.size(), specs().size() - 1);
  }
}

void ExchangeTest::unusual_texts_are_read_and_kept() {
  const OptionValues values = with({{"sparse_attention_budget", Int{50}}, {"sparse_attention_enabled", true}});
  QCOMPARE(q(exported("{\r\n\t\"n\": {\"sparse_attention_budget\": 1, \"l\": [[], {}]},\r\n"
                      "\t\"sparse_attention_budget\": 45\r\n}\r\n",
                      values)
                 .text),
           q("{\r\n\t\"n\": {\"sparse_attention_budget\": 1, \"l\": [[], {}]},\r\n"
             "\t\"sparse_attention_budget\": 50,\r\n\t\"sparse_attention_enabled\": true\r\n}\r\n"));
  QCOMPARE(q(exported("\xEF\xBB\xBF{\"sparse_attention_budget\":45,\"x\":NaN}", values).text),
           q("\xEF\xBB\xBF{\"sparse_attention_budget\":50,\"x\":NaN,\"sparse_attention_enabled\":true}"));
  // A wrong value in the file is put right.
  QCOMPARE(q(exported(R"({"sparse_attention_budget": null, "sparse_attention_enabled": "on"})", values).text),
           q(R"({"sparse_attention_budget": 50, "sparse_attention_enabled": true})"));
}

void ExchangeTest::repeated_keys_are_told() {
  const std::string text = R"({"sparse_attention_budget": 10, "sparse_attention_budget": 20})";
  const ImportResult in = imported(text);
  QCOMPARE(settings_of(in).integer("sparse_attention_budget"), qint64{20});
  QVERIFY(mentions(in.notes, "sparse_attention_budget stands more than once"));
  const ExportResult out = exported(text, with({{"sparse_attention_budget", Int{55}}}));
  QCOMPARE(q(out.text), q(R"({"sparse_attention_budget": 10, "sparse_attention_budget": 55})"));
  QVERIFY(mentions(out.notes, "sparse_attention_budget stands more than once"));
}

void ExchangeTest::the_preview_shows_the_changed_lines() {
  const std::string bytes = sample(SdNextForm::selector);
  OptionValues values = settings_of(imported(bytes));
  values.put("sparse_attention_budget", Int{70});
  const auto lines = attn::diff_lines(bytes, exported(bytes, values).text, 0);
  QCOMPARE(q(attn::diff_text(lines)),
           q("...\n-   \"sparse_attention_budget\": 25,\n+   \"sparse_attention_budget\": 70,\n...\n"));
  QCOMPARE(lines[1].old_line, std::size_t{213});
}

QTEST_GUILESS_MAIN(ExchangeTest)
#include "exchange_test.moc"
