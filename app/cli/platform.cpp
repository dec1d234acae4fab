// SPDX-License-Identifier: GPL-3.0-or-later
// attnctl platform: which packages and kernels really work on a target, and what a log says is missing.
#include "app/jobs/platform/platform.h"
#include "app/cli/chain_options.h"
#include "app/cli/commands.h"
#include "core/policy/target_probe.h"
#include "core/settings/settings.h"

#include <iostream>
#include <memory>

namespace attn::cli {
namespace {

struct PlatformCommand {
  ChainOptions chain;
  std::string python;
  std::string log;
};

/// Everything that is known.
struct Answer {
  app::PackageReport packages;
  std::vector<KernelRow> kernels;
  Support math_only = Support::unknown;
  std::vector<app::LogIncident> incidents;
  std::vector<std::pair<std::string, std::string>> barred;  ///< backends in quarantine on the target, and why
};

Json answer_json(const Answer& answer, const Target& target) {
  Json json{{"target", target.name}, {"present", target.present}, {"python", answer.packages.python}};
  json["packages"] = Json::array();
  for (const app::PackageLine& line : answer.packages.lines) {
    json["packages"].push_back({{"package", std::string(line.package->name)},
                                {"override", std::string(line.package->label)},
                                {"enabled", line.enabled},
                                {"state", std::string(name_of(line.known))},
                                {"found", line.found},
                                {"step", line.step}});
  }
  json["dead"] = Json::array();
  for (const DeadChoice& dead : answer.packages.dead) {
    json["dead"].push_back({{"override", dead.label}, {"reason", dead.reason}});
  }
  json["kernels"] = Json::array();
  for (const KernelRow& row : answer.kernels) {
    json["kernels"].push_back({{"kernel", std::string(row.kernel)},
                               {"switch", row.switched_on},
                               {"probe", std::string(name_of(row.runs))},
                               {"reason", row.reason}});
  }
  json["math_only"] = std::string(name_of(answer.math_only));
  json["incidents"] = Json::array();
  for (const app::LogIncident& one : answer.incidents) {
    json["incidents"].push_back({{"title", one.incident.title},
                                 {"module", one.incident.module},
                                 {"override", one.incident.label},
                                 {"enabled", one.enabled},
                                 {"detail", one.incident.detail},
                                 {"count", one.incident.count}});
  }
  json["quarantine"] = Json::array();
  for (const auto& [backend, reason] : answer.barred) {
    json["quarantine"].push_back({{"backend", backend}, {"reason", reason}});
  }
  return json;
}

void print_answer(const Answer& answer, const Target& target) {
  std::cout << target.label << "\n" << answer.packages.python << "\n\n";
  std::vector<std::vector<std::string>> rows;
  for (const app::PackageLine& line : answer.packages.lines) {
    rows.push_back({std::string(line.package->name), std::string(name_of(line.known)), line.found, line.step});
  }
  print_table({"package", "state", "found", ""}, rows);
  for (const DeadChoice& dead : answer.packages.dead) {
    std::cout << "dead: " << dead.label << " is switched on, but " << dead.reason << "\n";
  }
  std::cout << "\n";
  rows.clear();
  for (const KernelRow& row : answer.kernels) {
    rows.push_back(
        {std::string(row.kernel), row.switched_on ? "on" : "off", std::string(name_of(row.runs)), row.reason});
  }
  print_table({"torch kernel", "switch", "probe", ""}, rows);
  for (const app::LogIncident& one : answer.incidents) {
    std::cout << "\nincident: " << one.sentence() << " (" << one.incident.count
              << (one.incident.count == 1 ? " line)" : " lines)") << "\n";
    if (!one.incident.detail.empty()) std::cout << "  " << one.incident.detail << "\n";
  }
  for (const auto& [backend, reason] : answer.barred) std::cout << "\n" << backend << ": " << reason << "\n";
  std::cout << std::flush;
}

int run_platform(const PlatformCommand& options) {
  const auto sink = make_sink(options.chain);
  if (!sink) return say(Exit::wrong, sink.error());
  const auto engine = make_engine(options.chain, *sink);
  if (!engine) return say(Exit::wrong, engine.error());
  const Target target = (*engine)->target();
  const OptionList overrides = (*engine)->values().list(keys::overrides);
  Answer answer;
  if (!options.log.empty()) {
    auto incidents = app::log_file_incidents(options.log, overrides);
    if (!incidents) return say(Exit::wrong, incidents.error());
    answer.incidents = *std::move(incidents);
  }
  answer.packages = app::probe_target_packages(target, overrides, options.python);
  const KernelProbe probe = probe_kernels(DType::float16, tiny_call_on((*engine)->registry(), target));
  answer.kernels = kernel_rows((*engine)->values().list(keys::kernels), probe);
  answer.math_only = probe.math_only();
  for (const auto& [backend, reason] : quarantined_on((*engine)->quarantine(), target)) {
    answer.barred.emplace_back(backend, reason);
  }
  if (options.chain.json) {
    print(answer_json(answer, target));
  } else {
    print_answer(answer, target);
  }
  return Exit::done;
}

}  // namespace

void add_platform(CLI::App& program, Command& command) {
  CLI::App* sub = program.add_subcommand(
      "platform", "Which packages and kernels really work on a target, and what a server's log says is missing");
  auto options = std::make_shared<PlatformCommand>();
  options->chain.add_target(*sub);
  sub->add_option("--overrides", options->chain.overrides, "Backends that are switched on, by name or label")
      ->type_name("A,B");
  sub->add_option("--import", options->chain.import_file, "Start from the settings in this config.json or profile")
      ->type_name("FILE");
  sub->add_option("--python", options->python,
                  "The Python to look for packages in; by itself python3, where the target is in this machine")
      ->type_name("PROGRAM");
  sub->add_option("--read-log", options->log,
                  "A server's log: installs that failed and modules that it did not find, with the override that is "
                  "dead because of it")
      ->type_name("FILE");
  options->chain.add_json(*sub);
  options->chain.add_log(*sub);
  sub->callback([options, &command] { command = [options] { return run_platform(*options); }; });
}

}  // namespace attn::cli
