// SPDX-License-Identifier: GPL-3.0-or-later
// Who decides which attention backend serves a role, and when that is an error (field cases 21 and 57).
#include "core/policy/precedence.h"
#include "support/oracle.h"

#include <QtTest>

using namespace attn;
using attn::test::q;

namespace {

Target machine(const std::string& platform, std::optional<int> capability = std::nullopt) {
  Target target;
  target.name = platform;
  target.platform = platform;
  target.capability = capability;
  return target;
}

/// Every level wants another backend; a Hopper card has all of them.
AttentionChoices all_levels() {
  AttentionChoices choices;
  choices.required = "flash3";
  choices.per_role[Role::transformer] = "sage";
  choices.all = "flash";
  choices.measured[Role::transformer] = {"cudnn", 0.04, 0.02};
  choices.standard = "xformers";
  return choices;
}

}  // namespace

class PrecedenceTest : public QObject {
  Q_OBJECT

 private slots:
  void case_57_the_next_level_wins_when_one_is_taken_away();
  void case_57_a_gain_within_the_noise_keeps_the_default();
  void case_21_a_default_falls_back_with_a_reason_and_a_choice_does_not();
  void a_choice_for_all_means_the_denoiser();
  void an_explicit_choice_that_fails_is_an_error_unless_made_lenient();
  void hf_attention_is_explicit_for_all();
  void auto_is_no_choice();
  void requests_are_read_data();
  void requests_are_read();
  void wrong_requests_are_sentences_data();
  void wrong_requests_are_sentences();
  void strictness_is_read();
};

void PrecedenceTest::case_57_the_next_level_wins_when_one_is_taken_away() {
  const Target hopper = machine("cuda", 90);
  AttentionChoices choices = all_levels();
  const auto check = [&](ChoiceLevel level, const char* backend) {
    const AttentionDecision decision = decide_attention(choices, Role::transformer, hopper);
    QCOMPARE(decision.level, level);
    QCOMPARE(q(decision.selection.backend.value_or("")), QString(backend));
    QVERIFY2(decision.reason.starts_with(std::string(name_of(level)) + ": "), decision.reason.c_str());
  };
  check(ChoiceLevel::required_by_model, "_flash_3_hub");
  choices.required.reset();
  check(ChoiceLevel::explicit_for_role, "sage");
  choices.per_role.clear();
  check(ChoiceLevel::explicit_for_all, "flash");
  choices.all.reset();
  check(ChoiceLevel::measured, "_native_cudnn");
  choices.measured.clear();
  check(ChoiceLevel::standard, "xformers");

  // Every subset: the highest level that is there decides.
  for (int have = 0; have < 16; ++have) {
    AttentionChoices some = all_levels();
    if ((have & 1) == 0) some.required.reset();
    if ((have & 2) == 0) some.per_role.clear();
    if ((have & 4) == 0) some.all.reset();
    if ((have & 8) == 0) some.measured.clear();
    const int first = (have & 1) != 0 ? 0 : (have & 2) != 0 ? 1 : (have & 4) != 0 ? 2 : (have & 8) != 0 ? 3 : 4;
    QCOMPARE(static_cast<int>(decide_attention(some, Role::transformer, hopper).level), first);
  }
}

void PrecedenceTest::case_57_a_gain_within_the_noise_keeps_the_default() {
  AttentionChoices choices;
  choices.measured[Role::transformer] = {"sage", 0.013, 0.02};
  const AttentionDecision kept = decide_attention(choices, Role::transformer, machine("cuda", 90));
  QCOMPARE(kept.level, ChoiceLevel::standard);
  QVERIFY(!kept.selection.backend);
  QVERIFY2(kept.reason.ends_with("the measured gain of sage, 1.3 %, is not above the noise of 2 %"),
           kept.reason.c_str());
  choices.measured[Role::transformer].gain = 0.02;
  QCOMPARE(decide_attention(choices, Role::transformer, machine("cuda", 90)).level, ChoiceLevel::standard);
  choices.measured[Role::transformer].gain = 0.021;
  QCOMPARE(decide_attention(choices, Role::transformer, machine("cuda", 90)).level, ChoiceLevel::measured);
}

