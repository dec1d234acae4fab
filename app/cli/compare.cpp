// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/compare/compare.h"

#include "app/cli/accuracy_gate.h"
#include "app/cli/commands.h"
#include "app/cli/interrupt.h"
#include "app/cli/job_options.h"
#include "app/cli/job_session.h"
#include "app/cli/run_tensors.h"

#include <iostream>
#include <memory>

namespace attn::cli {
namespace {

/// What --a or --b changes about the options that both sides share.
struct SideOptions {
  std::string shorthand;
  std::optional<std::string> overrides;
  std::vector<std::string> sets;

  [[nodiscard]] bool empty() const { return shorthand.empty() && !overrides && sets.empty(); }
  void add(CLI::App& command, const std::string& name, const std::string& what) {
    command.add_option("--" + name, shorthand, what)->type_name("SPEC");
    command.add_option("--" + name + "-overrides", overrides, "Backends of side " + name)->type_name("A,B");
    command.add_option("--" + name + "-set", sets, "A setting of side " + name)->type_name("K=V")->take_all();
  }
};

struct CompareCommand {
  ChainOptions chain;
  JobOptions job;
  SideOptions a;
  SideOptions b;
  std::string compute = "representatives";
  AccuracyGate gate;
  std::string tensors;  ///< a file with the one call's values; empty: generated ones
};

/// "sage,flash" are overrides; "overrides=sage; sdnq_attention_smooth_k=false; target=l40s" are pairs.
ChainOptions side_of(const ChainOptions& shared, const SideOptions& side) {
  ChainOptions options = shared;
  for (const std::string& part : split(side.shorthand, ';')) {
    const std::size_t equals = part.find('=');
    const std::string key = equals == std::string::npos ? std::string() : part.substr(0, equals);
    const std::string value = equals == std::string::npos ? part : part.substr(equals + 1);
    if (key.empty() || key == "overrides") {
      options.overrides = value;
    } else if (key == "target") {
      options.target = value;
    } else if (key == "import") {
      options.import_file = value;
    } else {
      options.sets.push_back(key == "set" ? value : part);
    }
  }
  if (side.overrides) options.overrides = side.overrides;
  options.sets.insert(options.sets.end(), side.sets.begin(), side.sets.end());
  return options;
}

Json error_json(const app::OutputError& error) {
  return {{"relative_l1", error.relative_l1},
          {"cosine", error.cosine},
          {"max_abs", error.max_abs},
          {"mean_abs", error.mean_abs}};
}

Json side_json(const app::CompareSide& side, bool computed) {
  Json json{{"backend", side.backend}, {"kernel", side.kernel}};
  if (!side.failure.empty()) json["failure"] = side.failure;
  if (!computed) return json;
  json["seconds"] = side.seconds;
  json["nan"] = side.nan;
  json["inf"] = side.inf;
  json["layout_error"] = side.layout_error;
  return json;
}

Json result_json(const app::CompareResult& result, const std::string& title) {
  Json json;
  json["job"] = title;
  json["chain_a"] = result.chain_a;
  json["chain_b"] = result.chain_b;
  json["outcome"] = std::string(app::name_of(result.outcome));
  json["calls"] = Json::array();
  double seconds_a = 0.0;
  double seconds_b = 0.0;
  std::int64_t moved = 0;
  for (const app::CompareRow& row : result.rows) {
    Json call{{"call", row.call}, {"role", std::string(name_of(row.role))}, {"calls", row.times}};
    call["a"] = side_json(row.a, row.computed);
    call["b"] = side_json(row.b, row.computed);
    call["moved"] = row.moved;
    moved += row.moved ? row.times : 0;
    if (row.computed) {
      call.update(error_json(row.error));
      call["time_ratio"] = row.a.seconds > 0.0 ? row.b.seconds / row.a.seconds : 0.0;
      call["batch"] = Json::array();
      for (const app::OutputError& error : row.batch) call["batch"].push_back(error_json(error));
      seconds_a += row.a.seconds * static_cast<double>(row.times);
      seconds_b += row.b.seconds * static_cast<double>(row.times);
    }
    call["notes"] = row.notes;
    json["calls"].push_back(std::move(call));
  }
  json["moved_calls"] = moved;
  json["seconds_a"] = seconds_a;
  json["seconds_b"] = seconds_b;
  json["seconds_are"] = "one measured call of each, times its calls, on this host";
  return json;
}

std::string served_by(const app::CompareSide& side) {
  return side.failure.empty() ? side.backend + (side.kernel.empty() ? "" : " " + side.kernel) : "nobody";
}

void print_result(const app::CompareResult& result, const std::string& title, bool computed) {
  std::cout << title << "\na  " << result.chain_a << "\nb  " << result.chain_b << "\n\n";
  std::vector<std::string> headings{"call", "calls", "a", "b", "moved"};
  if (computed) {
    for (const char* heading : {"relative L1", "cosine", "max error", "NaN a/b", "Inf a/b", "time b/a"}) {
      headings.emplace_back(heading);
    }
  }
  std::vector<std::vector<std::string>> rows;
  double seconds_a = 0.0;
  double seconds_b = 0.0;
  for (const app::CompareRow& row : result.rows) {
    rows.push_back({row.call, std::to_string(row.times), served_by(row.a), served_by(row.b), row.moved ? "moved" : ""});
    if (!row.computed) {
      rows.back().resize(headings.size());
      continue;
    }
    for (const std::string& cell :
         {number_text(row.error.relative_l1), number_text(row.error.cosine), number_text(row.error.max_abs),
          std::to_string(row.a.nan) + "/" + std::to_string(row.b.nan),
          std::to_string(row.a.inf) + "/" + std::to_string(row.b.inf),
          row.a.seconds > 0.0 ? number_text(row.b.seconds / row.a.seconds) : ""}) {
      rows.back().push_back(cell);
    }
    seconds_a += row.a.seconds * static_cast<double>(row.times);
    seconds_b += row.b.seconds * static_cast<double>(row.times);
  }
  print_table(headings, rows, {1, 5, 6, 7, 8, 9, 10});
  for (const app::CompareRow& row : result.rows) {
    if (row.batch.size() > 1 && !(row.error.max_abs == 0.0)) {
      std::cout << "\n" << row.call << "\n  max error per batch element:";
      for (std::size_t i = 0; i < row.batch.size(); ++i)
        std::cout << " b" << i << " " << number_text(row.batch[i].max_abs);
    }
    for (const std::string& note : row.notes) std::cout << "\n" << row.call << ": " << note;
  }
  if (computed) {
    std::cout << "\n\nattention in all: a " << seconds_text(seconds_a) << ", b " << seconds_text(seconds_b)
              << " on this host (one measured call of each, times its calls)";
  }
  std::cout << "\n" << std::flush;
}

int run_compare(const CompareCommand& options, const Expected<app::ProfileLibrary>& library) {
  std::optional<app::FileCall> recorded;
  if (!options.tensors.empty()) {
    if (options.compute == "none") {
      return say(Exit::wrong, "--compute none takes no --tensors: routes need no values");
    }
    auto made = read_recorded(options.tensors, options.job);
    if (!made) return say(Exit::wrong, made.error());
    recorded.emplace(*std::move(made));
  }
  const auto schedule =
      recorded ? Expected<app::CallSchedule>(app::make_schedule(recorded->written)) : read_job(options.job, library);
  if (!schedule) return say(Exit::wrong, schedule.error());
  if (options.b.empty())
    return say(Exit::wrong, "--b is missing; write what the second chain has, such as --b sage,sdnq");
  ChainOptions side_a = side_of(options.chain, options.a);
  if (!side_a.overrides && side_a.import_file.empty()) side_a.overrides = "none";
  ChainOptions side_b = side_of(options.chain, options.b);
  if (!side_b.overrides && side_b.import_file.empty()) side_b.overrides = side_a.overrides;
  const auto sink = make_sink(options.chain);
  if (!sink) return say(Exit::wrong, sink.error());
  const Interrupt interrupt;
  const auto a = make_engine(side_a, *sink);
  if (!a) return say(Exit::wrong, "side a: " + a.error());
  const auto b = make_engine(side_b, *sink);
  if (!b) return say(Exit::wrong, "side b: " + b.error());
  app::CompareOptions compare;
  compare.compute = options.compute != "none";
  compare.seed = options.job.seed;
  if (recorded) {
    compare.tensors = [&recorded](const AttentionCall& call, std::uint32_t) {
      return app::copy_tensors(*recorded, call);
    };
  }
  compare.stop = interrupt.token();
  compare.progress = progress_line();
  const auto result = app::compare_chains(*schedule, **a, **b, compare);
  clear_progress_line();
  if (!result) return say(Exit::failed, result.error());
  const auto quarantined = options.gate.judge(*result, **b);
  if (!quarantined) return say(Exit::failed, quarantined.error());
  if (options.chain.json) {
    Json json = result_json(*result, schedule->title);
    if (options.gate.least_cosine > 0.0) json["quarantined"] = *quarantined;
    print(json);
  } else {
    print_result(*result, schedule->title, compare.compute);
    for (const std::string& sentence : *quarantined) std::cout << sentence << "\n" << std::flush;
  }
  if (result->outcome == app::JobOutcome::stopped) return say(Exit::failed, "stopped; the table holds what ran before");
  for (const app::CompareRow& row : result->rows) {
    if (!row.a.failure.empty() || !row.b.failure.empty()) {
      return say(Exit::failed,
                 row.call + " could not be served: " + (row.a.failure.empty() ? row.b.failure : row.a.failure));
    }
  }
  return Exit::done;
}

}  // namespace

void add_compare(CLI::App& program, Command& command, const Profiles& profiles, bool with_inputs) {
  CLI::App* sub = program.add_subcommand(
      "compare",
      "Two chains on one set of tensors, generated or recorded: error, time, moved routes; a is the reference");
  auto options = std::make_shared<CompareCommand>();
  options->job.add(*sub, with_inputs && profiles() ? &*profiles() : nullptr);
  options->a.add(*sub, "a", "The first chain; plain sdpa when it is left out");
  options->b.add(*sub, "b", "The second chain; without overrides of its own it has those of the first");
  sub->add_option("--compute", options->compute, "none compares routes only")
      ->check(CLI::IsMember({"representatives", "none"}))
      ->capture_default_str();
  sub->add_option("--tensors", options->tensors,
                  "Compare on one recorded call: q, k, v and mask out of a safetensors file; JOB then holds words such "
                  "as causal")
      ->type_name("FILE");
  options->gate.add(*sub);
  options->chain.add_target(*sub);
  sub->add_option("--set", options->chain.sets, "A setting of both sides")->type_name("K=V")->take_all();
  options->chain.add_json(*sub);
  options->chain.add_log(*sub);
  sub->footer(
      "SPEC is a list of overrides (sage,flash), none, or pairs separated by semicolons:\n"
      "  --a none --b \"overrides=sdnq,sage; sdnq_attention_smooth_k=false; target=l40s\"\n"
      "where overrides=, target= and import=FILE are known and everything else is a setting. --a-overrides and\n"
      "--a-set say the same one by one. Where tensors are not contiguous, each chain also gets the same values in\n"
      "contiguous tensors, and a result that depends on the layout is named.");
  sub->callback(
      [options, profiles, &command] { command = [options, profiles] { return run_compare(*options, profiles()); }; });
}

}  // namespace attn::cli
