// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/workspace/workspace_text.h"

#include "core/exchange/json_text.h"
#include "core/exchange/json_value.h"
#include "ui/format/format.h"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace attn::ui {

namespace {

constexpr int kVersion = 1;
constexpr std::string_view kMark = "attnscope";
constexpr std::string_view kBase64 = "base64:";

using Words = std::span<const std::string_view>;
constexpr std::array<std::string_view, 4> kWorks{"planned", "representatives", "all", "compiled"};
constexpr std::array<std::string_view, 4> kStates{"running", "finished", "stopped", "failed"};

// --- writing

std::string number(double value) {
  std::array<char, 32> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  return {digits.data(), error == std::errc{} ? end : digits.data()};
}

std::string text_json(const QString& text) { return json_string(utf8_of(text)); }
std::string bytes_json(const QByteArray& bytes) { return json_string(bytes.toBase64().toStdString()); }
std::string flag_json(bool on) { return on ? "true" : "false"; }

std::string list_json(const QStringList& list) {
  std::string text;
  for (const QString& item : list) text += (text.empty() ? "" : ", ") + text_json(item);
  return "[" + text + "]";
}

/// Members of an object, indented.
class Object {
 public:
  explicit Object(int depth) : indent_(static_cast<std::size_t>(depth) * 2, ' ') {}
  void add(std::string_view key, const std::string& json) {
    text_ += (text_.empty() ? "\n" : ",\n") + indent_ + "  " + json_string(key) + ": " + json;
  }
  [[nodiscard]] std::string text() const { return text_.empty() ? "{}" : "{" + text_ + "\n" + indent_ + "}"; }

 private:
  std::string indent_;
  std::string text_;
};

std::string picture_json(const PictureRequest& picture) {
  Object out(2);
  out.add("prompt", text_json(picture.prompt));
  out.add("negative_prompt", text_json(picture.negative_prompt));
  out.add("seed", json_string(std::to_string(picture.seed)));
  out.add("width", std::to_string(picture.width));
  out.add("height", std::to_string(picture.height));
  out.add("steps", std::to_string(picture.steps));
  out.add("guidance", number(picture.guidance));
  out.add("dtype", json_string(name_of(picture.dtype)));
  out.add("trimmed_text", flag_json(picture.trimmed_text));
  out.add("step_hook", flag_json(picture.step_hook));
  out.add("compiled", flag_json(picture.compiled));
  if (picture.second) {
    Object second(3);
    second.add("width", std::to_string(picture.second->width));
    second.add("height", std::to_string(picture.second->height));
    second.add("steps", std::to_string(picture.second->steps));
    second.add("strength", number(picture.second->strength));
    second.add("through_image", flag_json(picture.second->through_image));
    out.add("second", second.text());
  }
  return out.text();
}

std::string workload_json(const RunRequest& request) {
  Object inputs(2);
  for (const auto& [key, value] : request.inputs) inputs.add(utf8_of(key), number(value));
  Object out(1);
  out.add("model", text_json(request.model));
  out.add("work", json_string(kWorks[static_cast<std::size_t>(request.work)]));
  out.add("inputs", inputs.text());
  if (request.picture) out.add("picture", picture_json(*request.picture));
  return out.text();
}

std::string layout_json(const LayoutState& layout) {
  Object out(1);
  out.add("geometry", bytes_json(layout.geometry));
  out.add("docks", bytes_json(layout.docks));
  out.add("center", bytes_json(layout.center));
  out.add("chart", std::to_string(layout.chart));
  out.add("side", std::to_string(layout.side));
  return out.text();
}

std::string value_json(const QVariant& value) {
  switch (value.typeId()) {
    case QMetaType::Bool:
      return flag_json(value.toBool());
    case QMetaType::QByteArray:
      return json_string(std::string(kBase64) + value.toByteArray().toBase64().toStdString());
    case QMetaType::QStringList:
      return list_json(value.toStringList());
    case QMetaType::QString:
      return text_json(value.toString());
    default:
      return number(value.toDouble());
  }
}

std::string view_json(const std::map<QString, QVariant>& view) {
  Object out(1);
  for (const auto& [key, value] : view) out.add(utf8_of(key), value_json(value));
  return out.text();
}

std::string run_json(const RunContext& run) {
  Object out(1);
  out.add("state", json_string(kStates[static_cast<std::size_t>(run.state)]));
  out.add("model", text_json(run.model));
  out.add("work", json_string(kWorks[static_cast<std::size_t>(run.work)]));
  out.add("calls_done", std::to_string(run.calls_done));
  out.add("calls_total", std::to_string(run.calls_total));
  out.add("step", std::to_string(run.step));
  out.add("steps", std::to_string(run.steps));
  return out.text();
}

void add_content(Object& out, const Workspace& workspace) {
  out.add("target", text_json(workspace.target));
  // The profile keeps its own indents; a reader does not mind.
  std::string profile = utf8_of(workspace.profile.trimmed());
  out.add("profile", profile.empty() ? "{}" : profile);
  out.add("required", list_json(workspace.required));
  out.add("workload", workload_json(workspace.workload));
  out.add("filter", text_json(workspace.filter));
}

// --- reading

/// The members of one object, each taken once; the first that is wrong is remembered.
class Members {
 public:
  Members(const JsonValue& json, std::string path, std::string& error)
      : json_(json), path_(std::move(path)), error_(error) {
    if (!json.is(JsonValue::Type::object)) wrong("", json, "an object");
  }

