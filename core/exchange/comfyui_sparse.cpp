// SPDX-License-Identifier: GPL-3.0-or-later
// ComfyUI: the node of sparse attention in a workflow.
#include "core/exchange/format_list.h"
#include "core/exchange/json_text.h"
#include "core/exchange/json_value.h"
#include "core/exchange/sparse_share.h"
#include "core/exchange/vocabulary.h"
#include "core/settings/settings.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace attn::exchange {
namespace {

constexpr std::string_view kClass = "BlockSparseAttention";
constexpr std::string_view kEnabled = "sparse_attention_enabled";
constexpr std::string_view kBudget = "sparse_attention_budget";
constexpr std::string_view kTokens = "sparse_attention_min_tokens";
constexpr std::string_view kSteps = "sparse_attention_schedule_steps";
constexpr std::string_view kBump = "sparse_attention_schedule_bump";
constexpr double kMostKept = 95.0;
constexpr std::int64_t kMostTokens = 32768;  // of the setting here

/// Choices of `selection`: as they are, and as they were before they were renamed.
struct Choice {
  std::string_view now;
  std::string_view before;
};
constexpr std::array<Choice, 3> kChoices{
    {{"sla", "top-k (SLA)"}, {"sol-attn", "Sol-Attn (adaptive tau)"}, {"vsa", "VSA (FastVideo)"}}};

/// Inputs in the order in which the window keeps them.
constexpr std::array<std::string_view, 4> kWidgets{"selection", "keep_percent", "start_percent", "end_percent"};

std::string decimal(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.10g", value);
  std::string out(text);
  if (out.find_first_of(".e") == std::string::npos) out += ".0";
  return out;
}

/// What is said about the steps; lost where the node's window cannot say it.
Window window_for(const ProductionSettings& settings, const ExportOptions& options, Losses& losses) {
  const std::int64_t dense = settings.values.integer(kSteps);
  const std::int64_t bump = settings.values.integer(kBump);
  const std::int64_t budget = settings.values.integer(kBudget);
  losses.said(kSteps);
  losses.said(kBump);
  if (dense == 0) {
    if (bump != 30) losses.lose(kBump, "it counts in dense steps, and there are none; nearest is to leave it out");
    return {};
  }
  if (options.steps <= 0) {
    losses.lose(kSteps,
                "ComfyUI takes a window of the whole generation; say how many steps it has, nearest is all of "
                "them sparse");
    return {};
  }
  if (dense > (options.steps + 1) / 2) {
    losses.lose(kSteps, "more dense steps than half of " + std::to_string(options.steps) +
                            "; nearest is half of them at either end");
  }
  if (budget + bump < 100) {
    losses.lose(kBump, "outside its window ComfyUI is dense, not at " + std::to_string(budget + bump) +
                           " %; nearest is 100 %, which is written");
  }
  if (budget + bump > 100) {
    losses.lose(kBump, "more than 100 % in dense steps means 100 %; nearest is " +
                           std::to_string(std::min<std::int64_t>(100 - budget, 70)) + ", which comes back");
  }
  const Window window = window_of(dense, options.steps);
  if (window.begin < window.end) return window;
  losses.lose(kEnabled, "every step is a dense one; nearest is a node that never works");
  losses.lose(kSteps, "the node never works; nearest is no dense step");
  losses.lose(kBump, "the node never works; nearest is to leave it out");
  return {1.0, 1.0};
}

std::string node_text(std::string_view selection, double kept, const Window& window, std::int64_t tokens) {
  return "{\n  \"class_type\": " + json_string(kClass) +
         ",\n  \"inputs\": {\n    \"selection\": " + json_string(selection) +
         ",\n    \"selection.keep_percent\": " + decimal(kept) + ",\n    \"start_percent\": " + decimal(window.begin) +
         ",\n    \"end_percent\": " + decimal(window.end) + ",\n    \"min_tokens\": " + std::to_string(tokens) +
         "\n  }\n}\n";
}

/// The node's inputs, wherever in a workflow it stands.
class NodeReader {
 public:
  explicit NodeReader(const JsonValue& json) { look(json); }
  [[nodiscard]] int nodes() const noexcept { return nodes_; }

