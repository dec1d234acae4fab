// SPDX-License-Identifier: GPL-3.0-or-later
// attnctl tune: settings chosen by measurement, under limits.
#include "app/jobs/tune/tune.h"

#include "app/cli/commands.h"
#include "app/cli/exchange_options.h"
#include "app/cli/interrupt.h"
#include "app/cli/job_session.h"
#include "app/cli/probe_subject.h"
#include "app/jobs/files/atomic_file.h"
#include "app/jobs/levers/results_file.h"
#include "app/jobs/nearest.h"
#include "app/jobs/sparse/sparse_plan.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>

namespace attn::cli {
namespace {

struct TuneOptions {
  std::string scope = "chain";
  std::optional<double> max_seconds;
  std::string max_memory;
  double min_cosine = app::TuneLimits{}.min_cosine;
  std::optional<double> min_psnr;
  std::string among;
  std::string variants;
  std::string free;
  std::string output;
  bool dry_run = false;
  int repeat = app::TuneRequest{}.repeat;

  void add(CLI::App& command, bool draws);
};

void TuneOptions::add(CLI::App& command, bool draws) {
  constexpr const char* kLimits = "Limits";
  command.add_option("--min-cosine", min_cosine, "Least cosine of the worst call against exact attention")
      ->check(CLI::Range(-1.0, 1.0))
      ->type_name("X")
      ->capture_default_str()
      ->group(kLimits);
  if (draws) {
    command.add_option("--min-psnr", min_psnr, "Least PSNR against the exact picture")->type_name("DB")->group(kLimits);
  }
  command
      .add_option("--max-seconds", max_seconds,
                  draws ? "Most seconds of one generation" : "Most seconds of a generation's attention")
      ->check(CLI::PositiveNumber)
      ->type_name("S")
      ->group(kLimits);
  command
      .add_option("--max-memory", max_memory,
                  "Most that the largest attention call takes on the target, tensors and kernel: 8GiB, 512MB")
      ->type_name("BYTES")
      ->group(kLimits);
  constexpr const char* kChoice = "Choice";
  command
      .add_option("--scope", scope,
                  "chain: one variant for all calls; route: for each kind of call the best that the settings can give")
      ->check(CLI::IsMember({"chain", "route"}))
      ->capture_default_str()
      ->group(kChoice);
  command.add_option("--among", among, "Only these override backends, by name or label")
      ->type_name("A,B")
      ->group(kChoice);
  command.add_option("--variants", variants, "Only variants whose names match, as `attnctl probe --list` names them")
      ->type_name("GLOB,...")
      ->group(kChoice);
  command
      .add_option("--free", free,
                  "Settings that may be changed although somebody set them, or all; otherwise what is not the default "
                  "stays")
      ->type_name("KEYS")
      ->group(kChoice);
  command.add_option("--repeat", repeat, "Repetitions after one that warms up; the median counts")
      ->check(CLI::Range(2, 1000))
      ->type_name("N")
      ->capture_default_str()
      ->group(kChoice);
  command.add_option("-o,--output", output, "Write the settings with the choice as an Attnscope profile")
      ->type_name("FILE")
      ->group(kChoice);
  command.add_flag("--dry-run", dry_run, "Show the choice and write nothing")->group(kChoice);
}

/// What was said on the command line is explicit even where it is the default.
Expected<std::set<std::string, std::less<>>> fixed_keys(const TuneOptions& options, const ChainOptions& chain,
                                                        const Engine& engine) {
  auto fixed = app::explicit_keys(engine);
  if (chain.overrides) fixed.emplace(keys::overrides);
  for (const std::string& set : chain.sets) fixed.insert(set.substr(0, set.find('=')));
  std::vector<std::string> known;
  for (const OptionSpec& spec : engine.specs()) known.push_back(spec.key);
  for (const std::string& key : split(options.free, ',')) {
    if (key == "all") {
      fixed.clear();
    } else if (std::find(known.begin(), known.end(), key) == known.end()) {
      return fail("--free " + key + ": there is no setting " + key + app::nearest_hint(key, known, ""));
    } else {
      fixed.erase(key);
    }
  }
  return fixed;
}

Expected<app::TuneRequest> read_request(const TuneOptions& options, const ChainOptions& chain, const Engine& engine) {
  app::TuneRequest request;
  request.scope = *app::parse_tune_scope(options.scope);
  request.limits.min_cosine = options.min_cosine;
  request.limits.min_psnr = options.min_psnr;
  request.limits.max_seconds = options.max_seconds;
  request.repeat = options.repeat;
  request.globs = split(options.variants, ',');
  if (options.min_psnr && !std::isfinite(*options.min_psnr)) return fail("--min-psnr: write decibels such as 40");
  if (!options.max_memory.empty()) {
    const auto bytes = app::read_bytes(options.max_memory);
    if (!bytes) return fail("--max-memory " + options.max_memory + ": " + bytes.error());
    request.limits.max_memory = *bytes;
  }
  if (!options.among.empty()) {
    auto labels = read_overrides(engine.registry(), options.among);
    if (!labels) return fail("--among: " + labels.error());
    if (labels->empty()) return fail("--among " + options.among + ": name at least one backend");
    request.backends = *std::move(labels);
  }
  auto fixed = fixed_keys(options, chain, engine);
  if (!fixed) return fail(fixed.error());
  request.fixed = *std::move(fixed);
  return request;
}

Json value_json(const OptionValue& value) {
  return std::visit([](const auto& held) { return Json(held); }, value);
}

Json measured_json(const AttentionChoices& choices) {
  Json json = Json::object();
  for (const auto& [role, choice] : choices.measured) {
    json[std::string(name_of(role))] = {{"backend", choice.backend}, {"gain", choice.gain}, {"noise", choice.noise}};
  }
  return json;
}

Json change_json(const app::TuneChange& change) {
  Json json{{"settings", Json::array()}};
  for (std::size_t i = 0; i < change.after.size(); ++i) {
    json["settings"].push_back({{"key", change.after[i].first},
                                {"before", value_json(change.before[i].second)},
                                {"after", value_json(change.after[i].second)}});
  }
  json["measured_before"] = measured_json(change.attention_before);
  json["measured_after"] = measured_json(change.attention_after);
  return json;
}

Json tune_json(const app::TuneResult& result, const app::TuneRequest& request, bool written) {
  Json json{{"job", result.table.header.job}, {"target", result.table.header.target}};
  json["scope"] = std::string(name_of(request.scope));
  json["limits"] = {{"min_cosine", request.limits.min_cosine},
                    {"min_psnr", request.limits.min_psnr ? Json(*request.limits.min_psnr) : Json()},
                    {"max_seconds", request.limits.max_seconds ? Json(*request.limits.max_seconds) : Json()},
                    {"max_memory", request.limits.max_memory ? Json(*request.limits.max_memory) : Json()}};
  json["outcome"] = std::string(app::name_of(result.outcome));
  json["chosen"] = result.chosen;
  json["changed"] = result.changed;
  json["written"] = written;
  json["reason"] = result.reason;
  json["gain"] = result.gain;
  json["noise"] = result.noise;
  json["seconds"] = result.checked.seconds();
  json["cosine"] = result.checked.worst_cosine();
  json["memory_bytes"] = result.checked.measure.memory_bytes;
  if (result.checked.measure.picture) {
    const double psnr = result.checked.measure.picture->psnr;
    json["psnr"] = std::isinf(psnr) ? Json() : Json(psnr);
  }
  json["change"] = change_json(result.change);
  json["picks"] = Json::array();
  for (const app::TunePick& pick : result.picks) {
    json["picks"].push_back({{"call", pick.call},
                             {"role", std::string(name_of(pick.role))},
                             {"calls", pick.calls},
                             {"backend", pick.backend},
                             {"kernel", pick.kernel},
                             {"level", std::string(name_of(pick.level))},
                             {"seconds", pick.seconds},
                             {"default_seconds", pick.default_seconds},
                             {"cosine", pick.cosine},
                             {"reason", pick.reason}});
  }
  json["refused"] = result.refused;
  json["kept"] = result.kept;
  json["table"] = Json::parse(app::levers_json(result.table));
  return json;
}

/// Sentences that are shown to people; --json has all of them.
constexpr std::size_t kMostShown = 6;

void print_result(const app::TuneResult& result) {
  std::cout << result.table.header.job << ", target " << result.table.header.target << "\n\n" << result.reason << "\n";
  for (std::size_t i = 0; i < std::min(result.refused.size(), kMostShown); ++i) {
    std::cout << "not: " << result.refused[i] << "\n";
  }
  if (result.refused.size() > kMostShown) {
    std::cout << "not: " << result.refused.size() - kMostShown << " more, which --json names\n";
  }
  for (const std::string& choice : result.kept) std::cout << "kept: " << choice << "\n";
  for (const app::TunePick& pick : result.picks) {
    std::cout << "\n"
              << pick.call << ", " << pick.calls << (pick.calls == 1 ? " call of " : " calls of ")
              << seconds_text(pick.seconds)
              << (pick.default_seconds > 0.0 ? ", by default " + seconds_text(pick.default_seconds) : "") << "\n  "
              << pick.reason << "\n";
  }
  const std::string change = result.change.text();
  std::cout << "\n" << (change.empty() ? "nothing changes\n" : change) << std::flush;
}

/// The settings with the choice in them. Error: the file cannot be written.
Expected<void> write_profile(const std::string& path, const Engine& as_set, const app::TuneResult& result) {
  Engine engine(as_set.registry(), as_set.target());
  ProductionSettings settings = production_settings(as_set);
  std::vector<std::pair<std::string, OptionValue>> all(settings.values.all().begin(), settings.values.all().end());
  if (auto set = engine.set_all(all); !set) return fail(set.error());
  if (auto applied = result.change.apply(engine); !applied) return applied;
  settings.values = engine.values();
  settings.attention = result.change.attention_after;
  ExportOptions options;
  options.target = as_set.target().name;
  const auto made = (*find_exchange_format("profile"))->write(settings, options);
  if (!made) return fail(made.error());
  std::error_code error;
  const bool exists = std::filesystem::exists(path, error);
  return app::write_atomically(path, made->text, exists ? app::Backup::keep : app::Backup::none);
}

int run_tune(const TuneOptions& options, const ChainOptions& chain,
             const std::function<Expected<LeverSubject>()>& read) {
  if (!options.output.empty()) {
    if (auto good = check_file("-o", options.output); !good) return say(Exit::wrong, good.error());
  }
  const Interrupt interrupt;
  const auto subject = read();
  if (!subject) return say(Exit::wrong, subject.error());
  auto request = read_request(options, chain, *subject->engine);
  if (!request) return say(Exit::wrong, request.error());
  const auto known = app::narrow_variants(
      app::lever_variants(*subject->engine, false, subject->engine->registry().labels()), request->globs);
  if (!known) return say(Exit::wrong, "--variants: " + known.error());
  request->stop = interrupt.token();
  request->progress = [](const app::LeverProgress& progress) {
    show_lever_progress(progress.done, progress.total, progress.variant, progress.share, progress.seconds_left);
  };
  const auto result = app::tune(*subject->job, *subject->engine, *request);
  clear_progress_line();
  if (!result) return say(Exit::failed, result.error());
  if (result->outcome == app::JobOutcome::stopped) return say(Exit::failed, result->reason + "; nothing changes");
  const bool write = !options.output.empty() && !options.dry_run;
  if (write) {
    if (auto written = write_profile(options.output, *subject->engine, *result); !written) {
      return say(Exit::failed, written.error());
    }
  }
  if (chain.json) {
    print(tune_json(*result, *request, write));
    return Exit::done;
  }
  print_result(*result);
  if (options.dry_run) std::cout << "(dry run: nothing was written)\n";
  if (options.output.empty()) std::cout << "(nothing was written: name a profile with -o)\n";
  if (write) std::cout << "written to " << options.output << "; a file that was there is beside it as .bak\n";
  std::cout << std::flush;
  return Exit::done;
}

void add_picture_tune(CLI::App& tune, Command& command) {
  CLI::App* sub = tune.add_subcommand("shapes", "The bundled pipeline, with what `attnctl generate` takes: pictures");
  auto subject = std::make_shared<PictureSubject>();
  auto options = std::make_shared<TuneOptions>();
  subject->add(*sub);
  options->add(*sub, true);
  sub->callback([subject, options, &command] {
    command = [subject, options] {
      return run_tune(*options, subject->picture.chain, [&subject] { return subject->read(); });
    };
  });
}

}  // namespace

void add_tune(CLI::App& program, Command& command, const Profiles& profiles, bool with_inputs) {
  CLI::App* sub = program.add_subcommand("tune", "Settings chosen by measurement, under limits");
  auto subject = std::make_shared<ScheduleSubject>();
  auto options = std::make_shared<TuneOptions>();
  subject->add(*sub, with_inputs ? &profiles() : nullptr);
  options->add(*sub, false);
  add_picture_tune(*sub, command);
  sub->footer(
      "JOB is a model with its inputs or a call, as `attnctl plan --help` says; `attnctl tune shapes PROMPT` draws\n"
      "pictures. The levers are those of `attnctl probe`. The choice is measured once more and is within every limit\n"
      "then; a gain that is no larger than the measured noise, 2 % at least, leaves the default. Who decides: required "
      "by\n"
      "the model, explicit per role, explicit for all, measured, default. What --overrides, --set, --import or\n"
      "--attention-backend say is explicit and stays; --free lets a setting go.");
  sub->callback([sub, subject, options, profiles, &command] {
    if (!sub->get_subcommands().empty()) return;
    command = [subject, options, profiles] {
      return run_tune(*options, subject->chain, [&subject, &profiles] { return subject->read(profiles()); });
    };
  });
}

}  // namespace attn::cli
