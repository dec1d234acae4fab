// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/levers/results_file.h"

#include "app/jobs/files/atomic_file.h"
#include "app/jobs/levers/lever_measure.h"
#include "app/jobs/nearest.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

namespace attn::app {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kMark = "levers";
constexpr int kVersion = 1;

// --- writing -----------------------------------------------------------------------------------------------------

/// JSON has no infinity; null stands for it.
Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json json_of(const LeverVariant& variant) {
  Json json{{"name", variant.name}, {"group", std::string(name_of(variant.group))}, {"what", variant.what}};
  Json settings = Json::object();
  for (const auto& [key, value] : variant.settings) {
    settings[key] = std::visit([](const auto& held) { return Json(held); }, value);
  }
  json["settings"] = std::move(settings);
  if (variant.attention) json["attention_backend"] = *variant.attention;
  if (variant.compiled) json["compiled"] = true;
  return json;
}

Json json_of(const LeverRoute& route) {
  return {{"call", route.call},
          {"role", std::string(name_of(route.role))},
          {"budget", route.budget},
          {"calls", route.calls},
          {"backend", route.backend},
          {"kernel", route.kernel},
          {"seconds", route.seconds},
          {"baseline_seconds", route.baseline_seconds},
          {"relative_l1", route.relative_l1},
          {"cosine", route.cosine},
          {"not_finite", route.not_finite}};
}

Json json_of(const PictureDistance& picture) {
  return {{"psnr", finite(picture.psnr)},
          {"ssim", picture.ssim},
          {"mean_squared_error", picture.mean_squared_error},
          {"largest", picture.largest},
          {"equal", picture.largest == 0}};
}

Json roles_json(const LeverRow& row) {
  Json roles = Json::object();
  for (const LeverRole& role : row.roles()) {
    roles[std::string(name_of(role.role))] = {{"calls", role.calls},
                                              {"seconds", role.seconds},
                                              {"baseline_seconds", role.baseline_seconds},
                                              {"relative_l1", role.relative_l1},
                                              {"cosine", role.cosine}};
  }
  return roles;
}

Json json_of(const LeverRow& row, const LeverResult& result) {
  Json json = json_of(row.variant);
  json["state"] = std::string(name_of(row.state));
  if (!row.reason.empty()) json["reason"] = row.reason;
  if (!row.same_as.empty()) json["same_as"] = row.same_as;
  if (!row.notes.empty()) json["notes"] = row.notes;
  json["chain"] = row.chain;
  if (row.state != LeverState::measured) return json;
  const LeverMeasure& measure = row.measure;
  json["seconds"] = row.seconds();
  json["spread"] = row.spread();
  json["relative_time"] = row.relative_time();
  json["noise"] = result.noise(row);
  json["attention_seconds"] = row.attention_seconds();
  json["memory_bytes"] = measure.memory_bytes;
  json["host_bytes"] = measure.host_bytes ? Json(*measure.host_bytes) : Json(nullptr);
  json["relative_l1"] = row.worst_relative_l1();
  json["cosine"] = row.worst_cosine();
  if (measure.picture) json["picture"] = json_of(*measure.picture);
  json["roles"] = roles_json(row);
  json["routes"] = Json::array();
  for (const LeverRoute& route : measure.routes) json["routes"].push_back(json_of(route));
  json["samples"] = {{"seconds", measure.seconds},
                     {"baseline_seconds", measure.baseline_seconds},
                     {"attention_seconds", measure.attention_seconds}};
  json["baseline_hash"] = measure.baseline_hash;
  json["hash"] = measure.hash;
  return json;
}

Json header_json(const LeverHeader& header) {
  Json json{{"program_version", header.version},
            {"job", header.job},
            {"identity", header.identity},
            {"target", header.target},
            {"machine", header.machine},
            {"repeat", header.repeat},
            {"draws", header.draws}};
  const Json settings = Json::parse(header.settings, nullptr, false);
  json["settings"] = settings.is_discarded() ? Json(header.settings) : settings;
  json["settings_text"] = header.settings;
  return json;
}

// --- reading -----------------------------------------------------------------------------------------------------

/// Members of one object; the first that is missing or of another kind is remembered.
class Reader {
 public:
  Reader(const Json& json, std::string where, std::string& problem)
      : json_(json), where_(std::move(where)), problem_(problem) {
    if (!json_.is_object()) wrong("", "an object");
  }

