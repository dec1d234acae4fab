// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/pipeline/picture_schedule.h"

#include "app/jobs/pipeline/denoiser.h"
#include "app/jobs/pipeline/prompt.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace attn::app {
namespace {

AttentionCall call_of(std::int64_t batch, std::int64_t heads, std::int64_t tokens, std::int64_t head_dim, bool masked,
                      DType dtype) {
  AttentionCall call;
  call.query = call.key = call.value = TensorView::contiguous({batch, heads, tokens, head_dim}, dtype);
  if (masked) call.attn_mask = TensorView::contiguous({batch, 1, 1, tokens}, DType::boolean);
  return call;
}

class Builder {
 public:
  Builder(const GenerationSettings& settings, const ShapesConfig& config) : settings_(settings), config_(config) {
    prompts_ = settings.guidance > 1.0 ? 2 : 1;
    schedule_.title = title_of(settings);
    schedule_.pipeline = pipeline_of(config);
    schedule_.steps = settings.steps;
  }

  CallSchedule build() {
    const auto text = call_of(prompts_, config_.text_heads, config_.text_length,
                              config_.text_width / config_.text_heads, true, settings_.dtype);
    forward(Role::te, 0, pattern(text, Role::te, config_.text_blocks, "text_encoder", std::nullopt));
    std::int64_t cells = cells_of(settings_.height, settings_.width);
    denoise(cells, settings_.steps);
    std::int64_t last = settings_.steps;
    if (settings_.hires) {
      const std::int64_t more = cells_of(settings_.hires->height, settings_.hires->width);
      if (settings_.hires->upscale == HiresSettings::Upscale::image) {
        autoencoder(cells, last);
        autoencoder(more, last);
      }
      cells = more;
      last = settings_.hires->steps;
      denoise(cells, last);
    }
    autoencoder(cells, last);
    return std::move(schedule_);
  }

 private:
  [[nodiscard]] std::int64_t cells_of(std::int64_t height, std::int64_t width) const {
    return (height / config_.latent_factor) * (width / config_.latent_factor);
  }

  void denoise(std::int64_t cells, std::int64_t steps) {
    std::vector<std::uint32_t> forwards;
    const auto add = [&](std::int64_t batch, std::int64_t text, bool masked) {
      const auto call = call_of(batch, config_.heads, text + cells, config_.head_dim(), masked, settings_.dtype);
      forwards.push_back(pattern(call, Role::transformer, config_.blocks, "transformer", layout_of_ids(text, cells)));
    };
    if (settings_.text == TextForm::padded) {
      add(prompts_, config_.text_length, true);
    } else {
      for (const std::string* prompt : {&settings_.prompt, &settings_.negative_prompt}) {
        if (prompt == &settings_.negative_prompt && prompts_ == 1) break;
        const auto tokens = tokenize(*prompt, config_);
        add(1, tokens ? tokens->live : 1, false);
      }
    }
    for (std::int64_t step = 0; step < steps; ++step) {
      for (const std::uint32_t one : forwards) forward(Role::transformer, step, one);
    }
  }

  void autoencoder(std::int64_t cells, std::int64_t step) {
    const auto call = call_of(1, 1, cells, config_.vae_widths[2], false, settings_.dtype);
    forward(Role::vae, step, pattern(call, Role::vae, 1, "vae", std::nullopt));
  }

  std::uint32_t pattern(const AttentionCall& call, Role role, std::int64_t times, std::string slot,
                        std::optional<TokenLayout> layout) {
    const auto same = [&](const DistinctCall& one) {
      return one.role == role && std::ranges::equal(one.call.query.sizes(), call.query.sizes());
    };
    const auto known = std::ranges::find_if(schedule_.distinct, same);
    const auto index = static_cast<std::uint32_t>(std::distance(schedule_.distinct.begin(), known));
    if (known == schedule_.distinct.end()) schedule_.distinct.push_back({call, role, 0, 0});
    schedule_.patterns.push_back(
        {std::vector(static_cast<std::size_t>(times), index), std::move(slot), std::move(layout)});
    return static_cast<std::uint32_t>(schedule_.patterns.size() - 1);
  }

  void forward(Role role, std::int64_t step, std::uint32_t pattern) {
    schedule_.forwards.push_back({role, static_cast<std::int32_t>(step), pattern});
    for (const std::uint32_t call : schedule_.patterns[pattern].calls) {
      ++schedule_.distinct[call].times;
      ++schedule_.calls;
    }
  }

  const GenerationSettings& settings_;
  const ShapesConfig& config_;
  std::int64_t prompts_ = 1;
  CallSchedule schedule_;
};

}  // namespace

std::string title_of(const GenerationSettings& settings) {
  const auto pass = [](std::int64_t width, std::int64_t height, std::int64_t steps) {
    return std::to_string(width) + " x " + std::to_string(height) + ", " + std::to_string(steps) +
           (steps == 1 ? " step" : " steps");
  };
  std::string text = "Shapes " + pass(settings.width, settings.height, settings.steps);
  if (settings.hires) {
    text += ", then " + pass(settings.hires->width, settings.hires->height, settings.hires->steps);
  }
  return text;
}

PipelineInfo pipeline_of(const ShapesConfig& config) {
  return {config.pipeline_class, config.transformer_class, {}, {}, {}};
}

CallSchedule picture_schedule(const GenerationSettings& settings, const ShapesConfig& config) {
  return Builder(settings, config).build();
}

}  // namespace attn::app
