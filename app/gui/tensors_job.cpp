// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/tensors_job.h"

#include "app/jobs/tensors/tensors_call.h"

namespace attn::app {

namespace {

class TensorsJob final : public Job {
 public:
  explicit TensorsJob(std::filesystem::path path) : path_(std::move(path)) {}

  [[nodiscard]] std::string title() const override { return path_.filename().string(); }

  [[nodiscard]] Expected<JobOutcome> run(const JobEnvironment& environment) override {
    const auto file = SafetensorsFile::open(path_);
    if (!file) return fail(file.error());
    auto made = read_file_call(*file, {});
    if (!made) return fail(path_.filename().string() + ": " + made.error());
    return make_file_job(*made)->run(environment);
  }

 private:
  std::filesystem::path path_;
};

}  // namespace

std::unique_ptr<Job> make_tensors_job(std::filesystem::path path) {
  return std::make_unique<TensorsJob>(std::move(path));
}

}  // namespace attn::app