void PrecedenceTest::case_21_a_default_falls_back_with_a_reason_and_a_choice_does_not() {
  const Target card = machine("rocm");
  AttentionChoices choices;
  choices.standard = "aiter";
  for (const Role role : {Role::te, Role::vae}) {
    const AttentionDecision decision = decide_attention(choices, role, card);
    QVERIFY(!decision.is_error() && !decision.selection.backend);
    QCOMPARE(decision.selection.state, SelectionState::standard);
    QCOMPARE(q(decision.reason), QString("default: aiter is not supported by %1, which calls torch's attention")
                                     .arg(q(std::string(name_of(role)))));
  }
  QCOMPARE(q(*decide_attention(choices, Role::transformer, card).selection.backend), QString("aiter"));

  choices.per_role[Role::te] = "aiter";
  const AttentionDecision chosen = decide_attention(choices, Role::te, card);
  QVERIFY(chosen.is_error());
  QVERIFY2(chosen.reason.starts_with("explicit per role: te calls torch's attention"), chosen.reason.c_str());
  for (const Role role : {Role::transformer, Role::vae}) QVERIFY(!decide_attention(choices, role, card).is_error());
  choices.strict[Role::te] = false;
  QVERIFY(!decide_attention(choices, Role::te, card).is_error());
  QCOMPARE(decide_attention(choices, Role::te, card).selection.state, SelectionState::rejected);
  // A default can be made strict as well.
  choices = {};
  choices.standard = "flash3";
  choices.strict[Role::transformer] = true;
  QVERIFY(decide_attention(choices, Role::transformer, machine("cuda", 80)).is_error());
}

void PrecedenceTest::a_choice_for_all_means_the_denoiser() {
  AttentionChoices choices;
  choices.all = "flash3";
  for (const int capability : {80, 90}) {  // whether or not the denoiser can have it
    for (const Role role : {Role::te, Role::vae}) {
      const AttentionDecision decision = decide_attention(choices, role, machine("cuda", capability));
      QVERIFY(!decision.is_error() && !decision.selection.backend);
    }
  }
  choices = {};
  choices.speed_active = true;
  QVERIFY(!decide_attention(choices, Role::te, machine("cuda", 90)).selection.backend);
  QCOMPARE(q(*decide_attention(choices, Role::transformer, machine("cuda", 90)).selection.backend),
           QString("_native_cudnn"));
  choices.per_role[Role::te] = "cudnn";  // goes through torch, so it can be had
  QCOMPARE(q(*decide_attention(choices, Role::te, machine("cuda", 90)).selection.backend), QString("_native_cudnn"));
}

void PrecedenceTest::an_explicit_choice_that_fails_is_an_error_unless_made_lenient() {
  AttentionChoices choices;
  choices.all = "flash4";
  QVERIFY(decide_attention(choices, Role::transformer, machine("cuda", 89)).is_error());
  QVERIFY(!decide_attention(choices, Role::transformer, machine("cuda")).is_error());  // unknown blocks nothing
  choices.strict[Role::transformer] = false;
  const AttentionDecision lenient = decide_attention(choices, Role::transformer, machine("cuda", 89));
  QVERIFY(!lenient.is_error() && !lenient.selection.backend);
  QVERIFY(lenient.reason.find("flash4 needs compute capability 10.0 or later, the target has 8.9") !=
          std::string::npos);
  choices = {};
  choices.required = "flash4";
  QVERIFY(decide_attention(choices, Role::transformer, machine("cuda", 89)).is_error());
  choices = {};
  choices.measured[Role::transformer] = {"flash4", 0.5, 0.02};
  QVERIFY(!decide_attention(choices, Role::transformer, machine("cuda", 89)).is_error());
}

void PrecedenceTest::hf_attention_is_explicit_for_all() {
  AttentionChoices choices;
  choices.dispatcher = "_flash_3_hub";
  AttentionDecision decision = decide_attention(choices, Role::transformer, machine("cuda", 90));
  QCOMPARE(decision.level, ChoiceLevel::explicit_for_all);
  QCOMPARE(q(*decision.selection.backend), QString("_flash_3_hub"));
  choices.all = "sage";
  QCOMPARE(q(*decide_attention(choices, Role::transformer, machine("cuda", 90)).selection.backend), QString("sage"));
  choices.all.reset();
  choices.dispatcher = "flush";
  decision = decide_attention(choices, Role::transformer, machine("cuda", 90));
  QVERIFY(decision.is_error());
  QVERIFY(decision.reason.find("no backend \"flush\"") != std::string::npos);
}

