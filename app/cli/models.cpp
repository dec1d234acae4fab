// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/commands.h"
#include "app/cli/job_options.h"
#include "app/jobs/nearest.h"
#include "app/jobs/profile/schedule.h"

#include <iostream>
#include <memory>

namespace attn::cli {
namespace {

struct ModelsOptions {
  std::string name;
  bool json = false;
};

std::string plain(double value) { return number_text(value); }

/// Longest query or key and number of the denoiser's calls at the default inputs.
std::pair<std::int64_t, std::int64_t> denoiser_size(const std::vector<app::ProfileCall>& calls) {
  std::int64_t longest = 0;
  std::int64_t count = 0;
  for (const app::ProfileCall& call : calls) {
    if (call.role != "denoiser" || !call.sdpa || call.runs * call.calls == 0) continue;
    longest = std::max({longest, call.query_tokens, call.key_tokens});
    count += call.runs * call.calls;
  }
  return {longest, count};
}

int list_models(const app::ProfileLibrary& library, bool json) {
  Json list = Json::array();
  std::vector<std::vector<std::string>> rows;
  for (const app::Profile& profile : library.profiles()) {
    const auto calls = profile.calls({});
    if (!calls) return say(Exit::failed, calls.error());
    const auto [longest, count] = denoiser_size(*calls);
    const auto& in = profile.defaults();
    std::string size = plain(in.at("width")) + "x" + plain(in.at("height"));
    if (in.at("frames") > 1) size += "x" + plain(in.at("frames"));
    list.push_back({{"model", profile.id()},
                    {"name", profile.name()},
                    {"medium", profile.medium()},
                    {"pipeline", profile.pipeline()},
                    {"longest_tokens", longest},
                    {"denoiser_calls", count},
                    {"confidence", profile.confidence()},
                    {"inputs", profile.defaults()}});
    rows.push_back({profile.id(), profile.name(), size, plain(in.at("steps")), std::to_string(longest),
                    std::to_string(count), profile.guidance(), profile.confidence()});
  }
  if (json) {
    print(Json{{"models", list}});
  } else {
    print_table({"model", "name", "size", "steps", "tokens", "calls", "guidance", "confidence"}, rows, {3, 4, 5});
  }
  return Exit::done;
}

int show_model(const app::ProfileLibrary& library, const app::Profile& profile, bool json) {
  const auto calls = profile.calls({});
  const auto values = profile.values({});
  if (!calls || !values) return say(Exit::failed, !calls ? calls.error() : values.error());
  Json entries = Json::array();
  std::vector<std::vector<std::string>> rows;
  for (const app::ProfileCall& call : *calls) {
    const std::vector<std::int64_t> q{call.batch, call.heads, call.query_tokens, call.head_dim};
    const std::vector<std::int64_t> k{call.batch, call.kv_heads, call.key_tokens, call.head_dim};
    entries.push_back({{"component", call.slot},
                       {"class", call.component},
                       {"role", call.role},
                       {"pass", call.pass},
                       {"where", call.where},
                       {"kind", call.kind},
                       {"runs", call.runs},
                       {"calls", call.calls},
                       {"q", q},
                       {"k", k},
                       {"dtype", call.dtype},
                       {"mask", call.mask ? Json(call.mask->dtype) : Json(nullptr)},
                       {"causal", call.causal},
                       {"sdpa", call.sdpa}});
    rows.push_back({call.slot, call.pass, call.kind, std::to_string(call.runs) + " x " + std::to_string(call.calls),
                    shape_text(q), shape_text(k),
                    !call.sdpa    ? "no sdpa call"
                    : call.mask   ? "mask " + call.mask->dtype
                    : call.causal ? "causal"
                                  : "",
                    call.where});
  }
  if (json) {
    Json model{{"model", profile.id()},
               {"name", profile.name()},
               {"medium", profile.medium()},
               {"repo", profile.repo()},
               {"pipeline", profile.pipeline()},
               {"guidance", profile.guidance()},
               {"confidence", profile.confidence()},
               {"inputs", profile.defaults()},
               {"values", *values},
               {"calls", entries},
               {"notes", profile.notes()}};
    model["architecture"] = profile.architecture() ? Json(*profile.architecture()) : Json(nullptr);
    print(model);
    return Exit::done;
  }
  std::cout << profile.name() << " (" << profile.id() << "), " << profile.medium() << ", " << profile.pipeline()
            << "\nguidance: " << profile.guidance() << "; confidence: " << profile.confidence() << "\n\ninputs\n";
  for (const auto& [name, value] : profile.defaults()) {
    const auto help = library.input_help().find(name);
    std::cout << "  " << name << " = " << plain(value) << "  (" << help->second << ")\n";
  }
  std::cout << "\nattention at these inputs\n";
  print_table({"component", "pass", "kind", "runs x calls", "q", "k", "", "where"}, rows);
  for (const std::string& note : profile.notes()) std::cout << "\n- " << note;
  std::cout << (profile.notes().empty() ? "" : "\n") << std::flush;
  return Exit::done;
}

int run_models(const ModelsOptions& options, const Expected<app::ProfileLibrary>& library) {
  if (!library) return say(Exit::failed, library.error());
  if (options.name.empty()) return list_models(*library, options.json);
  const auto profile = library->find(options.name);
  if (!profile) return say(Exit::wrong, profile.error());
  return show_model(*library, **profile, options.json);
}

}  // namespace

void add_models(CLI::App& program, Command& command, const Profiles& profiles) {
  CLI::App* sub =
      program.add_subcommand("models", "Every model whose calls are known; with a NAME, its inputs and calls");
  auto options = std::make_shared<ModelsOptions>();
  sub->add_option("NAME", options->name, "A model, such as flux.1-dev")->type_name("");
  sub->add_flag("--json", options->json, "Answer in JSON on stdout");
  sub->callback(
      [options, profiles, &command] { command = [options, profiles] { return run_models(*options, profiles()); }; });
}

}  // namespace attn::cli
