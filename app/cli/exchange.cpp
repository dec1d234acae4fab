// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/chain_options.h"
#include "app/cli/commands.h"
#include "app/jobs/files/atomic_file.h"
#include "app/jobs/nearest.h"
#include "app/jobs/targets/targets.h"
#include "backends/all.h"
#include "core/exchange/sdnext_config.h"
#include "core/settings/settings.h"

#include <filesystem>
#include <iostream>
#include <memory>

namespace attn::cli {
namespace {

struct ExportOptions {
  ChainOptions chain;
  std::string format = "sdnext";
  std::string file;
  std::string form;
  bool dry_run = false;
};

struct ImportOptions {
  ChainOptions chain;
  std::string format = "sdnext";
  std::string file;
  std::string form;
};

Json value_json(const OptionValue& value) {
  return std::visit([](const auto& held) { return Json(held); }, value);
}

Expected<std::optional<SdNextForm>> form_of(const std::string& text) {
  if (text.empty()) return std::optional<SdNextForm>();
  const auto form = parse_sdnext_form(text);
  if (!form) return fail("--form " + text + ": write overrides or selector");
  return form;
}

Expected<void> known_format(const std::string& format) {
  if (format == "sdnext") return {};
  return fail("--format " + format + ": there is sdnext, the config.json of SD.Next");
}

Json export_json(const ExportOptions& options, const ExportResult& result, bool written) {
  Json json{{"format", options.format},
            {"file", options.file},
            {"form", std::string(name_of(result.form))},
            {"written", written}};
  json["changes"] = Json::array();
  for (const ConfigChange& change : result.changes) {
    json["changes"].push_back({{"key", change.key}, {"before", change.before}, {"after", change.after}});
  }
  json["losses"] = result.losses;
  json["notes"] = result.notes;
  return json;
}

void print_diff(const ExportOptions& options, const ExportResult& result) {
  std::cout << options.file << " (" << name_of(result.form) << " form)\n";
  if (result.changes.empty()) std::cout << "  nothing to change\n";
  for (const ConfigChange& change : result.changes) {
    if (!change.before.empty()) std::cout << "- \"" << change.key << "\": " << change.before << "\n";
    if (!change.after.empty()) std::cout << "+ \"" << change.key << "\": " << change.after << "\n";
  }
  for (const std::string& loss : result.losses) std::cout << "lost: " << loss << "\n";
  for (const std::string& note : result.notes) std::cout << "note: " << note << "\n";
  std::cout << std::flush;
}

/// Whether every attention key of a file holds a value that its option takes.
bool imports_cleanly(const std::string& text, const ChainOptions& chain) {
  const auto target = app::find_target(chain.target);
  if (!target) return false;
  const auto imported = import_config(text, option_specs(make_registry(), *target));
  return imported && imported->problems.empty();
}

int run_export(const ExportOptions& options) {
  if (auto ok = known_format(options.format); !ok) return say(Exit::wrong, ok.error());
  const auto form = form_of(options.form);
  if (!form) return say(Exit::wrong, form.error());
  const auto sink = make_sink(options.chain);
  if (!sink) return say(Exit::wrong, sink.error());
  std::string existing;
  std::error_code error;
  const bool exists = std::filesystem::exists(options.file, error);
  if (exists) {
    auto text = app::read_text(options.file);
    if (!text) return say(Exit::wrong, text.error());
    existing = *std::move(text);
  }
  ChainOptions chain = options.chain;
  // Merging means that what nobody set stays: the file's own settings are where the export starts.
  if (exists && chain.import_file.empty() && imports_cleanly(existing, chain)) chain.import_file = options.file;
  const auto engine = make_engine(chain, *sink);
  if (!engine) return say(Exit::wrong, engine.error());
  const auto result = export_config(existing, (*engine)->specs(), (*engine)->values(), *form);
  if (!result) return say(Exit::wrong, options.file + ": " + result.error());
  const bool write = !options.dry_run && !(exists && result->changes.empty());
  if (write) {
    const auto backup = exists ? app::Backup::keep : app::Backup::none;
    if (auto written = app::write_atomically(options.file, result->text, backup); !written) {
      return say(Exit::failed, written.error());
    }
  }
  if (options.chain.json) {
    print(export_json(options, *result, write));
  } else {
    print_diff(options, *result);
    if (options.dry_run) std::cout << "(dry run: nothing was written)\n";
    if (write && exists) std::cout << "written; the file as it was is in " << options.file << ".bak\n";
    if (write && !exists) std::cout << "written\n";
  }
  return Exit::done;
}

int run_import(const ImportOptions& options) {
  if (auto ok = known_format(options.format); !ok) return say(Exit::wrong, ok.error());
  const auto form = form_of(options.form);
  if (!form) return say(Exit::wrong, form.error());
  const auto text = app::read_text(options.file);
  if (!text) return say(Exit::wrong, text.error());
  const auto sink = make_sink(options.chain);
  if (!sink) return say(Exit::wrong, sink.error());
  const auto engine = make_engine(options.chain, *sink);
  if (!engine) return say(Exit::wrong, engine.error());
  const auto imported = import_config(*text, (*engine)->specs(), *form);
  if (!imported) return say(Exit::wrong, options.file + ": " + imported.error());
  if (!imported->problems.empty()) {
    for (const std::string& problem : imported->problems) say(Exit::wrong, options.file + ": " + problem);
    return Exit::wrong;
  }
  ImportResult::Values all = imported->values;
  all.insert(all.end(), imported->absent.begin(), imported->absent.end());
  if (auto set = (*engine)->set_all(all); !set) return say(Exit::wrong, options.file + ": " + set.error());

  if (options.chain.json) {
    Json json{{"format", options.format},
              {"file", options.file},
              {"form", std::string(name_of(imported->form))},
              {"target", (*engine)->target().name},
              {"chain", (*engine)->plan()->chain()}};
    json["values"] = Json::object();
    for (const auto& [key, value] : imported->values) json["values"][key] = value_json(value);
    json["absent"] = Json::object();
    for (const auto& [key, value] : imported->absent) json["absent"][key] = value_json(value);
    json["notes"] = imported->notes;
    print(json);
    return Exit::done;
  }
  std::cout << options.file << " (" << name_of(imported->form) << " form)\nchain " << (*engine)->plan()->chain()
            << " on " << (*engine)->target().name << "\n\n";
  std::vector<std::vector<std::string>> rows;
  for (const auto& [key, value] : imported->values) rows.push_back({key, value_text(value), ""});
  for (const auto& [key, value] : imported->absent) rows.push_back({key, value_text(value), "default"});
  print_table({"setting", "value", ""}, rows);
  for (const std::string& note : imported->notes) std::cout << "note: " << note << "\n";
  std::cout << std::flush;
  return Exit::done;
}

}  // namespace

void add_export(CLI::App& program, Command& command) {
  CLI::App* sub = program.add_subcommand("export", "Write the settings into another system's configuration");
  auto options = std::make_shared<ExportOptions>();
  sub->add_option("--format", options->format, "sdnext: the config.json of SD.Next")->capture_default_str();
  sub->add_option("-o,--output", options->file,
                  "The file; when it exists, what you do not set stays byte for byte and the old file stays beside it")
      ->required()
      ->type_name("FILE");
  sub->add_option("--form", options->form,
                  "overrides (a list of backends) or selector (one method, newer); otherwise as the file is")
      ->type_name("FORM");
  sub->add_flag("--dry-run", options->dry_run, "Show the diff and write nothing");
  options->chain.add_target(*sub);
  sub->add_option("--overrides", options->chain.overrides, "Backends, by name or label")->type_name("A,B");
  sub->add_option("--set", options->chain.sets, "A setting by its SD.Next key")->type_name("K=V")->take_all();
  sub->add_option("--import", options->chain.import_file,
                  "Start from the settings in this config.json instead of the file's own")
      ->type_name("FILE");
  options->chain.add_json(*sub);
  options->chain.add_log(*sub);
  sub->callback([options, &command] { command = [options] { return run_export(*options); }; });
}

void add_import(CLI::App& program, Command& command) {
  CLI::App* sub = program.add_subcommand("import", "Read the settings of another system and show the chain they give");
  auto options = std::make_shared<ImportOptions>();
  sub->add_option("--format", options->format, "sdnext: the config.json of SD.Next")->capture_default_str();
  sub->add_option("FILE", options->file, "The file")->required()->type_name("");
  sub->add_option("--form", options->form, "Read it as overrides or selector; otherwise as it looks")
      ->type_name("FORM");
  options->chain.add_target(*sub);
  options->chain.add_json(*sub);
  options->chain.add_log(*sub);
  sub->footer("plan, run and explain take --import FILE to work with these settings.");
  sub->callback([options, &command] { command = [options] { return run_import(*options); }; });
}

}  // namespace attn::cli
