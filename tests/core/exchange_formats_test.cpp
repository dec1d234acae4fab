// SPDX-License-Identifier: GPL-3.0-or-later
// Settings to every format and back: the same settings, or the losses that were listed.
#include "core/exchange/formats.h"
#include "core/exchange/json_value.h"
#include "core/policy/dispatcher_backend.h"
#include "core/settings/settings.h"
#include "support/kernels.h"
#include "support/oracle.h"

#include <QtTest>

#include <random>
#include <set>

using namespace attn;
using attn::test::q;

namespace {

using Int = std::int64_t;

const std::vector<std::string> kLabels{"SDNQ attention",         "Sage attention", "Flash attention",
                                       "Triton Flash attention", "Flex attention", "Dynamic attention"};

/// The real options, with the backends' own replaced by a few of each type.
std::vector<OptionSpec> specs() {
  Registry registry;
  BackendSpec original = test::reference_original();
  original.options.push_back({.key = "sdp_options",
                              .label = "kernels",
                              .type = OptionType::choices,
                              .fallback = OptionList{"Flash", "Memory", "Math"},
                              .choices = {"Flash", "Memory", "Math"}});
  registry.set_original(original);
  int priority = 60;
  for (const std::string& label : kLabels) {
    BackendSpec spec = test::reference_spec("x", label, priority -= 10);
    spec.name = label;
    if (label == "SDNQ attention") {
      spec.options.push_back({.key = "sdnq_attention_smooth_k", .type = OptionType::boolean, .fallback = true});
      spec.options.push_back({.key = "sdnq_attention_matmul_type",
                              .type = OptionType::choice,
                              .fallback = std::string("enabled"),
                              .choices = {"disabled", "enabled", "int8"}});
    }
    if (label == "Dynamic attention") {
      spec.options.push_back({.key = "dynamic_attention_slice_rate",
                              .type = OptionType::real,
                              .fallback = 0.5,
                              .minimum = 0.01,
                              .maximum = 24,
                              .step = 0.01});
    }
    (void)registry.add(std::move(spec));
  }
  return option_specs(registry, test::target_of("cuda"));
}

ProductionSettings defaults() {
  ProductionSettings settings{specs(), {}, {}, {}};
  for (const OptionSpec& spec : settings.specs) settings.values.put(spec.key, spec.fallback);
  return settings;
}

OptionValue random_value(const OptionSpec& spec, std::mt19937& random) {
  const auto below = [&random](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  switch (spec.type) {
    case OptionType::boolean:
      return below(2) == 1;
    case OptionType::integer: {
      const auto steps = static_cast<std::size_t>((spec.maximum - spec.minimum) / spec.step) + 1;
      return static_cast<Int>(spec.minimum + spec.step * static_cast<double>(below(steps)));
    }
    case OptionType::real:
      return static_cast<double>(below(200) + 1) / 100.0;
    case OptionType::choice:
      return spec.choices[below(spec.choices.size())];
    case OptionType::choices: {
      OptionList list;
      for (const std::string& one : spec.choices) {
        if (below(3) == 0) list.push_back(one);
      }
      return list;
    }
    case OptionType::text:
      break;
  }
  if (spec.key == "hf_attention") {
    const auto names = dispatcher_backends();
    return below(2) == 0 ? std::string() : std::string(names[below(names.size())].name);
  }
  return below(2) == 0 ? std::string("Größe, \"x\"") : std::string("CosmosTransformer3DModel");
}

ProductionSettings random_settings(std::mt19937& random) {
  ProductionSettings settings = defaults();
  for (const OptionSpec& spec : settings.specs) {
    if (random() % 2 == 0) settings.values.put(spec.key, random_value(spec, random));
  }
  const auto aliases = attention_aliases();
  if (random() % 3 == 0) settings.attention.all = std::string(aliases[random() % aliases.size()].alias);
  if (random() % 5 == 0) settings.attention.all = "auto";
  if (random() % 6 == 0) settings.attention.per_role[Role::te] = "native";
  if (random() % 6 == 0) settings.attention.strict[Role::transformer] = false;
  settings.attention.speed_active = random() % 3 == 0;
  return settings;
}

ProductionSettings taken(const ImportText& read, ProductionSettings settings) {
  for (const auto* values : {&read.absent, &read.values}) {
    for (const auto& [key, value] : *values) settings.values.put(key, value);
  }
  if (read.attention) settings.attention = *read.attention;
  return settings;
}

/// The dispatcher's backend that the settings come to on a card that has them all but aiter.
std::string effective(const ProductionSettings& settings) {
  Target target = test::target_of("cuda");
  AttentionChoices choices = settings.attention;
  choices.dispatcher = settings.values.text("hf_attention");
  const AttentionDecision decision = decide_attention(choices, Role::transformer, target);
  if (choices.all == "aiter") return "aiter_fa2_hub";
  return decision.selection.backend.value_or("native");
}

std::set<std::string> keys_of(const std::vector<std::string>& losses) {
  std::set<std::string> keys;
  for (const std::string& loss : losses) keys.insert(loss.substr(0, loss.find(':')));
  return keys;
}

/// Keys in which two settings differ; what is asked of the dispatcher counts by what it comes to.
std::set<std::string> differences(const ProductionSettings& a, const ProductionSettings& b) {
  std::set<std::string> keys;
  for (const OptionSpec& spec : a.specs) {
    if (spec.key == "hf_attention") continue;
    if (!same_value(*a.values.find(spec.key), *b.values.find(spec.key))) keys.insert(spec.key);
  }
  if (effective(a) != effective(b)) keys.insert("attention_backend");
  if (a.attention.per_role != b.attention.per_role) keys.insert("attention_backend");
  if (a.attention.strict != b.attention.strict) keys.insert("strict");
  if (a.attention.speed_active != b.attention.speed_active) keys.insert("speed_mode");
  return keys;
}

ExportText exported(const ExchangeFormat& format, const ProductionSettings& settings, const ExportOptions& options) {
  auto made = format.write(settings, options);
  if (!made) qFatal("%s", made.error().c_str());
  return *std::move(made);
}

ImportText imported(const ExchangeFormat& format, std::string_view text, const ProductionSettings& settings,
                    const ExportOptions& options = {}) {
  auto read = format.read(text, settings, options);
  if (!read) qFatal("%s", read.error().c_str());
  return *std::move(read);
}

const ExchangeFormat& named(const char* name) { return **find_exchange_format(name); }

bool mentions(const std::vector<std::string>& sentences, std::string_view part) {
  return std::any_of(sentences.begin(), sentences.end(),
                     [part](const std::string& one) { return one.find(part) != std::string::npos; });
}

std::string all_of(const std::vector<std::string>& sentences) {
  std::string text;
  for (const std::string& one : sentences) text += one + "\n";
  return text;
}

ProductionSettings with(std::vector<std::pair<std::string, OptionValue>> changes) {
  ProductionSettings settings = defaults();
  for (auto& [key, value] : changes) settings.values.put(key, std::move(value));
  return settings;
}

}  // namespace

class ExchangeFormatsTest : public QObject {
  Q_OBJECT

