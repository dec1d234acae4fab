// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/files/atomic_file.h"
#include "backends/all.h"
#include "core/exchange/sdnext_config.h"
#include "core/settings/settings.h"
#include "support/oracle.h"

#include <QTemporaryDir>
#include <QtTest>

#include <set>
#include <string>
#include <vector>

using attn::OptionList;
using attn::OptionSpec;
using attn::OptionType;
using attn::OptionValue;
using attn::SdNextForm;
using attn::Settings;
using attn::test::q;

namespace {

std::vector<OptionSpec> specs_on(const char* platform) {
  attn::Target target;
  target.platform = platform;
  target.memory_bytes = std::int64_t{24} << 30;
  return attn::option_specs(attn::make_registry(), target);
}

/// A value that is not the default.
OptionValue another(const OptionSpec& spec) {
  switch (spec.type) {
    case OptionType::boolean:
      return !std::get<bool>(spec.fallback);
    case OptionType::integer:
      return static_cast<std::int64_t>(attn::same_value(spec.fallback, std::int64_t(spec.maximum)) ? spec.minimum
                                                                                                   : spec.maximum);
    case OptionType::real:
      return (spec.minimum + spec.maximum) / 3;
    case OptionType::choice:
      return attn::same_value(spec.fallback, spec.choices.front()) ? spec.choices.back() : spec.choices.front();
    case OptionType::choices:
      return OptionList{attn::same_value(spec.fallback, OptionList{spec.choices.front()}) ? spec.choices.back()
                                                                                          : spec.choices.front()};
    case OptionType::text:
      return std::string("Flux, größe");
  }
  return spec.fallback;
}

void take(Settings& settings, const attn::ImportResult& result) {
  QVERIFY2(result.problems.empty(), result.problems.empty() ? "" : result.problems.front().c_str());
  for (const auto* values : {&result.absent, &result.values}) {
    for (const auto& [key, value] : *values) QVERIFY2(settings.set(key, value).has_value(), key.c_str());
  }
}

}  // namespace

class ExchangeSettingsTest : public QObject {
  Q_OBJECT

 private slots:
  void the_options_are_the_mirrored_systems();
  void every_option_survives_a_file_data();
  void every_option_survives_a_file();
  void a_sample_is_merged_and_kept_beside_itself();
};

void ExchangeSettingsTest::the_options_are_the_mirrored_systems() {
  std::set<std::string> known;
  for (const char* name : {"cross_attention_optimization", "sdp_overrides", "sdp_options", "attention_slicing",
                           "dynamic_attention_slice_rate", "dynamic_attention_trigger_rate", "hf_attention"}) {
    known.insert(name);
  }
  for (const char* name : {"smooth_k", "use_hadamard", "use_fp16_accum", "quantize_fp32", "matmul_type",
                           "pv_matmul_type", "hadamard_group_size"}) {
    known.insert(std::string("sdnq_attention_") + name);
  }
  for (const char* name :
       {"enabled", "budget", "min_tokens", "schedule_steps", "schedule_bump", "head_shared", "exclude"}) {
    known.insert(std::string("sparse_attention_") + name);
  }
  std::set<std::string> ours;
  for (const OptionSpec& spec : specs_on("cuda")) ours.insert(spec.key);
  QVERIFY(ours == known);
}

void ExchangeSettingsTest::every_option_survives_a_file_data() {
  QTest::addColumn<QString>("platform");
  QTest::addColumn<bool>("selector");
  for (const char* platform : {"cuda", "rocm", "zluda", "mps", "cpu"}) {
    for (const bool selector : {false, true}) {
      QTest::addRow("%s %s", platform, selector ? "selector" : "overrides") << q(platform) << selector;
    }
  }
}

void ExchangeSettingsTest::every_option_survives_a_file() {
  QFETCH(QString, platform);
  QFETCH(bool, selector);
  const std::vector<OptionSpec> specs = specs_on(qPrintable(platform));
  const SdNextForm form = selector ? SdNextForm::selector : SdNextForm::overrides;
  const auto comes_back = [&](const Settings& before) {
    const auto written = attn::export_config("", specs, before.values(), form);
    QVERIFY(written.has_value());
    QVERIFY2(written->losses.empty(), written->losses.empty() ? "" : written->losses.front().c_str());
    // Over settings that stood elsewhere: the file says all of it, absent keys included.
    Settings after(specs);
    for (const OptionSpec& spec : specs) {
      if (selector || spec.key != "sparse_attention_exclude") QVERIFY(after.set(spec.key, another(spec)).has_value());
    }
    take(after, attn::import_config(written->text, specs, form).value());
    for (const auto& [key, value] : before.values().all()) {
      QVERIFY2(attn::same_value(*after.values().find(key), value), key.c_str());
    }
  };
  comes_back(Settings(specs));
  for (const OptionSpec& spec : specs) {
    if (!selector && spec.key == "sparse_attention_exclude") continue;  // that form has none
    if (!selector && spec.key == "sparse_attention_enabled") continue;  // and says so when the stage runs
    Settings one(specs);
    QVERIFY(one.set(spec.key, another(spec)).value());
    // Default is a method of its own only where no backend is chosen.
    if (selector && spec.key == attn::keys::method) QVERIFY(one.set(attn::keys::overrides, OptionList{}).has_value());
    comes_back(one);
  }
}

void ExchangeSettingsTest::a_sample_is_merged_and_kept_beside_itself() {
  const QTemporaryDir temporary;
  const std::string file = temporary.filePath("config.json").toStdString();
  const std::string before = attn::test::file_bytes(std::string(ATTN_ORACLES) + "/sdnext/sdnext-config-overrides.json");
  QVERIFY(attn::app::write_atomically(file, before));
  const std::vector<OptionSpec> specs = specs_on("cuda");
  Settings settings(specs);
  take(settings, attn::import_config(attn::app::read_text(file).value(), specs).value());
  QVERIFY(settings.set("sdp_overrides", OptionList{"Flex attention", "SDNQ attention"}).value());
  const auto merged = attn::export_config(before, specs, settings.values());
  QVERIFY(attn::app::write_atomically(file, merged->text, attn::app::Backup::keep));
  QCOMPARE(q(attn::app::read_text(file + ".bak").value()), q(before));
  std::string wanted = before;
  const std::string old_list = "[\n    \"SDNQ attention\",\n    \"Dynamic attention\"\n  ]";
  wanted.replace(wanted.find(old_list), old_list.size(), "[\n    \"Flex attention\",\n    \"SDNQ attention\"\n  ]");
  QCOMPARE(q(attn::app::read_text(file).value()), q(wanted));
  Settings again(specs);
  take(again, attn::import_config(attn::app::read_text(file).value(), specs).value());
  for (const auto& [key, value] : settings.values().all()) {
    QVERIFY2(attn::same_value(*again.values().find(key), value), key.c_str());
  }
}

QTEST_GUILESS_MAIN(ExchangeSettingsTest)
#include "exchange_settings_test.moc"
