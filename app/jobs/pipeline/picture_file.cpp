// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/pipeline/picture_file.h"

#include "app/jobs/files/atomic_file.h"
#include "app/jobs/pipeline/png_file.h"

#include <nlohmann/json.hpp>

namespace attn::app {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kKeyword = "attnscope";
constexpr int kVersion = 1;

Json json_of(const OptionValue& value) {
  return std::visit([](const auto& held) { return Json(held); }, value);
}

Expected<OptionValue> value_of(const std::string& key, const Json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  OptionList list;
  if (!value.is_array()) return fail("setting " + key + ": a value or a list of texts is needed");
  for (const Json& one : value) {
    if (!one.is_string()) return fail("setting " + key + ": a list of texts is needed");
    list.push_back(one.get<std::string>());
  }
  return list;
}

}  // namespace

PictureSettings settings_of(const GenerationSettings& generation, std::string target, const Engine& engine) {
  PictureSettings settings{generation, std::move(target), {}};
  const OptionValues values = engine.values();
  for (const auto& [key, value] : values.all()) settings.settings.emplace_back(key, value);
  return settings;
}

Expected<void> save_picture(const std::filesystem::path& path, const Picture& picture,
                            const PictureSettings& settings) {
  Json object;
  object["version"] = kVersion;
  object["generation"] = to_json(settings.generation);
  object["target"] = settings.target;
  Json& chain = object["settings"] = Json::object();
  for (const auto& [key, value] : settings.settings) chain[key] = json_of(value);
  // Escaped to ASCII, which every reading of a tEXt chunk agrees on.
  const auto bytes = png_bytes(
      picture, {{kKeyword, object.dump(-1, ' ', true, Json::error_handler_t::replace)}, {"Software", "Attnscope"}});
  if (!bytes) return fail(path.string() + ": " + bytes.error());
  return write_atomically(path, *bytes);
}

Expected<PictureSettings> read_picture_settings(const std::filesystem::path& path) {
  const auto bytes = read_text(path);
  if (!bytes) return fail(bytes.error());
  const auto texts = read_png_texts(*bytes);
  if (!texts) return fail(path.string() + ": " + texts.error());
  const auto text = texts->find(kKeyword);
  if (text == texts->end()) {
    return fail(path.string() +
                ": holds no settings of Attnscope (its texts: " + (texts->empty() ? "none" : texts->begin()->first) +
                "); a picture that attnctl generate or the window saved does");
  }
  const Json object = Json::parse(text->second, nullptr, false);
  if (!object.is_object() || !object.contains("generation")) {
    return fail(path.string() + ": its settings are not the JSON object that Attnscope writes");
  }
  if (const auto version = object.find("version"); version == object.end() || *version != kVersion) {
    return fail(path.string() + ": its settings have another version than " + std::to_string(kVersion) +
                ", the one that this program reads");
  }
  auto generation = read_generation(object["generation"]);
  if (!generation) return fail(path.string() + ": " + generation.error());
  PictureSettings settings{*std::move(generation), "cpu", {}};
  if (const auto target = object.find("target"); target != object.end() && target->is_string()) {
    settings.target = target->get<std::string>();
  }
  if (const auto chain = object.find("settings"); chain != object.end() && chain->is_object()) {
    for (const auto& [key, value] : chain->items()) {
      auto option = value_of(key, value);
      if (!option) return fail(path.string() + ": " + option.error());
      settings.settings.emplace_back(key, *std::move(option));
    }
  }
  return settings;
}

}  // namespace attn::app
