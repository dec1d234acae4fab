// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/attention_options.h"
#include "app/cli/commands.h"
#include "app/jobs/targets/description.h"
#include "app/jobs/targets/targets.h"
#include "backends/all.h"
#include "core/policy/dispatcher.h"
#include "core/policy/install.h"
#include "core/policy/target_probe.h"
#include "core/settings/settings.h"

#include <iostream>
#include <memory>

namespace attn::cli {
namespace {

struct PolicyOptions {
  std::string request;
  std::string target = "cpu";
  std::string capability;
  AttentionOptions attention;
  bool json = false;
};

Expected<Target> target_of(const PolicyOptions& options) {
  auto target = app::find_target(options.target);
  if (!target || options.capability.empty()) return target;
  if (options.capability == "unknown") {
    target->capability.reset();
    return target;
  }
  target->capability = app::parse_capability(options.capability);
  if (!target->capability) {
    return fail("--capability " + options.capability + ": write one such as 8.6 or 86, or unknown");
  }
  return target;
}

/// What keeps the decision from being carried out here or there, a sentence each.
std::vector<std::string> notes_on(const Selection& selection, const Registry& registry, const Target& target) {
  std::vector<std::string> notes;
  if (!selection.backend) return notes;
  const InstallPlan install = plan_install(selection.requested, {});
  if (install.run) notes.push_back("it needs " + install.run->requirement + " where it runs");
  if (install.refused) notes.push_back(install.reason);
  const OptionValues options = Settings(option_specs(registry, target)).values();
  const auto direct = prepare_direct(registry, *selection.backend, {target, options, nullptr, {}});
  if (!direct) notes.push_back("when it is set: " + direct.error());
  return notes;
}

Json kernels_json(const std::vector<KernelRow>& rows) {
  Json list = Json::array();
  for (const KernelRow& row : rows) {
    list.push_back({{"kernel", std::string(row.kernel)},
                    {"switch", row.switched_on},
                    {"probe", std::string(name_of(row.runs))},
                    {"reason", row.reason}});
  }
  return list;
}

int run_policy(const PolicyOptions& options) {
  const auto request = normalise_attention_request(options.request);
  if (!request) return say(Exit::wrong, request.error());
  const auto target = target_of(options);
  if (!target) return say(Exit::wrong, target.error());
  const Registry registry = make_registry();
  const Selection selection = select_attention(*request, *target, options.attention.speed_active());
  const std::vector<std::string> notes = notes_on(selection, registry, *target);
  const KernelProbe probe = probe_kernels(DType::float16, tiny_call_on(registry, *target));
  const auto rows = kernel_rows(Settings(option_specs(registry, *target)).values().list(keys::kernels), probe);
  if (options.json) {
    Json json{{"requested", options.request}, {"normalised", *request}};
    json["backend"] = selection.backend ? Json(*selection.backend) : Json(nullptr);
    json["state"] = std::string(name_of(selection.state));
    json["reason"] = selection.reason;
    json["target"] = target->name;
    json["capability"] = target->capability ? Json(*target->capability) : Json(nullptr);
    json["speed"] = options.attention.speed_active();
    json["notes"] = notes;
    json["kernels"] = kernels_json(rows);
    json["math_only"] = std::string(name_of(probe.math_only()));
    print(json);
    return Exit::done;
  }
  std::cout << *request << " on " << target->label << ": " << selection.backend.value_or("default attention") << " ("
            << name_of(selection.state) << ")\n"
            << selection.reason << "\n";
  for (const std::string& note : notes) std::cout << "note: " << note << "\n";
  std::cout << "\n";
  std::vector<std::vector<std::string>> table;
  for (const KernelRow& row : rows) {
    table.push_back({std::string(row.kernel), row.switched_on ? "on" : "off",
                     row.runs == Support::supported       ? "runs"
                     : row.runs == Support::not_supported ? "does not run"
                                                          : "unknown",
                     row.reason});
  }
  print_table({"torch kernel", "switch", "probe", ""}, table);
  return Exit::done;
}

}  // namespace

void add_policy(CLI::App& program, Command& command) {
  CLI::App* sub = program.add_subcommand("policy", "What an attention_backend request becomes on a target, and why");
  auto options = std::make_shared<PolicyOptions>();
  sub->add_option("REQUEST", options->request,
                  "auto, native, sdpa, cudnn, flash, flash2, flash3, flash4, sage, xformers or aiter, in any case")
      ->required()
      ->type_name("");
  sub->add_option("--target", options->target, "The machine: a name from `attnctl targets`, or a description")
      ->type_name("TARGET")
      ->capture_default_str();
  sub->add_option("--capability", options->capability, "Another compute capability than the target's, or unknown")
      ->type_name("N");
  options->attention.add_speed(*sub);
  sub->add_flag("--json", options->json, "Answer in JSON on stdout");
  sub->callback([options, &command] { command = [options] { return run_policy(*options); }; });
}

}  // namespace attn::cli
