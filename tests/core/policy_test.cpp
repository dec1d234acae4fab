// SPDX-License-Identifier: GPL-3.0-or-later
// The attention_backend request: every row of the policy tables, and applying under every order of outcomes.
#include "core/policy/apply.h"
#include "core/policy/dispatcher_backend.h"
#include "core/policy/selection.h"
#include "support/oracle.h"

#include <QtTest>

#include <map>
#include <stdexcept>

using namespace attn;
using attn::test::q;

namespace {

constexpr int kUnknown = -1;
const char* const kDefault = "";

Target machine(const std::string& platform, int capability = kUnknown) {
  Target target;
  target.name = platform;
  target.platform = platform;
  if (capability != kUnknown) target.capability = capability;
  return target;
}

QString backend_text(const Selection& selection) { return q(selection.backend.value_or("")); }

// --- a dispatcher that does what a test tells it -----------------------------------------------------------------

enum class Outcome { works, refuses, throws_before, throws_after };
constexpr std::array kOutcomes{Outcome::works, Outcome::refuses, Outcome::throws_before, Outcome::throws_after};

/// Behaves as the mirrored one: setting a slot makes the backend the process-wide one as well.
struct FakeDispatcher {
  std::string active = "native";
  std::map<std::string, std::optional<std::string>> own;
  std::map<std::string, Outcome> outcome;  ///< of setting anything but native
  bool restore_throws = false;             ///< of the process-wide backend
  bool native_throws = false;              ///< of putting a slot back
  std::vector<std::string> calls;

  DispatcherPort port(std::vector<std::string> places) {
    for (const std::string& slot : places) own.try_emplace(slot, std::nullopt);
    DispatcherPort out;
    out.denoisers = std::move(places);
    out.set = [this](std::string_view slot, std::string_view backend) -> Expected<void> {
      calls.push_back(std::string(slot) + "=" + std::string(backend));
      const Outcome native = native_throws ? Outcome::throws_before : Outcome::works;
      const Outcome todo = backend == "native" ? native : outcome[std::string(slot)];
      if (todo == Outcome::refuses) return fail("package missing");
      if (todo == Outcome::throws_before) throw std::runtime_error("before");
      own[std::string(slot)] = std::string(backend);
      active = backend;
      if (todo == Outcome::throws_after) throw 7;
      return {};
    };
    out.own = [this](std::string_view slot) { return own[std::string(slot)]; };
    out.active = [this] { return active; };
    out.activate = [this](std::string_view backend) {
      calls.push_back("activate=" + std::string(backend));
      if (restore_throws) throw std::runtime_error("no");
      active = backend;
    };
    return out;
  }
};

const std::array<std::optional<std::string>, 3> kEarlier{std::nullopt, "native", "flash"};

/// Way number `way` of giving every place an outcome and an earlier choice.
void spread(FakeDispatcher& dispatcher, const std::vector<std::string>& places, std::size_t way) {
  for (const std::string& place : places) {
    dispatcher.outcome[place] = kOutcomes[way % kOutcomes.size()];
    way /= kOutcomes.size();
    dispatcher.own[place] = kEarlier[way % kEarlier.size()];
    way /= kEarlier.size();
  }
}

/// Applies and checks what holds whatever happened on the way.
void check_applied(FakeDispatcher& dispatcher, const std::vector<std::string>& places, const std::string& request) {
  const bool wanted = request == "sage";
  const auto earlier = dispatcher.own;
  bool native = dispatcher.active == "native";
  for (const std::string& place : places) native = native && earlier.at(place) != "flash";
  const Applied applied =
      apply_attention(request.empty() ? std::nullopt : std::optional(request), dispatcher.port(places));

  std::vector<std::string> took;
  bool clean = dispatcher.active == "native";
  for (const std::string& place : places) {
    const auto& now = dispatcher.own[place];
    if (wanted && dispatcher.outcome[place] == Outcome::works) {
      took.push_back(place);
      QCOMPARE(q(*now), QString("sage"));
    } else {
      // Nothing but native: never an earlier choice, never a half-made one.
      clean = clean && (!now || *now == "native");
    }
  }
  QVERIFY(applied.denoisers == took);
  QCOMPARE(applied.engaged.has_value(), !took.empty());
  QCOMPARE(applied.restored, clean);
  if (!dispatcher.restore_throws && !dispatcher.native_throws) QVERIFY(clean);
  if (!clean) QVERIFY(!applied.failures.empty());
  if (!wanted && native) QVERIFY(dispatcher.calls.empty());
}

}  // namespace

