// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/chain_options.h"
#include "app/cli/commands.h"
#include "app/jobs/nearest.h"
#include "core/settings/settings.h"

#include <unistd.h>
#include <array>
#include <iostream>
#include <memory>

namespace attn::cli {
namespace {

Json value_json(const OptionValue& value) {
  return std::visit([](const auto& held) { return Json(held); }, value);
}

Json layout_json(const std::optional<TokenLayout>& layout) {
  if (!layout) return nullptr;
  Json kinds = Json::array();
  for (const std::string_view kind : kinds_of(*layout)) kinds.push_back(std::string(kind));
  return {{"source", layout->source}, {"kinds", kinds}, {"length", layout->length}};
}

Json model_json(const std::optional<ModelKey>& model) {
  if (!model) return nullptr;
  Json denoiser = model->denoiser ? Json(*model->denoiser) : Json(nullptr);
  return Json::array({model->pipeline, std::move(denoiser)});
}

Json report_json(const EngineReport& report, const Engine& engine) {
  Json json;
  json["chain"] = report.chain;
  json["overrides"] = report.overrides;
  json["target"] = {
      {"target", report.target.name}, {"platform", report.target.platform}, {"present", report.target.present}};
  json["sparse"] = {{"enabled", report.sparse.enabled},
                    {"budget", report.sparse.budget},
                    {"gate", report.sparse.gate},
                    {"capable", report.sparse.capable},
                    {"layout", layout_json(report.sparse.layout)}};
  json["backend"] = report.target.platform;
  json["context"] = {{"active", report.context.active},
                     {"role", report.context.active ? Json(std::string(name_of(report.context.role))) : Json(nullptr)},
                     {"step", report.context.step},
                     {"steps", report.context.steps},
                     {"model", model_json(report.context.model)}};
  json["chain_id"] = report.chain_id;
  json["pending"] = Json::array();
  for (const PendingChange& change : report.pending) {
    json["pending"].push_back(
        {{"key", change.key}, {"applied", value_json(change.applied)}, {"wanted", value_json(change.wanted)}});
  }
  json["backends"] = Json::array();
  for (const BackendReport& backend : report.backends) {
    json["backends"].push_back({{"backend", backend.name},
                                {"label", backend.label},
                                {"state", std::string(name_of(backend.state))},
                                {"reason", backend.reason}});
  }
  json["settings"] = Json::object();
  for (const OptionSpec& spec : engine.specs())
    json["settings"][spec.key] = value_json(*engine.values().find(spec.key));
  return json;
}

int run_report(const ChainOptions& options) {
  const auto sink = make_sink(options);
  if (!sink) return say(Exit::wrong, sink.error());
  const auto engine = make_engine(options, *sink);
  if (!engine) return say(Exit::wrong, engine.error());
  const EngineReport report = (*engine)->report();
  if (options.json) {
    print(report_json(report, **engine));
    return Exit::done;
  }
  std::cout << "chain      " << report.chain << "\noverrides  "
            << (report.overrides.empty() ? "none" : app::joined(report.overrides)) << "\ntarget     "
            << report.target.label << " (" << report.target.name << "), "
            << (report.target.present ? "this machine" : "emulated on this host") << "\nsparse     "
            << (report.sparse.enabled
                    ? "on, budget " + number_text(report.sparse.budget) + ", from " +
                          std::to_string(report.sparse.gate) + " tokens, served by " +
                          (report.sparse.capable.empty() ? "nobody" : app::joined(report.sparse.capable))
                    : "off")
            << "\ncontext    " << (report.context.active ? "a generation runs" : "no generation runs") << "\n\n";
  std::vector<std::vector<std::string>> rows;
  for (const BackendReport& backend : report.backends) {
    rows.push_back({backend.name, backend.label, std::string(name_of(backend.state)), backend.reason});
  }
  print_table({"backend", "label", "state", "reason"}, rows);
  std::cout << "\n";
  rows.clear();
  for (const OptionSpec& spec : (*engine)->specs()) {
    rows.push_back({spec.key, value_text(*(*engine)->values().find(spec.key)), std::string(describe(spec.applies))});
  }
  print_table({"setting", "value", "a change"}, rows);
  return Exit::done;
}

int run_gui(const std::vector<std::string>& arguments) {
  std::array<char, 4096> self{};
  const ssize_t length = readlink("/proc/self/exe", self.data(), self.size() - 1);
  std::string program(self.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  program = program.substr(0, program.rfind('/') + 1) + "attnscope";
  std::vector<std::string> words{program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  execv(program.c_str(), pointers.data());
  return say(Exit::failed, program + " cannot be started; this build may be without the window (ATTN_GUI)");
}

}  // namespace

void add_report(CLI::App& program, Command& command) {
  CLI::App* sub = program.add_subcommand("report", "Chain, overrides, sparse stage, target, context and every setting");
  auto options = std::make_shared<ChainOptions>();
  options->add_target(*sub);
  sub->add_option("--overrides", options->overrides, "Backends, by name or label")->type_name("A,B");
  sub->add_option("--set", options->sets, "A setting by its SD.Next key")->type_name("K=V")->take_all();
  sub->add_option("--import", options->import_file, "Start from the settings in an SD.Next config.json")
      ->type_name("FILE");
  options->add_json(*sub);
  options->add_log(*sub);
  sub->callback([options, &command] { command = [options] { return run_report(*options); }; });
}

void add_gui(CLI::App& program, Command& command) {
  CLI::App* sub = program.add_subcommand("gui", "Open the window");
  sub->prefix_command();
  sub->callback([sub, &command] {
    const std::vector<std::string> arguments = sub->remaining();
    command = [arguments] { return run_gui(arguments); };
  });
}

}  // namespace attn::cli
