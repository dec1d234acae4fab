// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/profile/schedule.h"

#include "core/policy/apply.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace attn::app {
namespace {

Role role_of(const ProfileCall& call) {
  if (call.role == "denoiser") return Role::transformer;
  if (call.role == "vae_decoder") return Role::vae;
  return Role::te;  // connectors work on the encoded prompt, before the first step
}

/// The first word of what the profile says: "bfloat16 (some layers kept float32)", "float32 or bfloat16".
std::optional<DType> stated_dtype(std::string_view text) { return parse_dtype(text.substr(0, text.find(' '))); }

DType pipeline_dtype(const std::vector<ProfileCall>& calls) {
  for (const ProfileCall& call : calls) {
    if (call.role == "denoiser") return stated_dtype(call.dtype).value_or(DType::bfloat16);
  }
  return DType::bfloat16;
}

AttentionCall attention_call(const ProfileCall& from, DType same_as_pipeline) {
  AttentionCall call;
  const DType dtype = stated_dtype(from.dtype).value_or(same_as_pipeline);
  call.query = TensorView::contiguous({from.batch, from.heads, from.query_tokens, from.head_dim}, dtype);
  call.key = TensorView::contiguous({from.batch, from.kv_heads, from.key_tokens, from.head_dim}, dtype);
  call.value = call.key;
  call.is_causal = from.causal;
  call.enable_gqa = from.heads != from.kv_heads;
  call.scale = from.scale;
  if (from.mask) {
    call.attn_mask = TensorView::contiguous(from.mask->shape, from.mask->dtype == "bool" ? DType::boolean : dtype);
  }
  return call;
}

/// Everything that tells two calls of a schedule apart.
using Signature = std::tuple<Role, DType, bool, std::optional<double>, std::vector<std::int64_t>>;

Signature signature_of(const AttentionCall& call, Role role) {
  std::vector<std::int64_t> sizes;
  const auto add = [&sizes](const TensorView& view) {
    sizes.push_back(view.rank);
    sizes.insert(sizes.end(), view.sizes().begin(), view.sizes().end());
  };
  add(call.query);
  add(call.key);
  if (call.attn_mask) {
    add(*call.attn_mask);
    sizes.push_back(static_cast<std::int64_t>(call.attn_mask->dtype));
  }
  return {role, call.query.dtype, call.is_causal, call.scale, std::move(sizes)};
}

/// "transformer_blocks.*" of "transformer_blocks.*.attn1"; empty where no block repeats.
std::string_view block_of(const ProfileCall& call) {
  const std::size_t star = call.where.rfind('*');
  return star == std::string::npos ? std::string_view() : std::string_view(call.where).substr(0, star + 1);
}

bool take_turns(const ProfileCall& a, const ProfileCall& b) {
  return !block_of(a).empty() && block_of(a) == block_of(b) && a.calls == b.calls;
}

/// A pass of a component: its entries and how often it runs.
struct Pass {
  std::string slot;
  Role role = Role::te;
  std::int64_t runs = 0;
  std::vector<const ProfileCall*> entries;
};

std::vector<Pass> passes_of(const std::vector<ProfileCall>& calls) {
  std::vector<Pass> passes;
  std::string last;
  for (const ProfileCall& call : calls) {
    const std::string name = call.slot + '\n' + call.pass;
    if (name != last) passes.push_back({call.slot, role_of(call), call.runs, {}});
    last = name;
    if (call.sdpa) passes.back().entries.push_back(&call);
  }
  return passes;
}

std::optional<TokenLayout> layout_of(const Pass& pass) {
  const ProfileCall* longest = nullptr;
  for (const ProfileCall* entry : pass.entries) {
    if (entry->kind != "joint" || entry->query_stream_tokens.empty()) continue;
    if (longest == nullptr || entry->query_tokens > longest->query_tokens) longest = entry;
  }
  if (longest == nullptr || !is_denoiser_slot(pass.slot)) return std::nullopt;
  TokenLayout layout;
  layout.source = "profile";
  layout.length = longest->query_tokens;
  std::int64_t start = 0;
  for (std::size_t i = 0; i < longest->query_streams.size(); ++i) {
    const std::int64_t end = start + longest->query_stream_tokens[i];
    layout.spans.push_back({longest->query_streams[i], start, end});
    start = end;
  }
  return layout;
}

class Builder {
 public:
  Builder(const std::vector<ProfileCall>& calls, CallSchedule& schedule)
      : dtype_(pipeline_dtype(calls)), schedule_(schedule) {}

  void build(const std::vector<Pass>& passes) {
    for (const Pass& pass : passes) {
      if (pass.role == Role::te) repeat(pass, 0);
    }
    denoise(passes);
    for (const Pass& pass : passes) {
      if (pass.role == Role::vae) repeat(pass, static_cast<std::int32_t>(schedule_.steps));
    }
  }

 private:
  void repeat(const Pass& pass, std::int32_t step) {
    const std::uint32_t pattern = pattern_of(pass);
    for (std::int64_t run = 0; run < pass.runs; ++run) forward(pass.role, step, pattern);
  }