class PolicyTest : public QObject {
  Q_OBJECT

 private slots:
  void every_alias_is_in_the_table_data();
  void every_alias_is_in_the_table();
  void a_request_is_normalised_data();
  void a_request_is_normalised();
  void an_unknown_request_is_one_sentence_data();
  void an_unknown_request_is_one_sentence();
  void every_row_of_the_selection_table_data();
  void every_row_of_the_selection_table();
  void a_capability_has_three_states();
  void a_gate_holds_on_every_capability();
  void the_dispatcher_has_the_tables_backends_data();
  void the_dispatcher_has_the_tables_backends();
  void a_dispatcher_name_is_taken_in_any_case();
  void every_apply_case_data();
  void every_apply_case();
  void applying_leaves_nothing_behind_in_any_order();
  void one_models_choice_does_not_reach_the_next();
};

void PolicyTest::every_alias_is_in_the_table_data() {
  QTest::addColumn<QString>("backend");
  QTest::addColumn<QString>("package");
  QTest::addColumn<int>("device");
  QTest::addColumn<int>("at_least");
  QTest::addColumn<int>("below");
  const auto row = [](const char* alias, const char* backend, const char* package, DeviceNeed need, int from, int to) {
    QTest::newRow(alias) << backend << package << static_cast<int>(need) << from << to;
  };
  row("native", "", "", DeviceNeed::any, 0, 0);
  row("sdpa", "", "", DeviceNeed::any, 0, 0);
  row("cudnn", "_native_cudnn", "", DeviceNeed::nvidia, 80, 0);
  row("flash", "flash", "flash-attn", DeviceNeed::nvidia, 0, 0);
  row("flash2", "flash", "flash-attn", DeviceNeed::nvidia, 0, 0);
  row("flash3", "_flash_3_hub", "kernels", DeviceNeed::nvidia, 90, 100);
  row("flash4", "flash_4_hub", "kernels", DeviceNeed::nvidia, 100, 0);
  row("sage", "sage", "sageattention", DeviceNeed::nvidia, 0, 0);
  row("xformers", "xformers", "xformers", DeviceNeed::nvidia, 0, 0);
  row("aiter", "aiter", "aiter", DeviceNeed::rocm, 0, 0);
}

void PolicyTest::every_alias_is_in_the_table() {
  QFETCH(QString, backend);
  QFETCH(QString, package);
  QFETCH(int, device);
  QFETCH(int, at_least);
  QFETCH(int, below);
  QCOMPARE(attention_aliases().size(), std::size_t{10});
  const AttentionAlias* alias = find_attention_alias(QTest::currentDataTag());
  QVERIFY(alias != nullptr);
  QCOMPARE(q(std::string(alias->backend)), backend);
  QCOMPARE(q(std::string(alias->package)), package);
  QCOMPARE(static_cast<int>(alias->device), device);
  QCOMPARE(alias->gate.at_least, at_least);
  QCOMPARE(alias->gate.below, below);
}

void PolicyTest::a_request_is_normalised_data() {
  QTest::addColumn<QString>("normal");
  for (const char* text : {"", "  ", "auto", "AUTO", " Auto\n"}) QTest::newRow(text) << "auto";
  QTest::newRow("CuDNN") << "cudnn";
  QTest::newRow("FLASH3") << "flash3";
  QTest::newRow("sdpa") << "sdpa";
  QTest::newRow("\tSage ") << "sage";
  for (const AttentionAlias& alias : attention_aliases()) {
    QTest::newRow(alias.alias.data()) << q(std::string(alias.alias));
  }
}

void PolicyTest::a_request_is_normalised() {
  QFETCH(QString, normal);
  QCOMPARE(q(normalise_attention_request(QTest::currentDataTag()).value()), normal);
  QCOMPARE(q(normalise_attention_request(std::nullopt).value()), QString("auto"));
}

