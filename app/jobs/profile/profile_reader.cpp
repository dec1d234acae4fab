// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/nearest.h"
#include "app/jobs/profile/profile_data.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

namespace attn::app {
namespace {

using Json = nlohmann::ordered_json;

/// Thrown inside this file only; ProfileLibrary::parse catches it.
struct Wrong {
  std::string sentence;
};

std::string type_words(const Json& value) { return std::string(value.type_name()); }

/// An object of the file together with the words that say where it is.
class Node {
 public:
  Node(const Json& value, std::string where) : value_(value), where_(std::move(where)) {
    if (!value_.is_object()) throw Wrong{where_ + ": needs an object, not " + type_words(value_)};
  }

  [[noreturn]] void refuse(std::string_view field, const std::string& words) const {
    throw Wrong{where_ + ": field " + std::string(field) + " " + words};
  }
  [[nodiscard]] const std::string& where() const noexcept { return where_; }
  [[nodiscard]] const Json& raw() const noexcept { return value_; }
  [[nodiscard]] bool has(std::string_view field) const { return value_.contains(field); }

  [[nodiscard]] const Json& at(std::string_view field) const {
    const auto found = value_.find(field);
    if (found == value_.end()) refuse(field, "is missing");
    return *found;
  }
  [[nodiscard]] std::string text(std::string_view field) const {
    const Json& value = at(field);
    if (!value.is_string() || value.get_ref<const std::string&>().empty()) refuse(field, "must be a text");
    return value.get<std::string>();
  }
  [[nodiscard]] bool truth(std::string_view field) const {
    const Json& value = at(field);
    if (!value.is_boolean()) refuse(field, "must be true or false");
    return value.get<bool>();
  }
  [[nodiscard]] double number(std::string_view field) const {
    const Json& value = at(field);
    if (!value.is_number()) refuse(field, "must be a number");
    return value.get<double>();
  }
  [[nodiscard]] std::int64_t count(std::string_view field) const {
    const Json& value = at(field);
    if (!value.is_number_integer() || value.get<std::int64_t>() < 1 || value.get<std::int64_t>() > 1'000'000) {
      refuse(field, "must be a whole number from 1 to 1000000");
    }
    return value.get<std::int64_t>();
  }
  [[nodiscard]] const Json& list(std::string_view field) const {
    const Json& value = at(field);
    if (!value.is_array()) refuse(field, "must be a list");
    return value;
  }
  [[nodiscard]] std::vector<std::string> texts(std::string_view field) const {
    std::vector<std::string> texts;
    for (const Json& item : list(field)) {
      if (!item.is_string()) refuse(field, "must be a list of texts");
      texts.push_back(item.get<std::string>());
    }
    return texts;
  }
  [[nodiscard]] std::string one_of(std::string_view field, std::initializer_list<std::string_view> choices) const {
    std::string value = text(field);
    if (std::find(choices.begin(), choices.end(), value) == choices.end()) {
      refuse(field, "is \"" + value + "\"; it must be one of " +
                        joined(std::vector<std::string>(choices.begin(), choices.end())));
    }
    return value;
  }
  void only(std::initializer_list<std::string_view> known) const {
    for (const auto& [name, ignored] : value_.items()) {
      if (std::find(known.begin(), known.end(), name) == known.end()) refuse(name, "is not one that a profile has");
    }
  }

 private:
  const Json& value_;
  std::string where_;
};

Expression expression_of(const Node& node, std::string_view field, const Json& value,
                         const std::set<std::string>& names) {
  if (!value.is_string() && !value.is_number_unsigned()) node.refuse(field, "must be an expression");
  auto parsed = Expression::parse(value.is_string() ? value.get<std::string>() : value.dump());
  if (!parsed) node.refuse(field, "is wrong: " + parsed.error());
  for (const std::string& name : parsed->names()) {
    if (!names.contains(name)) {
      node.refuse(field, "uses the name " + name + ", which is neither an input nor a value defined before it");
    }
  }
  return *std::move(parsed);
}

}  // namespace

/// Reads one model.
class ProfileReader {
 public:
  using Data = Profile::Data;

