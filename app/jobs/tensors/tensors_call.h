// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/job.h"
#include "app/jobs/tensors/generated.h"
#include "app/jobs/tensors/safetensors.h"
#include "core/call/call_text.h"

#include <memory>
#include <optional>
#include <string_view>

namespace attn::app {

/// A call with tensors that came from a file, and room for its output. Move only.
struct FileCall {
  WrittenCall written;  ///< its views point to the tensors below
  HostTensor query, key, value, output;
  std::optional<HostTensor> mask;
};

/// Reads q, k, v and mask (or query, key, value, attn_mask) and what `words` add in the call notation: causal, gqa,
/// scale, dropout, role, step, device. k defaults to q, v to k. Error: a tensor that is missing or does not fit, or
/// words that say what the file says.
[[nodiscard]] Expected<FileCall> read_file_call(const SafetensorsFile& file, std::string_view words);

/// A copy of the file's values for `call`, which is written.call where a target has its tensors.
[[nodiscard]] CallTensors copy_tensors(const FileCall& made, const AttentionCall& call);

/// Makes the one call of `call`, which must outlive the job.
[[nodiscard]] std::unique_ptr<Job> make_file_job(FileCall& call);

}  // namespace attn::app
