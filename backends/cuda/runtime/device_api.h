// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/tensor/expected.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace attn::cuda {

/// What a failed call was about, written only then: "key (1, 24, 4608, 128)".
using Subject = std::function<std::string()>;

/// Work that was recorded once and can be launched again and again.
class DeviceGraph {
 public:
  DeviceGraph() = default;
  DeviceGraph(const DeviceGraph&) = delete;
  DeviceGraph& operator=(const DeviceGraph&) = delete;
  virtual ~DeviceGraph() = default;
  /// Queues all of it on the stream that it was recorded from.
  [[nodiscard]] virtual Expected<void> launch(const Subject& subject) = 0;
};

/// Points in the stream whose times can be read, in recorded work too: each launch of it sets them anew.
class DeviceMarks {
 public:
  DeviceMarks() = default;
  DeviceMarks(const DeviceMarks&) = delete;
  DeviceMarks& operator=(const DeviceMarks&) = delete;
  virtual ~DeviceMarks() = default;
  [[nodiscard]] virtual Expected<void> set(std::size_t mark) = 0;
  /// The device's time from mark `from` to mark `to`, once the stream has finished.
  [[nodiscard]] virtual Expected<double> milliseconds(std::size_t from, std::size_t to) = 0;
};

/// One GPU with one stream, as the rest of this program sees it: no CUDA type. Every error names the call, its subject
/// and the reason. Not thread safe: its owner serialises.
class DeviceApi {
 public:
  DeviceApi() = default;
  DeviceApi(const DeviceApi&) = delete;
  DeviceApi& operator=(const DeviceApi&) = delete;
  virtual ~DeviceApi() = default;

  /// Device memory, aligned to 256 bytes; `bytes` > 0. "cudaMalloc of ...: out of memory, 226 MiB wanted, 120 MiB
  /// free".
  [[nodiscard]] virtual Expected<void*> allocate(std::int64_t bytes, const Subject& subject) = 0;
  virtual void release(void* memory) noexcept = 0;
  /// Host memory that the GPU copies from and to at full speed.
  [[nodiscard]] virtual Expected<void*> allocate_pinned(std::int64_t bytes, const Subject& subject) = 0;
  virtual void release_pinned(void* memory) noexcept = 0;

  /// Queued on the stream. `from` may be changed once finish() has returned; pinned memory makes it asynchronous.
  [[nodiscard]] virtual Expected<void> copy_in(void* to, const void* from, std::int64_t bytes,
                                               const Subject& subject) = 0;
  [[nodiscard]] virtual Expected<void> copy_out(void* to, const void* from, std::int64_t bytes,
                                                const Subject& subject) = 0;
  /// Waits for everything that was queued. Errors of kernels show here at the latest.
  [[nodiscard]] virtual Expected<void> finish(const Subject& subject) = 0;

  /// Two marks in the stream, and the device's time between them once the stream has finished.
  [[nodiscard]] virtual Expected<void> mark_begin() = 0;
  [[nodiscard]] virtual Expected<void> mark_end() = 0;
  [[nodiscard]] virtual Expected<double> milliseconds() = 0;

  [[nodiscard]] virtual Expected<std::unique_ptr<DeviceMarks>> make_marks(std::size_t count) = 0;

  /// From here on kernels and marks are recorded instead of done. Nothing may be allocated, copied or waited for until
  /// end_recording(), which has to follow on every way out, also on one where a launch failed.
  [[nodiscard]] virtual Expected<void> begin_recording(const Subject& subject) = 0;
  [[nodiscard]] virtual Expected<std::unique_ptr<DeviceGraph>> end_recording(const Subject& subject) = 0;

  /// Makes this GPU the calling thread's. Before any call of a library that launches by itself.
  [[nodiscard]] virtual Expected<void> make_current() = 0;
  /// Of a launch that returned `code`: "launch of int8 attention 128: too many resources requested for launch".
  [[nodiscard]] virtual std::string launch_error(const char* kernel, int code) const = 0;
  /// A cudaStream_t.
  [[nodiscard]] virtual void* stream() const noexcept = 0;
};

/// GPU `index` of this machine with a stream of its own. Error: the call that failed; in a build without toolkit that
/// there is none.
[[nodiscard]] Expected<std::unique_ptr<DeviceApi>> open_device(int index);

/// Makes GPU `index` the calling thread's.
[[nodiscard]] Expected<void> make_device_current(int index);

/// "226 MiB", "1.5 GiB", "512 bytes".
[[nodiscard]] std::string bytes_text(std::int64_t bytes);

}  // namespace attn::cuda
