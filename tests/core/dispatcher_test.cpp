// SPDX-License-Identifier: GPL-3.0-or-later
// The dispatcher in front of the router: native goes through it, everything else is served directly and seen as
// bypassed; no choice leaks into the next model.
#include "core/engine/engine.h"
#include "core/policy/dispatcher_backend.h"
#include "support/kernels.h"
#include "support/oracle.h"

#include <QtTest>

#include <vector>

using namespace attn;
using attn::test::plain_call;
using attn::test::q;

namespace {

/// What an observer saw, as texts.
class Seen final : public RouteObserver {
 public:
  struct Row {
    std::string requested, selected, executed;
    bool bypassed = false;
    friend bool operator==(const Row&, const Row&) = default;
  };
  void observe(const RouteRecord& record) noexcept override {
    rows.push_back(
        {std::string(record.requested), std::string(record.selected), std::string(record.executed), record.bypassed});
  }
  std::vector<Row> rows;
};

/// Declines every call, as a kernel that finds out too late.
class RefusingKernel final : public test::ReferenceKernel {
 public:
  RefusingKernel() : ReferenceKernel("refusing") {}
  KernelResult route(const AttentionCall&, const BlockSelection*) const noexcept override {
    return {"refusing", {}, "no such shape"};
  }
};

BackendSpec direct(std::string_view name) {
  BackendSpec spec = test::reference_spec(name, std::string(name), 0);
  spec.constraints = constraints_of(*find_dispatcher_backend(name));
  return spec;
}

Registry registry_with_direct() {
  Registry registry;
  registry.set_original(test::reference_original());
  (void)registry.add(test::reference_spec("one", "One attention", 20));
  for (const char* name : {"_native_cudnn", "sage", "flash"}) (void)registry.add_direct(direct(name));
  BackendSpec broken = direct("_flash_3_hub");
  broken.prepare = [](const PrepareContext&) -> Expected<PreparedBackend> { return fail("No module named 'kernels'"); };
  (void)registry.add_direct(std::move(broken));
  return registry;
}

Target hopper() {
  Target target = test::target_of("cuda");
  target.capability = 90;
  return target;
}

Pipe dit() { return {{"FluxPipeline", "FluxTransformer2DModel", std::nullopt, "f1", {"transformer"}}, {}}; }

AttentionChoices asking(std::string_view text) {
  AttentionChoices choices;
  const auto read = read_attention_request(text, choices);
  if (!read) qFatal("%s", read.error().c_str());
  return choices;
}

const AttentionCall& long_call() {
  static const AttentionCall call = plain_call({1, 8, 256, 64}, {1, 8, 256, 64});
  return call;
}

AttentionCall masked_call() {
  AttentionCall call = long_call();
  call.attn_mask = TensorView::contiguous({1, 1, 256, 256}, DType::boolean, Device::accel());
  return call;
}

}  // namespace

class DispatcherTest : public QObject {
  Q_OBJECT

 private slots:
  void native_goes_through_the_router_data();
  void native_goes_through_the_router();
  void everything_else_is_served_directly_and_seen_as_bypassed();
  void roles_have_choices_of_their_own();
  void a_strict_choice_fails_where_a_lenient_one_falls_back_with_its_name();
  void a_backend_that_cannot_be_had_stops_the_job_before_it_begins_data();
  void a_backend_that_cannot_be_had_stops_the_job_before_it_begins();
  void a_lenient_one_is_said_in_the_log();
  void a_unet_has_no_setter();
  void the_next_pipe_has_nothing_of_the_last_choice();
  void a_choice_made_during_a_job_counts_from_the_next();
  void a_compiled_call_site_follows_the_choice();
  void hf_attention_is_applied_when_a_model_loads();
  void a_bypass_scope_stands_before_the_dispatcher();
  void explain_shows_who_decided();
  void case_19_what_is_reported_is_what_executed();
};

void DispatcherTest::native_goes_through_the_router_data() {
  QTest::addColumn<QString>("request");
  for (const char* request : {"auto", "native", "sdpa", ""}) QTest::newRow(request) << request;
}

void DispatcherTest::native_goes_through_the_router() {
  QFETCH(QString, request);
  Engine engine(registry_with_direct(), hopper());
  QVERIFY(engine.set(keys::overrides, OptionList{"One attention"}));
  QVERIFY(engine.set_attention(asking(request.toStdString())));
  Seen seen;
  Pipe pipe = dit();
  auto job = engine.begin_job(pipe, 1, &seen, false);
  QVERIFY(job);
  QCOMPARE(job->attention(long_call()).selected, std::string_view("one"));
  QVERIFY((seen.rows == std::vector<Seen::Row>{{"one", "one", "one", false}}));
  QVERIFY(pipe.attention.empty());  // nothing was touched
}