 private slots:
  void settings_survive_or_are_listed_as_lost_data();
  void settings_survive_or_are_listed_as_lost();
  void a_profile_loses_nothing();
  void defaults_lose_nothing_data();
  void defaults_lose_nothing();
  void a_written_text_is_recognised_data();
  void a_written_text_is_recognised();
  void every_meaning_has_its_word_data();
  void every_meaning_has_its_word();
  void a_request_body_keeps_what_is_the_callers();
  void an_environment_file_keeps_its_other_lines();
  void launch_flags_keep_the_callers_flags();
  void the_snippet_is_what_diffusers_runs();
  void a_profile_of_a_newer_version_is_refused();
  void unsloth_refuses_what_its_server_refuses_data();
  void unsloth_refuses_what_its_server_refuses();
  void nested_json_is_read();
};

void ExchangeFormatsTest::settings_survive_or_are_listed_as_lost_data() {
  QTest::addColumn<bool>("selector");
  for (const ExchangeFormat& format : exchange_formats()) {
    const bool forms = format.name.starts_with("sdnext");
    for (const bool selector : {false, true}) {
      if (!forms && selector) continue;
      QTest::newRow((std::string(format.name) + (forms ? selector ? " selector" : " overrides" : "")).c_str())
          << selector;
    }
  }
}

void ExchangeFormatsTest::settings_survive_or_are_listed_as_lost() {
  QFETCH(bool, selector);
  const std::string tag = QTest::currentDataTag();
  const ExchangeFormat& format = named(tag.substr(0, tag.find(' ')).c_str());
  ExportOptions options;
  options.form = selector ? SdNextForm::selector : SdNextForm::overrides;
  options.steps = 20;
  std::mt19937 random(20260917);
  for (int round = 0; round < 400; ++round) {
    const ProductionSettings before = random_settings(random);
    const ExportText written = exported(format, before, options);
    const ImportText read = imported(format, written.text, defaults(), options);
    QVERIFY2(read.problems.empty(), (all_of(read.problems) + written.text).c_str());
    const ProductionSettings after = taken(read, defaults());
    std::set<std::string> lost = keys_of(written.losses);
    // What stands for the override is asked of the dispatcher; without a speed profile auto asks for nothing.
    for (const char* chosen : {"sdp_overrides", "hf_attention", "speed_mode"}) {
      if (lost.contains(chosen)) lost.insert("attention_backend");
    }
    for (const std::string& key : differences(before, after)) {
      QVERIFY2(lost.contains(key),
               (key + " differs and is not listed:\n" + all_of(written.losses) + written.text).c_str());
    }
    for (const std::string& loss : written.losses) {
      QVERIFY2(loss.find(": ") != std::string::npos && loss.size() > loss.find(": ") + 10, loss.c_str());
    }
    // Once more: the same text, and nothing lost that was not before.
    const ExportText again = exported(format, after, options);
    QCOMPARE(q(again.text), q(written.text));
    for (const std::string& key : keys_of(again.losses)) QVERIFY2(lost.contains(key), key.c_str());
  }
}

void ExchangeFormatsTest::a_profile_loses_nothing() {
  std::mt19937 random(7);
  for (int round = 0; round < 400; ++round) {
    ProductionSettings before = random_settings(random);
    before.attention.measured[Role::transformer] = {"cudnn", 0.125, 0.02};
    before.attention.required = "flash3";
    ExportOptions options;
    options.target = "rtx-3090";
    const ExportText written = exported(named("profile"), before, options);
    QVERIFY(written.losses.empty() && written.notes.empty());
    const ImportText read = imported(named("profile"), written.text, defaults());
    QVERIFY2(read.problems.empty() && read.notes.empty(), all_of(read.problems).c_str());
    QCOMPARE(q(read.target), QString("rtx-3090"));
    QVERIFY(read.absent.empty());
    const ProductionSettings after = taken(read, defaults());
    for (const OptionSpec& spec : before.specs) {
      QVERIFY2(*before.values.find(spec.key) == *after.values.find(spec.key), spec.key.c_str());
    }
    QVERIFY(before.attention == after.attention);
  }
}

void ExchangeFormatsTest::defaults_lose_nothing_data() {
  QTest::addColumn<int>("unused");
  for (const ExchangeFormat& format : exchange_formats()) QTest::newRow(format.name.data()) << 0;
}

void ExchangeFormatsTest::defaults_lose_nothing() {
  const ExportText written = exported(named(QTest::currentDataTag()), defaults(), {});
  QVERIFY2(written.losses.empty(), all_of(written.losses).c_str());
  QVERIFY(!written.text.empty());
}

void ExchangeFormatsTest::a_written_text_is_recognised_data() { defaults_lose_nothing_data(); }

void ExchangeFormatsTest::a_written_text_is_recognised() {
  const ExchangeFormat& format = named(QTest::currentDataTag());
  ProductionSettings settings = with({{"hf_attention", std::string("sage")}});
  const std::string_view guessed = guess_exchange_format(exported(format, settings, {}).text).name;
  const bool shared = format.name == "sdnext-options" || format.name == "svg" || format.name == "vsa" ||
                      format.name == "sglang";  // nothing in the text tells them apart
  QCOMPARE(q(std::string(guessed)), q(std::string(shared ? "sdnext" : format.name)));
}

void ExchangeFormatsTest::every_meaning_has_its_word_data() {
  QTest::addColumn<QString>("overrides");
  QTest::addColumn<QString>("dispatcher");
  QTest::addColumn<QString>("diffusers");
  QTest::addColumn<QString>("unsloth");
  QTest::addColumn<QString>("comfyui");
  const QString split = "--use-split-cross-attention";
  const QString torch = "--use-pytorch-cross-attention";
  QTest::newRow("torch default") << ""
                                 << ""
                                 << "native"
                                 << "native" << torch;
  QTest::newRow("cuDNN") << ""
                         << "_native_cudnn"
                         << "_native_cudnn"
                         << "cudnn" << torch;
  QTest::newRow("FlashAttention 2") << "Flash attention"
                                    << ""
                                    << "flash"
                                    << "flash"
                                    << "--use-flash-attention";
  QTest::newRow("flash by name") << ""
                                 << "flash"
                                 << "flash"
                                 << "flash"
                                 << "--use-flash-attention";
  QTest::newRow("FlashAttention 3") << ""
                                    << "_flash_3_hub"
                                    << "_flash_3_hub"
                                    << "flash3" << torch;
  QTest::newRow("FlashAttention 4") << ""
                                    << "flash_4_hub"
                                    << "flash_4_hub"
                                    << "flash4" << torch;
  QTest::newRow("Sage") << "Sage attention"
                        << ""
                        << "sage"
                        << "sage"
                        << "--use-sage-attention";
  QTest::newRow("SDNQ int8") << "SDNQ attention"
                             << ""
                             << "native"
                             << "native" << torch;
  QTest::newRow("xFormers") << ""
                            << "xformers"
                            << "xformers"
                            << "xformers"
                            << "";
  QTest::newRow("Flex") << "Flex attention"
                        << ""
                        << "flex"
                        << "native" << torch;
  QTest::newRow("sliced") << "Dynamic attention"
                          << ""
                          << "native"
                          << "native" << split;
  QTest::newRow("AMD") << "Triton Flash attention"
                       << ""
                       << "aiter_fa2_hub"
                       << "aiter" << torch;
  QTest::newRow("two") << "SDNQ attention,Sage attention"
                       << ""
                       << "sage"
                       << "sage"
                       << "--use-sage-attention";
  QTest::newRow("another name") << ""
                                << "_flash_varlen_3"
                                << "_flash_varlen_3"
                                << "flash3" << torch;
}

void ExchangeFormatsTest::every_meaning_has_its_word() {
  QFETCH(QString, overrides);
  QFETCH(QString, dispatcher);
  QFETCH(QString, diffusers);
  QFETCH(QString, unsloth);
  QFETCH(QString, comfyui);
  OptionList labels;
  for (const QString& label : overrides.split(',', Qt::SkipEmptyParts)) labels.push_back(label.toStdString());
  const ProductionSettings settings = with({{"sdp_overrides", labels}, {"hf_attention", dispatcher.toStdString()}});
  const QString snippet = q(exported(named("diffusers"), settings, {}).text);
  for (const char* slot : {"transformer", "transformer_2", "unconditional_transformer"}) {
    QVERIFY2(snippet.contains(QString("pipe.%1.set_attention_backend(\"%2\")\n").arg(slot, diffusers)),
             qPrintable(snippet));
  }
  QCOMPARE(q(exported(named("env"), settings, {}).text), "DIFFUSERS_ATTN_BACKEND=" + diffusers + "\n");
  const auto body = JsonValue::parse(exported(named("unsloth"), settings, {}).text);
  QCOMPARE(q(*body->find("attention_backend")->text()), unsloth);
  QCOMPARE(q(*body->find("speed_mode")->text()), QString("off"));
  const QString flags = q(exported(named("comfyui"), settings, {}).text).trimmed();
  QCOMPARE(flags, comfyui.isEmpty() ? QString() : comfyui + " --disable-xformers");
  // Whatever does not come through by its own name is listed.
  const ExportText flags_text = exported(named("comfyui"), settings, {});
  const bool own = overrides == "Flash attention" || overrides == "Sage attention";
  QCOMPARE(flags_text.losses.empty(), own || (overrides.isEmpty() && dispatcher.isEmpty()));
}

void ExchangeFormatsTest::a_request_body_keeps_what_is_the_callers() {
  ExportOptions options;
  options.existing = "{\"model_path\":\"a/ö\",\"seed\": 1.50,\"speed_mode\":\"max\",\"attention_backend\":null}\n";
  ProductionSettings settings = defaults();
  settings.attention.all = "flash3";
  settings.attention.speed_active = true;
  QCOMPARE(
      q(exported(named("unsloth"), settings, options).text),
      QString("{\"model_path\":\"a/ö\",\"seed\": 1.50,\"speed_mode\":\"max\",\"attention_backend\":\"flash3\"}\n"));
  settings.attention.speed_active = false;
  options.model_path = "b";
  QCOMPARE(q(exported(named("unsloth"), settings, options).text),
           QString("{\"model_path\":\"b\",\"seed\": 1.50,\"speed_mode\":\"off\",\"attention_backend\":\"flash3\"}\n"));
  // The same for SD.Next's request: other keys stay, the wrong form's go.
  options.existing = "{\"sdp_overrides\": [\"Sage attention\"], \"mine\": 2.500000e-01}";
  options.form = SdNextForm::selector;
  const std::string body =
      exported(named("sdnext-options"), with({{"sdp_overrides", OptionList{"SDNQ attention"}}}), options).text;
  QVERIFY(body.find("sdp_overrides") == std::string::npos && body.find("\"mine\": 2.500000e-01") != std::string::npos);
  QVERIFY(body.find("\"cross_attention_optimization\": \"SDNQ attention\"") != std::string::npos);
}

void ExchangeFormatsTest::an_environment_file_keeps_its_other_lines() {
  ExportOptions options;
  options.existing = "# mine\nA=1\nexport DIFFUSERS_ATTN_BACKEND=native\r\nB=\"x y\"\nDIFFUSERS_ATTN_BACKEND=flash";
  const ProductionSettings sage = with({{"hf_attention", std::string("sage")}});
  const std::string text = exported(named("env"), sage, options).text;
  QCOMPARE(q(text), QString("# mine\nA=1\nexport DIFFUSERS_ATTN_BACKEND=sage\r\nB=\"x y\"\n"));
  const ImportText read = imported(named("env"), "DIFFUSERS_ATTN_BACKEND='_Native_CUDNN'\n", defaults());
  QVERIFY((read.values == ImportText::Values{{"hf_attention", std::string("_native_cudnn")}}));
  QVERIFY(
      mentions(imported(named("env"), "DIFFUSERS_ATTN_BACKEND=flush\n", defaults()).problems, "no backend \"flush\""));
  const ImportText unset = imported(named("env"), "#DIFFUSERS_ATTN_BACKEND=sage\nX=1\n", defaults());
  QVERIFY((unset.values == ImportText::Values{{"cross_attention_optimization", std::string("Default")},
                                              {"hf_attention", std::string()}}));
}

void ExchangeFormatsTest::launch_flags_keep_the_callers_flags() {
  ExportOptions options;
  options.existing = "--port 8188 --use-quad-cross-attention\n--dont-upcast-attention --disable-xformers\n";
  const ExportText written = exported(named("comfyui"), with({{"hf_attention", std::string("flash")}}), options);
  QCOMPARE(q(written.text), QString("--port 8188 --dont-upcast-attention --use-flash-attention --disable-xformers\n"));
  // Field case 15: an installed xFormers would take its place in silence.
  QVERIFY(mentions(written.notes, "--disable-xformers keeps an installed xFormers"));
  const ImportText read = imported(named("comfyui"), "--use-flash-attention", defaults());
  QVERIFY(mentions(read.notes, "without --disable-xformers"));
  QVERIFY(!imported(named("comfyui"), "--use-flash-attention --use-sage-attention", defaults()).problems.empty());
  QVERIFY(mentions(imported(named("comfyui"), "--use-quad-cross-attention", defaults()).notes, "only nearest"));
}

void ExchangeFormatsTest::the_snippet_is_what_diffusers_runs() {
  const ExportText written =
      exported(named("diffusers"),
               with({{"sdp_options", OptionList{"Math"}}, {"attention_slicing", std::string("Enabled")}}), {});
  QVERIFY(written.losses.empty());
  QCOMPARE(q(written.text).section('\n', 2),
           QString("import torch\n\n"
                   "torch.backends.cuda.enable_flash_sdp(False)\n"
                   "torch.backends.cuda.enable_mem_efficient_sdp(False)\n"
                   "torch.backends.cuda.enable_math_sdp(True)\n"
                   "if getattr(pipe, \"transformer\", None) is not None:\n"
                   "    pipe.transformer.set_attention_backend(\"native\")\n"
                   "if getattr(pipe, \"transformer_2\", None) is not None:\n"
                   "    pipe.transformer_2.set_attention_backend(\"native\")\n"
                   "if getattr(pipe, \"unconditional_transformer\", None) is not None:\n"
                   "    pipe.unconditional_transformer.set_attention_backend(\"native\")\n"
                   "pipe.enable_attention_slicing()\n"));
  const ImportText two =
      imported(named("diffusers"), "a.set_attention_backend('sage')\nb.set_attention_backend(\"flash\")\n", defaults());
  QVERIFY(mentions(two.problems, "two attention backends are set, sage and flash"));
  QVERIFY(mentions(imported(named("diffusers"), "a.set_attention_backend(name)", defaults()).problems, "in quotes"));
  QVERIFY(imported(named("diffusers"), "# a.set_attention_backend('sage')", defaults()).values.empty());
}

void ExchangeFormatsTest::a_profile_of_a_newer_version_is_refused() {
  const auto& format = named("profile");
  const auto refused = format.read(R"({"attnscope": "profile", "version": 2, "settings": {}})", defaults(), {});
  QVERIFY(!refused && refused.error().find("version 2; this program reads version 1") != std::string::npos);
  QVERIFY(!format.read(R"({"version": 1})", defaults(), {}));
  QVERIFY(!format.read(R"({"attnscope": "profile"})", defaults(), {}));
  const ImportText wrong = imported(
      format,
      R"({"attnscope": "profile", "version": 1, "new": 1, "settings": {"sparse_attention_budget": "30", "x": 1},
          "attention": {"attention_backend": "bogus", "speed": 1, "roles": {"unet": "sage"}}})",
      defaults());
  QVERIFY(wrong.values.empty() && !wrong.attention);
  QVERIFY(mentions(wrong.problems, "sparse_attention_budget is \"30\"; it takes a whole number from 5 to 100"));
  QVERIFY(mentions(wrong.problems, "attention speed is 1; it takes true or false"));
  QVERIFY(mentions(wrong.problems, "there is no such role"));
  QVERIFY(mentions(wrong.notes, "new is not known") && mentions(wrong.notes, "x is no setting here"));
}