  static Profile read(const Json& json, const std::string& file, std::size_t index,
                      const std::map<std::string, std::string>& input_help) {
    const Node unnamed(json, file + ": model number " + std::to_string(index + 1));
    const std::string id = unnamed.text("id");
    const Node model(json, file + ": model " + id);
    model.only({"id", "name", "medium", "repo", "sdnext_type", "pipeline", "inputs", "guidance", "values", "components",
                "checks", "confidence", "sources", "notes"});
    Profile profile;
    profile.id_ = id;
    profile.name_ = model.text("name");
    profile.medium_ = model.text("medium");
    profile.repo_ = model.text("repo");
    profile.pipeline_ = model.text("pipeline");
    profile.notes_ = model.texts("notes");
    profile.guidance_ = Node(model.at("guidance"), model.where() + ": guidance").text("mode");
    profile.confidence_ =
        Node(model.at("confidence"), model.where() + ": confidence").one_of("overall", {"high", "medium", "low"});
    if (!model.at("sdnext_type").is_null()) profile.architecture_ = model.text("sdnext_type");

    std::set<std::string> names;
    read_inputs(model, input_help, profile.defaults_, names);
    Data data;
    read_values(model, data, names);
    std::set<std::string> slots;
    for (const Json& item : model.list("components")) data.components.push_back(component(item, model, names, slots));
    profile.data_ = std::make_shared<const Data>(std::move(data));
    if (auto calls = profile.calls({}); !calls) throw Wrong{file + ": " + calls.error()};
    return profile;
  }

 private:
  static void read_inputs(const Node& model, const std::map<std::string, std::string>& input_help,
                          ProfileInputs& defaults, std::set<std::string>& names) {
    const Node inputs(model.at("inputs"), model.where() + ": inputs");
    for (const std::string_view always :
         {"height", "width", "frames", "steps", "cfg", "batch", "prompt_tokens", "negative_tokens"}) {
      defaults[std::string(always)] = inputs.number(always);
    }
    for (const auto& [name, ignored] : inputs.raw().items()) {
      if (!input_help.contains(name)) inputs.refuse(name, "is not described in input_names");
      defaults[name] = inputs.number(name);
      names.insert(name);
    }
  }

  static void read_values(const Node& model, Data& data, std::set<std::string>& names) {
    for (const Json& item : model.list("values")) {
      const std::string name = Node(item, model.where() + ": values").text("name");
      const Node value(item, model.where() + ": value " + name);
      value.only({"name", "value", "about"});
      data.values.push_back({name, expression_of(value, "value", value.at("value"), names)});
      if (!names.insert(name).second) value.refuse("name", "is taken already");
    }
  }

  static Data::Component component(const Json& json, const Node& model, const std::set<std::string>& names,
                                   std::set<std::string>& slots) {
    Data::Component component;
    component.slot = Node(json, model.where() + ": components").text("slot");
    const Node node(json, model.where() + ": component " + component.slot);
    if (!slots.insert(component.slot).second) node.refuse("slot", "is taken already");
    node.only({"slot", "class", "role", "dtype", "passes", "attention", "confidence", "note"});
    component.type = node.text("class");
    component.role = node.one_of("role", {"text_encoder", "connector", "denoiser", "vae_decoder"});
    component.dtype = node.text("dtype");
    // A name that any pass sets may be used by the entries only where every pass sets it.
    std::optional<std::set<std::string>> in_every_pass;
    for (const Json& item : node.list("passes")) {
      std::set<std::string> scope = names;
      component.passes.push_back(pass(item, node, scope));
      if (!in_every_pass) in_every_pass = scope;
      std::erase_if(*in_every_pass, [&scope](const std::string& name) { return !scope.contains(name); });
    }
    if (component.passes.empty()) node.refuse("passes", "is empty");
    for (const Json& item : node.list("attention")) component.entries.push_back(entry(item, node, *in_every_pass));
    return component;
  }

