// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/commands.h"
#include "app/cli/job_options.h"
#include "app/jobs/nearest.h"

#include <iostream>
#include <optional>
#include <string_view>
#include <vector>

namespace {

using namespace attn::cli;

bool needs_profiles(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word == "plan" || word == "run" || word == "compare" || word == "probe" || word == "tune") return true;
    if (!word.starts_with("-")) return false;
  }
  return false;
}

/// The parser's own words, with the nearest name where a subcommand or an option is unknown.
std::string sentence_of(const CLI::App& program, const CLI::ParseError& error, const std::vector<std::string>& words) {
  std::string text = error.what();
  while (!text.empty() && (text.back() == '\n' || text.back() == '.')) text.pop_back();
  const bool unknown = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  const bool missing = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  if (!unknown && !missing) return text;
  const auto chosen = program.get_subcommands();
  if (chosen.empty()) {
    std::vector<std::string> names;
    for (const CLI::App* sub : program.get_subcommands({})) names.push_back(sub->get_name());
    if (words.empty()) return "no subcommand given; there are " + attn::app::joined(names);
    return "unknown subcommand \"" + words.front() + "\"; there are " + attn::app::joined(names);
  }
  const CLI::App* sub = chosen.front();
  while (!sub->get_subcommands().empty()) sub = sub->get_subcommands().front();
  const std::string name = sub->get_name();
  if (!unknown) return name + ": " + text;
  std::vector<std::string> options;
  for (const CLI::Option* option : sub->get_options()) {
    for (const std::string& long_name : option->get_lnames()) options.push_back("--" + long_name);
  }
  const auto extras = program.remaining(true);
  std::string first = extras.empty() ? std::string() : extras.front();
  first = first.substr(0, first.find('='));
  if (!first.starts_with("-")) return name + ": \"" + first + "\" is one argument too many";
  const std::string path = sub == chosen.front() ? name : chosen.front()->get_name() + " " + name;
  return name + ": unknown option " + first +
         attn::app::nearest_hint(first, options, "; `attnctl " + path + " --help` lists them");
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  std::optional<attn::Expected<attn::app::ProfileLibrary>> loaded;
  const Profiles profiles = [&loaded]() -> const attn::Expected<attn::app::ProfileLibrary>& {
    if (!loaded) loaded = load_profiles();
    return *loaded;
  };
  const bool with_inputs = needs_profiles(words);

  CLI::App program("Which attention backend serves which call of a diffusion model, and why.", "attnctl");
  program.require_subcommand(1);
  program.set_version_flag("--version", "attnctl " ATTN_VERSION);
  program.footer(
      "Answers go to stdout, everything else to stderr. Exit code 0: done; 1: a job failed, was stopped or a required\n"
      "backend could not serve; 2: the input is wrong. `attnctl SUBCOMMAND --help` says more.");
  Command command;
  add_models(program, command, profiles);
  add_targets(program, command);
  add_backends(program, command);
  add_explain(program, command);
  add_plan(program, command, profiles, with_inputs);
  add_run(program, command, profiles, with_inputs);
  add_compare(program, command, profiles, with_inputs);
  add_probe(program, command, profiles, with_inputs);
  add_tune(program, command, profiles, with_inputs);
  add_policy(program, command);
  add_platform(program, command);
  add_generate(program, command);
  add_export(program, command);
  add_import(program, command);
  add_report(program, command);
  add_selftest(program, command);
  add_sparse(program, command);
  add_gui(program, command);

  try {
    program.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return program.exit(help);
  } catch (const CLI::CallForVersion& version) {
    return program.exit(version);
  } catch (const CLI::ParseError& error) {
    return say(Exit::wrong, sentence_of(program, error, words));
  }
  try {
    const int code = command();
    std::cout.flush();
    if (!std::cout && code == static_cast<int>(Exit::done)) {
      return say(Exit::failed, "the answer could not be written to stdout: is the disk full, or the reader gone?");
    }
    return code;
  } catch (const std::exception& error) {
    return say(Exit::failed, std::string("broke off: ") + error.what());
  }
}
