// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/chain_options.h"
#include "app/cli/commands.h"
#include "app/jobs/nearest.h"
#include "app/jobs/tensors/generated.h"
#include "core/call/call_text.h"
#include "core/settings/settings.h"

#include <iostream>
#include <memory>

namespace attn::cli {
namespace {

struct ExplainOptions {
  ChainOptions chain;
  std::vector<std::string> call;
};

Json checks_json(const std::vector<Verdict>& checks) {
  Json list = Json::array();
  for (const Verdict& check : checks) {
    list.push_back({{"check", std::string(check.check)},
                    {"required", check.required},
                    {"actual", check.actual},
                    {"ok", check.ok},
                    {"reason", check.reason}});
  }
  return list;
}

Json layouts_json(const AttentionCall& call) {
  Json tensors;
  for (const auto& [name, view] : {std::pair{"q", &call.query}, {"k", &call.key}, {"v", &call.value}}) {
    tensors[name] = {{"shape", std::vector<std::int64_t>(view->sizes().begin(), view->sizes().end())},
                     {"strides", std::vector<std::int64_t>(view->strides().begin(), view->strides().end())},
                     {"layout", std::string(name_of(layout_of(*view)))},
                     {"dtype", std::string(name_of(view->dtype))},
                     {"device", to_string(view->device)},
                     {"offset_reach", view->offset_reach()}};
  }
  return tensors;
}

Json explanation_json(const Explanation& e, const WrittenCall& written) {
  Json json;
  json["call"] = write_call(written);
  json["target"] = e.target;
  json["emulation"] = e.emulation.empty() ? Json(nullptr) : Json(e.emulation);
  json["chain"] = e.chain;
  json["route"] = {
      {"requested", e.requested}, {"selected", e.selected}, {"executed", e.executed},         {"kernel", e.kernel},
      {"reason", e.reason},       {"sparse", e.sparse},     {"bypassed", e.dispatch.bypassed}};
  json["route"]["output_dtype"] = std::string(name_of(written.call.query.dtype));
  json["attention"] = attention_json(e.dispatch);
  json["entries"] = Json::array();
  for (const BackendVerdict& entry : e.entries) {
    json["entries"].push_back({{"backend", entry.backend},
                               {"label", entry.label},
                               {"state", std::string(name_of(entry.state))},
                               {"state_reason", entry.state_reason},
                               {"accepts", entry.accepts},
                               {"serves", entry.serves},
                               {"terminal", entry.terminal},
                               {"reason", entry.reason},
                               {"checks", checks_json(entry.checks)}});
  }
  json["kernel_choices"] = checks_json(e.kernel_choices);
  json["stage"] = {{"selects", e.stage.selects},
                   {"reason", e.stage.reason},
                   {"budget", e.stage.budget},
                   {"density", e.stage.density}};
  json["memory_bytes"] = e.memory_bytes;
  json["warnings"] = e.warnings;
  json["to_move"] = e.to_move;
  json["tensors"] = layouts_json(written.call);
  return json;
}

void print_checks(const std::vector<Verdict>& checks) {
  std::vector<std::vector<std::string>> rows;
  for (const Verdict& check : checks) {
    rows.push_back(
        {check.ok ? "    ok" : "    NO", std::string(check.check), check.required, check.actual, check.reason});
  }
  if (!rows.empty()) print_table({"      ", "check", "required", "actual", ""}, rows);
}

void print_explanation(const Explanation& e, const WrittenCall& written, const OptionValues& values) {
  std::cout << write_call(written) << "\n\ntarget     " << e.target << (e.emulation.empty() ? "" : ", " + e.emulation)
            << "\noverrides  ";
  const OptionList overrides = values.list(keys::overrides);
  std::cout << (overrides.empty() ? "none" : app::joined(overrides)) << "\nchain      " << e.chain << "\n\nserved by  "
            << e.selected << (e.sparse ? "+sparse" : "") << (e.kernel.empty() ? "" : " (" + e.kernel + ")") << ": "
            << e.reason << "\n";
  if (const std::string text = attention_text(e.dispatch); !text.empty()) std::cout << "dispatcher " << text << "\n";
  if (e.requested != e.selected) std::cout << "requested  " << e.requested << "\n";
  if (!e.executed.empty() && e.executed != e.selected) std::cout << "executed   " << e.executed << "\n";
  std::cout << "output     " << name_of(written.call.query.dtype) << "\nmemory     " << app::bytes_text(e.memory_bytes)
            << " beyond its tensors (" << e.memory_bytes << " bytes)\nlayout     q "
            << name_of(layout_of(written.call.query)) << ", k " << name_of(layout_of(written.call.key)) << ", v "
            << name_of(layout_of(written.call.value)) << "\nsparse     "
            << (e.stage.selects
                    ? "selects, budget " + number_text(e.stage.budget) + ", density " + number_text(e.stage.density)
                    : "dense: " + e.stage.reason)
            << "\n\nin the router's order\n";
  for (const BackendVerdict& entry : e.entries) {
    std::cout << "\n  " << entry.backend << "  [" << name_of(entry.state) << "]  "
              << (entry.serves           ? "serves"
                  : entry.reason.empty() ? "would accept"
                                         : "declined: " + entry.reason)
              << "\n";
    if (!entry.state_reason.empty() && entry.state_reason != entry.reason)
      std::cout << "    " << entry.state_reason << "\n";
    print_checks(entry.checks);
  }
  for (const std::string& warning : e.warnings) std::cout << "\nwarning: " << warning;
  if (!e.warnings.empty()) std::cout << "\n";
  if (!e.to_move.empty()) std::cout << "\nto move the call\n";
  for (const std::string& step : e.to_move) std::cout << "  " << step << "\n";
  std::cout << std::flush;
}

int run_explain(const ExplainOptions& options) {
  const auto written = parse_call(app::joined(options.call, " "));
  if (!written) return say(Exit::wrong, written.error());
  const auto sink = make_sink(options.chain);
  if (!sink) return say(Exit::wrong, sink.error());
  const auto engine = make_engine(options.chain, *sink);
  if (!engine) return say(Exit::wrong, engine.error());
  const auto required = read_requirements((*engine)->registry(), options.chain.require);
  if (!required) return say(Exit::wrong, required.error());
  Explanation explanation = (*engine)->explain(written->call, written->role, written->step, Patience::waits);
  if ((*engine)->plan()->target().is_cpu() && !written->devices_stated) {
    explanation.warnings.push_back(
        "a written call is on an accelerator, but the target is this machine's processor, where backends decline what "
        "a model asks: write device=cpu, or choose a card with --target");
  }
  if (options.chain.json) {
    print(explanation_json(explanation, *written));
  } else {
    print_explanation(explanation, *written, (*engine)->values());
  }
  const std::string unmet = unmet_requirement(*required, explanation, written->call, written->role);
  return unmet.empty() ? static_cast<int>(Exit::done) : say(Exit::failed, unmet);
}

}  // namespace

void add_explain(CLI::App& program, Command& command) {
  CLI::App* sub =
      program.add_subcommand("explain", "Why a call is served by whom: every check of every backend, without running");
  auto options = std::make_shared<ExplainOptions>();
  sub->add_option("CALL", options->call, "Such as: q[1,24,4608,128] k[1,24,512,128] bf16 mask=bool role=transformer")
      ->required()
      ->type_name("");
  options->chain.add_chain(*sub);
  sub->footer("A call is written as\n  " + std::string(call_notation_help()));
  sub->callback([options, &command] { command = [options] { return run_explain(*options); }; });
}

}  // namespace attn::cli
