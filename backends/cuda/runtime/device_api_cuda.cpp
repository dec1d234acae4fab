// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cuda/runtime/device_api.h"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <vector>

namespace attn::cuda {
namespace {

std::string sentence(const char* call, const Subject& subject, cudaError_t code) {
  const std::string about = subject ? subject() : std::string();
  return std::string(call) + (about.empty() ? "" : " of " + about) + ": " + cudaGetErrorString(code);
}

Expected<void> checked(const char* call, const Subject& subject, cudaError_t code) {
  if (code == cudaSuccess) return {};
  (void)cudaGetLastError();  // an error that can be survived is not to show up in the next call
  return fail(sentence(call, subject, code));
}

class Event {
 public:
  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() {
    if (event_ != nullptr) cudaEventDestroy(event_);
  }
  [[nodiscard]] cudaError_t create() { return cudaEventCreate(&event_); }
  [[nodiscard]] cudaEvent_t get() const noexcept { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

class Graph final : public DeviceGraph {
 public:
  explicit Graph(cudaStream_t stream) : stream_(stream) {}
  ~Graph() override {
    if (executable_ != nullptr) cudaGraphExecDestroy(executable_);
  }
  [[nodiscard]] cudaError_t instantiate(cudaGraph_t graph) { return cudaGraphInstantiate(&executable_, graph, 0); }
  [[nodiscard]] Expected<void> upload(const Subject& subject) {
    return checked("cudaGraphUpload", subject, cudaGraphUpload(executable_, stream_));
  }
  [[nodiscard]] Expected<void> launch(const Subject& subject) override {
    return checked("cudaGraphLaunch", subject, cudaGraphLaunch(executable_, stream_));
  }

 private:
  cudaStream_t stream_;
  cudaGraphExec_t executable_ = nullptr;
};

class Marks final : public DeviceMarks {
 public:
  Marks(cudaStream_t stream, std::size_t count) : stream_(stream), events_(count) {}
  [[nodiscard]] cudaError_t create() {
    for (Event& event : events_) {
      if (const cudaError_t made = event.create(); made != cudaSuccess) return made;
    }
    return cudaSuccess;
  }
  [[nodiscard]] Expected<void> set(std::size_t mark) override {
    // While a stream is captured only an external event becomes a node that is recorded at every launch.
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    if (auto asked = checked("cudaStreamIsCapturing", {}, cudaStreamIsCapturing(stream_, &status)); !asked) {
      return asked;
    }
    const unsigned flags = status == cudaStreamCaptureStatusActive ? cudaEventRecordExternal : cudaEventRecordDefault;
    return checked("cudaEventRecordWithFlags", {}, cudaEventRecordWithFlags(events_[mark].get(), stream_, flags));
  }
  [[nodiscard]] Expected<double> milliseconds(std::size_t from, std::size_t to) override {
    float time = 0.0F;
    const auto read =
        checked("cudaEventElapsedTime", {}, cudaEventElapsedTime(&time, events_[from].get(), events_[to].get()));
    if (!read) return fail(read.error());
    return static_cast<double>(time);
  }

 private:
  cudaStream_t stream_;
  std::vector<Event> events_;
};

class CudaDeviceApi final : public DeviceApi {
 public:
  explicit CudaDeviceApi(int index) : index_(index) {}
  ~CudaDeviceApi() override {
    (void)make_device_current(index_);  // the thread that lets go may never have used it
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }

  Expected<void> open() {
    const Subject subject = [this] { return "GPU " + std::to_string(index_); };
    if (auto set = make_current(); !set) return set;
    if (auto made =
            checked("cudaStreamCreateWithFlags", subject, cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        !made) {
      return made;
    }
    if (auto made = checked("cudaEventCreate", subject, begin_.create()); !made) return made;
    return checked("cudaEventCreate", subject, end_.create());
  }

  Expected<void> make_current() override { return make_device_current(index_); }

  Expected<void*> allocate(std::int64_t bytes, const Subject& subject) override {
    void* memory = nullptr;
    const cudaError_t code = cudaMalloc(&memory, static_cast<std::size_t>(bytes));
    if (code == cudaSuccess) return memory;
    (void)cudaGetLastError();
    std::string text = sentence("cudaMalloc", subject, code);
    if (code == cudaErrorMemoryAllocation) {
      text += ", " + bytes_text(bytes) + " wanted";
      std::size_t free = 0;
      std::size_t total = 0;
      if (cudaMemGetInfo(&free, &total) == cudaSuccess) {
        text += ", " + bytes_text(static_cast<std::int64_t>(free)) + " free";
      }
    }
    return fail(text);
  }
  void release(void* memory) noexcept override {
    cudaFree(memory);
    (void)cudaGetLastError();  // nobody can be told, and the next call is not to be blamed
  }

  Expected<void*> allocate_pinned(std::int64_t bytes, const Subject& subject) override {
    void* memory = nullptr;
    const auto made = checked("cudaMallocHost", subject, cudaMallocHost(&memory, static_cast<std::size_t>(bytes)));
    if (!made) return fail(made.error() + ", " + bytes_text(bytes) + " wanted");
    return memory;
  }
  void release_pinned(void* memory) noexcept override {
    cudaFreeHost(memory);
    (void)cudaGetLastError();
  }

  Expected<void> copy_in(void* to, const void* from, std::int64_t bytes, const Subject& subject) override {
    return copy(to, from, bytes, cudaMemcpyHostToDevice, subject);
  }
  Expected<void> copy_out(void* to, const void* from, std::int64_t bytes, const Subject& subject) override {
    return copy(to, from, bytes, cudaMemcpyDeviceToHost, subject);
  }
  Expected<void> finish(const Subject& subject) override {
    return checked("cudaStreamSynchronize", subject, cudaStreamSynchronize(stream_));
  }

  Expected<std::unique_ptr<DeviceMarks>> make_marks(std::size_t count) override {
    auto marks = std::make_unique<Marks>(stream_, count);
    if (auto made = checked("cudaEventCreate", {}, marks->create()); !made) return fail(made.error());
    return std::unique_ptr<DeviceMarks>(std::move(marks));
  }

  Expected<void> begin_recording(const Subject& subject) override {
    return checked("cudaStreamBeginCapture", subject,
                   // Relaxed: what is launched may load its module now, which is no harm, as nothing is allocated.
                   cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed));
  }
  Expected<std::unique_ptr<DeviceGraph>> end_recording(const Subject& subject) override {
    cudaGraph_t recorded = nullptr;
    auto ended = checked("cudaStreamEndCapture", subject, cudaStreamEndCapture(stream_, &recorded));
    if (!ended || recorded == nullptr) {
      return fail(ended ? "cudaStreamEndCapture: the capture was broken off" : ended.error());
    }
    auto graph = std::make_unique<Graph>(stream_);
    auto made = checked("cudaGraphInstantiate", subject, graph->instantiate(recorded));
    cudaGraphDestroy(recorded);
    if (!made) return fail(made.error());
    if (auto sent = graph->upload(subject); !sent) return fail(sent.error());  // else the first launch does it
    return std::unique_ptr<DeviceGraph>(std::move(graph));
  }

  Expected<void> mark_begin() override { return mark(begin_); }
  Expected<void> mark_end() override { return mark(end_); }
  Expected<double> milliseconds() override {
    float time = 0.0F;
    const auto read = checked("cudaEventElapsedTime", {}, cudaEventElapsedTime(&time, begin_.get(), end_.get()));
    if (!read) return fail(read.error());
    return static_cast<double>(time);
  }

  [[nodiscard]] std::string launch_error(const char* kernel, int code) const override {
    return std::string("launch of ") + kernel + ": " + cudaGetErrorString(static_cast<cudaError_t>(code));
  }
  [[nodiscard]] void* stream() const noexcept override { return stream_; }

 private:
  Expected<void> copy(void* to, const void* from, std::int64_t bytes, cudaMemcpyKind kind, const Subject& subject) {
    return checked("cudaMemcpyAsync", subject,
                   cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), kind, stream_));
  }
  Expected<void> mark(const Event& event) {
    return checked("cudaEventRecord", {}, cudaEventRecord(event.get(), stream_));
  }

  int index_;
  cudaStream_t stream_ = nullptr;
  Event begin_;
  Event end_;
};

}  // namespace

Expected<void> make_device_current(int index) {
  return checked(
      "cudaSetDevice", [index] { return "GPU " + std::to_string(index); }, cudaSetDevice(index));
}

Expected<std::unique_ptr<DeviceApi>> open_device(int index) {
  auto device = std::make_unique<CudaDeviceApi>(index);
  if (const auto opened = device->open(); !opened) return fail(opened.error());
  return std::unique_ptr<DeviceApi>(std::move(device));
}

}  // namespace attn::cuda
