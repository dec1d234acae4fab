// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/probe_subject.h"

#include "app/jobs/pipeline/shapes_model.h"

#include <unistd.h>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <system_error>

namespace attn::cli {

void ScheduleSubject::add(CLI::App& command, const Expected<app::ProfileLibrary>* library) {
  job.add(command, library != nullptr && *library ? &**library : nullptr);
  chain.add_settings(command);
  chain.add_json(command);
  chain.add_log(command);
}

Expected<LeverSubject> ScheduleSubject::read(const Expected<app::ProfileLibrary>& library) const {
  auto schedule = read_job(job, library);
  if (!schedule) return fail(schedule.error());
  auto sink = make_sink(chain);
  if (!sink) return fail(sink.error());
  auto engine = make_engine(chain, *std::move(sink));
  if (!engine) return fail(engine.error());
  return LeverSubject{*std::move(engine), app::make_lever_job(*std::move(schedule), job.seed)};
}

void PictureSubject::add(CLI::App& command) {
  picture.add_picture(command);
  picture.chain.add_settings(command);
  picture.chain.add_json(command);
  picture.chain.add_log(command);
  picture.target_option = command.get_option("--target");
}

Expected<LeverSubject> PictureSubject::read() const {
  GenerateOptions options = picture;  // read_generate() puts the target of --from into it
  const auto asked = read_generate(options);
  if (!asked) return fail(asked.error());
  auto sink = make_sink(options.chain);
  if (!sink) return fail(sink.error());
  auto engine = make_generate_engine(options, *asked, *std::move(sink));
  if (!engine) return fail(engine.error());
  auto model = app::ShapesModel::load(options.model.empty() ? app::ShapesModel::bundled()
                                                            : std::filesystem::path(options.model));
  if (!model) return fail(model.error());
  auto job = app::make_lever_job(*std::move(model), asked->generation, options.threads);
  if (!job) return fail(job.error());
  return LeverSubject{*std::move(engine), *std::move(job)};
}

Expected<void> check_file(const std::string& option, const std::string& path) {
  const std::filesystem::path file(path);
  std::error_code error;
  if (std::filesystem::is_directory(file, error) || !file.has_filename()) {
    return fail(option + " " + path + ": it is a directory; a file is needed");
  }
  const std::filesystem::path folder = file.parent_path().empty() ? "." : file.parent_path();
  if (!std::filesystem::is_directory(folder, error)) {
    return fail(option + " " + path + ": there is no folder " + folder.string());
  }
  return {};
}

void show_lever_progress(std::size_t done, std::size_t total, const std::string& name, double share,
                         const std::optional<double>& seconds_left) {
  if (isatty(STDERR_FILENO) == 0) return;
  std::cerr << "\r\033[K";
  if (!name.empty()) {
    std::cerr << done + 1 << "/" << total << " " << name << ", " << std::lround(share * 100.0) << " %";
    if (seconds_left) std::cerr << ", " << seconds_text(*seconds_left) << " left";
  }
  std::cerr << std::flush;
}

}  // namespace attn::cli
