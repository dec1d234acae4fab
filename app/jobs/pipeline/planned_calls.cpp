// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/pipeline/planned_calls.h"

#include "app/jobs/pipeline/prompt.h"

#include <array>
#include <utility>

namespace attn::app {
namespace {

AttentionCall call_of(std::int64_t batch, std::int64_t heads, std::int64_t tokens, std::int64_t head_dim, bool masked,
                      DType dtype, Device device) {
  AttentionCall call;
  call.query = call.key = call.value = TensorView::contiguous({batch, heads, tokens, head_dim}, dtype, device);
  if (masked) call.attn_mask = TensorView::contiguous({batch, 1, 1, tokens}, DType::boolean, device);
  return call;
}

}  // namespace

std::vector<PlannedCall> planned_calls(const GenerationSettings& settings, const ShapesConfig& config, Device device) {
  const std::int64_t prompts = settings.guidance > 1.0 ? 2 : 1;
  std::vector<PlannedCall> calls;
  calls.push_back({call_of(prompts, config.text_heads, config.text_length, config.text_width / config.text_heads, true,
                           settings.dtype, device),
                   Role::te});
  std::vector<std::pair<std::int64_t, std::int64_t>> sizes{{settings.height, settings.width}};
  if (settings.hires) sizes.emplace_back(settings.hires->height, settings.hires->width);
  const std::array<const std::string*, 2> texts{&settings.prompt, &settings.negative_prompt};
  for (const auto& [height, width] : sizes) {
    const std::int64_t cells = (height / config.latent_factor) * (width / config.latent_factor);
    if (settings.text == TextForm::padded) {
      calls.push_back(
          {call_of(prompts, config.heads, config.text_length + cells, config.head_dim(), true, settings.dtype, device),
           Role::transformer});
    } else {
      for (std::int64_t i = 0; i < prompts; ++i) {
        const auto tokens = tokenize(*texts[static_cast<std::size_t>(i)], config);
        calls.push_back({call_of(1, config.heads, (tokens ? tokens->live : 1) + cells, config.head_dim(), false,
                                 settings.dtype, device),
                         Role::transformer});
      }
    }
    calls.push_back({call_of(1, 1, cells, config.vae_widths[2], false, settings.dtype, device), Role::vae});
  }
  return calls;
}

}  // namespace attn::app