  [[nodiscard]] const JsonValue* take(std::string_view key, bool needed = false) {
    known_.emplace_back(key);
    const JsonValue* value = json_.find(key);
    if (value == nullptr && needed) say("the workspace lacks " + where(key));
    return value;
  }
  QString text(std::string_view key, bool needed = false) {
    const JsonValue* value = take(key, needed);
    if (value == nullptr) return {};
    if (!value->text()) wrong(key, *value, "a text");
    return text_of(value->text().value_or(""));
  }
  bool flag(std::string_view key, bool fallback) {
    const JsonValue* value = take(key);
    if (value == nullptr) return fallback;
    if (!value->boolean()) wrong(key, *value, "true or false");
    return value->boolean().value_or(fallback);
  }
  double real(std::string_view key, double fallback) {
    const JsonValue* value = take(key);
    if (value == nullptr) return fallback;
    if (!value->number()) wrong(key, *value, "a number");
    return value->number().value_or(fallback);
  }
  qint64 whole(std::string_view key, qint64 fallback, qint64 least, qint64 most) {
    const JsonValue* value = take(key);
    if (value == nullptr) return fallback;
    const double got = value->number().value_or(std::nan(""));
    if (!(got >= static_cast<double>(least) && got <= static_cast<double>(most)) || got != std::floor(got)) {
      wrong(key, *value, "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
      return fallback;
    }
    return static_cast<qint64>(got);
  }
  std::size_t choice(std::string_view key, Words words) {
    const JsonValue* value = take(key);
    if (value == nullptr) return 0;
    const std::string got = value->text().value_or("");
    std::string all;
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (words[i] == got) return i;
      all += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + std::string(words[i]);
    }
    wrong(key, *value, all);
    return 0;
  }
  QByteArray bytes(std::string_view key) {
    const JsonValue* value = take(key);
    if (value == nullptr) return {};
    const auto got = QByteArray::fromBase64Encoding(QByteArray::fromStdString(value->text().value_or("")),
                                                    QByteArray::AbortOnBase64DecodingErrors);
    if (!value->text() || !got) wrong(key, *value, "Base64");
    return *got;
  }
  QStringList texts(std::string_view key) {
    const JsonValue* value = take(key);
    if (value == nullptr) return {};
    QStringList list;
    bool right = value->is(JsonValue::Type::array);
    for (const JsonValue& item : value->items()) {
      right = right && item.text().has_value();
      list << text_of(item.text().value_or(""));
    }
    if (!right) wrong(key, *value, "a list of texts");
    return list;
  }
  /// What nobody took is not known.
  void end() {
    for (const auto& [key, value] : json_.members()) {
      const bool known = std::find(known_.begin(), known_.end(), key) != known_.end();
      if (!known) say(where(key) + " is not known in version " + std::to_string(kVersion) + " of a workspace");
    }
  }
  void wrong(std::string_view key, const JsonValue& value, const std::string& right) {
    constexpr std::size_t kReadable = 40;
    std::string got = value.raw();
    if (got.size() > kReadable || value.is(JsonValue::Type::object)) got = std::string(value.kind());
    say(where(key) + " is " + got + "; it takes " + right);
  }
  [[nodiscard]] std::string where(std::string_view key) const {
    if (path_.empty()) return std::string(key);
    return key.empty() ? path_ : path_ + "." + std::string(key);
  }

