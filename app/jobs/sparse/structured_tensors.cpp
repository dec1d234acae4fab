// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/sparse/structured_tensors.h"

#include "app/jobs/sparse/threads.h"
#include "app/jobs/tensors/generated.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace attn::app {
namespace {

/// Independent streams of random numbers.
enum Stream : std::uint64_t {
  centres = 16,
  frequencies,
  codes,
  text_kinds,
  values,
  waves,
  noise_of_query,
  noise_of_key,
  noise_of_value
};

using Place = std::array<float, 3>;  ///< frame, row, column

struct Token {
  Place place{};
  std::int64_t kind = 0;
  bool on_grid = true;
};

/// How strongly a head looks at places and kinds, in scores.
struct Mixture {
  float place;
  float kind;
};
constexpr std::array<Mixture, 4> kMixtures{{{9.0F, 1.0F}, {0.5F, 7.0F}, {4.0F, 5.0F}, {1.5F, 1.5F}}};
constexpr float kNoise = 0.7F;
constexpr float kFlat = 2.0F;     ///< regions are this much wider than high
constexpr float kFastest = 0.7F;  ///< radians a token

float uniform_at(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  const auto normal = static_cast<double>(normal_at(seed, stream, index));
  return static_cast<float>(0.5 * std::erfc(-normal / std::numbers::sqrt2));
}

bool is_text(const TokenLayout& layout, std::int64_t token) {
  for (const TokenSpan& span : layout.spans) {
    if (token >= span.start && token < span.end && !is_sparsifiable(span.kind)) return true;
  }
  return false;
}

class Scene {
 public:
  Scene(const StructureOptions& options, std::vector<std::int64_t> grid, std::int64_t tokens)
      : options_(options), grid_(std::move(grid)) {
    while (grid_.size() < 3) grid_.insert(grid_.begin(), 1);
    make_centres();
    std::int64_t on_grid = 0;
    for (std::int64_t i = 0; i < tokens; ++i) {
      Token token;
      if (options_.layout && is_text(*options_.layout, i)) {
        token.on_grid = false;
        token.kind = static_cast<std::int64_t>(uniform_at(options_.seed, text_kinds, static_cast<std::uint64_t>(i)) *
                                               static_cast<float>(options_.clusters));
        token.kind = std::min(token.kind, options_.clusters - 1);
      } else {
        token.place = place_of(on_grid++);
        token.kind = kind_at(token.place);
      }
      tokens_.push_back(token);
    }
  }

  [[nodiscard]] const std::vector<Token>& tokens() const noexcept { return tokens_; }
  [[nodiscard]] Place size() const noexcept {
    return {static_cast<float>(grid_[0]), static_cast<float>(grid_[1]), static_cast<float>(grid_[2])};
  }

 private:
  [[nodiscard]] Place place_of(std::int64_t at) const noexcept {
    return {static_cast<float>(at / (grid_[1] * grid_[2])), static_cast<float>(at / grid_[2] % grid_[1]),
            static_cast<float>(at % grid_[2])};
  }

  void make_centres() {
    for (std::int64_t c = 0; c < 2 * options_.clusters; ++c) {
      Place place{};
      for (std::size_t axis = 0; axis < 3; ++axis) {
        place[axis] = uniform_at(options_.seed, centres, static_cast<std::uint64_t>(c) * 3 + axis) *
                      static_cast<float>(grid_[axis]);
      }
      centres_.push_back(place);
    }
  }

  [[nodiscard]] std::int64_t kind_at(const Place& place) const noexcept {
    float nearest = INFINITY;
    std::size_t best = 0;
    for (std::size_t c = 0; c < centres_.size(); ++c) {
      float distance = 0.0F;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const float apart = (place[axis] - centres_[c][axis]) * (axis == 1 ? kFlat : 1.0F);
        distance += apart * apart;
      }
      if (distance < nearest) {
        nearest = distance;
        best = c;
      }
    }
    return static_cast<std::int64_t>(best) % options_.clusters;
  }

  const StructureOptions& options_;
  std::vector<std::int64_t> grid_;
  std::vector<Place> centres_;
  std::vector<Token> tokens_;
};

/// The features of tokens in one key head: what query and key share.
class Features {
 public:
  Features(const Scene& scene, const StructureOptions& options, std::int64_t kv_head, std::int64_t head_dim)
      : pairs_(head_dim / 4), codes_(head_dim - 2 * pairs_) {
    const Mixture& mixture = kMixtures[static_cast<std::size_t>(kv_head) % kMixtures.size()];
    const auto tokens = static_cast<float>(std::max<std::size_t>(scene.tokens().size(), 2));
    const float contrast = std::log(tokens) / std::log(4096.0F) * std::sqrt(static_cast<float>(head_dim));
    place_ = std::sqrt(mixture.place * contrast / static_cast<float>(pairs_));
    kind_ = std::sqrt(mixture.kind * contrast / static_cast<float>(codes_));
    const auto head = static_cast<std::uint64_t>(kv_head);
    lay_frequencies(scene.size(), options, head);
    for (std::int64_t n = 0; n < options.clusters * codes_; ++n) {
      code_.push_back(normal_at(options.seed, codes, (head << 32U) + static_cast<std::uint64_t>(n)));
    }
  }

