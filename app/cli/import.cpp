// SPDX-License-Identifier: GPL-3.0-or-later
// attnctl import: another system's settings, and the chain that they give; or only what is wrong in them.
#include "app/cli/commands.h"
#include "app/cli/exchange_options.h"
#include "app/jobs/exchange/stored_settings.h"
#include "app/jobs/files/atomic_file.h"

#include <iostream>
#include <memory>

namespace attn::cli {
namespace {

struct ImportCommand {
  ChainOptions chain;
  FormatOptions format;
  std::string file;
  bool check = false;
};

Json value_json(const OptionValue& value) {
  return std::visit([](const auto& held) { return Json(held); }, value);
}

Json attention_choices_json(const AttentionChoices& choices) {
  Json json{{"default", choices.standard}, {"speed", choices.speed_active}};
  json["attention_backend"] = choices.all ? Json(*choices.all) : Json(nullptr);
  for (const auto& [role, name] : choices.per_role) json["roles"][std::string(name_of(role))] = name;
  return json;
}

void print_values(const ImportText& imported) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& [key, value] : imported.values) rows.push_back({key, value_text(value), ""});
  for (const auto& [key, value] : imported.absent) rows.push_back({key, value_text(value), "default"});
  if (imported.attention) {
    if (imported.attention->all) rows.push_back({"attention_backend", *imported.attention->all, ""});
    for (const auto& [role, name] : imported.attention->per_role) {
      rows.push_back({"attention_backend, " + std::string(name_of(role)), name, ""});
    }
    rows.push_back({"speed profile", imported.attention->speed_active ? "on" : "off", ""});
  }
  print_table({"setting", "value", ""}, rows);
  for (const std::string& note : imported.notes) std::cout << "note: " << note << "\n";
  std::cout << std::flush;
}

int run_check(const ImportCommand& options, const ExchangeFormat& format, const std::string& text,
              const ProductionSettings& settings, const ExportOptions& wanted) {
  const auto findings = app::stored_values(format, text, settings, wanted);
  if (!findings) return say(Exit::wrong, options.file + ": " + findings.error());
  int wrong = 0;
  Json list = Json::array();
  std::vector<std::vector<std::string>> rows;
  for (const app::StoredValue& finding : *findings) {
    wrong += finding.problem.empty() ? 0 : 1;
    list.push_back({{"key", finding.key},
                    {"stored", finding.stored},
                    {"effective", finding.effective},
                    {"default", finding.fallback},
                    {"problem", finding.problem}});
    rows.push_back({finding.key, finding.stored, finding.effective, finding.fallback, finding.problem});
  }
  if (options.chain.json) {
    print(Json{{"file", options.file}, {"findings", wrong}, {"settings", list}});
  } else {
    print_table({"setting", "stored", "used", "default", "what is wrong"}, rows);
    std::cout << "\n" << wrong << (wrong == 1 ? " value does not hold" : " values do not hold") << std::endl;
  }
  return wrong == 0 ? Exit::done : Exit::wrong;
}

int run_import(const ImportCommand& options) {
  const auto text = app::read_text(options.file);
  if (!text) return say(Exit::wrong, text.error());
  const ExchangeFormat* format = &guess_exchange_format(*text);
  if (!options.format.format.empty()) {
    const auto named = find_exchange_format(options.format.format);
    if (!named) return say(Exit::wrong, "--format: " + named.error());
    format = *named;
  }
  const auto wanted = options.format.read();
  if (!wanted) return say(Exit::wrong, wanted.error());
  const auto sink = make_sink(options.chain);
  if (!sink) return say(Exit::wrong, sink.error());
  const auto engine = make_engine(options.chain, *sink);
  if (!engine) return say(Exit::wrong, engine.error());
  const ProductionSettings settings = production_settings(**engine);
  if (options.check) return run_check(options, *format, *text, settings, *wanted);
  const auto imported = format->read(*text, settings, *wanted);
  if (!imported) return say(Exit::wrong, options.file + ": " + imported.error());
  if (!imported->problems.empty()) {
    for (const std::string& problem : imported->problems) say(Exit::wrong, options.file + ": " + problem);
    return Exit::wrong;
  }
  if (auto taken = take_import(*imported, **engine); !taken)
    return say(Exit::wrong, options.file + ": " + taken.error());
  const bool forms = format->name.starts_with("sdnext");
  if (options.chain.json) {
    Json json{{"format", std::string(format->name)}, {"file", options.file}};
    if (forms) json["form"] = std::string(name_of(imported->form));
    json["target"] = (*engine)->target().name;
    json["chain"] = (*engine)->plan()->chain();
    json["values"] = Json::object();
    for (const auto& [key, value] : imported->values) json["values"][key] = value_json(value);
    json["absent"] = Json::object();
    for (const auto& [key, value] : imported->absent) json["absent"][key] = value_json(value);
    if (imported->attention) json["attention"] = attention_choices_json(*imported->attention);
    json["notes"] = imported->notes;
    print(json);
    return Exit::done;
  }
  std::cout << options.file << " ("
            << (forms ? std::string(name_of(imported->form)) + " form" : std::string(format->title)) << ")\nchain "
            << (*engine)->plan()->chain() << " on " << (*engine)->target().name << "\n\n";
  print_values(*imported);
  return Exit::done;
}

}  // namespace

void add_import(CLI::App& program, Command& command) {
  CLI::App* sub = program.add_subcommand("import", "Read the settings of another system and show the chain they give");
  auto options = std::make_shared<ImportCommand>();
  options->format.add(*sub, "What the file is; otherwise as it looks. " + formats_help());
  sub->add_option("FILE", options->file, "The file")->required()->type_name("");
  sub->add_flag(
      "--check", options->check,
      "Only say which stored values do not hold: stored, used and default side by side; exit code 2 when any");
  options->chain.add_target(*sub);
  options->chain.add_json(*sub);
  options->chain.add_log(*sub);
  sub->footer("plan, run and explain take --import FILE, a config.json or a profile, to work with these settings.");
  sub->callback([options, &command] { command = [options] { return run_import(*options); }; });
}

}  // namespace attn::cli
