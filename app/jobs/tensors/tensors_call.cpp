// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/tensors/tensors_call.h"

#include <cstring>
#include <string>

namespace attn::app {
namespace {

std::string sizes_text(const std::vector<std::int64_t>& sizes) {
  std::string text = "[";
  for (const std::int64_t size : sizes) text += (text.size() > 1 ? "," : "") + std::to_string(size);
  return text + "]";
}

const StoredTensor* either(const SafetensorsFile& file, std::string_view name, std::string_view long_name) {
  const StoredTensor* found = file.find(name);
  return found != nullptr ? found : file.find(long_name);
}

/// "q[1,8,16,64] q=fp32": the tensor's shape and dtype in the call notation.
std::string tokens_of(const HostTensor& tensor, std::string_view name) {
  const TensorView& view = tensor.view();
  const std::vector<std::int64_t> sizes(view.sizes().begin(), view.sizes().end());
  return std::string(name) + sizes_text(sizes) + " " + std::string(name) + "=" +
         std::string(short_name_of(view.dtype)) + " ";
}

/// One call, in the role and at the step that were written.
class FileJob final : public Job {
 public:
  explicit FileJob(FileCall& call) : call_(call) {}
  [[nodiscard]] std::string title() const override { return write_call(call_.written); }
  [[nodiscard]] Expected<JobOutcome> run(const JobEnvironment& environment) override {
    Pipe pipe{{"tensors", std::nullopt, std::nullopt, std::nullopt}, {}};
    const WrittenCall& written = call_.written;
    auto scope = environment.engine.begin_job(pipe, std::max(written.steps, written.step + 1), environment.observer,
                                              environment.timing);
    if (!scope) return fail(scope.error());
    if (environment.stop.stop_requested()) return JobOutcome::stopped;
    if (written.step != 0) scope->context().tick(written.step);
    const RoleScope role(scope->context(), written.role);
    const Route route = scope->attention(written.call);
    if (!route.failure.empty()) return fail(title() + " could not be served: " + std::string(route.failure));
    return JobOutcome::finished;
  }

 private:
  FileCall& call_;
};

void take_data(TensorView& view, HostTensor& tensor) { view.data = tensor.memory().data(); }

}  // namespace

Expected<FileCall> read_file_call(const SafetensorsFile& file, std::string_view words) {
  FileCall made;
  const StoredTensor* q = either(file, "q", "query");
  if (q == nullptr) return fail(file.load("q").error());
  const StoredTensor* k = either(file, "k", "key");
  const StoredTensor* v = either(file, "v", "value");
  for (const auto& [stored, fallback, tensor] :
       {std::tuple{q, q, &made.query}, {k, q, &made.key}, {v, k != nullptr ? k : q, &made.value}}) {
    auto loaded = file.load((stored != nullptr ? stored : fallback)->name);
    if (!loaded) return fail(loaded.error());
    *tensor = *std::move(loaded);
  }
  std::string text = tokens_of(made.query, "q") + tokens_of(made.key, "k") + tokens_of(made.value, "v");
  if (const StoredTensor* mask = either(file, "mask", "attn_mask"); mask != nullptr) {
    auto loaded = file.load(mask->name);
    if (!loaded) return fail(loaded.error());
    made.mask = *std::move(loaded);
    const DType dtype = made.mask->view().dtype;
    text +=
        "mask=" + std::string(dtype == DType::boolean ? "bool" : short_name_of(dtype)) + sizes_text(mask->shape) + " ";
  }
  auto written = parse_call(text + std::string(words));
  if (!written) return fail(written.error());
  made.written = *std::move(written);
  AttentionCall& call = made.written.call;
  if (!call.query.is_contiguous() || !call.key.is_contiguous() || !call.value.is_contiguous()) {
    return fail("strides cannot be given for tensors of a file: they lie contiguous in it");
  }
  take_data(call.query, made.query);
  take_data(call.key, made.key);
  take_data(call.value, made.value);
  if (made.mask) take_data(*call.attn_mask, *made.mask);
  std::vector<std::int64_t> shape(call.query.sizes().begin(), call.query.sizes().end());
  shape.back() = call.value_dim();
  made.output = HostTensor(shape, call.query.dtype, call.query.device);
  call.output = made.output.view();
  return made;
}

CallTensors copy_tensors(const FileCall& made, const AttentionCall& call) {
  CallTensors copy;
  copy.call = call;
  const auto take = [](const HostTensor& from, TensorView& view, HostBuffer& memory) {
    const auto bytes = static_cast<std::size_t>(from.view().bytes());
    memory = HostBuffer(bytes);
    std::memcpy(memory.data(), from.view().data, bytes);
    const Device device = view.device;
    view = from.view();
    view.device = device;
    view.data = memory.data();
  };
  take(made.query, copy.call.query, copy.query);
  take(made.key, copy.call.key, copy.key);
  take(made.value, copy.call.value, copy.value);
  if (made.mask) take(*made.mask, *copy.call.attn_mask, copy.mask);
  take(made.output, copy.call.output, copy.output);
  std::memset(copy.output.data(), 0, copy.output.size());
  return copy;
}

std::unique_ptr<Job> make_file_job(FileCall& call) { return std::make_unique<FileJob>(call); }

}  // namespace attn::app