void PolicyTest::an_unknown_request_is_one_sentence_data() {
  QTest::addColumn<int>("unused");
  for (const char* text : {"bogus", "flash-3", "_native_cudnn", "flash 3", "none", "cu dnn", "автo"}) {
    QTest::newRow(text) << 0;
  }
}

void PolicyTest::an_unknown_request_is_one_sentence() {
  const auto refused = normalise_attention_request(QTest::currentDataTag());
  QVERIFY(!refused);
  QCOMPARE(q(refused.error()), QString("attention_backend \"%1\" is not known; it is one of auto, native, sdpa, cudnn, "
                                       "flash, flash2, flash3, flash4, sage, xformers, aiter")
                                   .arg(QString::fromUtf8(QTest::currentDataTag())));
}

void PolicyTest::every_row_of_the_selection_table_data() {
  QTest::addColumn<QString>("request");
  QTest::addColumn<QString>("platform");
  QTest::addColumn<int>("capability");
  QTest::addColumn<bool>("speed");
  QTest::addColumn<QString>("backend");
  QTest::addColumn<int>("state");
  int number = 0;
  const auto row = [&number](const char* request, const char* platform, int capability, bool speed, const char* backend,
                             SelectionState state) {
    QTest::newRow(qPrintable(QString("%1 %2 %3 %4 %5").arg(++number).arg(request, platform).arg(capability).arg(speed)))
        << request << platform << capability << speed << backend << static_cast<int>(state);
  };
  using enum SelectionState;
  for (const char* request : {"sdpa", "native"}) {
    for (const char* platform : {"cuda", "rocm", "mps", "cpu", "zluda"}) {
      for (const bool speed : {true, false}) row(request, platform, 90, speed, kDefault, standard);
    }
  }
  row("auto", "cuda", 80, true, "_native_cudnn", engaged);
  row("auto", "cuda", 120, true, "_native_cudnn", engaged);
  row("auto", "cuda", kUnknown, true, "_native_cudnn", unverified);
  row("auto", "cuda", 75, true, kDefault, standard);
  for (const int capability : {kUnknown, 75, 80, 90, 100}) row("auto", "cuda", capability, false, kDefault, standard);
  for (const char* platform : {"mps", "rocm", "zluda", "ipex", "cpu"}) {
    row("auto", platform, kUnknown, true, kDefault, standard);
  }
  row("sage", "cuda", 100, false, "sage", engaged);
  row("flash4", "cuda", 100, false, "flash_4_hub", engaged);
  row("cudnn", "cuda", 100, false, "_native_cudnn", engaged);
  for (const char* request : {"sage", "flash", "flash4", "cudnn", "flash2", "flash3", "xformers"}) {
    for (const char* platform : {"mps", "rocm", "zluda"}) row(request, platform, 100, true, kDefault, rejected);
  }
  row("aiter", "rocm", kUnknown, false, "aiter", engaged);
  row("aiter", "cuda", 90, false, kDefault, rejected);
  row("aiter", "mps", kUnknown, false, kDefault, rejected);
  row("flash3", "cuda", 89, false, kDefault, rejected);
  row("flash4", "cuda", 90, false, kDefault, rejected);
  row("flash3", "cuda", 90, false, "_flash_3_hub", engaged);
  row("flash4", "cuda", kUnknown, false, "flash_4_hub", unverified);
  row("flash3", "cuda", kUnknown, false, "_flash_3_hub", unverified);
  row("cudnn", "cuda", kUnknown, false, "_native_cudnn", unverified);
  row("flash3", "cuda", 100, false, kDefault, rejected);
  row("flash4", "cuda", 100, false, "flash_4_hub", engaged);
  row("cudnn", "cuda", 75, false, kDefault, rejected);
  row("cudnn", "cuda", 80, false, "_native_cudnn", engaged);
  // No gate at selection: any capability, known or not.
  for (const char* request : {"flash", "flash2", "sage", "xformers"}) {
    for (const int capability : {kUnknown, 70, 120}) {
      row(request, "cuda", capability, true, find_attention_alias(request)->backend.data(), engaged);
    }
  }
}

