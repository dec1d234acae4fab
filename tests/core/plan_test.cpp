// SPDX-License-Identifier: GPL-3.0-or-later
// Which chain a set of overrides builds: every case of plans.json.
#include "core/router/router.h"
#include "support/kernels.h"
#include "support/oracle.h"

#include <QtTest>
#include <map>
#include <set>

using namespace attn;
using nlohmann::json;

namespace {

// Names live as long as results may: results carry views.
std::string_view literal(const std::string& name) {
  static std::set<std::string> kept;
  return *kept.insert(name).first;
}

/// The oracle's registry, with kernels that work; `fail` maps a name to how its prepare() fails.
Registry registry_of(const json& backends, const json& fail_map = json::object()) {
  Registry registry;
  registry.set_original(test::reference_original());
  for (const json& backend : backends) {
    BackendSpec spec = test::reference_spec(literal(backend["name"]), backend["label"], backend["priority"]);
    spec.terminal = backend.value("terminal", false);
    if (backend.contains("platforms") && !backend["platforms"].is_null()) {
      spec.platforms = backend["platforms"].get<std::vector<std::string>>();
    }
    if (backend.contains("constraints"))
      spec.constraints = test::constraints_of(backend["constraints"]);
    else
      spec.constraints.allow_cpu = true;
    const std::string name = backend["name"];
    if (fail_map.contains(name)) {
      if (fail_map[name] == "raise") {
        spec.prepare = [name](const PrepareContext&) -> Expected<PreparedBackend> {
          return attn::fail(name + " unavailable");
        };
      } else {
        spec.prepare = [](const PrepareContext&) -> Expected<PreparedBackend> { return PreparedBackend{}; };
      }
    }
    (void)registry.add(std::move(spec));
  }
  return registry;
}

std::shared_ptr<const Plan> built(const Registry& registry, const json& labels, const std::string& platform) {
  PlanRequest request;
  request.labels = labels.get<std::vector<std::string>>();
  request.target = test::target_of(platform);
  return Plan::build(registry, std::move(request));
}

std::string joined(const json& names) {
  std::string text;
  for (const json& name : names) text += (text.empty() ? "" : ">") + name.get<std::string>();
  return text;
}

json log_of(const Plan& plan) {
  static const std::map<LogLevel, std::string> kLevels{{LogLevel::debug, "debug"},
                                                       {LogLevel::info, "info"},
                                                       {LogLevel::trace, "trace"},
                                                       {LogLevel::warning, "warning"},
                                                       {LogLevel::error, "error"}};
  json lines = json::array();
  for (const LogLine& line : plan.log()) lines.push_back({kLevels.at(line.level), line.text});
  return lines;
}

}  // namespace

class PlanTest : public QObject {
  Q_OBJECT
 private slots:
  void everySubsetOfLabelsOnEveryPlatformBuildsItsChain();
  void aBackendThatFailsToPrepareLeavesTheRestAlone();
  void labelsAreMatchedExactlyAndKeptAsGiven();
  void priorityTiesTerminalsAndDoublesFollowTheRules();
  void everyCallIsServedByTheFirstEntryThatAccepts();
  void reportsNameEveryRegisteredBackendInTheRoutersOrder();
};

void PlanTest::everySubsetOfLabelsOnEveryPlatformBuildsItsChain() {
  const json oracle = test::oracle("plans.json");
  const Registry registry = registry_of(oracle["registry"]);
  for (const json& c : oracle["plans"]) {
    const auto plan = built(registry, c["labels"], c["platform"]);
    QCOMPARE(plan->chain(), joined(c["chain"]));
    QCOMPARE(plan->terminal() == nullptr ? json() : json(std::string(plan->terminal()->name)), c["terminal"]);
    QCOMPARE(plan->installs_router(), c["installs_router"].get<bool>());
    QCOMPARE(plan->chain_line(false), c["chain_line"].get<std::string>());
    json expected = json::array();
    for (const json& label : c["unavailable"]) {
      expected.push_back({"warning", "Torch attention: type=\"" + label.get<std::string>() +
                                         "\" not available on backend=" + c["platform"].get<std::string>()});
    }
    QCOMPARE(log_of(*plan), expected);
  }
  QCOMPARE(oracle["plans"].size(), std::size_t{256});
}

void PlanTest::aBackendThatFailsToPrepareLeavesTheRestAlone() {
  const json oracle = test::oracle("plans.json");
  for (const json& c : oracle["prepare_failures"]) {
    const Registry registry = registry_of(oracle["registry"], c["fail"]);
    json labels = json::array();
    for (std::size_t bit = 0; bit < oracle["label_bits"].size(); ++bit) {
      if ((c["mask"].get<unsigned>() >> bit & 1U) != 0) labels.push_back(oracle["label_bits"][bit]);
    }
    const auto plan = built(registry, labels, c["platform"]);
    QCOMPARE(plan->chain(), joined(c["chain"]));
    QCOMPARE(plan->installs_router(), c["installs_router"].get<bool>());
    QCOMPARE(log_of(*plan), c["log"]);
  }
  QCOMPARE(oracle["prepare_failures"].size(), std::size_t{440});
}

