// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/pipeline/config.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

namespace attn::app {
namespace {

using Json = nlohmann::json;

/// Takes values out of an object and keeps the first thing that is wrong.
class Reader {
 public:
  explicit Reader(const Json& object) : object_(object) {}

  void text(const char* key, std::string& into) {
    const Json* value = find(key);
    if (value == nullptr) return;
    if (!value->is_string() || value->get_ref<const std::string&>().empty()) return wrong(key, "a text");
    into = value->get<std::string>();
  }
  void whole(const char* key, std::int64_t& into, std::int64_t least, std::int64_t most) {
    const Json* value = find(key);
    if (value == nullptr) return;
    if (!is_whole(*value, least, most)) {
      return wrong(key, "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    }
    into = value->get<std::int64_t>();
  }
  void positive(const char* key, double& into) {
    const Json* value = find(key);
    if (value == nullptr) return;
    if (!value->is_number() || !(value->get<double>() > 0.0) || !(value->get<double>() < 1e6)) {
      return wrong(key, "a number over 0");
    }
    into = value->get<double>();
  }
  void words(const char* key, std::vector<std::string>& into) {
    const Json* value = find(key);
    if (value == nullptr) return;
    const bool texts = value->is_array() && value->size() >= 3 && value->size() <= 100'000 &&
                       std::all_of(value->begin(), value->end(), [](const Json& one) { return one.is_string(); });
    if (!texts) return wrong(key, "a list of three words or more");
    into = value->get<std::vector<std::string>>();
    if (std::set<std::string>(into.begin(), into.end()).size() != into.size()) wrong(key, "a list without repetitions");
  }
  void numbers(const char* key, std::vector<double>& into, std::int64_t count) {
    const Json* value = find(key);
    if (value == nullptr) return;
    const bool good = value->is_array() && static_cast<std::int64_t>(value->size()) == count &&
                      std::all_of(value->begin(), value->end(),
                                  [](const Json& one) { return one.is_number() && std::isfinite(one.get<double>()); });
    if (!good) return wrong(key, "a list of " + std::to_string(count) + " numbers");
    into = value->get<std::vector<double>>();
  }
  void widths(const char* key, std::array<std::int64_t, 3>& into) {
    const Json* value = find(key);
    if (value == nullptr) return;
    const bool good = value->is_array() && value->size() == into.size() &&
                      std::all_of(value->begin(), value->end(), [](const Json& one) { return is_whole(one, 1, 4096); });
    if (!good) return wrong(key, "a list of three whole numbers from 1 to 4096");
    into = value->get<std::array<std::int64_t, 3>>();
  }
  void demand(bool holds, const char* key, const std::string& right) {
    if (!holds) wrong(key, right);
  }
  [[nodiscard]] const std::string& error() const noexcept { return error_; }

 private:
  static bool is_whole(const Json& value, std::int64_t least, std::int64_t most) {
    return value.is_number_integer() && value.get<std::int64_t>() >= least && value.get<std::int64_t>() <= most;
  }
  const Json* find(const char* key) {
    const auto at = object_.find(key);
    if (at != object_.end()) return &*at;
    if (error_.empty()) error_ = std::string("the key ") + key + " is missing";
    return nullptr;
  }
  void wrong(const char* key, const std::string& right) {
    if (error_.empty()) error_ = std::string(key) + " is not what the model needs: " + right;
  }

  const Json& object_;
  std::string error_;
};

void read_sizes(Reader& reader, ShapesConfig& config) {
  constexpr std::int64_t kWidest = 4096;
  reader.whole("text_length", config.text_length, 1, kWidest);
  reader.whole("text_width", config.text_width, 1, kWidest);
  reader.whole("text_heads", config.text_heads, 1, 64);
  reader.whole("text_blocks", config.text_blocks, 1, 64);
  reader.whole("width", config.width, 1, kWidest);
  reader.whole("heads", config.heads, 1, 64);
  reader.whole("blocks", config.blocks, 1, 64);
  reader.whole("time_features", config.time_features, 2, kWidest);
  reader.whole("position_frequencies", config.position_frequencies, 1, 32);
  reader.whole("latent_channels", config.latent_channels, 1, 64);
  reader.whole("latent_factor", config.latent_factor, 4, 4);
  reader.widths("vae_widths", config.vae_widths);
  reader.whole("vae_groups", config.vae_groups, 1, kWidest);
}

/// Sizes that have to divide one another. Asked for after all of them were read.
void check_sizes(Reader& reader, const ShapesConfig& config) {
  if (!reader.error().empty()) return;
  reader.demand(config.text_width % config.text_heads == 0, "text_heads", "it has to divide text_width");
  reader.demand(config.width % config.heads == 0, "heads", "it has to divide width");
  if (!reader.error().empty()) return;
  reader.demand(config.head_dim() % 4 == 0, "heads",
                "width / heads has to be a multiple of 4 for positions in two dimensions");
  reader.demand(config.time_features % 2 == 0, "time_features", "it has to be even");
  for (const std::int64_t width : config.vae_widths) {
    reader.demand(width % config.vae_groups == 0, "vae_groups", "it has to divide every one of vae_widths");
  }
  // Built from the sizes alone, so a wrong file must not ask for all of the memory.
  const double weights = 24.0 * static_cast<double>(config.width * config.width * config.blocks) +
                         12.0 * static_cast<double>(config.text_width * config.text_width * config.text_blocks);
  reader.demand(weights < 2e8, "width", "a model of at most 200 million weights");
  for (const double std : config.latent_std) reader.demand(std > 0.0, "latent_std", "numbers over 0");
}

}  // namespace

Expected<ShapesConfig> ShapesConfig::parse(std::string_view text, std::string_view file_name) {
  const std::string where(file_name);
  const Json object = Json::parse(text, nullptr, false);
  if (object.is_discarded() || !object.is_object()) return fail(where + ": is not a JSON object");
  ShapesConfig config;
  Reader reader(object);
  reader.text("pipeline_class", config.pipeline_class);
  reader.text("transformer_class", config.transformer_class);
  reader.words("vocabulary", config.vocabulary);
  const auto last_word = static_cast<std::int64_t>(config.vocabulary.size()) - 1;
  reader.whole("pad_id", config.pad_id, 0, last_word);
  reader.whole("unknown_id", config.unknown_id, 0, last_word);
  reader.whole("start_id", config.start_id, 0, last_word);
  read_sizes(reader, config);
  reader.positive("rope_extent", config.rope_extent);
  reader.positive("rope_theta", config.rope_theta);
  reader.numbers("latent_mean", config.latent_mean, config.latent_channels);
  reader.numbers("latent_std", config.latent_std, config.latent_channels);
  reader.positive("shift_base", config.shift_base);
  reader.whole("shift_tokens", config.shift_tokens, 1, 1'000'000);
  reader.whole("default_steps", config.default_steps, 1, 1000);
  reader.positive("default_guidance", config.default_guidance);
  check_sizes(reader, config);
  if (!reader.error().empty()) return fail(where + ": " + reader.error());
  return config;
}

}  // namespace attn::app
