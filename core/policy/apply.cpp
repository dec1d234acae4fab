// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/policy/apply.h"

#include "core/policy/attention_request.h"

#include <algorithm>
#include <array>
#include <exception>

namespace attn {
namespace {

constexpr std::array<std::string_view, 3> kSlots{"transformer", "transformer_2", "unconditional_transformer"};

/// Calls a dispatcher and turns what it throws into a sentence.
class Caller {
 public:
  Caller(const DispatcherPort& port, Applied& applied) : port_(port), applied_(applied) {}

  bool set(const std::string& slot, std::string_view backend) {
    return attempt(slot + " did not take " + std::string(backend), [&]() -> std::string {
      const Expected<void> done = port_.set(slot, backend);
      return done ? std::string() : done.error();
    });
  }

  bool activate_native() {
    return attempt("the process-wide backend could not be put back to native", [&]() -> std::string {
      port_.activate(kNativeBackend);
      return {};
    });
  }

  /// Whether a slot still holds a backend of its own that is not native. When it cannot be asked, it may.
  bool holds_another(const std::string& slot) {
    bool another = true;
    attempt(slot + " could not be asked", [&]() -> std::string {
      const std::optional<std::string> own = port_.own ? port_.own(slot) : std::nullopt;
      another = own && *own != kNativeBackend;
      return {};
    });
    return another;
  }

  bool native_is_active() {
    bool native = false;
    attempt("the process-wide backend could not be asked", [&]() -> std::string {
      native = port_.active() == kNativeBackend;
      return {};
    });
    return native;
  }

 private:
  template <class Body>
  bool attempt(const std::string& what, const Body& body) {
    std::string why;
    try {
      why = body();
      if (why.empty()) return true;
    } catch (const std::exception& thrown) {
      why = thrown.what();
    } catch (...) {
      why = "something unknown was thrown";
    }
    applied_.failures.push_back(what + ": " + why);
    return false;
  }

  const DispatcherPort& port_;
  Applied& applied_;
};

bool contains(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// Puts back to native what does not belong to the choice. Setting a slot makes native the process-wide backend too.
void restore(const DispatcherPort& port, Applied& applied, Caller& caller) {
  for (const std::string& slot : port.denoisers) {
    if (!contains(applied.denoisers, slot) && caller.holds_another(slot)) {
      applied.restored = caller.set(slot, kNativeBackend) && applied.restored;
    }
  }
  if (!caller.native_is_active()) applied.restored = caller.activate_native() && applied.restored;
}

}  // namespace

std::span<const std::string_view> dispatcher_slots() noexcept { return kSlots; }

Applied apply_attention(const std::optional<std::string>& backend, const DispatcherPort& port) noexcept {
  Applied applied;
  Caller caller(port, applied);
  if (backend && *backend != kNativeBackend) {
    for (const std::string& slot : port.denoisers) {
      if (caller.set(slot, *backend)) applied.denoisers.push_back(slot);
    }
    if (!applied.denoisers.empty()) applied.engaged = backend;
  }
  restore(port, applied, caller);
  return applied;
}

}  // namespace attn
