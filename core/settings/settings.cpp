// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/settings/settings.h"

#include <algorithm>
#include <utility>

namespace attn {
namespace {

double as_number(const OptionValue& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  const auto* number = std::get_if<double>(&value);
  return number == nullptr ? 0.0 : *number;
}

}  // namespace

Settings::Settings(std::vector<OptionSpec> specs) : specs_(std::move(specs)) {
  for (const OptionSpec& spec : specs_) {
    values_.put(spec.key, spec.fallback);
    if (spec.applies == Applies::live) {
      live_[spec.key] = std::make_shared<std::atomic<double>>(as_number(spec.fallback));
    }
  }
}

const OptionSpec* Settings::spec(std::string_view key) const noexcept {
  const auto at = std::find_if(specs_.begin(), specs_.end(), [key](const OptionSpec& spec) { return spec.key == key; });
  return at == specs_.end() ? nullptr : &*at;
}

Expected<bool> Settings::set(std::string_view key, OptionValue value) {
  const OptionSpec* option = spec(key);
  if (option == nullptr)
    return fail("there is no option \"" + std::string(key) + "\"; `attnctl report` lists them all");
  Expected<OptionValue> valid = validate(*option, std::move(value));
  if (!valid) return fail(valid.error());
  if (same_value(*values_.find(key), *valid)) return false;
  if (const auto cell = live_.find(key); cell != live_.end()) {
    cell->second->store(as_number(*valid), std::memory_order_relaxed);
  }
  values_.put(option->key, std::move(*valid));
  return true;
}

void Settings::reset(std::string_view key) {
  if (const OptionSpec* option = spec(key)) (void)set(key, option->fallback);
}

void Settings::restore(const Settings& before) {
  for (const auto& [key, value] : before.values_.all()) (void)set(key, value);
}

bool Settings::is_default(std::string_view key) const {
  const OptionSpec* option = spec(key);
  return option != nullptr && same_value(*values_.find(key), option->fallback);
}

void Settings::adopt(std::vector<OptionSpec> specs) {
  Settings next(std::move(specs));
  for (const OptionSpec& option : next.specs_) {
    const OptionValue* old = values_.find(option.key);
    // A value that the new target does not allow falls back to its default, like one that was never chosen.
    if (old != nullptr && !is_default(option.key)) (void)next.set(option.key, *old);
  }
  // Kernels of the chain in force keep reading the old cells: they stay the ones that follow set().
  for (auto& [key, cell] : next.live_) {
    const auto old = live_.find(key);
    if (old == live_.end()) continue;
    old->second->store(cell->load(std::memory_order_relaxed), std::memory_order_relaxed);
    cell = old->second;
  }
  *this = std::move(next);
}

std::shared_ptr<const std::atomic<double>> Settings::live(std::string_view key) const {
  const auto cell = live_.find(key);
  return cell == live_.end() ? nullptr : cell->second;
}

}  // namespace attn