void DispatcherTest::everything_else_is_served_directly_and_seen_as_bypassed() {
  std::vector<LogLine> log;
  Engine engine(registry_with_direct(), hopper(), [&log](const LogLine& line) { log.push_back(line); });
  QVERIFY(engine.set(keys::overrides, OptionList{"One attention"}));
  QVERIFY(engine.set_attention(asking("cudnn")));
  Seen seen;
  Pipe pipe = dit();
  auto job = engine.begin_job(pipe, 1, &seen, false);
  QVERIFY2(job, job ? "" : job.error().c_str());
  QVERIFY(log.back().text.starts_with(
      "Attention dispatcher: target=transformer previous=native active=_native_cudnn list=['native', "));
  const Route route = job->attention(long_call());
  QCOMPARE(route.selected, std::string_view("_native_cudnn"));
  {
    const RoleScope te(job->context(), Role::te);
    QCOMPARE(job->attention(long_call()).selected, std::string_view("one"));
  }
  QVERIFY((seen.rows == std::vector<Seen::Row>{{"_native_cudnn", "_native_cudnn", "_native_cudnn", true},
                                               {"one", "one", "one", false}}));
  QCOMPARE(q(pipe.attention["transformer"]), QString("_native_cudnn"));
}

void DispatcherTest::roles_have_choices_of_their_own() {
  Engine engine(registry_with_direct(), hopper());
  QVERIFY(engine.set_attention(asking("te=cudnn,transformer=sage")));
  Seen seen;
  Pipe pipe = dit();
  auto job = engine.begin_job(pipe, 1, &seen, false);
  QVERIFY2(job, job ? "" : job.error().c_str());
  for (const Role role : {Role::te, Role::transformer, Role::vae, Role::none}) {
    const RoleScope scope(job->context(), role);
    (void)job->attention(long_call());
  }
  std::vector<std::string> served;
  for (const Seen::Row& row : seen.rows) served.push_back(row.executed);
  QVERIFY((served == std::vector<std::string>{"_native_cudnn", "sage", "sdpa", "sdpa"}));
}

void DispatcherTest::a_strict_choice_fails_where_a_lenient_one_falls_back_with_its_name() {
  Engine engine(registry_with_direct(), hopper());
  AttentionChoices choices = asking("sage");
  QVERIFY(engine.set_attention(choices));
  Seen seen;
  Pipe pipe = dit();
  {
    auto job = engine.begin_job(pipe, 1, &seen, false);
    QVERIFY(job);
    const Route refused = job->attention(masked_call());
    QVERIFY2(std::string(refused.failure).starts_with("sage was asked for by name and declines it: "),
             std::string(refused.failure).c_str());
    QVERIFY(seen.rows.empty());
    QVERIFY(job->attention(long_call()).failure.empty());
  }
  const Explanation explained = engine.explain(masked_call(), Role::transformer, 0);
  QVERIFY2(explained.dispatch.error.find("sage declines the call") != std::string::npos,
           explained.dispatch.error.c_str());
  choices.strict[Role::transformer] = false;
  QVERIFY(engine.set_attention(choices));
  seen.rows.clear();
  auto job = engine.begin_job(pipe, 1, &seen, false);
  QVERIFY(job->attention(masked_call()).failure.empty());
  QVERIFY((seen.rows == std::vector<Seen::Row>{{"sage", "sdpa", "sdpa", false}}));
  const Explanation lenient = engine.explain(masked_call(), Role::transformer, 0);
  QVERIFY(lenient.dispatch.error.empty() && !lenient.dispatch.bypassed);
  QCOMPARE(lenient.warnings.size(), std::size_t{1});
}

void DispatcherTest::a_backend_that_cannot_be_had_stops_the_job_before_it_begins_data() {
  QTest::addColumn<QString>("part");
  QTest::newRow("flash4") << "flash4 needs compute capability 10.0 or later, the target has 9.0";
  QTest::newRow("aiter") << "aiter needs ROCm, the target's platform is cuda";
  QTest::newRow("flash3") << "No module named 'kernels'";
  QTest::newRow("xformers") << "there is no kernel here that computes as xformers does";
  QTest::newRow("te=sage") << "te calls torch's attention, which cannot be replaced by sage";
}