  void add(const Token& token, float* row) const {
    for (std::int64_t p = 0; p < pairs_ && token.on_grid; ++p) {
      const float angle = frequencies_[at(p)] * token.place[axes_[at(p)]];
      row[2 * p] += place_ * std::cos(angle);
      row[2 * p + 1] += place_ * std::sin(angle);
    }
    for (std::int64_t c = 0; c < codes_; ++c) row[2 * pairs_ + c] += kind_ * code_[at(token.kind * codes_ + c)];
  }

 private:
  [[nodiscard]] static std::size_t at(std::int64_t index) noexcept { return static_cast<std::size_t>(index); }

  /// Deals the pairs out to the axes that have a length; each axis gets a geometric row of frequencies.
  void lay_frequencies(const Place& size, const StructureOptions& options, std::uint64_t head) {
    std::vector<std::size_t> used;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (size[axis] > 1.0F) used.push_back(axis);
    }
    if (used.empty()) used.push_back(2);
    const auto count = static_cast<std::int64_t>(used.size());
    for (std::int64_t p = 0; p < pairs_; ++p) {
      const std::size_t axis = used[at(p % count)];
      const std::int64_t on_axis = (pairs_ - p % count + count - 1) / count;
      const float share = static_cast<float>(p / count) / static_cast<float>(std::max<std::int64_t>(1, on_axis - 1));
      const float slowest = std::numbers::pi_v<float> / std::max(size[axis], 2.0F);
      const float jitter =
          1.0F + 0.1F * normal_at(options.seed, frequencies, (head << 32U) + static_cast<std::uint64_t>(p));
      axes_.push_back(axis);
      frequencies_.push_back(kFastest * std::pow(slowest / kFastest, share) * jitter);
    }
  }

  std::int64_t pairs_;
  std::int64_t codes_;
  float place_;
  float kind_;
  std::vector<std::size_t> axes_;
  std::vector<float> frequencies_;
  std::vector<float> code_;
};

/// The values of tokens in one key head: the kind's code and a wave over the grid.
class ValueFeatures {
 public:
  ValueFeatures(const Scene& scene, const StructureOptions& options, std::int64_t kv_head, std::int64_t value_dim)
      : width_(value_dim) {
    const std::uint64_t head = static_cast<std::uint64_t>(kv_head) << 32U;
    for (std::int64_t n = 0; n < options.clusters * value_dim; ++n) {
      code_.push_back(normal_at(options.seed, values, head + static_cast<std::uint64_t>(n)));
    }
    const Place size = scene.size();
    for (std::int64_t n = 0; n < 3 * value_dim; ++n) {
      const float turns = 6.0F * normal_at(options.seed, waves, head + static_cast<std::uint64_t>(n));
      waves_.push_back(turns / size[static_cast<std::size_t>(n % 3)]);
    }
  }

  void add(const Token& token, float* row) const {
    const float* const code = code_.data() + token.kind * width_;
    for (std::int64_t c = 0; c < width_; ++c) {
      row[c] += code[c];
      if (!token.on_grid) continue;
      const float* const w = waves_.data() + 3 * c;
      row[c] += 0.5F * std::sin(w[0] * token.place[0] + w[1] * token.place[1] + w[2] * token.place[2]);
    }
  }

 private:
  std::int64_t width_;
  std::vector<float> code_;
  std::vector<float> waves_;
};

/// Fills every row of a tensor on all threads: fill(batch, head, token, row) gets a zeroed row of head_dim floats.
template <class Fill>
void fill_rows(HostTensor& tensor, std::uint64_t seed, std::uint64_t noise_stream, float noise, const Fill& fill) {
  const TensorView& view = tensor.view();
  const std::int64_t width = view.size(-1);
  const std::int64_t tokens = view.size(-2);
  on_all_threads()(view.elements() / std::max<std::int64_t>(width, 1), [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> row(static_cast<std::size_t>(width));
    for (std::int64_t n = begin; n < end; ++n) {
      for (std::int64_t i = 0; i < width; ++i) {
        row[static_cast<std::size_t>(i)] =
            noise * normal_at(seed, noise_stream, static_cast<std::uint64_t>(n * width + i));
      }
      const std::int64_t head = n / tokens;
      fill(head / view.size(-3), head % view.size(-3), n % tokens, row.data());
      for (std::int64_t i = 0; i < width; ++i) store_element(view, n * width + i, row[static_cast<std::size_t>(i)]);
    }
  });
}