void PlanTest::labelsAreMatchedExactlyAndKeptAsGiven() {
  const json oracle = test::oracle("plans.json");
  const Registry registry = registry_of(oracle["registry"]);
  for (const json& c : oracle["label_handling"]) {
    const auto plan = built(registry, c["labels"], c["platform"]);
    QCOMPARE(plan->chain(), joined(c["chain"]));
    QCOMPARE(json(plan->labels()), c["plan_labels"]);
    QCOMPARE(log_of(*plan), c["log"]);
  }
  QCOMPARE(oracle["label_handling"].size(), std::size_t{10});
}

void PlanTest::priorityTiesTerminalsAndDoublesFollowTheRules() {
  const json oracle = test::oracle("plans.json");
  for (const json& c : oracle["synthetic"]) {
    Registry registry;
    registry.set_original(test::reference_original());
    json errors = json::array();
    for (const json& backend : c["backends"]) {
      BackendSpec spec = test::reference_spec(literal(backend["name"]), backend["label"], backend["priority"]);
      spec.terminal = backend.value("terminal", false);
      if (backend.contains("platforms")) spec.platforms = backend["platforms"].get<std::vector<std::string>>();
      if (const auto added = registry.add(std::move(spec)); !added) errors.push_back(added.error());
    }
    QCOMPARE(errors, c["register_errors"]);
    json ordered = json::array();
    for (const BackendSpec& spec : registry.ascending()) ordered.push_back(spec.name);
    QCOMPARE(ordered, c["ordered"]);
    const auto plan = built(registry, c["labels"], c["platform"]);
    QCOMPARE(plan->chain(), joined(c["chain"]));
    QCOMPARE(log_of(*plan), c["log"]);
  }
  QCOMPARE(oracle["synthetic"].size(), std::size_t{11});
}

void PlanTest::everyCallIsServedByTheFirstEntryThatAccepts() {
  const json oracle = test::oracle("plans.json");
  const Registry registry = registry_of(oracle["registry"]);
  std::vector<AttentionCall> calls;
  for (const json& c : oracle["dispatch_calls"]) {
    const DType dtype = *parse_dtype(c["dtype"].get<std::string>());
    const auto view = [&](const char* shape, const char* device) {
      return TensorView::contiguous(c[shape].get<std::vector<std::int64_t>>(), dtype,
                                    *parse_device(c[device].get<std::string>()));
    };
    AttentionCall call;
    call.query = view("q", "q_dev");
    call.key = view("k", "k_dev");
    call.value = view("v", "v_dev");
    if (c["mask"].get<bool>()) call.attn_mask = TensorView::contiguous({1, 1}, DType::boolean);
    calls.push_back(call);
  }
  std::size_t served = 0;
  for (const json& c : oracle["dispatch"]) {
    json labels = json::array();
    for (std::size_t bit = 0; bit < oracle["label_bits"].size(); ++bit) {
      if ((c["mask"].get<unsigned>() >> bit & 1U) != 0) labels.push_back(oracle["label_bits"][bit]);
    }
    Router router(built(registry, labels, c["platform"]), nullptr);
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const Route route = router(calls[i]);
      QCOMPARE(std::string(route.selected), c["served"][i].get<std::string>());
      QCOMPARE(route.executed, route.selected);
      ++served;
    }
  }
  QCOMPARE(served, std::size_t{128 * 18});
}

void PlanTest::reportsNameEveryRegisteredBackendInTheRoutersOrder() {
  const json oracle = test::oracle("plans.json");
  const Registry registry = registry_of(oracle["registry"], {{"sage", "raise"}});
  const auto plan =
      built(registry, {"Sage attention", "Triton Flash attention", "SDNQ attention", "Dynamic attention"}, "cuda");
  std::vector<std::string> lines;
  for (const BackendReport& report : plan->reports()) {
    lines.push_back(report.name + " " + std::string(name_of(report.state)) +
                    (report.reason.empty() ? "" : ": " + report.reason));
  }
  const std::vector<std::string> expected{
      "sdnq ready",     "sage failed: sage unavailable",
      "flash disabled", "triton unavailable: not available on platform cuda: it needs rocm or zluda",
      "flex disabled",  "dynamic ready"};
  QCOMPARE(lines, expected);
  QCOMPARE(plan->requested(), std::string_view("sdnq"));
}

QTEST_GUILESS_MAIN(PlanTest)
#include "plan_test.moc"