void DispatcherTest::a_backend_that_cannot_be_had_stops_the_job_before_it_begins() {
  QFETCH(QString, part);
  Engine engine(registry_with_direct(), hopper());
  QVERIFY(engine.set_attention(asking(QTest::currentDataTag())));
  Pipe pipe = dit();
  pipe.attention["transformer"] = "flash";  // of an earlier choice
  {
    const auto job = engine.begin_job(pipe, 1, nullptr, false);
    QVERIFY(!job);
    QVERIFY2(q(job.error()).contains(part), job.error().c_str());
    QVERIFY(q(job.error()).endsWith("nothing ran"));
  }
  QCOMPARE(q(pipe.attention["transformer"]), QString("native"));
  QVERIFY(!engine.job_running());
  QVERIFY(engine.set_attention({}));
  QVERIFY(engine.begin_job(pipe, 1, nullptr, false));
}

void DispatcherTest::a_lenient_one_is_said_in_the_log() {
  std::vector<LogLine> log;
  Engine engine(registry_with_direct(), hopper(), [&log](const LogLine& line) { log.push_back(line); });
  AttentionChoices choices = asking("flash3");
  QVERIFY(read_strictness("none", choices));
  QVERIFY(engine.set_attention(choices));
  Pipe pipe = dit();
  auto job = engine.begin_job(pipe, 1, nullptr, false);
  QVERIFY(job);
  QCOMPARE(log.back().level, LogLevel::warning);
  QVERIFY(log.back().text.find("No module named 'kernels'") != std::string::npos);
  QCOMPARE(job->attention(long_call()).selected, std::string_view("sdpa"));
}

void DispatcherTest::a_unet_has_no_setter() {
  Engine engine(registry_with_direct(), hopper());
  QVERIFY(engine.set_attention(asking("sage")));
  Pipe unet{{"StableDiffusionXLPipeline", std::nullopt, "UNet2DConditionModel", "sdxl"}, {}};
  const auto refused = engine.begin_job(unet, 1, nullptr, false);
  QVERIFY(!refused && refused.error().find("is a U-Net, which has no attention setter") != std::string::npos);
  AttentionChoices lenient = asking("sage");
  lenient.strict[Role::transformer] = false;
  QVERIFY(engine.set_attention(lenient));
  auto job = engine.begin_job(unet, 1, nullptr, false);
  QVERIFY(job);
  QCOMPARE(job->attention(long_call()).selected, std::string_view("sdpa"));
  QVERIFY(unet.attention.empty());
}

void DispatcherTest::the_next_pipe_has_nothing_of_the_last_choice() {
  Engine engine(registry_with_direct(), hopper());
  QVERIFY(engine.set_attention(asking("sage")));
  Pipe first = dit();
  (void)engine.begin_job(first, 1, nullptr, false);
  QVERIFY(engine.set_attention({}));
  Seen seen;
  for (Pipe* pipe : {&first, new Pipe(dit())}) {
    auto job = engine.begin_job(*pipe, 1, &seen, false);
    QVERIFY(job);
    (void)job->attention(long_call());
    for (const auto& [slot, own] : pipe->attention) QCOMPARE(q(own), QString("native"));
    if (pipe != &first) delete pipe;
  }
  for (const Seen::Row& row : seen.rows) QVERIFY(!row.bypassed && row.executed == "sdpa");
}

void DispatcherTest::a_choice_made_during_a_job_counts_from_the_next() {
  Engine engine(registry_with_direct(), hopper());
  std::vector<EngineEvent::Kind> events;
  const auto token = engine.subscribe([&events](const EngineEvent& event) { events.push_back(event.kind); });
  Pipe pipe = dit();
  {
    auto job = engine.begin_job(pipe, 1, nullptr, false);
    QVERIFY(engine.set_attention(asking("sage")));
    QVERIFY(events.back() == EngineEvent::Kind::attention_changed);
    QCOMPARE(job->attention(long_call()).selected, std::string_view("sdpa"));
  }
  auto job = engine.begin_job(pipe, 1, nullptr, false);
  QCOMPARE(job->attention(long_call()).selected, std::string_view("sage"));
  AttentionChoices wrong;
  wrong.all = "bogus";
  QVERIFY(!engine.set_attention(wrong));
  QCOMPARE(q(*engine.attention().all), QString("sage"));
}

void DispatcherTest::a_compiled_call_site_follows_the_choice() {
  Engine engine(registry_with_direct(), hopper());
  QVERIFY(engine.set(keys::overrides, OptionList{"One attention"}));
  FrozenRoute site;
  Pipe pipe = dit();
  const std::vector<std::pair<std::string, std::string_view>> rounds{
      {"native", "one"}, {"sage", "sage"}, {"native", "one"}, {"flash", "flash"}};
  for (const auto& [request, served] : rounds) {
    QVERIFY(engine.set_attention(asking(request)));
    auto job = engine.begin_job(pipe, 1, nullptr, false);
    for (int i = 0; i < 3; ++i) QCOMPARE(job->attention(long_call(), site).selected, served);
  }
  QCOMPARE(site.resolutions(), std::int64_t{1});  // the chain stayed, so its route did
}

