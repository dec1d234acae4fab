// SPDX-License-Identifier: GPL-3.0-or-later
// When a call is made sparse: every case of stage.json, alone and over the chain.
#include "core/router/router.h"
#include "core/sparse/sparse_stage.h"
#include "core/tensor/host_buffer.h"
#include "support/kernels.h"
#include "support/oracle.h"

#include <QtTest>
#include <array>
#include <limits>
#include <memory>
#include <set>

using namespace attn;
using nlohmann::json;

namespace {

const json& stage_oracle() {
  static const json parsed = test::oracle("stage.json");
  return parsed;
}

QString text(const json& value) { return test::q(value.dump()); }

/// The oracle's defaults of one section with the row's keys put over them.
json merged(const char* section, const json& overrides) {
  json value = stage_oracle()["defaults"][section];
  value.update(overrides);
  return value;
}

SparseOptions options_of(const json& value) {
  SparseOptions options;
  options.enabled = value["enabled"];
  options.budget = value["budget"];
  options.min_tokens = value["min_tokens"];
  options.schedule_steps = value["schedule_steps"];
  options.schedule_bump = value["schedule_bump"];
  options.head_shared = value["head_shared"];
  options.exclude = value["exclude"].get<std::vector<std::string>>();
  return options;
}

json written(const SparseOptions& options) {
  return {{"enabled", options.enabled},
          {"budget", options.budget},
          {"min_tokens", options.min_tokens},
          {"schedule_steps", options.schedule_steps},
          {"schedule_bump", options.schedule_bump},
          {"head_shared", options.head_shared},
          {"exclude", options.exclude}};
}

/// Opens the generation that the oracle describes. A model pair that is not published leaves the architecture alone.
void open(GenerationContext& context, const json& value) {
  const json& model = value["model"];
  const auto name = [](const json& entry) {
    return entry.is_null() ? std::nullopt : std::optional(entry.get<std::string>());
  };
  if (value["active"] == true) {
    std::optional<PipelineInfo> pipeline;
    if (!model.is_null() || !value["arch"].is_null()) {
      pipeline = PipelineInfo{model.is_null() ? "" : name(model[0]).value_or(""),
                              model.is_null() ? std::nullopt : name(model[1]), std::nullopt, name(value["arch"])};
    }
    context.begin(pipeline, value["steps"]);
  }
  const std::string role = value["role"].is_null() ? "None" : value["role"];
  context.set_role(parse_role(role).value_or(Role::other));
  context.set_step(value["step"]);
  if (const json& layout = value["layout"]; !layout.is_null()) {
    TokenLayout published{layout["source"], layout["length"], {}};
    for (const json& span : layout["spans"]) published.spans.push_back({span[0], span[1], span[2]});
    context.set_layout(published);
  }
}

/// A call as the oracle describes it, with memory of its own.
struct Call {
  std::vector<HostTensor> memory;
  AttentionCall call;
  Capabilities capabilities;

  Call(const json& value, bool with_data) {
    const Device device = value["device"] == "cpu" ? Device::cpu() : Device::accel();
    for (const char* side : {"q", "k"}) {
      const auto shape = value[side].get<std::vector<std::int64_t>>();
      TensorView view = TensorView::contiguous(shape, DType::float32, device);
      if (with_data) {
        memory.emplace_back(shape, DType::float32, device);
        view = memory.back().view();
        auto* const values = memory.back().as<float>();
        for (std::int64_t i = 0; i < view.elements(); ++i) values[i] = static_cast<float>((i * 7919) % 1009) - 504.0F;
      }
      (*side == 'q' ? call.query : call.key) = view;
    }
    call.value = call.key;
    call.is_causal = value.value("causal", false);
    if (value.value("mask", false)) {
      const std::array<std::int64_t, 4> mask{1, 1, call.query_tokens(), call.key_tokens()};
      call.attn_mask = TensorView::contiguous(mask, DType::boolean, device);
    }
    for (const json& name : value.value("caps", json::array())) {
      capabilities.block_mask = capabilities.block_mask || name == "block_mask";
      capabilities.masked_block = capabilities.masked_block || name == "masked_block";
    }
  }
};

json log_of(const std::vector<LogLine>& lines) {
  json list = json::array();
  for (const LogLine& line : lines) {
    list.push_back({QString::fromUtf8(name_of(line.level).data()).toLower().toStdString(), line.text});
  }
  return list;
}

/// A stage and what it has said since last asked.
struct ListenedStage {
  explicit ListenedStage(SparseOptions options)
      : stage(std::move(options), [this](const LogLine& line) { lines.push_back(line); }) {}