void PrecedenceTest::auto_is_no_choice() {
  AttentionChoices choices;
  choices.all = "auto";
  choices.measured[Role::transformer] = {"sage", 0.4, 0.02};
  QCOMPARE(decide_attention(choices, Role::transformer, machine("cuda", 90)).level, ChoiceLevel::measured);
  choices.measured.clear();
  const AttentionDecision decision = decide_attention(choices, Role::transformer, machine("cuda", 90));
  QCOMPARE(decision.level, ChoiceLevel::standard);
  QVERIFY(!decision.strict);
}

void PrecedenceTest::requests_are_read_data() {
  QTest::addColumn<QString>("all");
  QTest::addColumn<QString>("te");
  QTest::addColumn<QString>("transformer");
  QTest::newRow("sage") << "sage"
                        << ""
                        << "";
  QTest::newRow(" CuDNN ") << "cudnn"
                           << ""
                           << "";
  QTest::newRow("") << "auto"
                    << ""
                    << "";
  QTest::newRow("transformer=Flash3, te=native") << ""
                                                 << "native"
                                                 << "flash3";
  QTest::newRow("sage,te=native") << "sage"
                                  << "native"
                                  << "";
  QTest::newRow("te=_native_math,flash") << "flash"
                                         << "_native_math"
                                         << "";
}

void PrecedenceTest::requests_are_read() {
  QFETCH(QString, all);
  QFETCH(QString, te);
  QFETCH(QString, transformer);
  AttentionChoices choices;
  choices.per_role[Role::vae] = "native";  // gone: the text says everything
  const auto read = read_attention_request(QTest::currentDataTag(), choices);
  QVERIFY2(read, read ? "" : read.error().c_str());
  QCOMPARE(q(choices.all.value_or("")), all);
  QCOMPARE(q(choices.per_role[Role::te]), te);
  QCOMPARE(q(choices.per_role[Role::transformer]), transformer);
  QVERIFY(!choices.per_role.contains(Role::vae));
}

void PrecedenceTest::wrong_requests_are_sentences_data() {
  QTest::addColumn<QString>("part");
  QTest::newRow("bogus") << "attention_backend \"bogus\" is not known; it is one of auto, native, ";
  QTest::newRow("_native_cudnn") << "\"_native_cudnn\" is not known";
  QTest::newRow("te=bogus") << "\"bogus\" is not known";
  QTest::newRow("unet=sage") << "write ROLE=BACKEND with te, transformer or vae";
  QTest::newRow("None=sage") << "write ROLE=BACKEND with te, transformer or vae";
  QTest::newRow("sage,flash") << "sage and flash cannot both be for all";
  QTest::newRow("te=sage,te=flash") << "te is given twice";
}

void PrecedenceTest::wrong_requests_are_sentences() {
  QFETCH(QString, part);
  AttentionChoices choices;
  choices.all = "sage";
  const AttentionChoices before = choices;
  const auto read = read_attention_request(QTest::currentDataTag(), choices);
  QVERIFY(!read);
  QVERIFY2(q(read.error()).contains(part), read.error().c_str());
  QVERIFY(choices == before);
}

void PrecedenceTest::strictness_is_read() {
  AttentionChoices choices;
  QVERIFY(read_strictness("te=off,transformer", choices));
  QVERIFY((choices.strict == std::map<Role, bool>{{Role::te, false}, {Role::transformer, true}}));
  QVERIFY(read_strictness("none", choices));
  for (const Role role : kChoiceRoles) QVERIFY(!choices.strict.at(role));
  QVERIFY(read_strictness("all", choices));
  for (const Role role : kChoiceRoles) QVERIFY(choices.strict.at(role));
  for (const char* wrong : {"unet", "te=maybe", "other", "te="}) QVERIFY2(!read_strictness(wrong, choices), wrong);
}

QTEST_GUILESS_MAIN(PrecedenceTest)
#include "precedence_test.moc"