  /// Which steps a pass runs in: its component's share of the steps, from the component's first step on.
  void denoise(const std::vector<Pass>& passes) {
    std::vector<std::pair<std::string, std::int64_t>> components;  // slot, steps
    for (const Pass& pass : passes) {
      if (pass.role != Role::transformer) continue;
      if (components.empty() || components.back().first != pass.slot) components.emplace_back(pass.slot, 0);
      components.back().second = std::max(components.back().second, pass.runs);
    }
    std::int64_t sum = 0;
    std::int64_t most = 0;
    for (const auto& [slot, steps] : components) {
      sum += steps;
      most = std::max(most, steps);
    }
    const bool follow = components.size() > 1 && sum == asked_steps_;
    schedule_.steps = follow ? sum : most;
    std::map<std::string, std::int64_t> first;
    std::int64_t next = 0;
    for (const auto& [slot, steps] : components) {
      first[slot] = follow ? next : 0;
      next += steps;
    }
    std::vector<std::uint32_t> patterns;
    for (const Pass& pass : passes) {
      patterns.push_back(pass.role == Role::transformer && pass.runs > 0 ? pattern_of(pass) : 0);
    }
    for (std::int64_t step = 0; step < schedule_.steps; ++step) {
      for (std::size_t i = 0; i < passes.size(); ++i) {
        if (passes[i].role != Role::transformer) continue;
        const std::int64_t begin = first[passes[i].slot];
        if (step < begin || step >= begin + passes[i].runs) continue;
        forward(Role::transformer, static_cast<std::int32_t>(step), patterns[i]);
      }
    }
  }

  std::uint32_t pattern_of(const Pass& pass) {
    CallSchedule::Pattern pattern;
    pattern.slot = pass.slot;
    pattern.layout = layout_of(pass);
    for (std::size_t i = 0; i < pass.entries.size();) {
      std::size_t end = i + 1;
      while (end < pass.entries.size() && take_turns(*pass.entries[i], *pass.entries[end])) ++end;
      std::vector<std::uint32_t> turn;
      for (; i < end; ++i) turn.push_back(distinct(*pass.entries[i], pass.role));
      for (std::int64_t block = 0; block < pass.entries[end - 1]->calls; ++block) {
        pattern.calls.insert(pattern.calls.end(), turn.begin(), turn.end());
      }
    }
    schedule_.patterns.push_back(std::move(pattern));
    return static_cast<std::uint32_t>(schedule_.patterns.size() - 1);
  }

  std::uint32_t distinct(const ProfileCall& from, Role role) {
    AttentionCall call = attention_call(from, dtype_);
    const auto next = static_cast<std::uint32_t>(schedule_.distinct.size());
    const auto [at, fresh] = index_.emplace(signature_of(call, role), next);
    if (fresh) schedule_.distinct.push_back({std::move(call), role, 0, 0});
    return at->second;
  }

  void forward(Role role, std::int32_t step, std::uint32_t pattern) {
    const auto& calls = schedule_.patterns[pattern].calls;
    if (calls.empty()) return;
    schedule_.forwards.push_back({role, step, pattern});
    schedule_.calls += static_cast<std::int64_t>(calls.size());
    for (const std::uint32_t call : calls) ++schedule_.distinct[call].times;
  }

  DType dtype_;
  CallSchedule& schedule_;
  std::int64_t asked_steps_ = schedule_.steps;
  std::map<Signature, std::uint32_t> index_;
};

std::string title_of(const Profile& profile, const ProfileInputs& inputs) {
  const auto at = [&](std::string_view name) {
    const auto found = inputs.find(name);
    const double value = found != inputs.end() ? found->second : profile.defaults().find(name)->second;
    return static_cast<std::int64_t>(value);
  };
  std::string title = profile.name() + " " + std::to_string(at("width")) + " x " + std::to_string(at("height"));
  if (at("frames") > 1) title += ", " + std::to_string(at("frames")) + " frames";
  return title + ", " + std::to_string(at("steps")) + " steps";
}

}  // namespace

Expected<CallSchedule> make_schedule(const Profile& profile, const ProfileInputs& inputs) {
  const auto calls = profile.calls(inputs);
  if (!calls) return fail(calls.error());
  CallSchedule schedule;
  schedule.title = title_of(profile, inputs);
  schedule.pipeline = {profile.pipeline(), profile.class_in("transformer"), profile.class_in("unet"),
                       profile.architecture()};
  for (const std::string_view slot : dispatcher_slots()) {
    if (profile.class_in(slot)) schedule.pipeline.denoisers.emplace_back(slot);
  }
  const auto steps = inputs.find("steps");
  schedule.steps =
      static_cast<std::int64_t>(steps != inputs.end() ? steps->second : profile.defaults().find("steps")->second);
  Builder(*calls, schedule).build(passes_of(*calls));
  for (const DistinctCall& distinct : schedule.distinct) {
    if (auto ok = check_call(distinct.call); !ok) return fail("model " + profile.id() + ": " + ok.error());
  }
  return schedule;
}

CallSchedule make_schedule(const WrittenCall& written) {
  CallSchedule schedule;
  schedule.title = write_call(written);
  schedule.pipeline.pipeline_class = "call";
  schedule.steps = std::max(written.steps, written.step + 1);
  schedule.distinct.push_back({written.call, written.role, written.hidden_keys, 1});
  schedule.patterns.push_back({{0}, written.role == Role::transformer ? "transformer" : "", std::nullopt});
  schedule.forwards.push_back({written.role, written.step, 0});
  schedule.calls = 1;
  schedule.devices_stated = true;
  return schedule;
}

}  // namespace attn::app