  std::vector<LogLine> lines;
  SparseStage stage;
};

/// What the stage does with a call, as the oracle writes it.
json outcome(ListenedStage& listened, const json& context_value, const json& call_value, bool with_data) {
  GenerationContext context;
  open(context, merged("context", context_value));
  const Call made(merged("call", call_value), with_data);
  listened.lines.clear();
  const StageDecision decision = listened.stage.decide(made.call, context, made.capabilities);
  json result;
  result["result"] = decision.selection != nullptr ? "selected" : "dense";
  result["reason"] = decision.reason.empty() ? json(nullptr) : json(decision.reason);
  result["log"] = log_of(listened.lines);
  if (listened.stage.last_skip_reason() != decision.reason) result["last_skip_reason"] = "differs";
  if (decision.selection == nullptr) return result;
  const BlockSelection& selection = *decision.selection;
  result["budget"] = decision.budget;
  result["shape"] = {selection.batch, selection.heads, selection.query_tiles, selection.key_tiles};
  result["density"] = selection.density;
  const double tiles =
      static_cast<double>(selection.batch * selection.heads * selection.query_tiles * selection.key_tiles);
  // Without data no tile is chosen, and how many would be follows from the density.
  result["kept_tiles"] = with_data ? std::count(selection.keep.begin(), selection.keep.end(), std::uint8_t{1})
                                   : qRound64(selection.density * tiles);
  if (selection.has_tiles() != with_data) result["has_tiles"] = selection.has_tiles();
  if (selection.budget != decision.budget) result["selection_budget"] = selection.budget;
  return result;
}

// --- over the chain ---------------------------------------------------------------------------------------------

/// A name as a literal: results carry views.
std::string_view literal(const std::string& name) {
  static std::set<std::string> kept;
  return *kept.insert(name).first;
}

Capabilities capabilities_of(const json& names) {
  Capabilities capabilities;
  for (const json& name : names) {
    capabilities.block_mask = capabilities.block_mask || name == "block_mask";
    capabilities.masked_block = capabilities.masked_block || name == "masked_block";
  }
  return capabilities;
}

/// The oracle's registry with kernels that work; an older sdnq kernel reports that it takes no block mask.
Registry registry_of(bool sdnq_takes_block_mask) {
  Registry registry;
  registry.set_original(test::reference_original());
  const json plans = test::oracle("plans.json");
  for (const json& backend : plans["registry"]) {
    const std::string_view name = literal(backend["name"]);
    BackendSpec spec = test::reference_spec(name, backend["label"], backend["priority"]);
    spec.terminal = backend["terminal"];
    if (!backend["platforms"].is_null()) spec.platforms = backend["platforms"].get<std::vector<std::string>>();
    spec.constraints = test::constraints_of(backend["constraints"]);
    spec.capabilities = capabilities_of(backend["caps"]);
    spec.prepare = [name, older = name == "sdnq" && !sdnq_takes_block_mask](const PrepareContext&) {
      PreparedBackend prepared;
      prepared.kernel = std::make_shared<test::ReferenceKernel>(name);
      if (older) prepared.verified = Capabilities{};
      return Expected<PreparedBackend>(std::move(prepared));
    };
    (void)registry.add(std::move(spec));
  }
  return registry;
}

OptionValues values_of(const json& settings) {
  OptionValues values;
  for (const auto& [name, value] : settings.items()) {
    const std::string key = "sparse_attention_" + name;
    if (value.is_boolean())
      values.put(key, value.get<bool>());
    else if (value.is_number_integer())
      values.put(key, value.get<std::int64_t>());
    else if (value.is_number_float())
      values.put(key, value.get<double>());
    else if (value.is_string())
      values.put(key, value.get<std::string>());
    else
      QTest::qFail("a null setting is an absent one", __FILE__, __LINE__);
  }
  return values;
}

/// A plan with the stage that its settings ask for.
struct Installed {
  Registry registry;
  std::shared_ptr<const Plan> plan;
  std::vector<std::string_view> capable;
  std::vector<LogLine> lines;
  std::unique_ptr<SparseStage> stage;

