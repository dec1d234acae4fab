// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/chain_options.h"
#include "app/cli/commands.h"
#include "app/cli/interrupt.h"
#include "app/cli/job_session.h"
#include "app/jobs/nearest.h"
#include "app/jobs/profile/profile_job.h"
#include "app/jobs/sparse/budget_text.h"
#include "app/jobs/sparse/layout_text.h"
#include "app/jobs/sparse/sparse_plan.h"
#include "app/jobs/sparse/structured_tensors.h"
#include "app/jobs/sparse/sweep.h"
#include "app/jobs/tensors/generated.h"
#include "app/jobs/tensors/tensors_call.h"
#include "backends/all.h"

#include <algorithm>
#include <iostream>
#include <memory>
#include <tuple>

namespace attn::cli {
namespace {

struct SweepCommand {
  ChainOptions chain;
  std::vector<std::string> call;
  std::string tensors;
  std::string budgets;
  std::string layout;
  std::string backend = "flex";
  std::string grid;
  std::uint64_t seed = 0;
  int rounds = 1;
  bool random = false;
  bool structured = false;
  bool head_shared = false;
  bool no_radial = false;
  bool csv = false;
};

/// A call with data, wherever it came from. The call's views point into whichever of the three is there.
struct MeasuredCall {
  std::string text;
  std::string tensors;  ///< what the tensors are, in words
  AttentionCall call;
  app::FileCall file;
  app::CallTensors random;
  app::StructuredTensors structured;
};

Expected<std::vector<std::int64_t>> read_grid(const std::string& text) {
  std::vector<std::int64_t> grid;
  for (const std::string& part : split(text, 'x')) {
    const bool digits = !part.empty() && part.size() < 10 && part.find_first_not_of("0123456789") == std::string::npos;
    if (!digits) return fail("the grid \"" + text + "\" does not read; write 64x64, or 21x30x52 with frames");
    grid.push_back(std::stoll(part));
  }
  return grid;
}

std::string grid_text(const std::vector<std::int64_t>& grid) {
  std::string text;
  for (const std::int64_t size : grid) text += (text.empty() ? "" : " x ") + std::to_string(size);
  return text;
}

Expected<void> load_file(const SweepCommand& options, MeasuredCall& made) {
  const auto file = app::SafetensorsFile::open(options.tensors);
  if (!file) return fail(file.error());
  auto read = app::read_file_call(*file, app::joined(options.call, " "));
  if (!read) return fail(options.tensors + ": " + read.error());
  made.file = *std::move(read);
  made.call = made.file.written.call;
  made.text = write_call(made.file.written);
  made.tensors = options.tensors;
  return {};
}

Expected<void> make_tensors(const SweepCommand& options, const Target& target, const std::optional<TokenLayout>& layout,
                            MeasuredCall& made) {
  if (!options.tensors.empty()) return load_file(options, made);
  const auto written = parse_call(app::joined(options.call, " "));
  if (!written) return fail(written.error());
  made.text = write_call(*written);
  AttentionCall call = written->call;
  if (target.is_cpu()) call = app::placed_on(target, std::move(call));
  if (const auto fits = app::check_memory(call, app::QualityProbe::bytes_for(call), app::available_memory()); !fits) {
    return fail(fits.error());
  }
  if (options.random) {
    made.random = app::generate(call, options.seed, written->hidden_keys);
    made.call = made.random.call;
    made.tensors = "random";
    return {};
  }
  app::StructureOptions structure;
  structure.seed = options.seed;
  structure.layout = layout;
  auto grid = read_grid(options.grid);
  if (!grid) return fail(grid.error());
  structure.grid = *std::move(grid);
  auto structured = app::structured_tensors(call, structure);
  if (!structured) return fail(structured.error());
  made.structured = *std::move(structured);
  made.call = made.structured.call;
  made.tensors = "structured, grid " + grid_text(made.structured.grid);
  return {};
}

Json quality_json(const app::SparseQuality& quality, double speedup) {
  return {{"density", quality.density},
          {"relative_l1", quality.relative_l1},
          {"cosine", quality.cosine},
          {"mass_kept", quality.mass_kept},
          {"select_seconds", quality.select_seconds},
          {"attention_seconds", quality.attention_seconds},
          {"seconds", quality.seconds()},
          {"speedup", speedup},
          {"dense", quality.dense}};
}

Json sweep_json(const app::SweepResult& result, const MeasuredCall& made, const Target& target,
                const std::optional<TokenLayout>& layout) {
  Json json;
  json["call"] = made.text;
  json["tensors"] = made.tensors;
  json["backend"] = result.backend;
  json["kernel"] = result.kernel;
  json["target"] = target.name;
  json["seconds_are"] = "on this host, the median of " + std::to_string(result.rounds) +
                        (result.rounds == 1 ? " round" : " rounds") + "; dense by the same kernel";
  json["layout"] = layout ? Json(app::layout_text(*layout)) : Json(nullptr);
  json["tiles"] = {{"query", result.query_tiles}, {"key", result.key_tiles}};
  json["pinned_tiles"] = result.pinned_tiles;
  json["outcome"] = std::string(app::name_of(result.outcome));
  json["dense_seconds"] = result.dense_seconds;
  json["rows"] = Json::array();
  for (const app::SweepRow& row : result.rows) {
    Json one{{"budget", row.budget * 100.0}, {"text", app::budget_text(row.budget)}};
    one.update(quality_json(row.adaptive, row.speedup));
    if (row.radial) one["radial"] = quality_json(*row.radial, row.radial_speedup);
    json["rows"].push_back(std::move(one));
  }
  return json;
}

void print_csv(const app::SweepResult& result) {
  std::cout << "budget,pattern,density,relative_l1,cosine,mass_kept,select_seconds,attention_seconds,seconds,"
               "dense_seconds,speedup\n";
  const auto line = [&result](const app::SweepRow& row, const char* pattern, const app::SparseQuality& quality,
                              double speedup) {
    std::cout << Json(row.budget * 100.0).dump() << "," << pattern;
    for (const double value :
         {quality.density, quality.relative_l1, quality.cosine, quality.mass_kept, quality.select_seconds,
          quality.attention_seconds, quality.seconds(), result.dense_seconds, speedup}) {
      std::cout << "," << Json(value).dump();
    }
    std::cout << "\n";
  };
  for (const app::SweepRow& row : result.rows) {
    line(row, "adaptive", row.adaptive, row.speedup);
    if (row.radial) line(row, "radial", *row.radial, row.radial_speedup);
  }
  std::cout << std::flush;
}

void print_sweep(const app::SweepResult& result, const MeasuredCall& made, const Target& target,
                 const std::optional<TokenLayout>& layout) {
  std::cout << made.text << "\n"
            << made.tensors << " tensors, " << result.backend << " (" << result.kernel << ") for " << target.name
            << ", times on this host\nlayout " << (layout ? app::layout_text(*layout) : "none: all image") << ", "
            << result.query_tiles << " x " << result.key_tiles << " tiles, " << result.pinned_tiles
            << " pinned a head\ndense " << seconds_text(result.dense_seconds) << "\n\n";
  std::vector<std::string> headings{"kept %",    "density",  "relative L1",     "cosine",      "mass kept", "select",
                                    "attention", "speed-up", "radial: density", "relative L1", "mass kept", "speed-up"};
  std::vector<std::vector<std::string>> rows;
  for (const app::SweepRow& row : result.rows) {
    const app::SparseQuality& a = row.adaptive;
    rows.push_back({number_text(row.budget * 100.0), number_text(a.density), number_text(a.relative_l1),
                    number_text(a.cosine), number_text(a.mass_kept), seconds_text(a.select_seconds),
                    seconds_text(a.attention_seconds), number_text(row.speedup)});
    if (row.radial) {
      rows.back().insert(rows.back().end(), {number_text(row.radial->density), number_text(row.radial->relative_l1),
                                             number_text(row.radial->mass_kept), number_text(row.radial_speedup)});
    }
    rows.back().resize(headings.size());
  }
  print_table(headings, rows, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
}

/// What is wrong with the options before anything is built; empty when nothing is.
std::string wrong_options(const SweepCommand& options) {
  if (options.chain.json && options.csv) return "--json and --csv are two forms of one answer; choose one";
  if (options.random && options.structured) return "--random and --structured are two kinds of tensors; choose one";
  if (options.tensors.empty() && options.call.empty()) {
    return "no call given; write one such as q[1,24,4608,128] bf16, or name a file with --tensors";
  }
  if (!options.tensors.empty() && (options.random || options.structured || !options.grid.empty())) {
    return "--tensors brings its own values; leave out --random, --structured and --grid";
  }
  if (options.random && !options.grid.empty()) return "--grid places structured tensors; --random has no places";
  return {};
}

/// An engine whose chain is the one backend. Error: no such backend, or one that takes no block mask.
Expected<std::unique_ptr<Engine>> make_sparse_engine(const SweepCommand& options, const LogSink& sink) {
  const Registry registry = make_registry();
  const BackendSpec* spec = registry.by_name(options.backend);
  if (spec == nullptr) spec = registry.by_label(options.backend);
  if (spec == nullptr || !spec->capabilities.block_mask) {
    std::vector<std::string> able;
    for (const BackendSpec& one : registry.ascending()) {
      if (one.capabilities.block_mask) able.insert(able.begin(), one.name);
    }
    return fail("--backend " + options.backend + (spec == nullptr ? " is unknown" : " takes no block mask") +
                "; there are " + app::joined(able, " and "));
  }
  ChainOptions chain = options.chain;
  chain.overrides = spec->name;
  return make_engine(chain, sink);
}

int run_sweep(const SweepCommand& options) {
  if (const std::string wrong_one = wrong_options(options); !wrong_one.empty()) return say(Exit::wrong, wrong_one);
  app::SweepOptions sweep;
  if (!options.budgets.empty()) {
    auto budgets = app::read_budgets(options.budgets);
    if (!budgets) return say(Exit::wrong, "--budgets: " + budgets.error());
    sweep.budgets = *std::move(budgets);
  }
  if (!options.layout.empty()) {
    auto layout = app::read_layout(options.layout);
    if (!layout) return say(Exit::wrong, "--layout: " + layout.error());
    sweep.layout = *std::move(layout);
  }
  const auto sink = make_sink(options.chain);
  if (!sink) return say(Exit::wrong, sink.error());
  const Interrupt interrupt;
  const auto engine = make_sparse_engine(options, *sink);
  if (!engine) return say(Exit::wrong, engine.error());
  const auto plan = (*engine)->plan();
  const auto entry = app::block_mask_entry((*engine)->registry(), *plan);
  if (!entry) return say(Exit::failed, entry.error());
  MeasuredCall made;
  if (const auto ready = make_tensors(options, plan->target(), sweep.layout, made); !ready) {
    return say(Exit::wrong, ready.error());
  }
  sweep.head_shared = options.head_shared;
  sweep.radial = !options.no_radial;
  sweep.rounds = options.rounds;
  sweep.stop = interrupt.token();
  if (const auto line = progress_line()) {
    sweep.progress = [line](const app::JobProgress& progress, const app::SweepResult&) { line(progress); };
  }
  const auto result = app::sweep_budgets(made.call, **entry, sweep);
  clear_progress_line();
  if (!result) return say(Exit::wrong, result.error());
  if (options.chain.json) {
    print(sweep_json(*result, made, plan->target(), sweep.layout));
  } else if (options.csv) {
    print_csv(*result);
  } else {
    print_sweep(*result, made, plan->target(), sweep.layout);
  }
  for (const app::SweepRow& row : result->rows) {
    if (const std::string low = app::floor_warning(row.budget); !low.empty() && !options.budgets.empty()) {
      say(Exit::done, "warning: " + low);
    }
  }
  if (result->outcome == app::JobOutcome::stopped) return say(Exit::failed, "stopped; the table holds what ran before");
  return Exit::done;
}

void add_sweep(CLI::App& sparse, Command& command) {
  CLI::App* sub = sparse.add_subcommand("sweep", "Error, attention mass kept and time of one call against the budget");
  auto options = std::make_shared<SweepCommand>();
  options->chain.target = "rtx-4090";
  sub->add_option("CALL", options->call, "Self attention, such as q[1,24,4608,128] bf16")->type_name("");
  sub->add_option("--tensors", options->tensors, "Measure q, k and v out of a safetensors file")->type_name("FILE");
  sub->add_option("--budgets", options->budgets,
                  "Percent of the key tiles kept, separated by commas; 5,10,15,20,30,40,50,70,100 when left out")
      ->type_name("B,...");
  sub->add_option("--layout", options->layout, "What the tokens are: text:512,image:4096, or spans text:0-512,...")
      ->type_name("LAYOUT");
  sub->add_flag("--structured", options->structured,
                "Generated tensors that attend as a diffusion model's do: to near and alike tokens (the default)");
  sub->add_flag("--random", options->random, "Generated tensors without structure: the worst case for any selection");
  sub->add_option("--grid", options->grid, "Image tokens as HEIGHTxWIDTH or FRAMESxHEIGHTxWIDTH")->type_name("HxW");
  sub->add_option("--seed", options->seed, "Seed of the generated tensors")->capture_default_str();
  sub->add_option("--backend", options->backend, "Who computes, dense and sparse: flex or sdnq")
      ->type_name("NAME")
      ->capture_default_str();
  sub->add_option("--set", options->chain.sets, "A setting by its SD.Next key, such as sdnq_attention_matmul_type=int8")
      ->type_name("K=V")
      ->take_all();
  options->chain.add_target(*sub);
  sub->add_flag("--head-shared", options->head_shared, "One selection for all heads");
  sub->add_flag("--no-radial", options->no_radial, "Leave out the static band around the diagonal");
  sub->add_option("--rounds", options->rounds, "Measure everything N times in turns; times are medians")
      ->type_name("N")
      ->capture_default_str();
  sub->add_flag("--csv", options->csv, "Answer in CSV on stdout");
  options->chain.add_json(*sub);
  options->chain.add_log(*sub);
  sub->footer(
      "The dense result comes from the same backend, so its own error is not counted as the sparsity's. Mass kept is\n"
      "the share of the softmax probabilities on kept pairs, averaged over rows and heads. The radial control is a\n"
      "band around the diagonal with as many tiles and the same pins.");
  sub->callback([options, &command] { command = [options] { return run_sweep(*options); }; });
}

struct PlanCommand {
  app::SparsePlanRequest request;
  std::string budget = "30";
  std::string layout;
  std::string block = "128x64";
  std::string memory_limit;
  bool select = false;
  bool json = false;
};

Json spans_json(const std::vector<app::TileSpan>& spans) {
  Json list = Json::array();
  for (const app::TileSpan& span : spans) list.push_back({{"first", span.first}, {"last", span.last}});
  return list;
}

std::string spans_text(const std::vector<app::TileSpan>& spans) {
  std::vector<std::string> parts;
  for (const app::TileSpan& span : spans) {
    parts.push_back(std::to_string(span.first) + (span.first == span.last ? "" : "-" + std::to_string(span.last)));
  }
  return parts.empty() ? "none" : app::joined(parts);
}

Json plan_json(const PlanCommand& options, const app::SparsePlan& plan, const std::optional<app::ChunkCheck>& check) {
  const app::SparsePlanRequest& request = options.request;
  Json json;
  json["tokens"] = plan.tokens;
  json["batch"] = request.batch;
  json["heads"] = request.heads;
  json["head_dim"] = request.head_dim;
  json["head_shared"] = request.head_shared;
  json["block"] = {{"query", request.block_q}, {"key", request.block_kv}};
  json["tiles"] = {{"query", plan.grid.query_tiles()},
                   {"key", plan.grid.key_tiles()},
                   {"per_head", plan.grid.query_tiles() * plan.grid.key_tiles()}};
  json["budget"] = request.budget * 100.0;
  json["budget_text"] = app::budget_text(request.budget);
  json["density"] = plan.density;
  json["kept_tiles"] = plan.kept_tiles;
  json["pinned_tiles"] = plan.pinned_tiles;
  json["dropped_tiles"] = plan.dropped_tiles;
  json["pinned_rows"] = spans_json(plan.pinned_rows);
  json["pinned_columns"] = spans_json(plan.pinned_columns);
  json["dense"] = plan.covers_all;
  json["layout"] = request.layout ? Json(app::layout_text(*request.layout)) : Json(nullptr);
  json["layout_mismatch"] = plan.mismatch.empty() ? Json(nullptr) : Json(plan.mismatch);
  json["scores_bytes"] = plan.scores_bytes;
  json["scores_bytes_per_head"] = plan.scores_bytes_per_head;
  json["keep_bytes"] = plan.keep_bytes;
  json["pooled_key_bytes_per_head"] = plan.pooled_bytes_per_head;
  json["memory_limit"] = request.memory_limit ? Json(*request.memory_limit) : Json(nullptr);
  json["chunks"] = plan.chunks;
  json["chunk_heads"] = plan.chunk_heads;
  json["chunk_bytes"] = plan.chunk_bytes;
  if (check) {
    json["selected"] = {{"identical_to_unchunked", check->identical},
                        {"kept_tiles", check->kept},
                        {"seconds", check->seconds},
                        {"unchunked_seconds", check->whole_seconds}};
  }
  json["other_systems"] = Json::array();
  for (const app::ForeignBudget& foreign : app::foreign_budgets(request.budget)) {
    json["other_systems"].push_back(
        {{"system", foreign.system}, {"setting", foreign.setting}, {"value", foreign.value}});
  }
  json["warnings"] = plan.warnings;
  return json;
}

void print_plan(const PlanCommand& options, const app::SparsePlan& plan, const std::optional<app::ChunkCheck>& check) {
  const app::SparsePlanRequest& request = options.request;
  const std::int64_t tiles = plan.grid.query_tiles() * plan.grid.key_tiles();
  std::cout << plan.tokens << " tokens, " << request.heads << (request.heads == 1 ? " head" : " heads") << ", tiles of "
            << request.block_q << " x " << request.block_kv << "\nlayout    "
            << (request.layout ? app::layout_text(*request.layout) : "none: all image") << "\n";
  if (!plan.mismatch.empty()) std::cout << "          " << plan.mismatch << "\n";
  std::cout << "tiles     " << plan.grid.query_tiles() << " x " << plan.grid.key_tiles() << " a head\nbudget    "
            << app::budget_text(request.budget) << (plan.covers_all ? ": covers everything, attention stays dense" : "")
            << "\ndensity   " << number_text(plan.density) << ": " << plan.kept_tiles << " of " << tiles
            << " tiles\npinned    " << plan.pinned_tiles << " tiles; query rows " << spans_text(plan.pinned_rows)
            << ", key columns " << spans_text(plan.pinned_columns) << "\n";
  if (plan.dropped_tiles > 0) std::cout << "dropped   " << plan.dropped_tiles << " tiles of padding\n";
  std::cout << "scores    " << plan.scores_bytes << " bytes in fp32, " << plan.scores_bytes_per_head
            << " a head\nkeep      " << plan.keep_bytes << " bytes of flags\nscoring   " << plan.chunks
            << (plan.chunks == 1 ? " chunk" : " chunks") << " of up to " << plan.chunk_heads << " heads, "
            << plan.chunk_bytes << " bytes each (pooled keys and scores)";
  if (request.memory_limit) std::cout << ", under the limit of " << *request.memory_limit;
  std::cout << "\n";
  if (check) {
    std::cout << "selected  " << check->kept << " tiles in " << seconds_text(check->seconds) << ", in one chunk in "
              << seconds_text(check->whole_seconds) << ": " << (check->identical ? "the same tiles" : "DIFFERENT tiles")
              << "\n";
  }
  std::cout << "elsewhere";
  for (const app::ForeignBudget& foreign : app::foreign_budgets(request.budget)) {
    std::cout << (foreign.system == "SD.Next" ? " " : "; ") << foreign.system << " "
              << (foreign.setting.empty() ? "" : foreign.setting + " ") << foreign.value;
  }
  std::cout << "\n" << std::flush;
}

int run_plan(PlanCommand options) {
  app::SparsePlanRequest& request = options.request;
  const auto budget = app::read_budget(options.budget);
  if (!budget) return say(Exit::wrong, "--budget: " + budget.error());
  request.budget = *budget;
  const auto block = app::read_block(options.block);
  if (!block) return say(Exit::wrong, "--block: " + block.error());
  std::tie(request.block_q, request.block_kv) = *block;
  if (!options.layout.empty()) {
    auto layout = app::read_layout(options.layout);
    if (!layout) return say(Exit::wrong, "--layout: " + layout.error());
    request.layout = *std::move(layout);
  }
  if (!options.memory_limit.empty()) {
    const auto limit = app::read_bytes(options.memory_limit);
    if (!limit) return say(Exit::wrong, "--memory-limit: " + limit.error());
    request.memory_limit = *limit;
  }
  const auto plan = app::plan_sparse(request);
  if (!plan) return say(Exit::wrong, plan.error());
  std::optional<app::ChunkCheck> check;
  if (options.select) {
    const auto checked = app::check_chunks(request, *plan, app::available_memory());
    if (!checked) return say(Exit::wrong, checked.error());
    check = *checked;
  }
  if (options.json) {
    print(plan_json(options, *plan, check));
  } else {
    print_plan(options, *plan, check);
  }
  for (const std::string& warning : plan->warnings) say(Exit::done, "warning: " + warning);
  if (check && !check->identical) return say(Exit::failed, "the chunks chose other tiles than one pass does");
  return Exit::done;
}

void add_sparse_plan(CLI::App& sparse, Command& command) {
  CLI::App* sub = sparse.add_subcommand("plan", "Tiles, pins, density and memory of a selection, from geometry alone");
  auto options = std::make_shared<PlanCommand>();
  app::SparsePlanRequest& request = options->request;
  sub->add_option("--tokens", request.tokens, "Length of the sequence; the layout's when left out")->type_name("N");
  sub->add_option("--heads", request.heads, "Query heads")->type_name("N")->capture_default_str();
  sub->add_option("--kv-heads", request.kv_heads, "Key heads, as many as query heads when left out")->type_name("N");
  sub->add_option("--batch", request.batch, "Batch size")->type_name("N")->capture_default_str();
  sub->add_option("--head-dim", request.head_dim, "Channels of a head")->type_name("N")->capture_default_str();
  sub->add_option("--block", options->block, "Query tokens x key tokens of a tile")
      ->type_name("QxK")
      ->capture_default_str();
  sub->add_option("--layout", options->layout, "What the tokens are: text:512,image:8192, or spans text:0-512,...")
      ->type_name("LAYOUT");
  sub->add_option("--budget", options->budget,
                  "Percent of the candidates kept, or another system's number: svg=0.10 and sglang=0.1 (kept), vsa=0.9 "
                  "(skipped), sla=10 (percent kept)")
      ->type_name("B")
      ->capture_default_str();
  sub->add_option("--memory-limit", options->memory_limit,
                  "Chunk the scoring over the heads so that a chunk takes no more: 10MB, 512MiB")
      ->type_name("BYTES");
  sub->add_flag("--head-shared", request.head_shared, "One selection for all heads");
  sub->add_flag("--select", options->select,
                "Also choose tiles on generated tensors, as planned and in one chunk, and compare the two");
  sub->add_flag("--json", options->json, "Answer in JSON on stdout");
  sub->callback([options, &command] { command = [options] { return run_plan(*options); }; });
}

}  // namespace

void add_sparse(CLI::App& program, Command& command) {
  CLI::App* sparse = program.add_subcommand("sparse", "Block-sparse attention: what a budget costs, keeps and takes");
  sparse->require_subcommand(1);
  add_sweep(*sparse, command);
  add_sparse_plan(*sparse, command);
}

}  // namespace attn::cli
