// SPDX-License-Identifier: GPL-3.0-or-later
#include "attention_case.h"

#include <QTest>
#include <limits>
#include <set>

namespace attn::test {

class SpecsTest : public QObject {
  Q_OBJECT

 private slots:
  void every_spec_is_what_the_oracle_says_data();
  void every_spec_is_what_the_oracle_says();
  void the_registry_holds_the_six_and_the_original();
  void conditions_beyond_the_oracle_are_stated();
  void every_option_can_be_shown_in_a_form();
  void preparing_says_how_in_the_log_data();
  void preparing_says_how_in_the_log();
  void what_the_target_cannot_run_is_refused_with_its_number_data();
  void what_the_target_cannot_run_is_refused_with_its_number();
  void a_backend_prepares_on_every_platform_that_it_names();

 private:
  const nlohmann::json plans_ = oracle("plans.json");
  const Registry registry_ = make_registry();
};

void SpecsTest::every_spec_is_what_the_oracle_says_data() {
  QTest::addColumn<QString>("name");
  for (const auto& row : plans_.at("registry")) {
    const std::string name = row.at("name");
    QTest::newRow(name.c_str()) << q(name);
  }
}

void SpecsTest::every_spec_is_what_the_oracle_says() {
  QFETCH(QString, name);
  const BackendSpec* spec = registry_.by_name(name.toStdString());
  QVERIFY(spec != nullptr);
  for (const auto& row : plans_.at("registry")) {
    if (row.at("name") != spec->name) continue;
    QCOMPARE(spec->label, row.at("label").get<std::string>());
    QCOMPARE(spec->priority, row.at("priority").get<int>());
    QCOMPARE(spec->terminal, row.at("terminal").get<bool>());
    QCOMPARE(spec->platforms.has_value(), !row.at("platforms").is_null());
    if (spec->platforms) QVERIFY(*spec->platforms == row.at("platforms").get<std::vector<std::string>>());

    const auto& wanted = row.at("constraints");
    const Constraints& have = spec->constraints;
    const auto number = [&wanted](const char* key) { return wanted.at(key).is_null() ? 0 : wanted.at(key).get<int>(); };
    QCOMPARE(have.allow_cpu, wanted.at("allow_cpu").get<bool>());
    QCOMPARE(have.allow_mask, wanted.at("allow_mask").get<bool>());
    QCOMPARE(have.allow_float32, wanted.at("allow_float32").get<bool>());
    QCOMPARE(have.same_device, wanted.at("same_device").get<bool>());
    QCOMPARE(static_cast<int>(have.max_head_dim), number("max_head_dim"));
    QCOMPARE(static_cast<int>(have.min_tokens), number("min_tokens"));
    QCOMPARE(static_cast<int>(have.min_long_side), number("min_long_side"));
    QCOMPARE(static_cast<int>(have.min_heads), number("min_heads"));
    QCOMPARE(static_cast<int>(have.min_ndim), number("min_ndim"));
    std::vector<int> head_dims;
    for (const std::int32_t head_dim : have.head_dims) {
      if (head_dim != 0) head_dims.push_back(head_dim);
    }
    QVERIFY(head_dims ==
            (wanted.at("head_dims").is_null() ? std::vector<int>() : wanted.at("head_dims").get<std::vector<int>>()));

    const auto caps = row.at("caps").get<std::set<std::string>>();
    QCOMPARE(spec->capabilities.block_mask, caps.contains("block_mask"));
    QCOMPARE(spec->capabilities.masked_block, caps.contains("masked_block"));
    std::vector<std::string> captured;
    for (const OptionSpec& option : spec->options) {
      if (option.applies == Applies::rebuild) captured.push_back(option.key);
    }
    QVERIFY(captured == row.at("options").get<std::vector<std::string>>());
    return;
  }
  QFAIL("not in the oracle");
}

void SpecsTest::the_registry_holds_the_six_and_the_original() {
  QCOMPARE(plans_.at("registry").size(), std::size_t{6});
  QCOMPARE(registry_.ascending().size(), std::size_t{6});
  QCOMPARE(registry_.original().name, std::string("sdpa"));
  QCOMPARE(registry_.original().options.size(), std::size_t{1});
  QCOMPARE(registry_.original().options[0].key, std::string("sdp_options"));
  QVERIFY(registry_.by_name("dynamic")->options.size() == 2);
  for (const OptionSpec& option : registry_.by_name("dynamic")->options) QCOMPARE(option.applies, Applies::live);
}

void SpecsTest::conditions_beyond_the_oracle_are_stated() {
  constexpr std::int64_t kReach = std::numeric_limits<std::int32_t>::max();
  for (const char* name : {"flash", "sage", "triton", "flex", "sdnq"})
    QVERIFY(registry_.by_name(name)->constraints.same_dtype);
  for (const char* name : {"flash", "triton"}) QVERIFY(!registry_.by_name(name)->constraints.causal_top_left);
  for (const char* name : {"sage", "flex", "sdnq"}) QVERIFY(registry_.by_name(name)->constraints.causal_top_left);
  for (const char* name : {"sage", "triton"}) QCOMPARE(registry_.by_name(name)->constraints.max_offset_reach, kReach);
  for (const char* name : {"flash", "flex", "sdnq"})
    QCOMPARE(registry_.by_name(name)->constraints.max_offset_reach, std::int64_t{0});

  // 56 heads of 128 out of a fused projection: one token more and the offsets leave 32 bits.
  const auto fused = [](std::int64_t tokens) {
    AttentionCall call;
    call.query = TensorView::contiguous({1, 56, tokens, 128}, DType::bfloat16);
    call.query.stride = {tokens * 21504, 128, 21504, 1, 0};
    call.key = call.value = call.query;
    return call;
  };
  const auto plain = [](std::int64_t tokens) {
    AttentionCall call;
    call.query = call.key = call.value = TensorView::contiguous({1, 56, tokens, 128}, DType::bfloat16);
    return call;
  };
  const Constraints& sage = registry_.by_name("sage")->constraints;
  QVERIFY(accepts(sage, fused(99865)));
  QVERIFY(!accepts(sage, fused(99866)));
  QVERIFY(accepts(sage, plain(99866)));
  QVERIFY(accepts(sage, plain(299593)));
  QVERIFY(!accepts(sage, plain(299594)));
}

void SpecsTest::every_option_can_be_shown_in_a_form() {
  int options = 0;
  std::vector<const BackendSpec*> specs{&registry_.original()};
  for (const BackendSpec& spec : registry_.ascending()) specs.push_back(&spec);
  for (const BackendSpec* spec : specs) {
    QVERIFY2(!spec->help.empty(), spec->name.c_str());
    for (const OptionSpec& option : spec->options) {
      ++options;
      QVERIFY2(!option.label.empty() && !option.section.empty(), option.key.c_str());
      QVERIFY2(option.help.size() > 40 && option.help.back() == '.', option.key.c_str());
      const auto valid = validate(option, option.fallback);
      QVERIFY2(valid.has_value(), valid ? "" : valid.error().c_str());
      if (option.type == OptionType::real || option.type == OptionType::integer) {
        QVERIFY2(option.minimum < option.maximum && option.step > 0.0 && !option.unit.empty(), option.key.c_str());
      }
      if (option.type == OptionType::choice || option.type == OptionType::choices) QVERIFY(option.choices.size() > 1);
    }
  }
  QCOMPARE(options, 7 + 2 + 1);
}

void SpecsTest::preparing_says_how_in_the_log_data() {
  QTest::addColumn<QString>("backend");
  QTest::addColumn<QString>("platform");
  QTest::addColumn<int>("capability");
  QTest::addColumn<QString>("line");
  QTest::newRow("sdnq")
      << "sdnq"
      << "cuda" << 0
      << "Torch attention: type=\"SDNQ attention\" matmul=enabled:disabled smooth=True hadamard=False "
         "quantize_fp32=True fp16_accum=False block_mask=True";
  QTest::newRow("sage on 8.6") << "sage"
                               << "cuda" << 86 << "Torch attention: type=\"Sage attention\" backend=cuda";
  QTest::newRow("sage on 8.9") << "sage"
                               << "cuda" << 89 << "Torch attention: type=\"Sage attention\" backend=auto";
  QTest::newRow("flash") << "flash"
                         << "cuda" << 80 << "Torch attention: type=\"Flash attention\"";
  QTest::newRow("flex") << "flex"
                        << "cuda" << 0 << "Torch attention: type=\"Flex attention\"";
  QTest::newRow("triton") << "triton"
                          << "rocm" << 0 << "Torch attention: type=\"Triton Flash attention\"";
  QTest::newRow("dynamic") << "dynamic"
                           << "cuda" << 0 << "Torch attention: type=\"Dynamic attention\"";
  QTest::newRow("sdpa") << "sdpa"
                        << "cuda" << 0 << "Torch attention: type=\"sdpa\" kernels=['Flash', 'Memory', 'Math']";
}

void SpecsTest::preparing_says_how_in_the_log() {
  QFETCH(QString, backend);
  QFETCH(QString, platform);
  QFETCH(int, capability);
  QFETCH(QString, line);
  const Target target = machine(platform.toStdString(), capability == 0 ? std::nullopt : std::optional(capability));
  const auto prepared = prepare(backend.toStdString(), target);
  QVERIFY(prepared.has_value());
  QVERIFY(prepared->kernel != nullptr);
  QCOMPARE(q(prepared->log_line), line);
}

void SpecsTest::what_the_target_cannot_run_is_refused_with_its_number_data() {
  QTest::addColumn<QString>("backend");
  QTest::addColumn<int>("capability");
  QTest::addColumn<QString>("qk");
  QTest::addColumn<QString>("words");
  QTest::newRow("sage on a T4") << "sage" << 75 << "enabled"
                                << "has no kernel for compute capability 7.5";
  QTest::newRow("sage on a B200") << "sage" << 100 << "enabled"
                                  << "has no kernel for compute capability 10.0";
  QTest::newRow("flash on a T4") << "flash" << 75 << "enabled"
                                 << "needs compute capability 8.0 or later, the target has 7.5";
  QTest::newRow("e4m3 on an RTX 3090") << "sdnq" << 86 << "float8_e4m3fn"
                                       << "needs compute capability 8.9 or later, the target has 8.6";
  QTest::newRow("no such type") << "sdnq" << 89 << "int4"
                                << "sdnq_attention_matmul_type \"int4\" is no matmul type";
}

void SpecsTest::what_the_target_cannot_run_is_refused_with_its_number() {
  QFETCH(QString, backend);
  QFETCH(int, capability);
  QFETCH(QString, qk);
  QFETCH(QString, words);
  const auto prepared =
      prepare(backend.toStdString(), machine("cuda", capability), {{"sdnq_attention_matmul_type", qk.toStdString()}});
  QVERIFY(!prepared.has_value());
  QVERIFY2(q(prepared.error()).contains(words), prepared.error().c_str());
}

void SpecsTest::a_backend_prepares_on_every_platform_that_it_names() {
  for (const char* platform : {"cuda", "rocm", "zluda", "ipex", "mps", "cpu"}) {
    for (const BackendSpec& spec : registry_.ascending()) {
      if (!spec.on_platform(platform)) continue;
      const auto prepared = prepare(spec.name, machine(platform));
      QVERIFY2(prepared.has_value() && prepared->kernel, (spec.name + " on " + platform).c_str());
    }
  }
}

}  // namespace attn::test

QTEST_GUILESS_MAIN(attn::test::SpecsTest)
#include "specs_test.moc"