  Installed(const json& row, const std::string& platform) : registry(registry_of(row["sdnq_takes_block_mask"])) {
    PlanRequest request;
    request.labels = row["labels"].get<std::vector<std::string>>();
    request.target = test::target_of(platform);
    plan = Plan::build(registry, std::move(request));
    for (const PlanEntry& entry : plan->entries()) {
      if (entry.capabilities.block_mask) capable.push_back(entry.name);
    }
    std::vector<std::string> compatible;
    for (const BackendSpec& spec : registry.ascending()) {
      if (spec.capabilities.block_mask) compatible.push_back(spec.label);
    }
    json settings = row["settings"];
    if (settings.contains("exclude") && settings["exclude"].is_null()) settings.erase("exclude");
    stage =
        make_stage(values_of(settings), capable, compatible, [this](const LogLine& line) { lines.push_back(line); });
  }
};

/// Counts how often it is asked, and keeps every call dense.
class CountingStage final : public SelectionStage {
 public:
  double budget_at(std::int32_t, std::int32_t) const noexcept override { return 0.3; }
  StageDecision decide(const AttentionCall&, const GenerationContext&, Capabilities capabilities,
                       const AttentionKernel*) override {
    ++asked;
    last = capabilities;
    return {};
  }
  int asked = 0;
  Capabilities last;
};

}  // namespace

class StageTest : public QObject {
  Q_OBJECT

 private slots:
  void reasons_are_named_in_the_order_of_the_gates() {
    QCOMPARE(text(json(std::vector(SparseStage::reasons().begin(), SparseStage::reasons().end()))),
             text(stage_oracle()["reasons_in_order"]));
  }

  void every_row_is_decided_as_in_the_oracle_data() {
    QTest::addColumn<int>("index");
    QTest::addColumn<bool>("with_data");
    for (std::size_t i = 0; i < stage_oracle()["rows"].size(); ++i) {
      const std::string name = stage_oracle()["rows"][i]["name"];
      QTest::newRow(name.c_str()) << static_cast<int>(i) << true;
      QTest::newRow((name + ", planned").c_str()) << static_cast<int>(i) << false;
    }
    QCOMPARE(stage_oracle()["rows"].size(), std::size_t{136});
  }
  void every_row_is_decided_as_in_the_oracle() {
    QFETCH(int, index);
    QFETCH(bool, with_data);
    const json& row = stage_oracle()["rows"][static_cast<std::size_t>(index)];
    json expected = row["expect"];
    const SparseOptions options = options_of(merged("options", row["options"]));
    QCOMPARE(!options.ask_for_stage(), expected["result"] == "no stage");
    if (!options.ask_for_stage()) return;
    if (row["name"] == "negative step reads the table from its end") {
      // Differs: a context never holds a negative step, it counts as the first. BudgetSchedule reads it as stated.
      expected["budget"] = 0.7;
      expected["kept_tiles"] = 736;
      expected["density"] = 0.71875;
    }
    ListenedStage listened(options);
    QCOMPARE(text(outcome(listened, row["context"], row["call"], with_data)), text(expected));
  }

  void every_sequence_is_decided_as_in_the_oracle_data() {
    QTest::addColumn<int>("index");
    QTest::addColumn<bool>("with_data");
    for (std::size_t i = 0; i < stage_oracle()["sequences"].size(); ++i) {
      const std::string name = stage_oracle()["sequences"][i]["name"];
      QTest::newRow(name.c_str()) << static_cast<int>(i) << true;
      QTest::newRow((name + ", planned").c_str()) << static_cast<int>(i) << false;
    }
    QCOMPARE(stage_oracle()["sequences"].size(), std::size_t{9});
  }
  void every_sequence_is_decided_as_in_the_oracle() {
    QFETCH(int, index);
    QFETCH(bool, with_data);
    json sequence = stage_oracle()["sequences"][static_cast<std::size_t>(index)];
    if (sequence["name"] == "the exclusion answer is cached by model key") {
      // Differs: the reference keeps its answer by the class pair alone, so a changed architecture gets a stale one.
      // Here the architecture is part of the key: the second call is excluded, the fourth is not.
      sequence["calls"][1]["expect"] = sequence["calls"][2]["expect"];
      sequence["calls"][3]["expect"] = sequence["calls"][4]["expect"];
    }
    SparseOptions options = options_of(merged("options", sequence["options"]));
    options.pattern = sequence["pattern"] == "radial" ? SparsePattern::radial : SparsePattern::adaptive;
    ListenedStage listened(options);
    for (const json& call : sequence["calls"]) {
      QCOMPARE(text(outcome(listened, call["context"], call["call"], with_data)), text(call["expect"]));
    }
  }

