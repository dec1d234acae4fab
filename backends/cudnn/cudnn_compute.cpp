// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cudnn/cudnn_compute.h"

#include "backends/cudnn/mask_bias.h"
#include "backends/cudnn/plan_cache.h"
#include "backends/simd/call_addresses.h"

#include <mutex>
#include <optional>
#include <span>
#include <utility>

namespace attn::cudnn {
namespace {

constexpr std::size_t kKeptAnswers = 64;

Dims packed(const Dims& size) noexcept { return {size[1] * size[2] * size[3], size[2] * size[3], size[3], 1}; }

/// Strides (batch, heads, tokens, dim) of a view once it is uploaded, when its leading dims fold. A dim of size 1 gets
/// the packed stride.
Dims uploaded(const TensorView& host, const Dims& size) {
  const TensorView view = cuda::view_after_upload(host);
  Dims stride = packed(size);
  const std::int64_t batch_step =
      view.rank == 5 && view.size(1) > 1 ? view.step(1) : view.step(view.rank == 5 ? 0 : -4);
  const Dims stated{batch_step, view.step(-3), view.step(-2), view.step(-1)};
  for (std::size_t i = 0; i < stride.size(); ++i) {
    if (size[i] > 1) stride[i] = stated[i];
  }
  return stride;
}

/// cuDNN's handle on one GPU, made when it is first needed.
class OwnedHandle {
 public:
  OwnedHandle() = default;
  OwnedHandle(const OwnedHandle&) = delete;
  OwnedHandle& operator=(const OwnedHandle&) = delete;
  ~OwnedHandle() {
    if (handle_ == nullptr) return;
    if (make_current_) (void)make_current_();
    library_->destroy_handle(handle_);
  }
  void set_make_current(MakeCurrent make_current) { make_current_ = std::move(make_current); }

  Expected<Handle> get(const std::shared_ptr<const Library>& library, void* stream) {
    if (handle_ == nullptr) {
      library_ = library;
      if (const int status = library->create_handle(&handle_); status != 0) {
        handle_ = nullptr;
        return fail(library->failure("cudnnCreate", "a handle", status));
      }
    }
    if (const int status = library->set_stream(handle_, stream); status != 0) {
      return fail(library->failure("cudnnSetStream", "the handle", status));
    }
    return handle_;
  }

 private:
  std::shared_ptr<const Library> library_;
  MakeCurrent make_current_;
  Handle handle_ = nullptr;
};

/// A call with its plan, ready to be executed.
class Prepared final : public cuda::PreparedCall {
 public:
  Prepared(std::shared_ptr<const SdpaPlan> plan, Handle handle, const AttentionCall& placed, double scale)
      : plan_(std::move(plan)), handle_(handle), memory_{placed.query.data,        placed.key.data, placed.value.data,
                                                         placed.output.data,       nullptr,         nullptr,
                                                         static_cast<float>(scale)} {}

  [[nodiscard]] Expected<void> launch() override { return plan_->execute(handle_, memory_, workspace_.data()); }
  void complete(const AttentionCall& call) const override {
    if (bias_) clear_rows(*bias_, call);
  }

  [[nodiscard]] Expected<void> take_mask(cuda::Transfer& transfer, const AttentionCall& host) {
    if (!host.attn_mask) return {};
    auto made = bias_of_mask(host);
    if (!made) return fail(made.error());
    bias_ = std::move(*made);
    auto copy = transfer.upload(bias_->bias.view(), "attn_mask");
    if (!copy) return fail(copy.error());
    bias_copy_ = std::move(*copy);
    memory_.bias = bias_copy_.view.data;
    return {};
  }
  [[nodiscard]] Expected<void> take_tiles(cuda::Transfer& transfer, const std::vector<std::uint8_t>& tiles) {
    auto sent = transfer.send(std::span<const std::uint8_t>(tiles), [] { return std::string("the block mask"); });
    if (!sent) return fail(sent.error());
    block_mask_ = std::move(*sent);
    memory_.block_mask = block_mask_.data();
    return {};
  }
  [[nodiscard]] Expected<void> take_workspace(cuda::LocalGpu& gpu) {
    auto room = gpu.pool.get(plan_->workspace_bytes(), [] { return std::string("cuDNN's workspace"); });
    if (!room) return fail(room.error());
    workspace_ = std::move(*room);
    return {};
  }