void DispatcherTest::hf_attention_is_applied_when_a_model_loads() {
  Engine engine(registry_with_direct(), hopper());
  const std::uint64_t rebuilds = engine.rebuilds();
  QVERIFY(engine.set("hf_attention", std::string(" FLASH ")));
  QCOMPARE(engine.rebuilds(), rebuilds);
  Pipe pipe = dit();
  {
    auto job = engine.begin_job(pipe, 1, nullptr, false);
    QVERIFY2(job, job ? "" : job.error().c_str());
    QCOMPARE(job->attention(long_call()).selected, std::string_view("flash"));
  }
  QVERIFY(engine.set_attention(asking("sage")));  // explicit for all as well, and the nearer one
  QCOMPARE(engine.begin_job(pipe, 1, nullptr, false)->attention(long_call()).selected, std::string_view("sage"));
  QVERIFY(engine.set_attention({}));
  QVERIFY(engine.set("hf_attention", std::string("flush")));
  const auto refused = engine.begin_job(pipe, 1, nullptr, false);
  QVERIFY(!refused && refused.error().find("the dispatcher has no backend \"flush\"") != std::string::npos);
}

void DispatcherTest::a_bypass_scope_stands_before_the_dispatcher() {
  Engine engine(registry_with_direct(), hopper());
  QVERIFY(engine.set_attention(asking("sage")));
  Pipe pipe = dit();
  auto job = engine.begin_job(pipe, 1, nullptr, false);
  {
    const BypassScope scope(*job);
    QCOMPARE(job->attention(long_call()).selected, std::string_view("sdpa"));
  }
  QCOMPARE(job->attention(long_call()).selected, std::string_view("sage"));
}

void DispatcherTest::explain_shows_who_decided() {
  Engine engine(registry_with_direct(), hopper());
  QVERIFY(engine.set(keys::overrides, OptionList{"One attention"}));
  Explanation explained = engine.explain(long_call(), Role::transformer, 0);
  QCOMPARE(q(explained.dispatch.level), QString("default"));
  QCOMPARE(q(explained.dispatch.backend), QString("native"));
  QVERIFY(!explained.dispatch.bypassed);
  QCOMPARE(q(explained.selected), QString("one"));

  AttentionChoices choices;
  choices.speed_active = true;
  QVERIFY(engine.set_attention(choices));
  explained = engine.explain(long_call(), Role::transformer, 0);
  QVERIFY(explained.dispatch.bypassed);
  QCOMPARE(q(explained.dispatch.backend), QString("_native_cudnn"));
  QCOMPARE(q(explained.selected), QString("_native_cudnn"));
  QCOMPARE(q(explained.dispatch.level), QString("default"));
  for (const BackendVerdict& entry : explained.entries) QVERIFY(!entry.serves);

  choices.all = "sage";
  QVERIFY(engine.set_attention(choices));
  explained = engine.explain(long_call(), Role::transformer, 0);
  QCOMPARE(q(explained.dispatch.level), QString("explicit for all"));
  QCOMPARE(q(explained.selected), QString("sage"));
  QVERIFY2(explained.stage.reason.find("bypasses the router") != std::string::npos, explained.stage.reason.c_str());
  explained = engine.explain(long_call(), Role::te, 0);
  QCOMPARE(q(explained.selected), QString("one"));
  QVERIFY(explained.warnings.empty());
}

void DispatcherTest::case_19_what_is_reported_is_what_executed() {
  // A direct kernel that accepts and then cannot: the router serves, and the report says who really did.
  Registry registry = registry_with_direct();
  BackendSpec late = direct("flash_hub");
  late.prepare = [](const PrepareContext&) -> Expected<PreparedBackend> {
    return PreparedBackend{std::make_shared<RefusingKernel>(), std::nullopt, {}};
  };
  (void)registry.add_direct(std::move(late));
  Engine engine(std::move(registry), hopper());
  QVERIFY(engine.set("hf_attention", std::string("flash_hub")));
  AttentionChoices lenient;
  lenient.strict[Role::transformer] = false;
  QVERIFY(engine.set_attention(lenient));
  Seen seen;
  Pipe pipe = dit();
  auto job = engine.begin_job(pipe, 1, &seen, false);
  QVERIFY2(job, job ? "" : job.error().c_str());
  QCOMPARE(job->attention(long_call()).executed, std::string_view("sdpa"));
  QVERIFY((seen.rows == std::vector<Seen::Row>{{"flash_hub", "sdpa", "sdpa", false}}));
}

QTEST_GUILESS_MAIN(DispatcherTest)
#include "dispatcher_test.moc"
