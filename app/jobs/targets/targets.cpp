// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/targets/targets.h"

#include "app/jobs/nearest.h"
#include "app/jobs/resources.h"
#include "app/jobs/targets/description.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

namespace attn::app {
namespace {

using nlohmann::json;

constexpr double kGiB = 0x1p30;
constexpr int kVersion = 1;

std::optional<std::string> text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  if (!file || !(bytes << file.rdbuf())) return std::nullopt;
  return std::move(bytes).str();
}

/// Letters and digits only, in lower case, so that "RTX 3090" finds "rtx-3090".
std::string folded(std::string_view name) {
  std::string result;
  for (const unsigned char c : name) {
    if (std::isalnum(c) != 0) result += static_cast<char>(std::tolower(c));
  }
  return result;
}

/// "NVIDIA RTX 3090" is found by "RTX 3090" too.
bool is_called(const Target& target, std::string_view wanted) {
  const std::string key = folded(wanted);
  const std::string label = folded(target.label);
  if (key == folded(target.name) || key == label) return true;
  const auto maker = target.label.find(' ');
  return maker != std::string::npos && key == folded(std::string_view(target.label).substr(maker));
}

/// Reads one entry of "targets"; its errors name the field.
class EntryReader {
 public:
  EntryReader(const json& entry, const json& sources) : entry_(entry), sources_(sources) {}

  Expected<Target> read() {
    Target target;
    if (!entry_.is_object()) return fail("it is not an object");
    target.name = text("name");
    target.label = text("label");
    target.platform = text("platform");
    if (!error_.empty()) return fail(error_);
    if (target.name.empty() || target.name == "cpu")
      return fail("\"name\" is empty or \"cpu\", which means this machine");
    if (auto wrong = platform_error(target.platform)) return fail(*wrong);
    read_figures(target);
    if (!error_.empty()) return fail(error_);
    return target;
  }

 private:
  void wrong(std::string sentence) {
    if (error_.empty()) error_ = std::move(sentence);
  }

  std::string text(const char* field) {
    const auto found = entry_.find(field);
    if (found == entry_.end() || !found->is_string()) {
      wrong("\"" + std::string(field) + "\" is missing or not a string");
      return {};
    }
    return found->get<std::string>();
  }

  void read_figures(Target& target) {
    if (const json* value = figure("capability", "capability")) {
      if (value->is_number_integer() && *value >= 10 && *value <= 999) {
        target.capability = value->get<int>();
      } else {
        wrong("\"capability\" is a whole number such as 86");
      }
    }
    if (const json* value = figure("gfx", "gfx")) {
      if (value->is_string()) {
        target.gfx = value->get<std::string>();
      } else {
        wrong("\"gfx\" is a string such as \"gfx1100\"");
      }
    }
    if (const json* value = figure("memory_gib", "memory")) {
      if (value->is_number() && *value > 0 && *value < 0x1p20) {
        target.memory_bytes = static_cast<std::int64_t>(value->get<double>() * kGiB);
      } else {
        wrong("\"memory_gib\" is a positive number");
      }
    }
  }

  /// The field, when it is there; it then needs a source that the file lists.
  const json* figure(const char* field, const char* source) {
    const auto found = entry_.find(field);
    if (found == entry_.end()) return nullptr;
    const auto named = entry_.find("sources");
    const bool known = named != entry_.end() && named->is_object() && named->contains(source) &&
                       named->at(source).is_string() && sources_.contains(named->at(source).get<std::string>());
    if (!known) wrong("\"" + std::string(field) + "\" has no source that the file's \"sources\" lists");
    return &*found;
  }

  const json& entry_;
  const json& sources_;
  std::string error_;
};

}  // namespace

std::string processor_name(std::string_view cpuinfo) {
  constexpr std::string_view kField = "model name";
  for (std::size_t at = 0; at < cpuinfo.size();) {
    const auto end = std::min(cpuinfo.find('\n', at), cpuinfo.size());
    const std::string_view line = cpuinfo.substr(at, end - at);
    at = end + 1;
    const auto colon = line.find(':');
    if (!line.starts_with(kField) || colon == std::string_view::npos) continue;
    const auto first = line.find_first_not_of(" \t", colon + 1);
    return first == std::string_view::npos ? std::string() : std::string(line.substr(first));
  }
  return {};
}