 private:
  void say(const std::string& sentence) {
    if (error_.empty()) error_ = sentence;
  }

  const JsonValue& json_;
  std::string path_;
  std::string& error_;
  std::vector<std::string> known_;
};

constexpr int kMostPixels = 1 << 20;
constexpr int kMostSteps = 1 << 20;

PictureRequest picture_of(const JsonValue& json, std::string& error) {
  Members in(json, "workload.picture", error);
  PictureRequest out;
  out.prompt = in.text("prompt");
  out.negative_prompt = in.text("negative_prompt");
  if (const JsonValue* seed = in.take("seed")) {
    bool right = false;
    out.seed = text_of(seed->text().value_or("")).toULongLong(&right);
    if (!right) in.wrong("seed", *seed, "a whole number from 0 in quotes");
  }
  out.width = static_cast<int>(in.whole("width", out.width, 1, kMostPixels));
  out.height = static_cast<int>(in.whole("height", out.height, 1, kMostPixels));
  out.steps = static_cast<int>(in.whole("steps", out.steps, 1, kMostSteps));
  out.guidance = in.real("guidance", out.guidance);
  if (const JsonValue* dtype = in.take("dtype")) {
    const auto known = parse_dtype(dtype->text().value_or(""));
    if (!known) in.wrong("dtype", *dtype, "float32, float16 or bfloat16");
    out.dtype = known.value_or(out.dtype);
  }
  out.trimmed_text = in.flag("trimmed_text", out.trimmed_text);
  out.step_hook = in.flag("step_hook", out.step_hook);
  out.compiled = in.flag("compiled", out.compiled);
  if (const JsonValue* second = in.take("second")) {
    Members pass(*second, "workload.picture.second", error);
    SecondPass& made = out.second.emplace();
    made.width = static_cast<int>(pass.whole("width", made.width, 1, kMostPixels));
    made.height = static_cast<int>(pass.whole("height", made.height, 1, kMostPixels));
    made.steps = static_cast<int>(pass.whole("steps", made.steps, 1, kMostSteps));
    made.strength = pass.real("strength", made.strength);
    made.through_image = pass.flag("through_image", made.through_image);
    pass.end();
  }
  in.end();
  return out;
}

RunRequest workload_of(const JsonValue& json, std::string& error) {
  Members in(json, "workload", error);
  RunRequest out;
  out.model = in.text("model", true);
  out.work = static_cast<Work>(in.choice("work", kWorks));
  if (const JsonValue* inputs = in.take("inputs")) {
    Members each(*inputs, "workload.inputs", error);
    for (const auto& [key, value] : inputs->members()) out.inputs[text_of(key)] = each.real(key, 0.0);
  }
  if (const JsonValue* picture = in.take("picture")) out.picture = picture_of(*picture, error);
  in.end();
  return out;
}

LayoutState layout_of(const JsonValue& json, std::string& error) {
  Members in(json, "layout", error);
  constexpr int kMostTabs = 100;
  LayoutState out;
  out.geometry = in.bytes("geometry");
  out.docks = in.bytes("docks");
  out.center = in.bytes("center");
  out.chart = static_cast<int>(in.whole("chart", 0, 0, kMostTabs));
  out.side = static_cast<int>(in.whole("side", 0, 0, kMostTabs));
  in.end();
  return out;
}

std::map<QString, QVariant> view_of(const JsonValue& json, std::string& error) {
  Members in(json, "view", error);
  std::map<QString, QVariant> out;
  for (const auto& [key, value] : json.members()) {
    QVariant& kept = out[text_of(key)];
    if (value.boolean()) {
      kept = *value.boolean();
    } else if (value.number()) {
      kept = *value.number();
    } else if (value.is(JsonValue::Type::array)) {
      kept = in.texts(key);
    } else if (value.text()) {
      const std::string text = *value.text();
      kept = text.starts_with(kBase64)
                 ? QVariant(QByteArray::fromBase64(QByteArray::fromStdString(text.substr(kBase64.size()))))
                 : QVariant(text_of(text));
    } else {
      in.wrong(key, value, "true or false, a number, a text or a list of texts");
    }
  }
  return out;
}

RunContext run_of(const JsonValue& json, std::string& error) {
  constexpr qint64 kMostCalls = qint64{1} << 53;
  Members in(json, "run", error);
  RunContext out;
  out.state = static_cast<RunContext::State>(in.choice("state", kStates));
  out.model = in.text("model", true);
  out.work = static_cast<Work>(in.choice("work", kWorks));
  out.calls_done = in.whole("calls_done", 0, 0, kMostCalls);
  out.calls_total = in.whole("calls_total", 0, 0, kMostCalls);
  out.step = static_cast<int>(in.whole("step", 0, 0, kMostSteps));
  out.steps = static_cast<int>(in.whole("steps", 0, 0, kMostSteps));
  in.end();
  return out;
}

void read_selection(const JsonValue& json, Workspace& out, std::string& error) {
  Members in(json, "selection", error);
  if (const JsonValue* role = in.take("role")) {
    out.role = parse_role(role->text().value_or(""));
    if (!out.role) in.wrong("role", *role, "te, transformer, vae or another role");
  }
  if (in.take("step") != nullptr) out.step = static_cast<int>(in.whole("step", 0, 0, kMostSteps));
  in.end();
}

}  // namespace

