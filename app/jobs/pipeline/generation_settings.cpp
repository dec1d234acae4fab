// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/pipeline/generation_settings.h"

#include "app/jobs/pipeline/prompt.h"

#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

namespace attn::app {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kSmallest = 64;
constexpr std::int64_t kLargest = 512;
constexpr std::int64_t kMultiple = 8;
constexpr std::int64_t kMostSteps = 1000;

template <class Value>
using Names = std::array<std::pair<std::string_view, Value>, 2>;
constexpr Names<TextForm> kTextForms{{{"padded", TextForm::padded}, {"trimmed", TextForm::trimmed}}};
constexpr Names<StepSource> kStepSources{{{"callback", StepSource::callback}, {"hook", StepSource::hook}}};
constexpr Names<HiresSettings::Upscale> kUpscales{
    {{"latent", HiresSettings::Upscale::latent}, {"image", HiresSettings::Upscale::image}}};

template <class Value>
std::string_view name_in(const Names<Value>& names, Value value) noexcept {
  return names[0].second == value ? names[0].first : names[1].first;
}

template <class Value>
std::optional<Value> value_in(const Names<Value>& names, std::string_view text) noexcept {
  for (const auto& [name, value] : names) {
    if (name == text) return value;
  }
  return std::nullopt;
}

std::string number(double value) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

Expected<void> check_side(const std::string& name, std::int64_t value) {
  if (value >= kSmallest && value <= kLargest && value % kMultiple == 0) return {};
  return fail(name + " " + std::to_string(value) + ": a multiple of 8 from 64 to 512 is needed");
}

Expected<void> check_steps(const std::string& name, std::int64_t value) {
  if (value >= 1 && value <= kMostSteps) return {};
  return fail(name + " " + std::to_string(value) + ": a whole number from 1 to 1000 is needed");
}

Expected<void> check_hires(const HiresSettings& hires, const GenerationSettings& settings) {
  if (auto good = check_side("hires width", hires.width); !good) return good;
  if (auto good = check_side("hires height", hires.height); !good) return good;
  if (auto good = check_steps("hires steps", hires.steps); !good) return good;
  if (hires.width < settings.width || hires.height < settings.height) {
    return fail("hires size " + std::to_string(hires.width) + "x" + std::to_string(hires.height) +
                ": the second pass may not be smaller than the first, which is " + std::to_string(settings.width) +
                "x" + std::to_string(settings.height));
  }
  if (!(hires.strength > 0.0 && hires.strength <= 1.0)) {
    return fail("hires strength " + number(hires.strength) + ": a number over 0, at most 1, is needed");
  }
  return {};
}

/// Reads members of one object, and keeps the first that is wrong.
class Reader {
 public:
  Reader(const Json& object, std::string prefix) : object_(object), prefix_(std::move(prefix)) {}

  void text(const char* key, std::string& into) {
    const Json* value = find(key);
    if (value == nullptr) return;
    if (value->is_string()) {
      into = value->get<std::string>();
    } else {
      wrong(key, *value, "a text");
    }
  }
  void whole(const char* key, std::int64_t& into) {
    const Json* value = find(key);
    if (value == nullptr) return;
    if (value->is_number_integer() && std::abs(value->get<double>()) < 1e9) {
      into = value->get<std::int64_t>();
    } else {
      wrong(key, *value, "a whole number");
    }
  }
  void seed(const char* key, std::uint64_t& into) {
    const Json* value = find(key);
    if (value == nullptr) return;
    if (value->is_number_unsigned()) {
      into = value->get<std::uint64_t>();
    } else {
      wrong(key, *value, "a whole number that is not negative");
    }
  }
  void real(const char* key, double& into) {
    const Json* value = find(key);
    if (value == nullptr) return;
    if (value->is_number()) {
      into = value->get<double>();
    } else {
      wrong(key, *value, "a number");
    }
  }
  void truth(const char* key, bool& into) {
    const Json* value = find(key);
    if (value == nullptr) return;
    if (value->is_boolean()) {
      into = value->get<bool>();
    } else {
      wrong(key, *value, "true or false");
    }
  }
  template <class Value, class Parse>
  void choice(const char* key, Value& into, Parse parse, const char* right) {
    const Json* value = find(key);
    if (value == nullptr) return;
    const auto parsed = value->is_string() ? parse(value->get_ref<const std::string&>()) : std::optional<Value>();
    if (parsed) {
      into = *parsed;
    } else {
      wrong(key, *value, right);
    }
  }
  [[nodiscard]] const Json* find(const char* key) const {
    const auto at = object_.find(key);
    return at == object_.end() ? nullptr : &*at;
  }
  [[nodiscard]] const std::string& error() const noexcept { return error_; }