  [[nodiscard]] const JsonValue* input(std::string_view name) const {
    if (inputs_ != nullptr) {
      if (const JsonValue* plain = inputs_->find(name)) return plain;
      return inputs_->find("selection." + std::string(name));
    }
    if (widgets_ == nullptr) return nullptr;
    const auto at = static_cast<std::size_t>(std::find(kWidgets.begin(), kWidgets.end(), name) - kWidgets.begin());
    return at < kWidgets.size() && at < widgets_->items().size() ? &widgets_->items()[at] : nullptr;
  }
  /// The window's form keeps values without names, of which only the first few are sure.
  [[nodiscard]] bool by_place() const noexcept { return widgets_ != nullptr; }

 private:
  void look(const JsonValue& json) {
    const JsonValue* type = json.find("class_type");
    const JsonValue* name = json.find("type");
    if (type != nullptr && type->text() == kClass && json.find("inputs") != nullptr) {
      ++nodes_;
      inputs_ = json.find("inputs");
    } else if (name != nullptr && name->text() == kClass && json.find("widgets_values") != nullptr) {
      ++nodes_;
      const JsonValue* values = json.find("widgets_values");
      (values->is(JsonValue::Type::object) ? inputs_ : widgets_) = values;
    }
    for (const auto& [key, value] : json.members()) look(value);
    for (const JsonValue& item : json.items()) look(item);
  }

  int nodes_ = 0;
  const JsonValue* inputs_ = nullptr;
  const JsonValue* widgets_ = nullptr;
};

/// Takes the inputs of a node into settings.
class NodeImporter {
 public:
  NodeImporter(const NodeReader& node, const ExportOptions& options, ImportText& out)
      : node_(node), options_(options), out_(out) {}

  void read() {
    if (!selection()) return;
    const double kept = number("keep_percent", 10.0, 0.5, kMostKept);
    const double begin = number("start_percent", 0.2, 0.0, 1.0);
    const double end = number("end_percent", 1.0, 0.0, 1.0);
    if (!out_.problems.empty()) return;
    const bool on = begin < 1.0 && end > begin;
    put(kEnabled, on);
    if (!on) out_.notes.emplace_back("the node's window is empty, so it never works: sparse attention is off");
    take_share(kept);
    if (on) take_window({begin, end});
    take_tokens();
  }

 private:
  bool selection() {
    const JsonValue* value = node_.input("selection");
    const std::optional<std::string> word = value == nullptr ? std::nullopt : value->text();
    if (!word) {
      out_.problems.push_back(
          "selection is missing; sla is the one whose share can be taken, so write \"selection\": "
          "\"sla\"");
      return false;
    }
    std::string_view known;
    for (const Choice& choice : kChoices) {
      if (*word == choice.before) {
        out_.notes.push_back("renamed choice: " + *word + " is " + std::string(choice.now) + " today");
      }
      if (*word == choice.now || *word == choice.before) known = choice.now;
    }
    if (known == "sla") return true;
    out_.problems.push_back("selection " + *word +
                            (known.empty() ? " is not known" : " keeps no share that could be taken") +
                            "; nearest is sla");
    return false;
  }

  double number(std::string_view name, double absent, double minimum, double maximum) {
    const JsonValue* value = node_.input(name);
    if (value == nullptr) {
      out_.notes.push_back(std::string(name) + " is left out, which means " + decimal(absent));
      return absent;
    }
    const std::optional<double> found = value->number();
    if (found && *found >= minimum && *found <= maximum) return *found;
    out_.problems.push_back(std::string(name) + " is " + value->raw() + "; it takes a number from " + decimal(minimum) +
                            " to " + decimal(maximum));
    return absent;
  }

  void take_share(double kept) {
    const auto percent = std::max<std::int64_t>(std::llround(kept), 5);
    if (static_cast<double>(percent) != kept) {
      out_.notes.push_back("keep_percent " + decimal(kept) + " is taken as " + std::to_string(percent) + " %");
    }
    const Expected<KeptShare> share = read_share(*find_share_unit("comfyui"), decimal(kept));
    if (share && !share->warning.empty()) out_.notes.push_back("warning: " + share->warning);
    put(kBudget, percent);
    budget_ = percent;
  }