 private:
  std::shared_ptr<const SdpaPlan> plan_;
  Handle handle_;
  SdpaMemory memory_;
  std::optional<MaskBias> bias_;
  cuda::DeviceCopy bias_copy_;
  cuda::DeviceBuffer block_mask_;
  cuda::DeviceBuffer workspace_;
};

class CudnnCompute final : public cuda::DeviceCompute {
 public:
  CudnnCompute(Expected<std::shared_ptr<const Library>> library, DeviceProperties device, MakeCurrent make_current)
      : library_(std::move(library)),
        device_(std::move(device)),
        make_current_(std::move(make_current)),
        answers_(kKeptAnswers, [](const Answer& answer) { return answer.has_value() || !answer.error().passing; }) {
    handle_.set_make_current(make_current_);
  }

  [[nodiscard]] std::string_view name() const noexcept override { return "cuDNN"; }

  [[nodiscard]] std::string refusal(const AttentionCall& call, const BlockSelection* selection) const override {
    if (!library_) return library_.error();
    const auto problem = problem_of(call, selection);
    if (!problem) return problem.error();
    const Answer answer = answer_for(*problem);
    return answer ? std::string() : answer.error().reason;
  }

  [[nodiscard]] std::optional<std::string> known_refusal(const AttentionCall& call,
                                                         const BlockSelection* selection) const override {
    if (!library_) return library_.error();
    const auto problem = problem_of(call, selection);
    if (!problem) return problem.error();
    if (const auto taken = takes(**library_, *problem); !taken) return taken.error();
    const std::optional<Answer> answer = answers_.known(*problem);
    if (!answer) return std::nullopt;
    return *answer ? std::string() : answer->error().reason;
  }

  [[nodiscard]] bool reads_mask() const noexcept override { return false; }

  [[nodiscard]] Expected<std::unique_ptr<cuda::PreparedCall>> prepare(cuda::LocalGpu& gpu, cuda::Transfer& transfer,
                                                                      const AttentionCall& host,
                                                                      const cuda::PlacedCall& placed,
                                                                      const BlockSelection* selection,
                                                                      const cuda::StepTable&) const override {
    if (!library_) return fail(library_.error());
    const auto problem = problem_of(host, selection);
    if (!problem) return fail(problem.error());
    const Answer plan = answer_for(*problem);
    if (!plan) return fail(plan.error().reason);
    const auto handle = handle_.get(*library_, gpu.api->stream());
    if (!handle) return fail(handle.error());
    auto prepared = std::make_unique<Prepared>(*plan, *handle, placed.call, host.effective_scale());
    if (auto ready = prepared->take_mask(transfer, host); !ready) return fail(ready.error());
    if (selection != nullptr) {
      auto ready = prepared->take_tiles(transfer, mask_bytes(*selection, problem->batch, problem->heads));
      if (!ready) return fail(ready.error());
    }
    if (auto ready = prepared->take_workspace(gpu); !ready) return fail(ready.error());
    return std::unique_ptr<cuda::PreparedCall>(std::move(prepared));
  }

 private:
  using Answer = SdpaPlan::Built;

  [[nodiscard]] Answer answer_for(const SdpaProblem& problem) const {
    return answers_.get(problem, [&]() -> Answer {
      if (make_current_) {
        if (auto current = make_current_(); !current) return tl::unexpected<PlanFailure>({current.error(), true});
      }
      return SdpaPlan::build(*library_, problem, device_);
    });
  }