 private:
  void wrong(const char* key, const Json& value, const std::string& right) {
    if (!error_.empty()) return;
    const bool plain = value.is_primitive();
    error_ = prefix_ + key + (plain ? " " + value.dump() : "") + ": " + right + " is needed";
  }
  const Json& object_;
  std::string prefix_;
  std::string error_;
};

std::optional<DType> attention_dtype(std::string_view text) noexcept {
  const auto dtype = parse_dtype(text);
  const bool fits = dtype == DType::float32 || dtype == DType::float16 || dtype == DType::bfloat16;
  return fits ? dtype : std::nullopt;
}

}  // namespace

std::string_view name_of(TextForm form) noexcept { return name_in(kTextForms, form); }
std::string_view name_of(StepSource source) noexcept { return name_in(kStepSources, source); }
std::string_view name_of(HiresSettings::Upscale upscale) noexcept { return name_in(kUpscales, upscale); }
std::optional<TextForm> parse_text_form(std::string_view text) noexcept { return value_in(kTextForms, text); }
std::optional<StepSource> parse_step_source(std::string_view text) noexcept { return value_in(kStepSources, text); }
std::optional<HiresSettings::Upscale> parse_upscale(std::string_view text) noexcept {
  return value_in(kUpscales, text);
}

Expected<void> check_settings(const GenerationSettings& settings, const ShapesConfig& config) {
  if (auto good = check_side("width", settings.width); !good) return good;
  if (auto good = check_side("height", settings.height); !good) return good;
  if (auto good = check_steps("steps", settings.steps); !good) return good;
  if (!(settings.guidance >= 1.0 && settings.guidance <= 30.0)) {
    return fail("guidance " + number(settings.guidance) + ": a number from 1 to 30 is needed");
  }
  if (!attention_dtype(attn::name_of(settings.dtype))) {
    return fail("dtype " + std::string(attn::name_of(settings.dtype)) +
                ": one of float32, float16, bfloat16 is needed");
  }
  if (settings.hires) {
    if (auto good = check_hires(*settings.hires, settings); !good) return good;
  }
  if (auto prompt = tokenize(settings.prompt, config); !prompt) return fail("prompt: " + prompt.error());
  if (auto prompt = tokenize(settings.negative_prompt, config); !prompt) {
    return fail("negative prompt: " + prompt.error());
  }
  return {};
}

Json to_json(const GenerationSettings& settings) {
  Json object;
  object["prompt"] = settings.prompt;
  object["negative_prompt"] = settings.negative_prompt;
  object["seed"] = settings.seed;
  object["width"] = settings.width;
  object["height"] = settings.height;
  object["steps"] = settings.steps;
  object["guidance"] = settings.guidance;
  object["hires"] = nullptr;
  if (settings.hires) {
    object["hires"] = {{"width", settings.hires->width},
                       {"height", settings.hires->height},
                       {"steps", settings.hires->steps},
                       {"strength", settings.hires->strength},
                       {"upscale", name_of(settings.hires->upscale)}};
  }
  object["dtype"] = attn::name_of(settings.dtype);
  object["text"] = name_of(settings.text);
  object["step_source"] = name_of(settings.step_source);
  object["compiled"] = settings.compiled;
  return object;
}

Expected<GenerationSettings> read_generation(const Json& object) {
  if (!object.is_object()) return fail("generation: an object is needed");
  GenerationSettings settings;
  Reader reader(object, "");
  reader.text("prompt", settings.prompt);
  reader.text("negative_prompt", settings.negative_prompt);
  reader.seed("seed", settings.seed);
  reader.whole("width", settings.width);
  reader.whole("height", settings.height);
  reader.whole("steps", settings.steps);
  reader.real("guidance", settings.guidance);
  reader.choice("dtype", settings.dtype, attention_dtype, "one of float32, float16, bfloat16");
  reader.choice("text", settings.text, parse_text_form, "padded or trimmed");
  reader.choice("step_source", settings.step_source, parse_step_source, "callback or hook");
  reader.truth("compiled", settings.compiled);
  if (!reader.error().empty()) return fail(reader.error());
  const Json* hires = reader.find("hires");
  if (hires == nullptr || hires->is_null()) return settings;
  if (!hires->is_object()) return fail("hires: an object or null is needed");
  settings.hires.emplace();
  Reader second(*hires, "hires ");
  second.whole("width", settings.hires->width);
  second.whole("height", settings.hires->height);
  second.whole("steps", settings.hires->steps);
  second.real("strength", settings.hires->strength);
  second.choice("upscale", settings.hires->upscale, parse_upscale, "latent or image");
  if (!second.error().empty()) return fail(second.error());
  return settings;
}

}  // namespace attn::app
