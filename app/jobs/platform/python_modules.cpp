// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/platform/python_modules.h"

#include "app/jobs/platform/child_process.h"
#include "core/policy/words.h"

#include <cstring>
#include <vector>

namespace attn::app {
namespace {

/// Before each answer, as a module may print on its own when it is imported.
constexpr std::string_view kMark = "attnscope-module ";

/// Answers "absent", "works VERSION" or "fails SENTENCE". The folder that the program was started in is not searched.
constexpr std::string_view kScript = R"py(
import sys
sys.path[:] = [place for place in sys.path if place]
name = sys.argv[1]
def answer(text):
    sys.stdout.flush()
    print("\nattnscope-module " + " ".join(text.split()), flush=True)
    sys.exit(0)
import importlib
import importlib.util
if importlib.util.find_spec(name) is None:
    answer("absent")
try:
    module = importlib.import_module(name)
except BaseException as error:
    answer("fails " + type(error).__name__ + ": " + str(error))
version = getattr(module, "__version__", None)
if not isinstance(version, str):
    from importlib import metadata
    version = ""
    try:
        version = metadata.version(name)
    except Exception:
        owners = getattr(metadata, "packages_distributions", dict)().get(name, [])
        version = metadata.version(owners[0]) if owners else ""
answer("works " + version)
)py";

/// The line behind the last mark; empty when there is none.
std::string_view answer_in(std::string_view out) {
  const std::size_t at = out.rfind(kMark);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = out.substr(at + kMark.size());
  return trimmed(rest.substr(0, rest.find('\n')));
}

std::string last_line(std::string_view text) {
  const std::vector<std::string> lines = split_words(text, '\n');
  return lines.empty() ? std::string() : lines.back();
}

}  // namespace

PythonModules::PythonModules(std::string interpreter, std::chrono::milliseconds limit, std::stop_token stop)
    : interpreter_(std::move(interpreter)), limit_(limit), stop_(std::move(stop)) {}

Expected<std::string> PythonModules::version() const {
  const auto ran = run_child({interpreter_, "--version"}, limit_, stop_);
  if (!ran) return fail(ran.error());
  const std::string said = last_line(ran->out.empty() ? ran->err : ran->out);
  if (ran->exit_code != 0 || ran->signal != 0 || ran->late || said.empty()) {
    return fail(interpreter_ + " is no Python that runs here" + (said.empty() ? "" : ": " + said));
  }
  return said;
}

Expected<std::optional<std::string>> PythonModules::find(std::string_view module) {
  const auto known = known_.find(module);
  if (known != known_.end()) return known->second;
  const std::string name(module);
  return known_.emplace(name, look(name)).first->second;
}

Expected<std::optional<std::string>> PythonModules::look(const std::string& module) const {
  const auto ran = run_child({interpreter_, "-c", std::string(kScript), module}, limit_, stop_);
  if (!ran) return fail(ran.error());
  const std::string_view answer = answer_in(ran->out);
  if (answer == "absent") return std::nullopt;
  if (answer.starts_with("works")) return std::optional(std::string(trimmed(answer.substr(std::strlen("works")))));
  if (answer.starts_with("fails ")) return fail(std::string(answer.substr(std::strlen("fails "))));
  if (ran->late) {
    return fail(stop_.stop_requested() ? std::string("stopped")
                                       : "not done after " + std::to_string(limit_.count() / 1000) + " s");
  }
  if (ran->signal != 0) return fail(std::string("crashed: ") + strsignal(ran->signal));
  const std::string said = last_line(ran->err);
  return fail(said.empty() ? "ended with exit code " + std::to_string(ran->exit_code) : said);
}

}  // namespace attn::app