  Expected<std::shared_ptr<const Library>> library_;
  DeviceProperties device_;
  MakeCurrent make_current_;
  mutable AnswerCache<Answer> answers_;
  mutable OwnedHandle handle_;  ///< used under the GPU's lock
};

}  // namespace

Expected<SdpaProblem> problem_of(const AttentionCall& call, const BlockSelection* selection) {
  const CallSizes sizes = sizes_of(call);
  if (call.query.elements() == 0 || call.key.elements() == 0 || sizes.value_dim == 0) {
    return fail("takes no empty tensor");
  }
  if (call.key.dtype != call.query.dtype || call.value.dtype != call.query.dtype ||
      (call.output.rank != 0 && call.output.dtype != call.query.dtype)) {
    return fail("takes query, key, value and output of one dtype");
  }
  SdpaProblem p;
  p.batch = sizes.batch;
  p.heads = sizes.heads;
  p.kv_heads = sizes.kv_heads;
  p.query_tokens = sizes.query_tokens;
  p.key_tokens = sizes.key_tokens;
  p.head_dim = sizes.head_dim;
  p.value_dim = sizes.value_dim;
  p.dtype = call.query.dtype;
  p.query_stride = uploaded(call.query, {p.batch, p.heads, p.query_tokens, p.head_dim});
  p.key_stride = uploaded(call.key, {p.batch, p.kv_heads, p.key_tokens, p.head_dim});
  p.value_stride = uploaded(call.value, {p.batch, p.kv_heads, p.key_tokens, p.value_dim});
  p.output_stride = packed({p.batch, p.heads, p.query_tokens, p.value_dim});
  p.is_causal = call.is_causal;
  if (call.attn_mask) {
    const TensorView& mask = *call.attn_mask;
    const bool one_batch = mask.size(-5) == 1 && mask.size(-4) == 1;
    const Dims size{one_batch ? 1 : p.batch, mask.size(-3) == 1 ? 1 : p.heads, mask.size(-2) == 1 ? 1 : p.query_tokens,
                    p.key_tokens};
    p.bias = {DType::float32, size, packed(size)};
  }
  if (selection != nullptr) {
    if (selection->block_q != kMaskTile || selection->block_kv != kMaskTile) {
      return fail("takes block selections of 128 by 128 tokens");
    }
    p.block_mask = true;
  }
  return p;
}

std::vector<std::uint8_t> mask_bytes(const BlockSelection& selection, std::int64_t batch, std::int64_t heads) {
  const std::int64_t row_bytes = (selection.key_tiles + kTilesPerByte - 1) / kTilesPerByte;
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(batch * heads * selection.query_tiles * row_bytes));
  std::size_t row = 0;
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t i = 0; i < selection.query_tiles; ++i, row += static_cast<std::size_t>(row_bytes)) {
        for (std::int64_t j = 0; j < selection.key_tiles; ++j) {
          if (!selection.kept(b, h, i, j)) continue;
          std::uint8_t& byte = bytes[row + static_cast<std::size_t>(j / kTilesPerByte)];
          byte = static_cast<std::uint8_t>(byte | (1U << static_cast<unsigned>(j % kTilesPerByte)));
        }
      }
    }
  }
  return bytes;
}

std::unique_ptr<cuda::DeviceCompute> cudnn_compute(Expected<std::shared_ptr<const Library>> library,
                                                   DeviceProperties device, MakeCurrent make_current) {
  return std::make_unique<CudnnCompute>(std::move(library), std::move(device), std::move(make_current));
}

std::unique_ptr<cuda::DeviceCompute> cudnn_compute(const cuda::CudaDevice& device) {
  DeviceProperties properties;
  properties.local = device.index;
  properties.capability = device.capability;
  properties.name = device.name;
  return cudnn_compute(this_machines_cudnn(), std::move(properties),
                       [index = device.index] { return cuda::make_device_current(index); });
}

}  // namespace attn::cudnn