Target cpu_target() {
  Target target;
  target.name = "cpu";
  target.platform = "cpu";
  target.present = true;
  target.label = processor_name(text_of("/proc/cpuinfo").value_or(""));
  if (target.label.empty()) target.label = "This machine's processor";
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page = sysconf(_SC_PAGE_SIZE);
  if (pages > 0 && page > 0) target.memory_bytes = static_cast<std::int64_t>(pages) * page;
  return target;
}

std::vector<Target> gpu_targets(const cuda::Discovery& machine) {
  std::vector<Target> targets;
  if (machine.state != cuda::CudaState::ready) return targets;
  for (const cuda::CudaDevice& device : machine.devices) {
    if (!device.supported) continue;
    Target target;
    target.name = "cuda:" + std::to_string(device.index);
    target.label = device.name;
    target.platform = "cuda";
    target.capability = device.capability;
    target.memory_bytes = device.memory_bytes;
    target.present = true;
    target.device = device.index;
    targets.push_back(std::move(target));
  }
  return targets;
}

std::string absence_of(const Target& target, const cuda::Discovery& machine) {
  if (target.present || target.platform != "cuda") return {};
  return machine.state == cuda::CudaState::ready ? "this machine has " + machine.sentence : machine.sentence;
}

Expected<std::vector<Target>> parse_targets(std::string_view text, std::string_view file_name) {
  const std::string file(file_name);
  const json root = json::parse(text, nullptr, false);
  if (root.is_discarded()) return fail(file + " is not JSON");
  if (!root.is_object() || root.value("format", json()) != "attnscope-targets" ||
      root.value("version", json()) != kVersion) {
    return fail(file + R"( is not a target list: "format" must be "attnscope-targets" and "version" 1)");
  }
  const json sources = root.value("sources", json::object());
  const auto entries = root.find("targets");
  if (entries == root.end() || !entries->is_array() || !sources.is_object()) {
    return fail(file + R"(: "targets" must be a list and "sources" an object)");
  }
  std::vector<Target> targets;
  std::set<std::string> names;
  for (const json& entry : *entries) {
    auto target = EntryReader(entry, sources).read();
    const std::string name = entry.is_object() && entry.value("name", json()).is_string()
                                 ? entry["name"].get<std::string>()
                                 : "number " + std::to_string(targets.size() + 1);
    if (!target) return fail(file + ", target " + name + ": " + target.error());
    if (!names.insert(folded(target->name)).second)
      return fail(file + ", target " + name + ": the name is given twice");
    targets.push_back(std::move(*target));
  }
  return targets;
}

Expected<std::vector<Target>> load_targets() {
  const std::string path = resource_path("targets/targets.json").string();
  const auto text = text_of(path);
  if (!text)
    return fail("cannot read the target list " + path + "; ATTNSCOPE_RESOURCES names the folder that holds targets/");
  auto listed = parse_targets(*text, path);
  if (!listed) return listed;
  const cuda::Discovery& machine = cuda::this_machine();
  std::vector<Target> targets{cpu_target()};
  for (Target& gpu : gpu_targets(machine)) targets.push_back(std::move(gpu));
  for (Target& target : *listed) {
    target.absence = absence_of(target, machine);
    targets.push_back(std::move(target));
  }
  return targets;
}

Expected<Target> find_target(std::string_view text) {
  if (text.find('=') != std::string_view::npos) {
    auto described = parse_target_description(text);
    if (described) described->absence = absence_of(*described, cuda::this_machine());
    return described;
  }
  auto targets = load_targets();
  if (!targets) return fail(targets.error());
  const auto found = std::ranges::find_if(*targets, [text](const Target& target) { return is_called(target, text); });
  if (found != targets->end()) return *found;
  if (text.starts_with("cuda")) {
    return fail("there is no target \"" + std::string(text) + "\" here: " + cuda::this_machine().sentence);
  }
  std::vector<std::string> names;
  for (const Target& target : *targets) names.push_back(target.name);
  return fail("there is no target \"" + std::string(text) + "\"" +
              nearest_hint(text, names, "; the names are " + joined(names)) +
              "; or describe it: platform=cuda,sm=86,memory=24GiB");
}

}  // namespace attn::app
