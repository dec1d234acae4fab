// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/attention_options.h"

#include "core/policy/target_probe.h"

namespace attn::cli {
namespace {

constexpr std::string_view kMathOnly = "math-only";
constexpr std::string_view kFused = "fused";
constexpr std::string_view kUnknown = "unknown";

}  // namespace

void AttentionOptions::add_speed(CLI::App& command) {
  command
      .add_option("--speed,--speed-mode,--speed_mode", speed,
                  "A speed profile: off, or on, eager, default, max. With one, auto takes the best exact backend")
      ->type_name("MODE");
}

void AttentionOptions::add(CLI::App& command) {
  command
      .add_option("--attention-backend,--attention_backend", attention_backend,
                  "What the dispatcher in front of the router gets: auto, native, sdpa, cudnn, flash, flash2, flash3, "
                  "flash4, sage, xformers, aiter; or by role, transformer=sage,te=native")
      ->type_name("REQUEST");
  add_speed(command);
  command
      .add_option("--strict", strict,
                  "Roles whose backend must not fall back: all, none, te=off,...; otherwise those that somebody chose")
      ->type_name("ROLES");
  command
      .add_option("--probe-result", probe_result,
                  "What a probe of torch's kernels found on the target: math-only, fused or unknown; by itself only "
                  "this machine is probed")
      ->type_name("RESULT");
}

bool AttentionOptions::speed_active() const { return speed && *speed != "off"; }

Expected<void> AttentionOptions::apply(Engine& engine) const {
  if (speed && *speed != "off" && *speed != "on" && *speed != "eager" && *speed != "default" && *speed != "max") {
    return fail("--speed " + *speed + ": write off, or on, eager, default or max");
  }
  AttentionChoices choices = engine.attention();
  if (speed) choices.speed_active = speed_active();
  if (attention_backend) {
    if (auto read = read_attention_request(*attention_backend, choices); !read) return read;
  }
  if (auto read = read_strictness(strict, choices); !read) return fail("--" + read.error());
  return engine.set_attention(std::move(choices));
}

Expected<void> AttentionOptions::note_kernels(const Registry& registry, Target& target) const {
  if (probe_result.empty()) {
    const KernelProbe probe = probe_kernels(DType::float16, tiny_call_on(registry, target));
    target.math_only = probe.math_only() == Support::supported;
    return {};
  }
  if (probe_result != kMathOnly && probe_result != kFused && probe_result != kUnknown) {
    return fail("--probe-result " + probe_result + ": write math-only, fused or unknown");
  }
  target.math_only = probe_result == kMathOnly;
  return {};
}

Json attention_json(const Explanation::Dispatch& dispatch) {
  return {{"requested", dispatch.requested}, {"level", dispatch.level},   {"backend", dispatch.backend},
          {"state", dispatch.state},         {"reason", dispatch.reason}, {"strict", dispatch.strict},
          {"bypassed", dispatch.bypassed}};
}

std::string attention_text(const Explanation::Dispatch& dispatch) {
  if (!dispatch.bypassed && dispatch.level == name_of(ChoiceLevel::standard)) return {};
  return dispatch.requested + " -> " + dispatch.backend + (dispatch.bypassed ? ", the router is bypassed" : "") + " (" +
         dispatch.state + ", " + dispatch.reason + ")";
}

}  // namespace attn::cli