void PolicyTest::every_row_of_the_selection_table() {
  QFETCH(QString, request);
  QFETCH(QString, platform);
  QFETCH(int, capability);
  QFETCH(bool, speed);
  QFETCH(QString, backend);
  QFETCH(int, state);
  const Selection got = select_attention(request.toStdString(), machine(platform.toStdString(), capability), speed);
  QCOMPARE(backend_text(got), backend);
  QCOMPARE(static_cast<int>(got.state), state);
  QVERIFY(!got.reason.empty() && got.reason.back() != '.');
  if (got.state == SelectionState::rejected)
    QVERIFY2(got.reason.find(" needs ") != std::string::npos, got.reason.c_str());
}

void PolicyTest::a_capability_has_three_states() {
  const CapabilityGate both{90, 100};
  QCOMPARE(both.check(std::nullopt), Support::unknown);
  QCOMPARE(both.check(89), Support::not_supported);
  QCOMPARE(both.check(90), Support::supported);
  QCOMPARE(both.check(99), Support::supported);
  QCOMPARE(both.check(100), Support::not_supported);
  QCOMPARE(CapabilityGate{}.check(std::nullopt), Support::supported);
  QCOMPARE(q(both.text()), QString("compute capability 9.0 or later and below 10.0"));
  QCOMPARE(q(CapabilityGate{0, 100}.text()), QString("compute capability below 10.0"));
  QCOMPARE(q(select_attention("flash3", machine("cuda", 100), false).reason),
           QString("flash3 needs compute capability 9.0 or later and below 10.0, the target has 10.0"));
}

void PolicyTest::a_gate_holds_on_every_capability() {
  for (int capability = 0; capability <= 130; ++capability) {
    for (const AttentionAlias& alias : attention_aliases()) {
      const bool inside = capability >= alias.gate.at_least && (alias.gate.below == 0 || capability < alias.gate.below);
      const Selection got = select_attention(alias.alias, machine("cuda", capability), false);
      const bool engages = inside && !alias.backend.empty() && alias.device != DeviceNeed::rocm;
      QCOMPARE(got.backend.has_value(), engages);
      // An explicit request never becomes the default without saying so.
      if (!alias.backend.empty()) QCOMPARE(got.state == SelectionState::rejected, !engages);
    }
  }
}

void PolicyTest::the_dispatcher_has_the_tables_backends_data() {
  QTest::addColumn<QString>("needs");
  QTest::addColumn<QString>("dtype");
  QTest::addColumn<QString>("mask");
  QTest::addColumn<int>("at_least");
  const auto row = [](const char* name, const char* needs, const char* dtype, const char* mask, int at_least = 0) {
    QTest::newRow(name) << needs << dtype << mask << at_least;
  };
  row("native", "", "any", "any");
  row("_native_cudnn", "", "half", "any");
  row("_native_efficient", "", "any", "any");
  row("_native_math", "", "any", "any");
  row("_native_flash", "", "half", "refused");
  row("_native_npu", "torch_npu", "half", "any");
  row("_native_xla", "torch_xla >= 2.2", "any", "refused");
  row("flex", "torch >= 2.5", "any", "plain");
  row("flash", "flash-attn >= 2.6.3", "half", "refused");
  row("flash_hub", "kernels >= 0.12", "half", "refused");
  row("flash_varlen", "flash-attn >= 2.6.3", "half", "keys");
  row("flash_varlen_hub", "kernels >= 0.12", "half", "keys");
  row("_flash_3", "flash-attn 3 built locally", "half", "refused");
  row("_flash_varlen_3", "flash-attn 3 built locally", "half", "keys");
  row("_flash_3_hub", "kernels >= 0.12", "half", "refused");
  row("_flash_3_varlen_hub", "kernels >= 0.12", "half", "keys");
  row("flash_4_hub", "kernels >= 0.12.3", "half", "refused");
  row("aiter_fa2_hub", "kernels >= 0.12", "bf16", "refused");
  row("sage", "sageattention >= 2.1.1", "half", "refused");
  row("sage_hub", "kernels >= 0.12", "half", "refused");
  row("sage_varlen", "sageattention >= 2.1.1", "half", "keys");
  row("_sage_qk_int8_pv_fp8_cuda", "sageattention >= 2.1.1", "any", "refused", 90);
  row("_sage_qk_int8_pv_fp8_cuda_sm90", "sageattention >= 2.1.1", "any", "refused", 90);
  row("_sage_qk_int8_pv_fp16_cuda", "sageattention >= 2.1.1", "any", "refused", 80);
  row("_sage_qk_int8_pv_fp16_triton", "sageattention >= 2.1.1", "any", "refused", 80);
  row("xformers", "xformers >= 0.0.29", "any", "plain");
}

