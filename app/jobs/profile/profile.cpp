// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/profile/profile.h"

#include "app/jobs/nearest.h"
#include "app/jobs/profile/profile_data.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace attn::app {
namespace {

constexpr double kLargestCount = 1e12;  // far above any token count, far below where doubles skip whole numbers

std::string number_text(double value) {
  if (value == std::floor(value) && std::abs(value) < 1e15) return std::to_string(static_cast<long long>(value));
  std::string text = std::to_string(value);
  while (text.back() == '0') text.pop_back();
  return text;
}

bool one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// What an input may be, from its meaning: sizes start at 1, switches are 0 or 1, token counts are whole.
Expected<void> check_input(const std::string& name, double value) {
  const bool whole = value == std::floor(value);
  if (!std::isfinite(value)) return fail("input " + name + " is not a number; write one such as 1024");
  if (one_of(name, {"height", "width", "frames", "steps", "batch"})) {
    if (whole && value >= 1 && value <= 1e6) return {};
    return fail("input " + name + " is " + number_text(value) + "; it must be a whole number from 1 to 1000000");
  }
  if (one_of(name, {"cfg", "stg", "isolation"})) {
    if (value == 0 || value == 1) return {};
    return fail("input " + name + " is " + number_text(value) + "; it must be 0 (off) or 1 (on)");
  }
  if (one_of(name, {"fps", "boundary", "shift"})) {
    if (value > 0 && value <= 1e6) return {};
    return fail("input " + name + " is " + number_text(value) + "; it must be greater than 0");
  }
  if (whole && value >= 0 && value <= 1e6) return {};
  return fail("input " + name + " is " + number_text(value) + "; it must be a whole number from 0 to 1000000");
}

Expected<ProfileInputs> merged_inputs(const Profile& profile, const ProfileInputs& overrides) {
  ProfileInputs inputs = profile.defaults();
  for (const auto& [name, value] : overrides) {
    const auto found = inputs.find(name);
    if (found == inputs.end()) {
      std::vector<std::string> names;
      for (const auto& [known, ignored] : inputs) names.push_back(known);
      return fail("model " + profile.id() + " has no input " + name + "; it has " + joined(names));
    }
    if (auto ok = check_input(name, value); !ok) return fail("model " + profile.id() + ": " + ok.error());
    found->second = value;
  }
  return inputs;
}

/// Evaluates the expressions of one entry and remembers the first thing that is wrong.
class Counter {
 public:
  Counter(const Expression::Names& names, std::string where) : names_(names), where_(std::move(where)) {}

  std::int64_t count(const Expression& expression, std::string_view field) {
    const auto value = expression.evaluate(names_);
    if (!value) {
      refuse(value.error());
      return 0;
    }
    if (*value != std::floor(*value) || *value < 0 || *value > kLargestCount) {
      refuse("field " + std::string(field) + ", \"" + expression.text() + "\", comes out as " + number_text(*value) +
             " for these inputs; it must be a whole number, 0 or more");
      return 0;
    }
    return static_cast<std::int64_t>(*value);
  }
  bool truth(const Expression& expression) {
    const auto value = expression.evaluate(names_);
    if (!value) refuse(value.error());
    return value && *value != 0.0;
  }
  void refuse(const std::string& sentence) {
    if (error_.empty()) error_ = where_ + ": " + sentence;
  }
  [[nodiscard]] const std::string& error() const noexcept { return error_; }

 private:
  const Expression::Names& names_;
  std::string where_;
  std::string error_;
};

/// Token counts of the streams: all but one must have a value "<stream>_tokens"; the last is what is left, which
/// is how passes with their own text length are right too.
std::vector<std::int64_t> stream_tokens(const std::vector<std::string>& streams, std::int64_t total,
                                        const Expression::Names& names) {
  if (streams.size() == 1) return {total};
  std::vector<std::int64_t> tokens(streams.size(), -1);
  std::int64_t rest = total;
  std::size_t unknown = streams.size();
  // Text is looked at last: its length is the one that differs between passes.
  for (const bool text : {false, true}) {
    for (std::size_t i = 0; i < streams.size(); ++i) {
      if ((streams[i] == "text") != text) continue;
      const auto found = names.find(streams[i] + "_tokens");
      if (found == names.end() || unknown == 1) continue;
      tokens[i] = static_cast<std::int64_t>(found->second);
      rest -= tokens[i];
      --unknown;
    }
  }
  if (unknown != 1 || rest <= 0) return {};
  *std::find(tokens.begin(), tokens.end(), -1) = rest;
  return tokens;
}

}  // namespace

