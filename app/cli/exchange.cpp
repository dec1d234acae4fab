// SPDX-License-Identifier: GPL-3.0-or-later
// attnctl export: settings to production, shown as a diff before anything is written.
#include "app/cli/commands.h"
#include "app/cli/exchange_options.h"
#include "app/jobs/files/atomic_file.h"
#include "app/jobs/targets/targets.h"
#include "backends/all.h"
#include "core/exchange/diff.h"
#include "core/settings/settings.h"

#include <filesystem>
#include <iostream>
#include <memory>

namespace attn::cli {
namespace {

struct ExportCommand {
  ChainOptions chain;
  FormatOptions format;
  std::string file;
  std::string model_path;
  std::string selection = "sla";
  bool old_spelling = false;
  bool dry_run = false;
};

/// What goes where.
struct Draft {
  const ExchangeFormat* format = nullptr;
  std::string before;
  bool exists = false;
  ExportText made;
};

bool is_config(const ExchangeFormat& format) { return format.name == "sdnext"; }
bool has_form(const ExchangeFormat& format) { return format.name.starts_with("sdnext"); }

/// Whether every attention key of a file holds a value that its option takes.
bool imports_cleanly(const std::string& text, const ChainOptions& chain) {
  const auto target = app::find_target(chain.target);
  if (!target) return false;
  const auto imported = import_config(text, option_specs(make_registry(), *target));
  return imported && imported->problems.empty();
}

/// "+" and "-" lines: of a config.json the keys that change, of every other text its lines.
std::string diff_of(const Draft& draft) {
  if (!is_config(*draft.format)) return diff_text(diff_lines(draft.before, draft.made.text));
  std::string text;
  for (const ConfigChange& change : draft.made.changes) {
    if (!change.before.empty()) text += "- \"" + change.key + "\": " + change.before + "\n";
    if (!change.after.empty()) text += "+ \"" + change.key + "\": " + change.after + "\n";
  }
  return text;
}

Json export_json(const ExportCommand& options, const Draft& draft, bool written) {
  Json json{{"format", std::string(draft.format->name)}, {"file", options.file}};
  if (has_form(*draft.format)) json["form"] = std::string(name_of(draft.made.form));
  json["written"] = written;
  if (is_config(*draft.format)) {
    json["changes"] = Json::array();
    for (const ConfigChange& change : draft.made.changes) {
      json["changes"].push_back({{"key", change.key}, {"before", change.before}, {"after", change.after}});
    }
  }
  json["diff"] = diff_of(draft);
  json["text"] = draft.made.text;
  json["losses"] = draft.made.losses;
  json["notes"] = draft.made.notes;
  return json;
}

void print_diff(const ExportCommand& options, const Draft& draft) {
  std::cout << (options.file.empty() ? std::string(draft.format->title) : options.file);
  if (has_form(*draft.format)) std::cout << " (" << name_of(draft.made.form) << " form)";
  const std::string diff = diff_of(draft);
  std::cout << "\n" << (diff.empty() ? "  nothing to change\n" : diff);
  for (const std::string& loss : draft.made.losses) std::cout << "lost: " << loss << "\n";
  for (const std::string& note : draft.made.notes) std::cout << "note: " << note << "\n";
  std::cout << std::flush;
}

/// Writes after the diff was shown. Error: why the file could not be written; it is as it was then.
Expected<void> put(const ExportCommand& options, const Draft& draft) {
  return app::write_atomically(options.file, draft.made.text, draft.exists ? app::Backup::keep : app::Backup::none);
}

int answer(const ExportCommand& options, const Draft& draft) {
  const bool same = draft.exists && draft.before == draft.made.text;
  const bool write = !options.file.empty() && !options.dry_run && !same;
  if (!options.chain.json) print_diff(options, draft);
  if (write) {
    if (auto written = put(options, draft); !written) return say(Exit::failed, written.error());
  }
  if (options.chain.json) {
    print(export_json(options, draft, write));
    return Exit::done;
  }
  if (options.dry_run) std::cout << "(dry run: nothing was written)\n";
  if (options.file.empty()) std::cout << "(nothing was written: name a file with -o)\n";
  if (write && draft.exists) std::cout << "written; the file as it was is in " << options.file << ".bak\n";
  if (write && !draft.exists) std::cout << "written\n";
  std::cout << std::flush;
  return Exit::done;
}

int run_export(const ExportCommand& options) {
  const auto format = find_exchange_format(options.format.format);
  if (!format) return say(Exit::wrong, "--format: " + format.error());
  auto wanted = options.format.read();
  if (!wanted) return say(Exit::wrong, wanted.error());
  const auto sink = make_sink(options.chain);
  if (!sink) return say(Exit::wrong, sink.error());
  Draft draft{*format, {}, false, {}};
  if (is_config(**format) && options.file.empty()) return say(Exit::wrong, "export: name the config.json with -o FILE");
  std::error_code error;
  if (!options.file.empty() && std::filesystem::exists(options.file, error)) {
    auto text = app::read_text(options.file);
    if (!text) return say(Exit::wrong, text.error());
    draft.before = *std::move(text);
    draft.exists = true;
  }
  ChainOptions chain = options.chain;
  // Merging means that what nobody set stays: the file's own settings are where the export starts.
  const bool merges = is_config(**format) && draft.exists && chain.import_file.empty();
  if (merges && imports_cleanly(draft.before, chain)) chain.import_file = options.file;
  const auto engine = make_engine(chain, *sink);
  if (!engine) return say(Exit::wrong, engine.error());
  wanted->existing = draft.before;
  wanted->old_spelling = options.old_spelling;
  wanted->selection = options.selection;
  wanted->model_path = options.model_path;
  wanted->target = (*engine)->target().name;
  auto made = (*format)->write(production_settings(**engine), *wanted);
  if (!made)
    return say(Exit::wrong, (options.file.empty() ? std::string((*format)->name) : options.file) + ": " + made.error());
  draft.made = *std::move(made);
  return answer(options, draft);
}

}  // namespace

void add_export(CLI::App& program, Command& command) {
  CLI::App* sub = program.add_subcommand("export", "Write the settings as another system reads them");
  auto options = std::make_shared<ExportCommand>();
  options->format.format = "sdnext";
  options->format.add(*sub, formats_help());
  sub->add_option("-o,--output", options->file,
                  "The file; when it exists, what is not about attention stays as it is and the old file stays beside "
                  "it. Without it the text is only shown")
      ->type_name("FILE");
  sub->add_option("--model-path", options->model_path, "Unsloth: the model of the load request")->type_name("PATH");
  sub->add_option("--selection", options->selection, "ComfyUI's node: how it chooses keys")->capture_default_str();
  sub->add_flag("--old-spelling", options->old_spelling, "Names as the target had them before it renamed its choices");
  sub->add_flag("--dry-run", options->dry_run, "Show the diff and write nothing");
  options->chain.add_target(*sub);
  sub->add_option("--overrides", options->chain.overrides, "Backends, by name or label")->type_name("A,B");
  sub->add_option("--set", options->chain.sets, "A setting by its SD.Next key")->type_name("K=V")->take_all();
  options->chain.attention.add(*sub);
  sub->add_option("--import", options->chain.import_file,
                  "Start from the settings in this config.json or profile instead of the file's own")
      ->type_name("FILE");
  options->chain.add_json(*sub);
  options->chain.add_log(*sub);
  sub->callback([options, &command] { command = [options] { return run_export(*options); }; });
}

}  // namespace attn::cli