std::string grid_text(const std::vector<std::int64_t>& grid) {
  std::string text;
  for (const std::int64_t size : grid) text += (text.empty() ? "" : "x") + std::to_string(size);
  return text;
}

Expected<std::vector<std::int64_t>> grid_for(const StructureOptions& options, std::int64_t on_grid) {
  if (options.grid.empty()) return square_grid(on_grid);
  std::int64_t held = 1;
  for (const std::int64_t size : options.grid) held *= std::clamp<std::int64_t>(size, 0, 1 << 20);
  const bool right_rank = options.grid.size() == 2 || options.grid.size() == 3;
  if (!right_rank || held != on_grid) {
    return fail("the grid " + grid_text(options.grid) + " does not hold the " + std::to_string(on_grid) +
                " image tokens of the call; write height x width or frames x height x width, such as " +
                grid_text(square_grid(on_grid)));
  }
  return options.grid;
}

Expected<void> check(const AttentionCall& call, const StructureOptions& options) {
  const std::string shapes = "q" + shape_text(call.query.sizes()) + " k" + shape_text(call.key.sizes());
  if (call.query.rank != 4 || call.key.rank != 4 || call.query_tokens() != call.key_tokens()) {
    return fail("tensors with structure are made for self attention of (batch, heads, tokens, head_dim), not for " +
                shapes);
  }
  if (call.attn_mask) return fail("tensors with structure are made without a mask; leave mask= out of the call");
  if (!call.query.is_contiguous() || !call.key.is_contiguous() || !call.value.is_contiguous()) {
    return fail("tensors with structure lie contiguous; leave strides= out of the call");
  }
  if (call.head_dim() < 8 || call.query_tokens() < 1)
    return fail("tensors with structure need a head_dim of 8 or more: " + shapes);
  if (options.clusters < 1 || options.clusters > 4096) return fail("the number of clusters must be 1 to 4096");
  if (options.layout && options.layout->length != call.query_tokens()) {
    return fail("layout mismatch: the layout declares " + std::to_string(options.layout->length) +
                " tokens, the call has " + std::to_string(call.query_tokens()));
  }
  return {};
}

}  // namespace

std::vector<std::int64_t> square_grid(std::int64_t tokens) {
  std::int64_t height = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::sqrt(static_cast<double>(tokens))));
  while (height > 1 && tokens % height != 0) --height;
  return {height, tokens / height};
}

Expected<StructuredTensors> structured_tensors(const AttentionCall& call, const StructureOptions& options) {
  if (const auto checked = check(call, options); !checked) return fail(checked.error());
  std::int64_t on_grid = call.query_tokens();
  for (std::int64_t i = 0; options.layout && i < call.query_tokens(); ++i)
    on_grid -= is_text(*options.layout, i) ? 1 : 0;
  auto grid = grid_for(options, on_grid);
  if (!grid) return fail(grid.error());

  StructuredTensors made;
  made.call = call;
  made.grid = *grid;
  const Scene scene(options, *std::move(grid), call.query_tokens());
  const std::int64_t kv_heads = call.kv_heads();
  std::vector<Features> features;
  std::vector<ValueFeatures> value_features;
  for (std::int64_t h = 0; h < kv_heads; ++h) {
    features.emplace_back(scene, options, h, call.head_dim());
    value_features.emplace_back(scene, options, h, call.value_dim());
  }
  const std::int64_t group = std::max<std::int64_t>(1, call.heads() / std::max<std::int64_t>(1, kv_heads));
  const auto share = [&](std::int64_t heads_per_feature) {
    return [&, heads_per_feature](std::int64_t, std::int64_t head, std::int64_t token, float* row) {
      features[static_cast<std::size_t>(head / heads_per_feature)].add(scene.tokens()[static_cast<std::size_t>(token)],
                                                                       row);
    };
  };
  made.query = HostTensor(call.query.sizes(), call.query.dtype, call.query.device);
  made.key = HostTensor(call.key.sizes(), call.key.dtype, call.key.device);
  made.value = HostTensor(call.value.sizes(), call.value.dtype, call.value.device);
  fill_rows(made.query, options.seed, noise_of_query, kNoise, share(group));
  fill_rows(made.key, options.seed, noise_of_key, kNoise, share(1));
  fill_rows(made.value, options.seed, noise_of_value, 0.5F,
            [&](std::int64_t, std::int64_t head, std::int64_t token, float* row) {
              value_features[static_cast<std::size_t>(head)].add(scene.tokens()[static_cast<std::size_t>(token)], row);
            });
  std::vector<std::int64_t> shape(call.query.sizes().begin(), call.query.sizes().end());
  shape.back() = call.value_dim();
  made.output = HostTensor(shape, call.query.dtype, call.query.device);
  made.call.query = made.query.view();
  made.call.key = made.key.view();
  made.call.value = made.value.view();
  made.call.output = made.output.view();
  return made;
}

}  // namespace attn::app
