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

#include <algorithm>
#include <iostream>
#include <memory>

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
    for (const double value : {quality.density, quality.relative_l1, quality.cosine, quality.mass_kept,
                               quality.select_seconds, quality.attention_seconds, quality.seconds(),
                               result.dense_seconds, speedup}) {
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
  std::vector<std::string> headings{"kept %",     "density", "relative L1", "cosine",
                                    "mass kept",  "select",  "attention",   "speed-up",
                                    "radial: density", "relative L1", "mass kept", "speed-up"};
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

Expected<app::SweepOptions> read_sweep(const SweepCommand& options) {
  app::SweepOptions sweep;
  if (options.json_and_csv()) return fail("--json and --csv are two forms of one answer; choose one");
  return sweep;
}

}  // namespace
}  // namespace attn::cli
