// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/run_tensors.h"

#include "app/cli/interrupt.h"
#include "app/cli/job_session.h"
#include "app/cli/route_output.h"
#include "app/jobs/nearest.h"
#include "app/jobs/tensors/findings.h"

#include <cmath>
#include <iostream>

namespace attn::cli {
namespace {

constexpr std::int64_t kPrinted = 4096;  // elements of an output that is shown with its values

/// NaN and infinities are texts: JSON has no numbers for them.
Json value_json(float value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

Json result_json(const app::FileCall& made) {
  const TensorView& output = made.output.view();
  const app::ValueCounts counts = app::count_values(output);
  Json json;
  json["output"] = {{"shape", std::vector<std::int64_t>(output.sizes().begin(), output.sizes().end())},
                    {"dtype", std::string(name_of(output.dtype))}};
  if (output.elements() <= kPrinted) {
    Json values = Json::array();
    for (std::int64_t i = 0; i < output.elements(); ++i) values.push_back(value_json(load_element(output, i)));
    json["output"]["values"] = std::move(values);
  }
  json["nan"] = counts.nan;
  json["inf"] = counts.inf;
  json["fully_masked_rows"] = app::fully_masked_rows(made.written.call);
  json["notes"] = app::findings_of(made.written.call);
  return json;
}

void print_result(const app::FileCall& made) {
  const TensorView& output = made.output.view();
  const app::ValueCounts counts = app::count_values(output);
  std::cout << "\noutput " << shape_text(output.sizes()) << " " << name_of(output.dtype) << ", " << counts.nan
            << " NaN, " << counts.inf << " Inf\n";
  for (const std::string& finding : app::findings_of(made.written.call)) std::cout << finding << "\n";
  if (output.elements() > kPrinted) return;
  for (std::int64_t i = 0; i < output.elements(); ++i) {
    const bool row_ends = (i + 1) % output.size(-1) == 0;
    std::cout << number_text(static_cast<double>(load_element(output, i))) << (row_ends ? "\n" : " ");
  }
  std::cout << std::flush;
}

}  // namespace

void TensorsOptions::add(CLI::App& command) {
  command.add_option("--tensors", file, "Run one call with q, k, v and mask out of a safetensors file")
      ->type_name("FILE");
  command.add_option("-o,--output", output, "Write the output of --tensors to a safetensors file")->type_name("FILE");
}

Expected<app::FileCall> read_recorded(const std::string& path, const JobOptions& job) {
  if (const std::string input = job.any_input(); !input.empty()) {
    return fail(input + " is an input of a model, and --tensors runs none; leave it out");
  }
  const auto file = app::SafetensorsFile::open(path);
  if (!file) return fail(file.error());
  auto made = app::read_file_call(*file, app::joined(job.job, " "));
  if (!made) return fail(path + ": " + made.error());
  return made;
}

int run_tensors(const TensorsOptions& options, const JobOptions& job, const ChainOptions& chain) {
  auto made = read_recorded(options.file, job);
  if (!made) return say(Exit::wrong, made.error());
  const auto sink = make_sink(chain);
  if (!sink) return say(Exit::wrong, sink.error());
  const Interrupt interrupt;
  const auto engine = make_engine(chain, *sink);
  if (!engine) return say(Exit::wrong, engine.error());
  const auto required = read_requirements((*engine)->registry(), chain.require);
  if (!required) return say(Exit::wrong, required.error());
  const WrittenCall& written = made->written;
  const Explanation explanation = (*engine)->explain(written.call, written.role, written.step);
  if (const std::string unmet = unmet_requirement(*required, explanation, written.call, written.role); !unmet.empty()) {
    return say(Exit::failed, unmet);
  }
  const auto one_call = app::make_file_job(*made);
  JobSession session(**engine, *sink, traces_routes(chain));
  const auto outcome = session.run(*one_call, interrupt.token());
  if (!outcome) return say(Exit::failed, outcome.error());

  JobReport report;
  report.title = one_call->title();
  report.chain = (*engine)->plan()->chain();
  report.target = (*engine)->plan()->target().name;
  report.emulated = !(*engine)->plan()->target().present;
  report.computed = true;
  report.attention.emplace_back(written.role, explanation.dispatch);
  report.outcome = std::string(app::name_of(*outcome));
  report.elapsed_seconds = session.elapsed_seconds();
  if (chain.json) {
    Json json = route_json(report, session.snapshot());
    json.update(result_json(*made));
    print(json);
  } else {
    print_routes(report, session.snapshot());
    print_result(*made);
  }
  if (*outcome == app::JobOutcome::stopped) return say(Exit::failed, "stopped before the call ran");
  if (options.output.empty()) return Exit::done;
  const auto saved = app::write_safetensors(options.output, "output", made->output.view());
  return saved ? static_cast<int>(Exit::done) : say(Exit::failed, saved.error());
}

}  // namespace attn::cli