  void capabilities_narrow_and_only_a_block_mask_asks_the_stage() {
    int met = 0;
    for (const json& row : stage_oracle()["capability_narrowing"]) {
      Registry registry;
      registry.set_original(test::reference_original());
      BackendSpec spec = test::reference_spec("probe", "Probe", 1);
      spec.capabilities = capabilities_of(row["declared"]);
      spec.prepare = [&row](const PrepareContext&) {
        PreparedBackend prepared;
        prepared.kernel = std::make_shared<test::ReferenceKernel>("probe");
        if (!row["verified"].is_null()) prepared.verified = capabilities_of(row["verified"]);
        return Expected<PreparedBackend>(std::move(prepared));
      };
      QVERIFY(registry.add(std::move(spec)).has_value());
      PlanRequest request;
      request.labels = {"Probe"};
      request.target = test::target_of("cuda");
      const auto plan = Plan::build(registry, std::move(request));
      QCOMPARE(plan->entries().size(), std::size_t{1});
      QCOMPARE(plan->entries()[0].capabilities, capabilities_of(row["effective"]));
      GenerationContext context;
      CountingStage stage;
      Router router(plan, &context, nullptr, &stage);
      QCOMPARE(router(test::plain_call({1, 2, 2048, 64}, {1, 2, 2048, 64})).executed, std::string_view("probe"));
      QCOMPARE(stage.asked, row["consults_stage"] == true ? 1 : 0);
      if (stage.asked != 0) QCOMPARE(stage.last, capabilities_of(row["effective"]));
      ++met;
    }
    QCOMPARE(met, 28);
  }

  void settings_build_the_stage_and_say_so() {
    int met = 0;
    for (const json& row : stage_oracle()["install"]) {
      Installed installed(row, row["platform"]);
      QCOMPARE(text(json(installed.capable)), text(row["capable"]));
      QCOMPARE(installed.stage != nullptr, row["stage"] == true);
      if (installed.stage) QCOMPARE(text(written(installed.stage->options())), text(row["options"]));
      QCOMPARE(text(log_of(installed.lines)), text(row["log"]));
      ++met;
    }
    QCOMPARE(met, 34);
  }

  void a_route_is_sparse_end_to_end_as_in_the_oracle() {
    int met = 0;
    for (const json& row : stage_oracle()["end_to_end"]) {
      Installed installed(row, "cuda");
      QCOMPARE(installed.stage != nullptr, row["stage"] == true);
      GenerationContext context;
      open(context, merged("context", row["context"]));
      json call_value = row["call"];
      if (!call_value.contains("device")) call_value["device"] = "accel";
      const Call made(call_value, false);
      Router router(installed.plan, &context, nullptr, installed.stage.get());
      const Route route = router(made.call);
      QVERIFY(route.failure.empty());
      const std::string served = std::string(route.executed) + (route.sparse ? "+sparse" : "");
      QCOMPARE(test::q(served), test::q(row["served"].get<std::string>()));
      const std::string_view reason = installed.stage ? installed.stage->last_skip_reason() : std::string_view{};
      QCOMPARE(text(reason.empty() ? json(nullptr) : json(reason)), text(row["reason"]));
      ++met;
    }
    QCOMPARE(met, 56);
  }

  // --- wrong input, and what is remembered ----------------------------------------------------------------------

