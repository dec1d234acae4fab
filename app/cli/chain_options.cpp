// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/chain_options.h"

#include "app/cli/settings_file.h"
#include "app/jobs/nearest.h"
#include "app/jobs/presets/presets.h"
#include "app/jobs/sparse/threads.h"
#include "app/jobs/targets/targets.h"
#include "backends/all.h"
#include "core/policy/words.h"
#include "core/settings/settings.h"
#include "trace/text/debug_log.h"

#include <algorithm>
#include <cstdlib>

namespace attn::cli {
namespace {

std::string known_backends(const Registry& registry) {
  std::vector<std::string> known;
  for (auto spec = registry.ascending().rbegin(); spec != registry.ascending().rend(); ++spec) {
    known.push_back(spec->name + " (" + spec->label + ")");
  }
  return app::joined(known);
}

const BackendSpec* backend_named(const Registry& registry, std::string_view text) {
  const std::string low = lowered(text);
  for (const BackendSpec& spec : registry.ascending()) {
    if (lowered(spec.name) == low || lowered(spec.label) == low) return &spec;
  }
  return nullptr;
}

Expected<std::string> required_name(const Registry& registry, const std::string& text) {
  if (const BackendSpec* spec = backend_named(registry, text)) return spec->name;
  if (lowered(text) == registry.original().name) return registry.original().name;
  return fail("unknown backend \"" + text + "\" in --require; there are " + known_backends(registry) + " and " +
              registry.original().name);
}

}  // namespace

void ChainOptions::add_json(CLI::App& command) { command.add_flag("--json", json, "Answer in JSON on stdout"); }

void ChainOptions::add_log(CLI::App& command) {
  command.add_flag("--debug", debug,
                   "Write SD_ATTN_DEBUG lines to stderr; also on when the variable SD_ATTN_DEBUG is set");
  command.add_option("--log", log_file, "Append every log line to FILE, in the form of sdnext.log")->type_name("FILE");
}

void ChainOptions::add_target(CLI::App& command) {
  command
      .add_option("--target", target,
                  "The machine that the chain is built for: a name from `attnctl targets`, or "
                  "platform=cuda,sm=86,memory=24GiB")
      ->type_name("TARGET")
      ->capture_default_str();
}

void ChainOptions::add_settings(CLI::App& command) {
  add_target(command);
  command
      .add_option("--overrides", overrides,
                  "Backends asked before plain sdpa: names or labels, separated by commas; none for an empty list")
      ->type_name("A,B");
  command.add_option("--set", sets, "A setting by its SD.Next key, such as sdnq_attention_smooth_k=false")
      ->type_name("K=V")
      ->take_all();
  command
      .add_option("--preset", preset,
                  "Start from a preset, such as \"fast int8\"; an unknown name gets the list of those there are")
      ->type_name("NAME");
  command.add_option("--import", import_file, "Start from the settings in an SD.Next config.json")->type_name("FILE");
  attention.add(command);
}

void ChainOptions::add_chain(CLI::App& command) {
  add_settings(command);
  command
      .add_option("--require", require,
                  "Backends of which one must serve every call, or the calls of a role (transformer=sage); otherwise "
                  "nothing runs and the exit code is 1")
      ->type_name("NAMES");
  add_json(command);
  add_log(command);
}

bool traces_routes(const ChainOptions& options) { return options.debug || std::getenv("SD_ATTN_DEBUG") != nullptr; }

Expected<LogSink> make_sink(const ChainOptions& options) {
  trace::DebugLogOptions log;
  if (!options.log_file.empty()) log.file = options.log_file;
  log.console = true;
  log.console_level = traces_routes(options) ? LogLevel::debug : LogLevel::warning;
  return trace::make_debug_log(log);
}

std::vector<std::string> split(std::string_view text, char separator) { return split_words(text, separator); }

Expected<OptionList> read_overrides(const Registry& registry, const std::string& text) {
  OptionList labels;
  const auto names = split(text, ',');
  if (names.size() == 1 && (lowered(names[0]) == "none" || names[0] == registry.original().name)) return labels;
  for (const std::string& name : names) {
    if (name == registry.original().name) continue;  // it stands below every chain anyway
    const BackendSpec* spec = backend_named(registry, name);
    if (spec == nullptr) {
      return fail("unknown backend \"" + name + "\" in --overrides; there are " + known_backends(registry) +
                  ", or none");
    }
    if (std::find(labels.begin(), labels.end(), spec->label) == labels.end()) labels.push_back(spec->label);
  }
  return labels;
}

Expected<void> apply_sets(Engine& engine, const std::optional<std::string>& overrides,
                          const std::vector<std::string>& sets) {
  std::vector<std::pair<std::string, OptionValue>> changes;
  if (overrides) {
    auto labels = read_overrides(engine.registry(), *overrides);
    if (!labels) return fail(labels.error());
    changes.emplace_back(std::string(keys::overrides), *std::move(labels));
  }
  const std::vector<OptionSpec> specs = engine.specs();
  for (const std::string& set : sets) {
    const std::size_t equals = set.find('=');
    if (equals == std::string::npos || equals == 0) {
      return fail("--set " + set + ": write KEY=VALUE, such as sparse_attention_enabled=true");
    }
    const std::string key(trimmed(std::string_view(set).substr(0, equals)));
    const auto spec = std::find_if(specs.begin(), specs.end(), [&key](const OptionSpec& s) { return s.key == key; });
    if (spec == specs.end()) {
      std::vector<std::string> known;
      for (const OptionSpec& one : specs) known.push_back(one.key);
      return fail("--set " + set + ": there is no setting " + key +
                  app::nearest_hint(key, known, "; `attnctl report --json` lists them all"));
    }
    auto value = parse_value(*spec, std::string_view(set).substr(equals + 1));
    if (!value) return fail("--set " + set + ": " + value.error());
    changes.emplace_back(key, *std::move(value));
  }
  if (auto done_all = engine.set_all(changes); !done_all) return fail(done_all.error());
  return {};
}

Expected<std::unique_ptr<Engine>> make_engine(const ChainOptions& options, LogSink sink) {
  auto target = app::find_target(options.target);
  if (!target) return fail(target.error());
  Registry registry = make_registry();
  if (auto noted = options.attention.note_kernels(registry, *target); !noted) return fail(noted.error());
  // Lines about a chain that is replaced before anybody uses it would only confuse.
  auto live = std::make_shared<bool>(false);
  const LogSink gated = [live, sink = std::move(sink)](const LogLine& line) {
    if (*live && sink) sink(line);
  };
  auto engine = std::make_unique<Engine>(std::move(registry), *std::move(target), gated, app::on_all_threads());
  if (!options.preset.empty()) {
    const auto preset = app::PresetShelf().find(options.preset);
    if (!preset) return fail("--preset: " + preset.error());
    if (auto applied = app::apply_preset(*preset, *engine); !applied) return fail(applied.error());
  }
  if (!options.import_file.empty()) {
    if (auto imported = import_settings(options.import_file, *engine); !imported) return fail(imported.error());
  }
  if (auto set = apply_sets(*engine, options.overrides, options.sets); !set) return fail(set.error());
  if (auto set = options.attention.apply(*engine); !set) return fail(set.error());
  *live = true;
  engine->rebuild();
  return engine;
}

Expected<std::vector<Requirement>> read_requirements(const Registry& registry, const std::string& text) {
  std::vector<Requirement> requirements;
  Requirement for_all;
  for (const std::string& part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    const std::string wanted = equals == std::string::npos ? part : part.substr(equals + 1);
    auto name = required_name(registry, wanted);
    if (!name) return fail(name.error());
    if (equals == std::string::npos) {
      for_all.backends.push_back(*std::move(name));
      continue;
    }
    const auto role = parse_role(part.substr(0, equals));
    if (!role) return fail("--require " + part + ": write ROLE=NAME with te, transformer or vae");
    const auto same = std::find_if(requirements.begin(), requirements.end(),
                                   [&role](const Requirement& r) { return r.role == role; });
    if (same != requirements.end()) {
      same->backends.push_back(*std::move(name));
    } else {
      requirements.push_back({role, {*std::move(name)}});
    }
  }
  if (!for_all.backends.empty()) requirements.push_back(std::move(for_all));
  return requirements;
}

}  // namespace attn::cli
