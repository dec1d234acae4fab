// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/chain_options.h"
#include "app/cli/commands.h"
#include "app/jobs/nearest.h"
#include "app/jobs/targets/targets.h"
#include "app/jobs/tensors/generated.h"
#include "backends/cuda/runtime/discovery.h"
#include "backends/cudnn/library.h"

#include <iostream>
#include <memory>

namespace attn::cli {
namespace {

/// What a backend asks of a call, in the words of its checks.
std::vector<std::string> conditions_of(const Constraints& constraints) {
  AttentionCall any;
  any.query = any.key = any.value = TensorView::contiguous({1, 8, 4096, 64}, DType::bfloat16);
  std::vector<std::string> conditions;
  for (const Verdict& verdict : explain(constraints, any)) {
    conditions.push_back(std::string(verdict.check) + " " + verdict.required);
  }
  return conditions;
}

/// The plan with every backend enabled: what could be switched on for the target.
std::shared_ptr<const Plan> plan_of_all(const Engine& engine) {
  PlanRequest request;
  request.labels = engine.registry().labels();
  request.target = engine.target();
  request.options = engine.values();
  return Plan::build(engine.registry(), std::move(request));
}

int run_backends(const ChainOptions& options) {
  const auto sink = make_sink(options);
  if (!sink) return say(Exit::wrong, sink.error());
  const auto engine = make_engine(options, *sink);
  if (!engine) return say(Exit::wrong, engine.error());
  const Registry& registry = (*engine)->registry();
  const auto all = plan_of_all(**engine);
  Json list = Json::array();
  std::vector<std::vector<std::string>> rows;
  for (const BackendReport& report : (*engine)->plan()->reports()) {
    const BackendSpec& spec = *registry.by_name(report.name);
    const auto possible = std::find_if(all->reports().begin(), all->reports().end(),
                                       [&report](const BackendReport& r) { return r.name == report.name; });
    const bool available = possible->state == BackendState::ready;
    const std::string reason = report.reason.empty() ? possible->reason : report.reason;
    const auto conditions = conditions_of(spec.constraints);
    Json backend{{"backend", spec.name},
                 {"label", spec.label},
                 {"priority", spec.priority},
                 {"state", std::string(name_of(report.state))},
                 {"available", available},
                 {"reason", reason},
                 {"terminal", spec.terminal},
                 {"conditions", spec.terminal ? std::vector<std::string>() : conditions},
                 {"block_mask", spec.capabilities.block_mask},
                 {"masked_block", spec.capabilities.masked_block}};
    backend["platforms"] = spec.platforms ? Json(*spec.platforms) : Json(nullptr);
    backend["options"] = Json::array();
    for (const OptionSpec& option : spec.options) backend["options"].push_back(option.key);
    backend["help"] = spec.help;
    list.push_back(std::move(backend));
    rows.push_back({spec.name, spec.label, std::to_string(spec.priority), std::string(name_of(report.state)),
                    available ? "yes" : "no",
                    !reason.empty() ? reason
                    : spec.terminal ? "takes whatever the others decline"
                                    : app::joined(conditions, "; ")});
  }
  Json original{{"backend", registry.original().name},
                {"label", registry.original().label},
                {"priority", 0},
                {"state", "ready"},
                {"available", true},
                {"reason", ""},
                {"terminal", true}};
  original["help"] = registry.original().help;
  list.push_back(std::move(original));
  rows.push_back({registry.original().name, "", "0", "ready", "yes", registry.original().help});
  if (options.json) {
    print(Json{{"target", (*engine)->target().name}, {"chain", (*engine)->plan()->chain()}, {"backends", list}});
  } else {
    print_table({"backend", "label", "priority", "state", "available", "takes, or why not"}, rows, {2});
  }
  return Exit::done;
}

Json cudnn_json() {
  const auto& library = cudnn::this_machines_cudnn();
  if (!library) return {{"version", nullptr}, {"reason", library.error()}};
  return {{"version", (*library)->version_text()}, {"reason", nullptr}};
}

int run_targets(bool json) {
  const cuda::Discovery& machine = cuda::this_machine();
  const auto targets = app::load_targets();
  if (!targets) return say(Exit::failed, targets.error());
  Json list = Json::array();
  std::vector<std::vector<std::string>> rows;
  for (const Target& target : *targets) {
    Json entry{{"target", target.name}, {"label", target.label}, {"platform", target.platform}};
    entry["capability"] = target.capability ? Json(*target.capability) : Json(nullptr);
    entry["gfx"] = target.gfx.empty() ? Json(nullptr) : Json(target.gfx);
    entry["memory_bytes"] = target.memory_bytes ? Json(*target.memory_bytes) : Json(nullptr);
    entry["state"] = target.present ? "present" : "emulated";
    entry["reason"] = !target.present ? "not in this machine: its kernels run on the host"
                      : target.device ? "this machine's GPU"
                                      : "this machine";
    entry["absence"] = target.absence.empty() ? Json(nullptr) : Json(target.absence);
    list.push_back(std::move(entry));
    const std::string architecture = target.capability    ? "sm_" + std::to_string(*target.capability)
                                     : target.gfx.empty() ? "-"
                                                          : target.gfx;
    rows.push_back({target.name, target.label, target.platform, architecture,
                    target.memory_bytes ? app::bytes_text(*target.memory_bytes) : "unknown",
                    target.present ? "present" : "emulated"});
  }
  if (json) {
    print(Json{{"targets", list},
               {"cuda",
                {{"state", std::string(cuda::name_of(machine.state))},
                 {"sentence", machine.sentence},
                 {"cudnn", cudnn_json()}}}});
  } else {
    print_table({"target", "label", "platform", "architecture", "memory", "state"}, rows, {4});
    std::cout << "\nCUDA: " << machine.sentence << "\n";
    if (machine.state == cuda::CudaState::ready) {
      const auto& library = cudnn::this_machines_cudnn();
      std::cout << (library ? "cuDNN " + (*library)->version_text() : library.error()) << "\n";
    }
  }
  return Exit::done;
}

}  // namespace

void add_backends(CLI::App& program, Command& command) {
  CLI::App* sub = program.add_subcommand("backends", "Every backend with its state on a target and what it takes");
  auto options = std::make_shared<ChainOptions>();
  options->add_target(*sub);
  sub->add_option("--overrides", options->overrides, "Backends that are switched on, by name or label")
      ->type_name("A,B");
  options->add_json(*sub);
  options->add_log(*sub);
  sub->callback([options, &command] { command = [options] { return run_backends(*options); }; });
}

void add_targets(CLI::App& program, Command& command) {
  CLI::App* sub = program.add_subcommand("targets", "Every machine that a chain can be built for");
  auto json = std::make_shared<bool>(false);
  sub->add_flag("--json", *json, "Answer in JSON on stdout");
  sub->footer("A target that is not listed is described: platform=cuda,sm=86,memory=24GiB; sm=unknown is allowed.");
  sub->callback([json, &command] { command = [json] { return run_targets(*json); }; });
}

}  // namespace attn::cli