  void take_window(const Window& window) {
    if (window.begin == 0.0 && window.end == 1.0) {
      put(kSteps, std::int64_t{0});
      return;
    }
    if (options_.steps <= 0) {
      out_.notes.emplace_back("the node's window is left aside: say how many steps a generation has");
      return;
    }
    bool uneven = false;
    const std::int64_t wanted = dense_steps_of(window, options_.steps, uneven);
    const std::int64_t dense = std::min<std::int64_t>(wanted, 10);
    if (uneven) {
      out_.notes.push_back("the node's window has different ends; " + std::to_string(dense) +
                           " dense steps are taken at both");
    }
    if (wanted > dense)
      out_.notes.push_back(std::to_string(wanted) + " dense steps are taken as 10, the most there are");
    put(kSteps, dense);
    put(kBump, std::min<std::int64_t>(100 - budget_, 70));
  }

  void take_tokens() {
    if (node_.by_place()) {
      out_.notes.emplace_back("min_tokens stands without its name in this form of a workflow and is left aside");
      return;
    }
    const auto tokens = static_cast<std::int64_t>(number("min_tokens", 12288.0, 0.0, 1048576.0));
    if (tokens > kMostTokens) {
      out_.notes.push_back("min_tokens " + std::to_string(tokens) + " is taken as 32768, the most there is");
    }
    put(kTokens, std::min(tokens, kMostTokens));
  }

  void put(std::string_view key, OptionValue value) { out_.values.emplace_back(std::string(key), std::move(value)); }

  const NodeReader& node_;
  const ExportOptions& options_;
  ImportText& out_;
  std::int64_t budget_ = 30;
};

}  // namespace

Expected<ExportText> write_sparse_node(const ProductionSettings& settings, const ExportOptions& options) {
  if (options.selection != kChoices.front().now && options.selection != kChoices.front().before) {
    const ShareUnit* unit = find_share_unit(options.selection);
    return fail("selection " + options.selection +
                (unit != nullptr && !unit->has_share
                     ? ": " + share_text(*unit, 0.0).error()
                     : " is not expressible: it keeps no share that is set; nearest is sla"));
  }
  ExportText out;
  Losses losses(settings, "ComfyUI's node", out);
  const std::string_view selection = options.old_spelling ? kChoices.front().before : kChoices.front().now;
  const bool on = settings.values.boolean(kEnabled) && settings.values.integer(kBudget) < 100;
  losses.said(kEnabled);
  double kept = static_cast<double>(settings.values.integer(kBudget));
  if (kept > kMostKept) {
    losses.lose(kBudget, "the node keeps at most 95 %; nearest is 95, which is written");
    if (settings.values.boolean(kEnabled) && !on) {
      losses.lose(kEnabled, "to keep everything is to be dense; nearest is a node that never works");
    }
    kept = kMostKept;
  }
  losses.said(kBudget);
  losses.said(kTokens);
  Window window{1.0, 1.0};
  if (on) {
    window = window_for(settings, options, losses);
  } else {
    losses.note("the node's window is empty, which keeps every step dense; taking the node out is the same");
  }
  losses.finish();
  out.text = node_text(selection, kept, window, settings.values.integer(kTokens));
  return out;
}

Expected<ImportText> read_sparse_node(std::string_view text, const ProductionSettings&, const ExportOptions& options) {
  const Expected<JsonValue> json = JsonValue::parse(std::string(text));
  if (!json) return fail(json.error());
  const NodeReader node(*json);
  ImportText out;
  if (node.nodes() == 0) {
    out.problems.emplace_back("there is no node BlockSparseAttention in the text");
    return out;
  }
  if (node.nodes() > 1)
    out.notes.push_back(std::to_string(node.nodes()) + " such nodes are there; the last one counts");
  NodeImporter(node, options, out).read();
  if (!out.problems.empty()) out.values.clear();
  return out;
}

}  // namespace attn::exchange