  [[nodiscard]] const Json* find(const char* key) const {
    const auto found = json_.is_object() ? json_.find(key) : json_.end();
    return json_.is_object() && found != json_.end() ? &*found : nullptr;
  }
  template <class T>
  T get(const char* key, bool (Json::*is)() const noexcept, const char* kind) {
    const Json* value = find(key);
    if (value != nullptr && (value->*is)()) return value->get<T>();
    wrong(key, kind);
    return T{};
  }
  std::string text(const char* key) { return get<std::string>(key, &Json::is_string, "a text"); }
  double number(const char* key) { return get<double>(key, &Json::is_number, "a number"); }
  std::int64_t whole(const char* key) { return get<std::int64_t>(key, &Json::is_number_integer, "a whole number"); }
  bool flag(const char* key) { return get<bool>(key, &Json::is_boolean, "true or false"); }
  const Json& list(const char* key) {
    static const Json kNone = Json::array();
    const Json* value = find(key);
    if (value != nullptr && value->is_array()) return *value;
    wrong(key, "a list");
    return kNone;
  }
  std::vector<double> numbers(const char* key) {
    std::vector<double> values;
    for (const Json& one : list(key)) {
      if (one.is_number()) values.push_back(one.get<double>());
      if (!one.is_number()) wrong(key, "a list of numbers");
    }
    return values;
  }
  std::vector<std::string> texts(const char* key) {
    std::vector<std::string> values;
    for (const Json& one : list(key)) {
      if (one.is_string()) values.push_back(one.get<std::string>());
      if (!one.is_string()) wrong(key, "a list of texts");
    }
    return values;
  }
  template <class T>
  T named(const char* key, std::optional<T> value) {
    if (!value) wrong(key, "a name that is known");
    return value.value_or(T{});
  }
  void wrong(const std::string& key, const std::string& kind) {
    if (problem_.empty()) problem_ = where_ + (key.empty() ? "" : " \"" + key + "\"") + ": " + kind + " is needed";
  }
  [[nodiscard]] const std::string& where() const noexcept { return where_; }
  [[nodiscard]] std::string& problem() noexcept { return problem_; }

 private:
  const Json& json_;
  std::string where_;
  std::string& problem_;
};

OptionValue value_of(const Json& json, Reader& reader, const std::string& key) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  OptionList list;
  const Json& values = json.is_array() ? json : Json::array({nullptr});
  for (const Json& one : values) {
    if (one.is_string()) list.push_back(one.get<std::string>());
    if (!one.is_string()) reader.wrong("settings " + key, "a value or a list of texts");
  }
  return list;
}

LeverVariant read_variant(Reader& reader) {
  LeverVariant variant;
  variant.name = reader.text("name");
  variant.group = reader.named("group", parse_lever_group(reader.text("group")));
  variant.what = reader.text("what");
  const Json* settings = reader.find("settings");
  if (settings == nullptr || !settings->is_object()) {
    reader.wrong("settings", "an object");
  } else {
    for (const auto& [key, value] : settings->items()) variant.settings.emplace_back(key, value_of(value, reader, key));
  }
  if (reader.find("attention_backend") != nullptr) variant.attention = reader.text("attention_backend");
  variant.compiled = reader.find("compiled") != nullptr && reader.flag("compiled");
  return variant;
}