std::string write_workspace(const Workspace& workspace) {
  Object out(0);
  out.add(kMark, json_string("workspace"));
  out.add("version", std::to_string(kVersion));
  if (!workspace.file.isEmpty()) out.add("file", text_json(workspace.file));
  add_content(out, workspace);
  out.add("layout", layout_json(workspace.layout));
  out.add("view", view_json(workspace.view));
  if (workspace.run) out.add("run", run_json(*workspace.run));
  Object selection(1);
  if (workspace.role) selection.add("role", json_string(name_of(*workspace.role)));
  if (workspace.step) selection.add("step", std::to_string(*workspace.step));
  out.add("selection", selection.text());
  return out.text() + "\n";
}

std::string content_of(const Workspace& workspace) {
  Object out(0);
  add_content(out, workspace);
  return out.text();
}

Expected<Workspace> read_workspace(std::string_view text) {
  const Expected<JsonValue> json = JsonValue::parse(std::string(text));
  if (!json) return fail(json.error());
  std::string error;
  Members in(*json, "", error);
  const JsonValue* mark = in.take(kMark);
  if (mark == nullptr || mark->text() != "workspace") {
    return fail("this is no workspace of Attnscope: \"attnscope\": \"workspace\" is missing");
  }
  const JsonValue* version = in.take("version");
  if (version == nullptr || !version->number() || *version->number() < 1.0) {
    return fail("the workspace's version is missing; this program reads version 1");
  }
  if (*version->number() > kVersion) {
    return fail("the workspace is of version " + version->raw() +
                "; this program reads version 1, a newer one is needed");
  }
  Workspace out;
  out.file = in.text("file");
  out.target = in.text("target", true);
  if (const JsonValue* profile = in.take("profile", true)) {
    if (!profile->is(JsonValue::Type::object)) in.wrong("profile", *profile, "a profile, which is an object");
    out.profile = text_of(profile->raw());
  }
  out.required = in.texts("required");
  if (const JsonValue* workload = in.take("workload", true)) out.workload = workload_of(*workload, error);
  out.filter = in.text("filter");
  if (const JsonValue* layout = in.take("layout")) out.layout = layout_of(*layout, error);
  if (const JsonValue* view = in.take("view")) out.view = view_of(*view, error);
  if (const JsonValue* run = in.take("run")) out.run = run_of(*run, error);
  if (const JsonValue* selection = in.take("selection")) read_selection(*selection, out, error);
  in.end();
  if (!error.empty()) return fail(error);
  return out;
}

bool looks_like_workspace(std::string_view text) {
  // By its first member, so that a file that breaks off later is still called a damaged workspace.
  const auto skip = [&text](std::string_view blanks) {
    text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  };
  const auto eat = [&](std::string_view token) {
    skip(" \t\r\n");
    if (!text.starts_with(token)) return false;
    text.remove_prefix(token.size());
    return true;
  };
  return eat("{") && eat("\"attnscope\"") && eat(":") && eat("\"workspace\"");
}

}  // namespace attn::ui