  void a_setting_that_is_no_number_leaves_the_stage_off_without_a_word_data() {
    QTest::addColumn<QString>("key");
    QTest::addColumn<QString>("spelled");
    for (const char* key : {"budget", "min_tokens", "schedule_steps", "schedule_bump"}) {
      for (const char* spelled : {"", "abc", "30%", "1,5", "nan", "inf", "-inf", "0x10", "++1", "1 2"}) {
        QTest::newRow(qPrintable(QStringLiteral("%1=%2").arg(key, spelled))) << key << spelled;
      }
    }
  }
  void a_setting_that_is_no_number_leaves_the_stage_off_without_a_word() {
    QFETCH(QString, key);
    QFETCH(QString, spelled);
    OptionValues values;
    values.put("sparse_attention_enabled", true);
    values.put("sparse_attention_" + key.toStdString(), spelled.toStdString());
    std::vector<LogLine> lines;
    const std::array<std::string_view, 1> capable{"sdnq"};
    const auto stage = make_stage(values, capable, {}, [&](const LogLine& line) { lines.push_back(line); });
    QVERIFY(stage == nullptr);
    QVERIFY(lines.empty());
  }

  void a_budget_outside_its_range_has_a_stated_outcome() {
    const auto options = [](OptionValue budget) {
      OptionValues values;
      values.put("sparse_attention_enabled", true);
      values.put("sparse_attention_budget", std::move(budget));
      return sparse_options_from(values);
    };
    QVERIFY(options(std::int64_t{0}).ask_for_stage());
    QVERIFY(options(std::int64_t{-40}).ask_for_stage());
    QVERIFY(!options(std::int64_t{100}).ask_for_stage());
    QVERIFY(!options(250.0).ask_for_stage());
    QVERIFY(!options(std::numeric_limits<double>::quiet_NaN()).ask_for_stage());
    QVERIFY(!options(std::numeric_limits<double>::infinity()).ask_for_stage());
    QVERIFY(!options(OptionList{"30"}).ask_for_stage());
    QCOMPARE(options(std::string(" +37.5 ")).budget, 0.375);
    QVERIFY(!SparseOptions{}.ask_for_stage());
  }

  void tensors_that_the_selector_cannot_read_stay_dense() {
    ListenedStage listened(options_of(merged("options", json::object())));
    GenerationContext context;
    open(context, merged("context", json::object()));
    const auto reason = [&](std::initializer_list<std::int64_t> q, std::initializer_list<std::int64_t> k, DType dtype) {
      AttentionCall call = test::plain_call(q, k, dtype);
      return listened.stage.decide(call, context, {true, false}).reason;
    };
    const std::string_view unsupported = "unsupported tensor";
    QCOMPARE(reason({1, 3, 2048, 8}, {1, 2, 2048, 8}, DType::float32), unsupported);
    QCOMPARE(reason({2, 2, 2048, 8}, {1, 2, 2048, 8}, DType::float32), unsupported);
    QCOMPARE(reason({1, 2, 2048, 8}, {1, 2, 2048, 16}, DType::float32), unsupported);
    QCOMPARE(reason({1, 2, 2048, 8}, {1, 2, 2048, 8}, DType::int8), unsupported);
    QCOMPARE(reason({1, 2, 2048, 8}, {2, 2048, 8}, DType::float32), unsupported);
    QCOMPARE(reason({1, 2, 2048, 8}, {1, 0, 2048, 8}, DType::float32), unsupported);
    QCOMPARE(reason({1, 2, 2048, 8}, {1, 2, 2048, 8}, DType::bfloat16), std::string_view());
  }

  void a_second_denoiser_is_resolved_anew_and_each_model_is_named_once() {
    SparseOptions options = options_of(merged("options", {{"exclude", {"wanpipeline"}}}));
    ListenedStage listened(options);
    const json wan{{"model", {"WanPipeline", "WanTransformer3DModel"}}, {"arch", "wanai"}};
    const json wan_second{{"model", {"WanPipeline", "WanVACETransformer3DModel"}}, {"arch", "wanai"}};
    const json flux = json::object();
    for (const int round : {0, 1, 2}) {
      for (const json& context : {wan, wan_second}) {
        const json result = outcome(listened, context, json::object(), true);
        QCOMPARE(text(result["reason"]), QString("\"excluded\""));
        QCOMPARE(result["log"].size(), round == 0 ? 1UL : 0UL);
      }
      QCOMPARE(text(outcome(listened, flux, json::object(), true)["result"]), QString("\"selected\""));
    }
  }