void PolicyTest::the_dispatcher_has_the_tables_backends() {
  QFETCH(QString, needs);
  QFETCH(QString, dtype);
  QFETCH(QString, mask);
  QFETCH(int, at_least);
  QCOMPARE(dispatcher_backends().size(), std::size_t{26});
  const DispatcherBackend* backend = find_dispatcher_backend(QTest::currentDataTag());
  QVERIFY(backend != nullptr);
  QCOMPARE(q(std::string(backend->needs)), needs);
  QCOMPARE(backend->gate.at_least, at_least);
  AttentionCall call;
  call.query = call.key = call.value = TensorView::contiguous({1, 8, 128, 64}, DType::float32, Device::accel());
  const auto taken = [&](const AttentionCall& asked) {
    return accepts(constraints_of(*backend), asked) && refusal_of(*backend, asked).empty();
  };
  QCOMPARE(taken(call), dtype == "any");
  call.query.dtype = call.key.dtype = call.value.dtype = DType::float16;
  QCOMPARE(taken(call), dtype != "bf16");
  call.query.dtype = call.key.dtype = call.value.dtype = DType::bfloat16;
  QVERIFY(taken(call));
  call.attn_mask = TensorView::contiguous({1, 1, 128, 128}, DType::boolean, Device::accel());
  QCOMPARE(taken(call), mask != "refused");
  call.attn_mask->dtype = DType::float32;
  QCOMPARE(taken(call), mask == "any" || mask == "plain");
  call.attn_mask = TensorView::contiguous({1, 128, 128}, DType::boolean, Device::accel());
  QCOMPARE(taken(call), mask == "any" || mask == "keys");
  call.attn_mask = TensorView::contiguous({1, 1, 128, 128}, DType::boolean, Device::accel());
  call.is_causal = true;
  QCOMPARE(taken(call), mask == "any" || mask == "keys");
  call.attn_mask.reset();
  QVERIFY(taken(call));
  call.key.device = Device::cpu();
  QVERIFY(!taken(call));
}

void PolicyTest::a_dispatcher_name_is_taken_in_any_case() {
  const Selection got = select_dispatcher_name("  _NATIVE_cuDNN ", machine("cuda", 90));
  QCOMPARE(backend_text(got), QString("_native_cudnn"));
  for (const char* text : {"", " ", "native", "Native"}) {
    QCOMPARE(select_dispatcher_name(text, machine("cuda")).state, SelectionState::standard);
  }
  const Selection gone = select_dispatcher_name("aiter", machine("rocm"));
  QCOMPARE(gone.state, SelectionState::rejected);
  QVERIFY2(gone.reason.find("aiter_fa2_hub") != std::string::npos, gone.reason.c_str());
  QCOMPARE(select_dispatcher_name("_sage_qk_int8_pv_fp8_cuda", machine("cuda", 89)).state, SelectionState::rejected);
  QCOMPARE(select_dispatcher_name("_sage_qk_int8_pv_fp8_cuda", machine("cuda")).state, SelectionState::unverified);
}

// --- applying ----------------------------------------------------------------------------------------------------

