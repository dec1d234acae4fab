// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/job_options.h"

#include "app/jobs/files/atomic_file.h"
#include "app/jobs/nearest.h"
#include "app/jobs/resources.h"

#include <charconv>
#include <cmath>

namespace attn::cli {
namespace {

std::string dashed(std::string name) {
  for (char& c : name) c = c == '_' ? '-' : c;
  return name;
}

Expected<double> read_number(const std::string& option, const std::string& text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) {
    return fail(option + " " + text + ": \"" + text + "\" is no number; write one such as 1024");
  }
  return value;
}

Expected<app::ProfileInputs> read_inputs(const JobOptions& options) {
  app::ProfileInputs inputs;
  for (const auto& [name, text] : options.named) {
    if (!text) continue;
    auto value = read_number("--" + dashed(name), *text);
    if (!value) return fail(value.error());
    inputs[name] = *value;
  }
  for (const std::string& pair : options.inputs) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0)
      return fail("--input " + pair + ": write NAME=VALUE, such as width=1024");
    auto value = read_number("--input", pair.substr(equals + 1));
    if (!value) return fail(value.error());
    const std::string name = pair.substr(0, equals);
    if (inputs.contains(name)) return fail("--input " + pair + ": " + name + " is given twice");
    inputs[name] = *value;
  }
  return inputs;
}

bool is_call(const std::string& text) {
  return text.starts_with("q[") || text.starts_with("q=") || text.find("[") != std::string::npos;
}

}  // namespace

void JobOptions::add(CLI::App& command, const app::ProfileLibrary* library) {
  command.add_option("JOB", job, "A model from `attnctl models`, or a call such as q[1,24,4608,128] fp16")
      ->type_name("");
  command.add_option("--input", inputs, "An input of the model, such as width=1024")->type_name("K=V")->take_all();
  command.add_option("--seed", seed, "Seed of the generated tensors")->capture_default_str();
  if (library == nullptr) return;
  for (const auto& [name, help] : library->input_help()) {
    std::string names = "--" + dashed(name);
    if (dashed(name) != name) names += ",--" + name;
    command.add_option(names, named[name], help)->group("Inputs of the model")->type_name("N");
  }
}

std::string JobOptions::any_input() const {
  for (const auto& [name, text] : named) {
    if (text) return "--" + dashed(name);
  }
  return inputs.empty() ? std::string() : "--input " + inputs.front();
}

Expected<app::ProfileLibrary> load_profiles() {
  const auto path = app::resource_path("models/models.json");
  const auto text = app::read_text(path);
  if (!text) return fail(text.error());
  return app::ProfileLibrary::parse(*text, path.filename().string());
}

Expected<app::CallSchedule> read_job(const JobOptions& options, const Expected<app::ProfileLibrary>& library) {
  if (options.job.empty())
    return fail("no job given; name a model such as flux.1-dev, or write a call such as q[1,24,4608,128]");
  auto inputs = read_inputs(options);
  if (!inputs) return fail(inputs.error());
  if (is_call(options.job.front())) {
    if (!inputs->empty())
      return fail("a written call has no inputs such as " + inputs->begin()->first + "; write its sizes in the call");
    auto written = parse_call(app::joined(options.job, " "));
    if (!written) return fail(written.error());
    return app::make_schedule(*written);
  }
  if (options.job.size() > 1) {
    return fail("one job at a time, but \"" + options.job[1] + "\" follows \"" + options.job[0] + "\"");
  }
  if (!library) return fail(library.error());
  auto profile = library->find(options.job.front());
  if (!profile) return fail(profile.error());
  return app::make_schedule(**profile, *inputs);
}

}  // namespace attn::cli
