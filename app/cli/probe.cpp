// SPDX-License-Identifier: GPL-3.0-or-later
// attnctl probe: what each lever brings a job, against exact attention.
#include "app/cli/commands.h"
#include "app/cli/interrupt.h"
#include "app/cli/job_session.h"
#include "app/cli/probe_output.h"
#include "app/cli/probe_subject.h"
#include "app/jobs/files/atomic_file.h"
#include "app/jobs/levers/plot.h"
#include "app/jobs/levers/results_file.h"

#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>

namespace attn::cli {
namespace {

/// Where the table goes.
struct TableOptions {
  bool csv = false;
  bool roles = false;
  std::string plot;
  std::string output;

  void add(CLI::App& command) {
    command.add_flag("--csv", csv, "Answer in CSV on stdout");
    command.add_flag("--roles", roles, "Show each role's time and errors too");
    command.add_option("--plot", plot, "Write time against quality as an SVG, with the Pareto front")
        ->type_name("FILE");
  }
  [[nodiscard]] Expected<void> check(bool json) const {
    if (csv && json) return fail("--csv and --json both say how to answer; give one of them");
    if (!plot.empty()) {
      if (auto good = check_file("--plot", plot); !good) return good;
    }
    return output.empty() ? Expected<void>() : check_file("-o", output);
  }
  /// Error: the plot cannot be written.
  [[nodiscard]] Expected<void> show(const app::LeverResult& result, bool json) const {
    if (json) {
      std::cout << app::levers_json(result) << std::flush;
    } else if (csv) {
      std::cout << app::levers_csv(result) << std::flush;
    } else {
      print_levers(result, roles);
    }
    return plot.empty() ? Expected<void>() : app::write_atomically(plot, app::levers_svg(result));
  }
};

struct ProbeOptions {
  std::string variants;
  std::string shard;
  bool list = false;
  bool resume = false;
  int repeat = 3;
  TableOptions table;

