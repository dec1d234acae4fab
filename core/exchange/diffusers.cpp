// SPDX-License-Identifier: GPL-3.0-or-later
// diffusers: a Python snippet and an environment file.
#include "core/exchange/format_list.h"
#include "core/exchange/vocabulary.h"
#include "core/policy/apply.h"
#include "core/policy/dispatcher_backend.h"
#include "core/policy/words.h"
#include "core/settings/settings.h"

#include <algorithm>
#include <array>

namespace attn::exchange {
namespace {

constexpr std::string_view kVariable = "DIFFUSERS_ATTN_BACKEND";
constexpr std::string_view kSetter = "set_attention_backend(";
constexpr std::string_view kMachine = "hf_attention";

struct KernelSwitch {
  std::string_view name;      ///< in `sdp_options`
  std::string_view function;  ///< of torch.backends.cuda
};
constexpr std::array<KernelSwitch, 3> kSwitches{
    {{"Flash", "enable_flash_sdp"}, {"Memory", "enable_mem_efficient_sdp"}, {"Math", "enable_math_sdp"}}};
constexpr std::string_view kSwitchModule = "torch.backends.cuda.";

bool contains(const OptionList& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

/// The word between quotes behind `at`.
std::optional<std::string> quoted_after(std::string_view text, std::size_t at) {
  const std::size_t quote = text.find_first_not_of(" \t", at);
  if (quote == std::string_view::npos || (text[quote] != '"' && text[quote] != '\'')) return std::nullopt;
  const std::size_t end = text.find(text[quote], quote + 1);
  if (end == std::string_view::npos) return std::nullopt;
  return std::string(text.substr(quote + 1, end - quote - 1));
}

void take_backend(const std::string& name, ImportText& out) {
  const DispatcherBackend* known = find_dispatcher_backend(name);
  if (known == nullptr) {
    out.problems.push_back(select_dispatcher_name(name, {}).reason);
    return;
  }
  const std::string stored = known->name == kNativeBackend ? std::string() : std::string(known->name);
  for (auto& [key, value] : out.values) {
    if (key != kMachine) continue;
    if (value != OptionValue(stored)) {
      out.problems.push_back("two attention backends are set, " + std::get<std::string>(value) + " and " + stored +
                             "; one is taken for every denoiser");
    }
    return;
  }
  out.values.emplace_back(std::string(kMachine), stored);
}

/// What the dispatcher is asked for comes back as `hf_attention`; anything else asked of it would hide that.
void forget_request(const ProductionSettings& settings, ImportText& out) {
  if (!out.problems.empty() || out.values.empty() || !settings.attention.all) return;
  out.attention = settings.attention;
  out.attention->all.reset();
}

/// A text that asks for no backend leaves the pipeline as it was loaded.
void leave_alone(ImportText& out) {
  out.values.emplace_back(std::string(keys::method), std::string("Default"));
  out.values.emplace_back(std::string(kMachine), std::string());
  out.notes.emplace_back("no attention backend is set, which is Default: the pipeline is left as it was loaded");
}

std::string without_comment(std::string_view line) { return std::string(line.substr(0, line.find('#'))); }

}  // namespace

Expected<ExportText> write_snippet(const ProductionSettings& settings, const ExportOptions&) {
  ExportText out;
  Losses losses(settings, "diffusers", out);
  const std::string backend = single_backend(settings, &Word::dispatcher, losses);
  std::string& text = out.text;
  text =
      "# Attention settings for diffusers, made by Attnscope.\n"
      "# Run it when the pipeline `pipe` is loaded and before anything is compiled.\n";
  const OptionList kernels = settings.values.list("sdp_options");
  losses.said("sdp_options");
  if (std::any_of(kSwitches.begin(), kSwitches.end(),
                  [&kernels](const KernelSwitch& one) { return !contains(kernels, one.name); })) {
    text += "import torch\n\n";
    for (const KernelSwitch& one : kSwitches) {
      text += std::string(kSwitchModule) + std::string(one.function) + "(" +
              (contains(kernels, one.name) ? "True" : "False") + ")\n";
    }
  }
  if (!backend.empty()) {
    for (const std::string_view slot : dispatcher_slots()) {
      const std::string part(slot);
      text += "if getattr(pipe, \"" + part + "\", None) is not None:\n    pipe." + part + "." + std::string(kSetter) +
              "\"" + backend + "\")\n";
    }
  }
  const std::string slicing = settings.values.text("attention_slicing");
  losses.said("attention_slicing");
  if (slicing == "Enabled") text += "pipe.enable_attention_slicing()\n";
  if (slicing == "Disabled") text += "pipe.disable_attention_slicing()\n";
  losses.finish();
  return out;
}

Expected<ImportText> read_snippet(std::string_view text, const ProductionSettings& settings, const ExportOptions&) {
  ImportText out;
  std::optional<OptionList> kernels;
  for (const std::string& raw : split_words(text, '\n')) {
    const std::string line = without_comment(raw);
    if (const std::size_t at = line.find(kSetter); at != std::string::npos) {
      const auto name = quoted_after(line, at + kSetter.size());
      if (name) {
        take_backend(*name, out);
      } else {
        out.problems.push_back("set_attention_backend is not given a text in quotes: " + line);
      }
    }
    for (const KernelSwitch& one : kSwitches) {
      const std::size_t at = line.find(std::string(one.function) + "(");
      if (at == std::string::npos) continue;
      if (!kernels) kernels = OptionList{"Flash", "Memory", "Math"};
      if (line.find("False", at) != std::string::npos) std::erase(*kernels, one.name);
    }
    if (line.find("enable_attention_slicing(") != std::string::npos) {
      out.values.emplace_back("attention_slicing", std::string("Enabled"));
    }
    if (line.find("disable_attention_slicing(") != std::string::npos) {
      out.values.emplace_back("attention_slicing", std::string("Disabled"));
    }
  }
  if (kernels) out.values.emplace_back("sdp_options", *kernels);
  if (text.find(kSetter) == std::string_view::npos) leave_alone(out);
  forget_request(settings, out);
  if (!out.problems.empty()) out.values.clear();
  return out;
}

Expected<ExportText> write_environment(const ProductionSettings& settings, const ExportOptions& options) {
  ExportText out;
  Losses losses(settings, "an environment", out);
  const std::string backend = single_backend(settings, &Word::dispatcher, losses);
  losses.finish();
  losses.note("the variable is read when diffusers is imported and holds for the whole process");
  const std::string wanted = backend.empty() ? std::string() : std::string(kVariable) + "=" + backend;
  bool written = wanted.empty();
  std::string_view rest = options.existing;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size() - 1) + 1;
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end);
    std::string_view name = trimmed(line.substr(0, line.find('=')));
    const bool exported = name.starts_with("export ");
    if (exported) name = trimmed(name.substr(7));
    if (name != kVariable || line.find('=') == std::string_view::npos) {
      out.text += line;
      continue;
    }
    // The first line of the variable is changed, later ones would win over it and go.
    if (!written) {
      const bool carriage = line.ends_with("\r\n");
      out.text += (exported ? "export " : "") + wanted + (carriage ? "\r\n" : line.ends_with('\n') ? "\n" : "");
    }
    written = true;
  }
  if (!written) {
    if (!out.text.empty() && !out.text.ends_with('\n')) out.text += '\n';
    out.text += wanted + "\n";
  }
  return out;
}

Expected<ImportText> read_environment(std::string_view text, const ProductionSettings& settings, const ExportOptions&) {
  ImportText out;
  std::optional<std::string> found;
  for (std::string line : split_words(text, '\n')) {
    if (line.starts_with("#")) continue;
    if (line.starts_with("export ")) line = std::string(trimmed(std::string_view(line).substr(7)));
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos || trimmed(std::string_view(line).substr(0, equals)) != kVariable) continue;
    std::string value(trimmed(std::string_view(line).substr(equals + 1)));
    if (value.size() > 1 && (value.front() == '"' || value.front() == '\'') && value.back() == value.front()) {
      value = value.substr(1, value.size() - 2);
    }
    found = value;  // as in a shell, the last one counts
  }
  if (!found) {
    leave_alone(out);
    return out;
  }
  take_backend(*found, out);
  forget_request(settings, out);
  if (!out.problems.empty()) out.values.clear();
  return out;
}

}  // namespace attn::exchange