std::optional<std::string> Profile::denoiser_class() const {
  for (const auto& component : data_->components) {
    if (component.role == "denoiser") return component.type;
  }
  return std::nullopt;
}

std::optional<std::string> Profile::class_in(std::string_view slot) const {
  for (const auto& component : data_->components) {
    if (component.slot == slot) return component.type;
  }
  return std::nullopt;
}

Expected<ProfileInputs> Profile::values(const ProfileInputs& overrides) const {
  auto names = merged_inputs(*this, overrides);
  if (!names) return names;
  ProfileInputs values;
  for (const auto& [name, expression] : data_->values) {
    const auto value = expression.evaluate(*names);
    if (!value) return fail("model " + id_ + ": value " + name + ": " + value.error());
    (*names)[name] = *value;
    values[name] = *value;
  }
  return values;
}

Expected<std::vector<ProfileCall>> Profile::calls(const ProfileInputs& overrides) const {
  auto inputs = merged_inputs(*this, overrides);
  if (!inputs) return fail(inputs.error());
  auto named = values(overrides);
  if (!named) return fail(named.error());
  Expression::Names names = *inputs;
  names.insert(named->begin(), named->end());

  std::vector<ProfileCall> calls;
  for (const auto& component : data_->components) {
    for (const auto& pass : component.passes) {
      Expression::Names scope = names;
      const std::string place = "model " + id_ + ": component " + component.slot + ": pass " + pass.name;
      for (const auto& [name, expression] : pass.set) {
        const auto value = expression.evaluate(scope);
        if (!value) return fail(place + ": set " + name + ": " + value.error());
        scope[name] = *value;
      }
      Counter in_pass(scope, place);
      const std::int64_t runs = in_pass.count(pass.runs, "runs");
      const std::int64_t pass_batch = in_pass.count(pass.batch, "batch");
      if (!in_pass.error().empty()) return fail(in_pass.error());
      for (const auto& entry : component.entries) {
        Counter in_entry(scope, place + ": " + entry.where);
        ProfileCall call;
        call.slot = component.slot;
        call.component = component.type;
        call.role = component.role;
        call.pass = pass.name;
        call.where = entry.where;
        call.kind = entry.kind;
        call.dtype = component.dtype;
        call.runs = runs;
        call.calls = in_entry.count(entry.calls, "calls");
        call.batch = entry.batch ? in_entry.count(*entry.batch, "batch") : pass_batch;
        call.heads = entry.heads;
        call.kv_heads = entry.kv_heads;
        call.head_dim = entry.head_dim;
        call.query_tokens = in_entry.count(entry.query, "q");
        call.key_tokens = in_entry.count(entry.key, "kv");
        call.query_streams = entry.query_streams;
        call.query_stream_tokens = stream_tokens(entry.query_streams, call.query_tokens, scope);
        call.causal = entry.causal;
        call.sdpa = entry.sdpa;
        call.scale = entry.scale;
        if (entry.mask && in_entry.truth(entry.mask->present)) {
          call.mask.emplace();
          call.mask->dtype = entry.mask->dtype;
          for (const Expression& size : entry.mask->shape) {
            call.mask->shape.push_back(in_entry.count(size, "mask.shape"));
          }
        }
        const bool made = call.runs * call.calls > 0;
        for (const auto& [field, size] : {std::pair<std::string_view, std::int64_t>{"q", call.query_tokens},
                                          {"kv", call.key_tokens},
                                          {"batch", call.batch}}) {
          if (made && size < 1) in_entry.refuse("field " + std::string(field) + " comes out as 0 for these inputs");
        }
        if (!in_entry.error().empty()) return fail(in_entry.error());
        calls.push_back(std::move(call));
      }
    }
  }
  return calls;
}

Expected<const Profile*> ProfileLibrary::find(std::string_view id) const {
  const auto same = [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); };
  std::vector<std::string> ids;
  for (const Profile& profile : profiles_) {
    if (std::equal(id.begin(), id.end(), profile.id().begin(), profile.id().end(), same)) return &profile;
    ids.push_back(profile.id());
  }
  return fail("unknown model \"" + std::string(id) + "\"" + nearest_hint(id, ids, "; `attnctl models` lists them all"));
}

}  // namespace attn::app