  void add(CLI::App& command) {
    constexpr const char* kGroup = "Levers";
    command
        .add_option(
            "--variants", variants,
            "Only those whose names match, such as backend:*,sparse:flex:30, or a whole group; --list names them")
        ->type_name("GLOB,...")
        ->group(kGroup);
    command.add_flag("--list", list, "Name the variants and measure nothing")->group(kGroup);
    command.add_option("--repeat", repeat, "Repetitions after one that warms up; the median counts")
        ->check(CLI::Range(2, 1000))
        ->type_name("N")
        ->capture_default_str()
        ->group(kGroup);
    command
        .add_option("-o,--output", table.output,
                    "Keep the results in FILE, written after each variant, so that --resume can go on with them")
        ->type_name("FILE")
        ->group(kGroup);
    command.add_flag("--resume", resume, "Go on with the file of -o; it is begun where it is not there")->group(kGroup);
    command
        .add_option("--shard", shard,
                    "Measure only this part of the variants, such as 2/8, on one of several machines; `attnctl probe "
                    "merge` puts the files together")
        ->type_name("I/N")
        ->group(kGroup);
    table.add(command);
  }
};

/// The rows that are there. Error: one sentence about the file.
Expected<app::LeverResult> earlier_rows(const ProbeOptions& options, const app::LeverHeader& header) {
  const std::string& file = options.table.output;
  if (options.resume && file.empty()) return fail("--resume needs the file to go on with: name it with -o");
  std::error_code error;
  if (file.empty() || !std::filesystem::exists(file, error)) return app::LeverResult{};
  if (!options.resume) return fail("-o " + file + ": it is there already; --resume goes on with it, or name another");
  auto before = app::load_levers(file);
  if (!before) return before;
  const auto differences = app::header_differences(before->header, header);
  if (!differences.empty()) return fail(file + " cannot be resumed: " + differences.front());
  return before;
}

int measure(const ProbeOptions& options, const LeverSubject& subject, app::LeverRun run, bool json,
            const Interrupt& interrupt) {
  const std::string& file = options.table.output;
  run.stop = interrupt.token();
  run.progress = [](const app::LeverProgress& progress) {
    show_lever_progress(progress.done, progress.total, progress.variant, progress.share, progress.seconds_left);
  };
  run.row_done = [&file](const app::LeverResult& rows) {
    return file.empty() ? Expected<void>() : app::save_levers(file, rows);
  };
  const auto result = app::measure_levers(*subject.job, *subject.engine, run);
  clear_progress_line();
  if (!result) return say(Exit::failed, result.error());
  if (!file.empty()) {
    if (auto saved = app::save_levers(file, *result); !saved) return say(Exit::failed, saved.error());
  }
  if (auto shown = options.table.show(*result, json); !shown) return say(Exit::failed, shown.error());
  if (result->outcome != app::JobOutcome::stopped) return Exit::done;
  const std::string count = std::to_string(result->variants.size() - result->missing()) + " of " +
                            std::to_string(result->variants.size()) + " variants have their row";
  return say(Exit::failed,
             "stopped; " + count + (file.empty() ? "" : ", and the same command with --resume goes on with " + file));
}

int run_probe(const ProbeOptions& options, const ChainOptions& chain,
              const std::function<Expected<LeverSubject>()>& read) {
  if (auto good = options.table.check(chain.json); !good) return say(Exit::wrong, good.error());
  const auto shard = options.shard.empty() ? Expected<app::LeverShard>() : app::read_shard(options.shard);
  if (!shard) return say(Exit::wrong, "--" + shard.error());
  const Interrupt interrupt;
  const auto subject = read();
  if (!subject) return say(Exit::wrong, subject.error());
  auto variants =
      app::narrow_variants(app::lever_variants(*subject->engine, subject->job->draws()), split(options.variants, ','));
  if (!variants) return say(Exit::wrong, "--variants: " + variants.error());
  if (options.list) {
    const auto mine = app::shard_of(*variants, *shard);
    if (chain.json) print(variants_json(mine));
    if (!chain.json) print_variants(mine);
    return Exit::done;
  }
  auto before = earlier_rows(options, app::lever_header(*subject->job, *subject->engine, options.repeat));
  if (!before) return say(Exit::wrong, before.error());
  app::LeverRun run;
  run.variants = *std::move(variants);
  run.shard = *shard;
  run.repeat = options.repeat;
  run.before = *std::move(before);
  return measure(options, *subject, std::move(run), chain.json, interrupt);
}

struct MergeOptions {
  std::vector<std::string> files;
  bool mixed = false;
  bool json = false;
  TableOptions table;
};

int run_merge(const MergeOptions& options) {
  if (auto good = options.table.check(options.json); !good) return say(Exit::wrong, good.error());
  std::vector<app::LeverResult> parts;
  for (const std::string& file : options.files) {
    auto part = app::load_levers(file);
    if (!part) return say(Exit::wrong, part.error());
    parts.push_back(*std::move(part));
  }
  const auto all = app::merge_levers(parts, options.files, options.mixed);
  if (!all) return say(Exit::wrong, all.error() + "; --mixed puts them together all the same");
  if (!options.table.output.empty()) {
    if (auto saved = app::save_levers(options.table.output, *all); !saved) return say(Exit::failed, saved.error());
  }
  if (auto shown = options.table.show(*all, options.json); !shown) return say(Exit::failed, shown.error());
  if (all->missing() > 0) {
    say(Exit::done, std::to_string(all->missing()) + " of " + std::to_string(all->variants.size()) +
                        " variants have no row yet; their shards were interrupted");
  }
  return Exit::done;
}

void add_merge(CLI::App& probe, Command& command) {
  CLI::App* sub = probe.add_subcommand("merge", "One table out of the files of several shards");
  auto options = std::make_shared<MergeOptions>();
  sub->add_option("FILE", options->files, "Files that `attnctl probe -o` wrote")->type_name("")->required();
  sub->add_flag("--mixed", options->mixed,
                "Also merge files of other versions, jobs, settings or machines; the table then says how they differ");
  sub->add_option("-o,--output", options->table.output, "Write the merged table to FILE")->type_name("FILE");
  options->table.add(*sub);
  sub->add_flag("--json", options->json, "Answer in JSON on stdout");
  sub->callback([options, &command] { command = [options] { return run_merge(*options); }; });
}

void add_picture_probe(CLI::App& probe, Command& command) {
  CLI::App* sub = probe.add_subcommand("shapes", "The bundled pipeline, with what `attnctl generate` takes: pictures");
  auto subject = std::make_shared<PictureSubject>();
  auto options = std::make_shared<ProbeOptions>();
  subject->add(*sub);
  options->add(*sub);
  sub->callback([subject, options, &command] {
    command = [subject, options] {
      return run_probe(*options, subject->picture.chain, [&subject] { return subject->read(); });
    };
  });
}

}  // namespace

void add_probe(CLI::App& program, Command& command, const Profiles& profiles, bool with_inputs) {
  CLI::App* sub = program.add_subcommand("probe", "What each lever brings a job, measured against exact attention");
  auto subject = std::make_shared<ScheduleSubject>();
  auto options = std::make_shared<ProbeOptions>();
  subject->add(*sub, with_inputs ? &profiles() : nullptr);
  options->add(*sub);
  add_picture_probe(*sub, command);
  add_merge(*sub, command);
  sub->footer(
      "JOB is a model with its inputs or a call, as `attnctl plan --help` says, computed on generated tensors; "
      "`attnctl\n"
      "probe shapes PROMPT` draws pictures. Levers are each override backend alone and in the chain, attention "
      "backends\n"
      "of the dispatcher, sdpa's kernels, sparse budgets and schedules, compiled routes; --overrides limits the\n"
      "backends. Errors: relative L1 and cosine per role, for pictures PSNR and SSIM too. There is no learned-feature\n"
      "distance (LPIPS), as its network cannot be shipped. resources/guides/probe-array.sh splits a probe over a "
      "Slurm\n"
      "job array.");
  sub->callback([sub, subject, options, profiles, &command] {
    if (!sub->get_subcommands().empty()) return;
    command = [subject, options, profiles] {
      return run_probe(*options, subject->chain, [&subject, &profiles] { return subject->read(profiles()); });
    };
  });
}

}  // namespace attn::cli