void ExchangeFormatsTest::unsloth_refuses_what_its_server_refuses_data() {
  QTest::addColumn<QString>("body");
  QTest::addColumn<QString>("problem");
  QTest::addColumn<QString>("all");
  const QString none;
  QTest::newRow("null") << R"({"attention_backend": null})" << none << "auto";
  QTest::newRow("absent") << R"({"model_path": "x"})" << none << "auto";
  QTest::newRow("blanks") << R"({"attention_backend": " CuDNN "})" << none << "cudnn";
  QTest::newRow("empty") << R"({"attention_backend": ""})"
                         << "is an empty text" << none;
  QTest::newRow("unknown") << R"({"attention_backend": "flash-3"})"
                           << "\"flash-3\" is not known" << none;
  QTest::newRow("number") << R"({"attention_backend": 3})"
                          << "is a number; it takes a text" << none;
  QTest::newRow("speed") << R"({"speed_mode": "fast"})"
                         << "it takes off, eager, default or max" << none;
}

void ExchangeFormatsTest::unsloth_refuses_what_its_server_refuses() {
  QFETCH(QString, body);
  QFETCH(QString, problem);
  QFETCH(QString, all);
  const ImportText read = imported(named("unsloth"), body.toStdString(), defaults());
  QCOMPARE(read.problems.empty(), problem.isEmpty());
  if (!problem.isEmpty()) QVERIFY2(q(read.problems.front()).contains(problem), read.problems.front().c_str());
  QCOMPARE(read.attention ? q(*read.attention->all) : QString(), all);
}

void ExchangeFormatsTest::nested_json_is_read() {
  const auto json =
      JsonValue::parse("{ \"a\" : [1, {\"b\":\"x\\\"]}\"}, [], null ,true], \"a\\u0041\":{}, \"n\":-1.5e2 }");
  QVERIFY2(json, json ? "" : json.error().c_str());
  QCOMPARE(json->find("a")->items().size(), std::size_t{5});
  QCOMPARE(q(*json->find("a")->items()[1].find("b")->text()), QString("x\"]}"));
  QVERIFY(json->find("a")->items()[2].items().empty());
  QVERIFY(json->find("a")->items()[3].is(JsonValue::Type::null));
  QVERIFY(*json->find("a")->items()[4].boolean());
  QVERIFY(json->find("aA")->members().empty());
  QCOMPARE(*json->find("n")->number(), -150.0);
  QVERIFY(json->find("b") == nullptr);
  QVERIFY(!JsonValue::parse("{\"a\": [1,}") && !JsonValue::parse("[]"));
}

QTEST_GUILESS_MAIN(ExchangeFormatsTest)
#include "exchange_formats_test.moc"
