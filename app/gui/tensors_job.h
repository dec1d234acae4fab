// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/job.h"

#include <filesystem>
#include <memory>

namespace attn::app {

/// Makes the one call whose query, key and value (and mask) a safetensors file holds. The file is read by the job, on
/// its thread; what is wrong with it fails the job.
[[nodiscard]] std::unique_ptr<Job> make_tensors_job(std::filesystem::path path);

}  // namespace attn::app