LeverRoute read_route(Reader reader) {
  LeverRoute route;
  route.call = reader.text("call");
  route.role = reader.named("role", parse_role(reader.text("role")));
  route.budget = reader.number("budget");
  route.calls = reader.whole("calls");
  route.backend = reader.text("backend");
  route.kernel = reader.text("kernel");
  route.seconds = reader.number("seconds");
  route.baseline_seconds = reader.number("baseline_seconds");
  route.relative_l1 = reader.number("relative_l1");
  route.cosine = reader.number("cosine");
  route.not_finite = reader.whole("not_finite");
  return route;
}

PictureDistance read_picture(Reader reader) {
  PictureDistance picture;
  const Json* psnr = reader.find("psnr");
  picture.psnr = psnr != nullptr && psnr->is_null() ? std::numeric_limits<double>::infinity() : reader.number("psnr");
  picture.ssim = reader.number("ssim");
  picture.mean_squared_error = reader.number("mean_squared_error");
  picture.largest = static_cast<int>(reader.whole("largest"));
  return picture;
}

LeverMeasure read_measure(Reader& reader) {
  LeverMeasure measure;
  measure.memory_bytes = reader.whole("memory_bytes");
  const Json* host = reader.find("host_bytes");
  if (host != nullptr && !host->is_null()) measure.host_bytes = reader.whole("host_bytes");
  if (const Json* picture = reader.find("picture")) {
    measure.picture = read_picture({*picture, reader.where() + " picture", reader.problem()});
  }
  for (const Json& route : reader.list("routes")) {
    measure.routes.push_back(read_route({route, reader.where() + " routes", reader.problem()}));
  }
  static const Json kNothing;
  const Json* samples = reader.find("samples");
  Reader inside(samples == nullptr ? kNothing : *samples, reader.where() + " samples", reader.problem());
  measure.seconds = inside.numbers("seconds");
  measure.baseline_seconds = inside.numbers("baseline_seconds");
  measure.attention_seconds = inside.numbers("attention_seconds");
  if (measure.seconds.empty() || measure.seconds.size() != measure.baseline_seconds.size()) {
    inside.wrong("seconds", "one number for each repetition, as many as baseline_seconds,");
  }
  measure.baseline_hash = reader.text("baseline_hash");
  measure.hash = reader.text("hash");
  return measure;
}

LeverRow read_row(Reader reader) {
  LeverRow row;
  row.variant = read_variant(reader);
  const std::string state = reader.text("state");
  for (const LeverState one : {LeverState::measured, LeverState::skipped, LeverState::failed}) {
    if (state == name_of(one)) row.state = one;
  }
  if (state != name_of(row.state)) reader.wrong("state", "measured, skipped or failed");
  if (reader.find("reason") != nullptr) row.reason = reader.text("reason");
  if (reader.find("same_as") != nullptr) row.same_as = reader.text("same_as");
  if (reader.find("notes") != nullptr) row.notes = reader.texts("notes");
  row.chain = reader.text("chain");
  if (row.state == LeverState::measured) row.measure = read_measure(reader);
  return row;
}

LeverHeader read_header(Reader reader) {
  LeverHeader header;
  header.version = reader.text("program_version");
  header.job = reader.text("job");
  header.identity = reader.text("identity");
  header.settings = reader.text("settings_text");
  header.target = reader.text("target");
  header.machine = reader.text("machine");
  header.repeat = static_cast<int>(reader.whole("repeat"));
  header.draws = reader.flag("draws");
  return header;
}

// --- CSV ---------------------------------------------------------------------------------------------------------

std::string csv_quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string figure(double value) { return std::isfinite(value) ? Json(value).dump() : ""; }

std::vector<std::string> csv_cells(const LeverRow& row, const LeverResult& result, bool on_front) {
  std::vector<std::string> cells{row.variant.name, std::string(name_of(row.variant.group)),
                                 std::string(name_of(row.state)), row.reason};
  if (row.state != LeverState::measured) {
    cells.resize(14);
    cells.push_back(row.chain);
    return cells;
  }
  const LeverMeasure& measure = row.measure;
  for (const double value : {row.seconds(), row.spread(), row.relative_time(), result.noise(row)}) {
    cells.push_back(figure(value));
  }
  cells.push_back(std::to_string(measure.memory_bytes));
  cells.push_back(measure.host_bytes ? std::to_string(*measure.host_bytes) : "");
  cells.push_back(measure.picture ? figure(measure.picture->psnr) : "");
  cells.push_back(measure.picture ? figure(measure.picture->ssim) : "");
  cells.push_back(figure(row.worst_relative_l1()));
  cells.push_back(figure(row.worst_cosine()));
  cells.push_back(row.chain);
  cells.emplace_back(on_front ? "1" : "0");
  return cells;
}

}  // namespace