void PolicyTest::every_apply_case_data() {
  QTest::addColumn<QString>("backend");
  QTest::addColumn<QString>("active");
  QTest::addColumn<QStringList>("places");
  QTest::addColumn<bool>("fails");
  QTest::addColumn<QStringList>("calls");
  QTest::addColumn<QString>("engaged");
  const QString cudnn = "_native_cudnn";
  const QStringList one{"transformer"};
  const QStringList two{"transformer", "transformer_2"};
  QTest::newRow("none, global native") << ""
                                       << "native" << one << false << QStringList{} << "";
  QTest::newRow("none, global cudnn") << "" << cudnn << one << false << QStringList{"activate=native"} << "";
  QTest::newRow("cudnn, one DiT") << cudnn << "native" << one << false
                                  << QStringList{"transformer=_native_cudnn", "activate=native"} << cudnn;
  QTest::newRow("cudnn, two DiTs") << cudnn << "native" << two << false
                                   << QStringList{"transformer=_native_cudnn", "transformer_2=_native_cudnn",
                                                  "activate=native"}
                                   << cudnn;
  QTest::newRow("sage fails, global native") << "sage"
                                             << "native" << one << true << QStringList{"transformer=sage"} << "";
  QTest::newRow("sage fails, global cudnn")
      << "sage" << cudnn << one << true << QStringList{"transformer=sage", "activate=native"} << "";
  QTest::newRow("no setter") << "sage"
                             << "native" << QStringList{} << false << QStringList{} << "";
  QTest::newRow("no setter, global cudnn")
      << "sage" << cudnn << QStringList{} << false << QStringList{"activate=native"} << "";
}

void PolicyTest::every_apply_case() {
  QFETCH(QString, backend);
  QFETCH(QString, active);
  QFETCH(QStringList, places);
  QFETCH(bool, fails);
  QFETCH(QStringList, calls);
  QFETCH(QString, engaged);
  FakeDispatcher dispatcher;
  dispatcher.active = active.toStdString();
  std::vector<std::string> names;
  for (const QString& slot : places) {
    names.push_back(slot.toStdString());
    dispatcher.outcome[names.back()] = fails ? Outcome::refuses : Outcome::works;
  }
  const auto wanted = backend.isEmpty() ? std::nullopt : std::optional(backend.toStdString());
  const Applied applied = apply_attention(wanted, dispatcher.port(names));
  QCOMPARE(q(applied.engaged.value_or("")), engaged);
  QStringList made;
  for (const std::string& call : dispatcher.calls) made << q(call);
  QCOMPARE(made, calls);
  QCOMPARE(q(dispatcher.active), QString("native"));
  QCOMPARE(applied.failures.empty(), !fails);
}

void PolicyTest::applying_leaves_nothing_behind_in_any_order() {
  const std::vector<std::string> all{"transformer", "transformer_2", "unconditional_transformer"};
  int cases = 0;
  for (std::size_t count = 0; count <= all.size(); ++count) {
    const std::vector<std::string> places(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count));
    std::size_t ways = 1;
    for (std::size_t i = 0; i < count; ++i) ways *= kOutcomes.size() * kEarlier.size();
    for (std::size_t way = 0; way < ways; ++way) {
      for (const char* request : {"", "native", "sage"}) {
        for (const char* active : {"native", "flash"}) {
          for (const int broken : {0, 1, 2, 3}) {
            FakeDispatcher dispatcher;
            dispatcher.active = active;
            dispatcher.restore_throws = (broken & 1) != 0;
            dispatcher.native_throws = (broken & 2) != 0;
            spread(dispatcher, places, way);
            check_applied(dispatcher, places, request);
            if (QTest::currentTestFailed()) return;
            ++cases;
          }
        }
      }
    }
  }
  QCOMPARE(cases, (1 + 12 + 144 + 1728) * 3 * 2 * 4);
}

void PolicyTest::one_models_choice_does_not_reach_the_next() {
  FakeDispatcher dispatcher;
  (void)apply_attention("sage", dispatcher.port({"transformer"}));
  QCOMPARE(q(dispatcher.active), QString("native"));
  // The next model has a pipeline of its own; nobody asks for anything.
  dispatcher.own.clear();
  dispatcher.calls.clear();
  const Applied next = apply_attention(std::nullopt, dispatcher.port({"transformer", "transformer_2"}));
  QVERIFY(!next.engaged && dispatcher.calls.empty());
  for (const auto& [slot, own] : dispatcher.own) QVERIFY(!own);
  // The same pipeline again, now without a choice.
  (void)apply_attention("sage", dispatcher.port({"transformer"}));
  (void)apply_attention(std::nullopt, dispatcher.port({"transformer"}));
  QCOMPARE(q(dispatcher.own["transformer"].value_or("")), QString("native"));
}

QTEST_GUILESS_MAIN(PolicyTest)
#include "policy_test.moc"
