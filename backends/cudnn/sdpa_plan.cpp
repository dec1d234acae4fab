// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cudnn/sdpa_plan.h"

#include <limits>

namespace attn::cudnn {
namespace {

constexpr std::size_t kFirstWithBlockMask = 91400;

/// What is not left to cuDNN: it takes fp32 tensors and computes them in a shorter format.
Expected<void> check(const Library& library, const SdpaProblem& problem) {
  if (problem.dtype != DType::float16 && problem.dtype != DType::bfloat16) {
    return fail("takes float16 and bfloat16 only, the call has " + std::string(name_of(problem.dtype)));
  }
  if (problem.bias && problem.bias->dtype == DType::boolean) return fail("takes no boolean bias");
  if (!problem.block_mask) return {};
  if (library.version() < kFirstWithBlockMask) {
    return fail("takes a block mask from 9.14 on, this is " + library.version_text());
  }
  if (problem.is_causal || problem.bias) return fail("takes a block mask without causal and bias only");
  return {};
}

/// Whether a status is of the machine's present state and not of the problem: internal errors and failed executions,
/// memory and driver among them (cudnnStatus_t from 4000 on).
bool is_passing(int status) noexcept { return status >= 4000; }

struct Proposals {
  std::int64_t proposed = 0;
  int status = 0;                  ///< of the question
  std::vector<Descriptor> viable;  ///< best first
  std::string reason;
};

Proposals ask_heuristics(Maker& maker, const SdpaGraph& graph, const Descriptor& device) {
  const Library& library = maker.library();
  Descriptor heuristics = maker.begin(Kind::heuristics, "the heuristics");
  maker.set_descriptor(heuristics, Attribute::heuristics_graph, graph.graph);
  maker.set_enumeration(heuristics, Attribute::heuristics_mode, Type::heuristic_mode, kHeuristicsA);
  maker.set_descriptor(heuristics, Attribute::heuristics_device, device);
  maker.finish(heuristics);
  Proposals found;
  if (maker.failed()) return found;
  const auto get = [&](std::int64_t room, std::int64_t* count, void* values) {
    return library.get(heuristics.raw(), static_cast<int>(Attribute::heuristics_results),
                       static_cast<int>(Type::descriptor), room, count, values);
  };
  if (get(0, &found.proposed, nullptr) != 0) found.proposed = 0;
  if (found.proposed <= 0) {
    found.reason = "knows no engine for this graph";
    return found;
  }
  std::vector<RawDescriptor> raw;
  for (std::int64_t i = 0; i < found.proposed; ++i) {
    found.viable.push_back(maker.begin(Kind::engine_config, "an engine configuration"));
    raw.push_back(found.viable.back().raw());
  }
  if (maker.failed()) return found;
  std::int64_t count = 0;
  const int status = get(found.proposed, &count, raw.data());
  found.status = status;
  if (status != 0 || count <= 0) {
    found.reason = library.last_reason();
    if (found.reason.empty()) found.reason = "none of its engines takes this graph";
    count = 0;
  }
  found.viable.erase(found.viable.begin() + count, found.viable.end());
  return found;
}

std::int64_t integer_of(const Library& library, const Descriptor& at, Attribute attribute) {
  std::int64_t value = 0;
  std::int64_t count = 0;
  const int status =
      library.get(at.raw(), static_cast<int>(attribute), static_cast<int>(Type::int64), 1, &count, &value);
  return status == 0 && count == 1 ? value : -1;
}

std::int64_t engine_of(Maker& maker, const Descriptor& config) {
  Descriptor engine = maker.begin(Kind::engine, "an engine");
  if (maker.failed()) return -1;
  RawDescriptor raw = engine.raw();
  std::int64_t count = 0;
  const int status = maker.library().get(config.raw(), static_cast<int>(Attribute::config_engine),
                                         static_cast<int>(Type::descriptor), 1, &count, &raw);
  return status == 0 ? integer_of(maker.library(), engine, Attribute::engine_index) : -1;
}

}  // namespace

Expected<SdpaSupport> ask_support(const Library& library, const SdpaProblem& problem, const DeviceProperties& device) {
  if (const auto taken = check(library, problem); !taken) return SdpaSupport{0, 0, taken.error()};
  Maker maker(library);
  const Descriptor properties = device.describe(maker);
  const SdpaGraph graph = build_sdpa_graph(maker, problem);
  if (maker.failed()) return fail(maker.error());
  const Proposals found = ask_heuristics(maker, graph, properties);
  if (maker.failed()) return SdpaSupport{0, 0, maker.error()};
  return SdpaSupport{static_cast<int>(found.proposed), static_cast<int>(found.viable.size()), found.reason};
}

SdpaPlan::SdpaPlan(std::shared_ptr<const Library> library, SdpaGraph graph, const SdpaProblem& problem)
    : library_(std::move(library)),
      graph_(std::move(graph)),
      has_bias_(problem.bias.has_value()),
      has_mask_(problem.block_mask),
      is_causal_(problem.is_causal) {}

Expected<void> takes(const Library& library, const SdpaProblem& problem) { return check(library, problem); }

SdpaPlan::Built SdpaPlan::build(const std::shared_ptr<const Library>& library, const SdpaProblem& problem,
                                const DeviceProperties& device) {
  const auto failure = [](std::string reason, bool passing) {
    return tl::unexpected<PlanFailure>({std::move(reason), passing});
  };
  if (const auto taken = check(*library, problem); !taken) return failure("cuDNN " + taken.error(), false);
  Maker maker(*library);
  Descriptor properties = device.describe(maker);
  SdpaGraph graph = build_sdpa_graph(maker, problem);
  Proposals found;
  if (!maker.failed()) found = ask_heuristics(maker, graph, properties);
  if (maker.failed()) return failure(maker.error(), is_passing(maker.status()));
  std::string error = "cuDNN does not take this call: " + found.reason;
  bool passing = is_passing(found.status);
  std::shared_ptr<SdpaPlan> result(new SdpaPlan(library, std::move(graph), problem));
  for (Descriptor& config : found.viable) {
    Maker attempt(*library);
    Descriptor plan = attempt.begin(Kind::plan, "the attention plan");
    attempt.set_descriptor(plan, Attribute::plan_config, config);
    attempt.set_descriptor(plan, Attribute::plan_device, properties);
    attempt.finish(plan);
    if (attempt.failed()) {
      error = attempt.error();
      passing = passing || is_passing(attempt.status());
      continue;
    }
    result->workspace_bytes_ = integer_of(*library, plan, Attribute::plan_workspace);
    result->engine_ = engine_of(attempt, config);
    if (result->workspace_bytes_ < 0) return failure("cuDNN does not say how much memory its plan needs", false);
    result->device_ = std::move(properties);
    result->config_ = std::move(config);
    result->plan_ = std::move(plan);
    return std::shared_ptr<const SdpaPlan>(std::move(result));
  }
  return failure(std::move(error), passing);
}

Expected<void> SdpaPlan::execute(Handle handle, const SdpaMemory& memory, void* workspace) const {
  float scale = memory.scale;
  float minus_infinity = -std::numeric_limits<float>::infinity();
  std::vector<std::int64_t> ids;
  std::vector<const void*> pointers;
  const auto bind = [&](std::int64_t id, const void* data) {
    ids.push_back(id);
    pointers.push_back(data);
  };
  bind(TensorId::query, memory.query);
  bind(TensorId::key, memory.key);
  bind(TensorId::value, memory.value);
  bind(TensorId::output, memory.output);
  bind(TensorId::scale, &scale);
  if (has_bias_) bind(TensorId::bias, memory.bias);
  if (has_mask_) bind(TensorId::block_mask, memory.block_mask);
  if (is_causal_) bind(TensorId::minus_infinity, &minus_infinity);
  Maker maker(*library_);
  const Descriptor pack = maker.begin(Kind::variant_pack, "the attention call's memory");
  const auto count = static_cast<std::int64_t>(ids.size());
  maker.set_integers(pack, Attribute::pack_ids, ids);
  maker.set(pack, Attribute::pack_pointers, Type::void_pointer, count, pointers.data());
  maker.set(pack, Attribute::pack_workspace, Type::void_pointer, 1, &workspace);
  maker.finish(pack);
  if (maker.failed()) return fail(maker.error());
  const int status = library_->execute(handle, plan_.raw(), pack.raw());
  if (status != 0) return fail(library_->failure("cudnnBackendExecute", "the attention plan", status));
  return {};
}

}  // namespace attn::cudnn