std::string levers_json(const LeverResult& result) {
  Json json{{"attnscope", kMark}, {"version", kVersion}};
  json.update(header_json(result.header));
  json["seconds_are"] = result.header.draws
                            ? "one whole generation on this host"
                            : "the attention of one generation on this host: of each kind of call one is measured, "
                              "times its calls";
  json["errors_are"] = result.header.draws
                           ? "of each call against exact attention on the values that the variant met; no "
                             "learned-feature distance, as its network cannot be shipped"
                           : "against exact attention on generated values, independent normals: a sparse selection "
                             "finds nothing to leave out in them, so its errors are far above those of a model";
  json["memory_is"] =
      "memory_bytes: tensors and kernel of the largest attention call on the target, as forecast; host_bytes: what "
      "this process took for it";
  json["outcome"] = std::string(name_of(result.outcome));
  json["variants"] = result.variants;
  if (!result.mixed.empty()) json["mixed"] = result.mixed;
  json["rows"] = Json::array();
  for (const LeverRow& row : result.rows) json["rows"].push_back(json_of(row, result));
  json["pareto"] = Json::array();
  for (const std::size_t i : pareto_front(result)) json["pareto"].push_back(result.rows[i].variant.name);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Expected<LeverResult> read_levers(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  const auto mark = json.is_object() ? json.find("attnscope") : json.end();
  if (!json.is_object() || mark == json.end() || *mark != kMark) {
    return fail("it is no table of levers, as `attnctl probe -o` writes it");
  }
  std::string problem;
  Reader top(json, "the table", problem);
  if (top.whole("version") != kVersion && problem.empty()) {
    return fail("its table has version " + std::to_string(top.whole("version")) + "; this program reads version " +
                std::to_string(kVersion));
  }
  LeverResult result;
  result.header = read_header({json, "the table", problem});
  const std::string outcome = top.text("outcome");
  result.outcome = outcome == name_of(JobOutcome::finished) ? JobOutcome::finished : JobOutcome::stopped;
  result.variants = top.texts("variants");
  if (top.find("mixed") != nullptr) result.mixed = top.texts("mixed");
  for (const Json& row : top.list("rows")) {
    result.rows.push_back(read_row({row, "row " + std::to_string(result.rows.size() + 1), problem}));
  }
  if (!problem.empty()) return fail(problem);
  return result;
}

std::string levers_csv(const LeverResult& result) {
  std::string text =
      "variant,group,state,reason,seconds,spread,relative_time,noise,memory_bytes,host_bytes,psnr,ssim,relative_l1,"
      "cosine,chain,pareto\r\n";
  std::vector<bool> front(result.rows.size(), false);
  for (const std::size_t i : pareto_front(result)) front[i] = true;
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    std::string line;
    std::vector<std::string> cells = csv_cells(result.rows[i], result, front[i]);
    cells.resize(16);
    for (std::size_t at = 0; at < cells.size(); ++at) line += (at > 0 ? "," : "") + csv_quoted(cells[at]);
    text += line + "\r\n";
  }
  return text;
}

Expected<LeverResult> load_levers(const std::filesystem::path& path) {
  const auto text = read_text(path);
  if (!text) return fail(text.error());
  auto result = read_levers(*text);
  if (!result) return fail(path.string() + ": " + result.error());
  return result;
}

Expected<void> save_levers(const std::filesystem::path& path, const LeverResult& result) {
  return write_atomically(path, levers_json(result));
}

}  // namespace attn::app