  static Data::Pass pass(const Json& json, const Node& component, std::set<std::string>& scope) {
    Data::Pass pass;
    pass.name = Node(json, component.where() + ": passes").text("name");
    const Node node(json, component.where() + ": pass " + pass.name);
    node.only({"name", "runs", "batch", "set"});
    if (node.has("set")) {
      const Node set(node.at("set"), node.where() + ": set");
      for (const auto& [name, value] : set.raw().items()) {
        pass.set.push_back({name, expression_of(set, name, value, scope)});
        scope.insert(name);
      }
    }
    pass.runs = expression_of(node, "runs", node.at("runs"), scope);
    pass.batch = expression_of(node, "batch", node.at("batch"), scope);
    return pass;
  }

  static Data::Entry entry(const Json& json, const Node& component, const std::set<std::string>& names) {
    Data::Entry entry;
    const Node anonymous(json, component.where());
    entry.where = anonymous.text("where");
    // Messages name the component and the field; the module path is added where several entries have the field.
    const Node node(json, component.where());
    node.only({"where", "kind", "calls", "heads", "kv_heads", "head_dim", "q", "kv", "q_streams", "kv_streams", "mask",
               "causal", "sdpa", "scale", "batch", "model_kv_heads", "note"});
    entry.kind = node.one_of("kind", {"self", "cross", "joint", "pool"});
    entry.calls = expression_of(node, "calls", node.at("calls"), names);
    entry.heads = node.count("heads");
    entry.kv_heads = node.count("kv_heads");
    if (entry.heads % entry.kv_heads != 0) {
      node.refuse("heads", "is " + std::to_string(entry.heads) + " at " + entry.where +
                               ", which is no multiple of its kv_heads, " + std::to_string(entry.kv_heads));
    }
    entry.head_dim = node.count("head_dim");
    entry.query = expression_of(node, "q", node.at("q"), names);
    entry.key = expression_of(node, "kv", node.at("kv"), names);
    entry.query_streams = node.texts("q_streams");
    entry.key_streams = node.texts("kv_streams");
    entry.causal = node.truth("causal");
    entry.sdpa = node.truth("sdpa");
    if (node.has("scale")) entry.scale = node.number("scale");
    if (node.has("batch")) entry.batch = expression_of(node, "batch", node.at("batch"), names);
    if (!node.at("mask").is_null()) entry.mask = mask(node, entry.where, names);
    return entry;
  }

  static Data::Mask mask(const Node& entry, const std::string& where, const std::set<std::string>& names) {
    const Node node(entry.at("mask"), entry.where() + ": mask of " + where);
    node.only({"dtype", "shape", "if", "about"});
    Data::Mask mask;
    mask.dtype = node.one_of("dtype", {"bool", "same as q"});
    mask.present = expression_of(node, "if", node.at("if"), names);
    for (const Json& size : node.list("shape")) mask.shape.push_back(expression_of(node, "shape", size, names));
    if (mask.shape.empty() || mask.shape.size() > 5) node.refuse("shape", "must have 1 to 5 sizes");
    return mask;
  }
};

Expected<ProfileLibrary> ProfileLibrary::parse(std::string_view text, std::string_view file_name) {
  const std::string file(file_name);
  try {
    const Json json = Json::parse(text.begin(), text.end());
    const Node top(json, file);
    if (top.text("format") != "attention-profiles") top.refuse("format", "must be \"attention-profiles\"");
    if (top.at("version") != 1) top.refuse("version", "is " + top.at("version").dump() + "; this program reads 1");
    ProfileLibrary library;
    const Node help(top.at("input_names"), file + ": input_names");
    for (const auto& [name, ignored] : help.raw().items()) library.input_help_[name] = help.text(name);
    std::set<std::string> ids;
    for (const Json& model : top.list("models")) {
      library.profiles_.push_back(ProfileReader::read(model, file, library.profiles_.size(), library.input_help_));
      const std::string& id = library.profiles_.back().id();
      if (!ids.insert(id).second) return fail(file + ": model " + id + ": field id is taken by an earlier model");
    }
    return library;
  } catch (const Wrong& wrong) {
    return fail(wrong.sentence);
  } catch (const nlohmann::json::parse_error& error) {
    const std::string_view before = text.substr(0, std::min(error.byte, text.size()));
    return fail(file + ": line " + std::to_string(1 + std::count(before.begin(), before.end(), '\n')) +
                ": the text is not JSON from here on");
  }
}

}  // namespace attn::app