  void ten_thousand_exclusions_are_searched_once_a_model() {
    SparseOptions options = options_of(merged("options", json::object()));
    for (int i = 0; i < 10000; ++i) options.exclude.push_back("model" + std::to_string(i));
    options.exclude.push_back("fluxpipeline");
    ListenedStage listened(options);
    GenerationContext context;
    open(context, merged("context", json::object()));
    const AttentionCall call = test::plain_call({1, 2, 2048, 8}, {1, 2, 2048, 8});
    QElapsedTimer first;
    first.start();
    QCOMPARE(listened.stage.decide(call, context, {true, false}).reason, std::string_view("excluded"));
    const qint64 once = std::max<qint64>(first.nsecsElapsed(), 1);
    QElapsedTimer rest;
    rest.start();
    for (int i = 0; i < 1000; ++i) {
      QCOMPARE(listened.stage.decide(call, context, {true, false}).reason, std::string_view("excluded"));
    }
    // A thousand searches would take a thousand times the first; the bound leaves room for a slow machine.
    QVERIFY2(rest.nsecsElapsed() < once * 500 + 50'000'000, qPrintable(QString::number(rest.nsecsElapsed())));
  }

  void a_layout_that_changes_between_calls_changes_the_selection() {
    ListenedStage listened(options_of(merged("options", json::object())));
    const auto with_text = [](int tokens) {
      return json{
          {"layout", {{"spans", {{"text", 0, tokens}, {"image", tokens, 2048}}}, {"length", 2048}, {"source", "s"}}}};
    };
    std::vector<QString> first;
    // More layouts than are kept, twice over: what was forgotten comes out the same.
    for (const int round : {0, 1}) {
      for (int i = 0; i < 12; ++i) {
        const QString result = text(outcome(listened, with_text(128 * (i + 1)), json::object(), true));
        if (round == 0)
          first.push_back(result);
        else
          QCOMPARE(result, first[static_cast<std::size_t>(i)]);
      }
    }
    QCOMPARE(std::set<QString>(first.begin(), first.end()).size(), std::size_t{12});
  }

  void overlapping_gapped_and_overlong_layouts_are_taken_as_stated() {
    const auto kept = [](const json& spans) {
      ListenedStage listened(options_of(merged("options", json::object())));
      const json layout{{"layout", {{"spans", spans}, {"length", 2048}, {"source", "s"}}}};
      const json result = outcome(listened, layout, json::object(), true);
      return result.value("kept_tiles", -1);
    };
    const int all_image = kept({{"image", 0, 2048}});
    QCOMPARE(all_image, 352);
    QCOMPARE(kept({{"image", 0, 2048}, {"text", 100, 228}}), all_image);    // a later span clears nothing
    QCOMPARE(kept({{"image", 0, 1200}, {"image", 900, 9000}}), all_image);  // the rest is ignored
    QCOMPARE(kept({{"image", 256, 2048}}), 520);                            // a gap is pinned like text
    QCOMPARE(kept(json::array()), -1);                                      // all pinned: dense
  }

  void the_last_marks_are_those_of_the_last_selection() {
    ListenedStage listened(options_of(merged("options", json::object())));
    QVERIFY(listened.stage.last_marks() == nullptr);
    (void)outcome(listened, json::object(), json::object(), true);
    QVERIFY(listened.stage.last_marks() != nullptr);
    QCOMPARE(listened.stage.last_marks()->grid().query_tiles(), 16);
    (void)outcome(listened, json::object(), {{"causal", true}}, true);
    QVERIFY(listened.stage.last_marks() == nullptr);
  }

  void a_stage_without_a_sink_decides_alike() {
    SparseStage stage(options_of(merged("options", json::object())));
    GenerationContext context;
    open(context, merged("context", json::object()));
    const Call made(merged("call", json::object()), true);
    QVERIFY(stage.decide(made.call, context, made.capabilities).selection != nullptr);
  }
};

QTEST_GUILESS_MAIN(StageTest)
#include "stage_test.moc"
