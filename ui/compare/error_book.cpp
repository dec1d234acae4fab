// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/compare/error_book.h"

#include "core/settings/settings.h"

namespace attn::ui {

ErrorBook::Key ErrorBook::key_of(const trace::RouteRow& route, const SettingsPoint& settings) const {
  std::string served = route.id.backend + '\n' + route.variant + '\n' + settings.target.name;
  const auto add = [&](const std::string& key, const OptionValue& value) {
    served += '\n' + key + '=' + value_text(value);
  };
  const std::string name = route.id.backend.substr(0, route.id.backend.find('+'));
  if (const BackendSpec* spec = registry_.by_name(name); spec != nullptr) {
    for (const OptionSpec& option : spec->options) {
      if (const OptionValue* value = settings.values.find(option.key); value != nullptr) add(option.key, *value);
    }
  }
  if (name.size() != route.id.backend.size()) {
    for (const auto& [key, value] : settings.values.all()) {
      if (key.starts_with(keys::sparse_prefix)) add(key, value);
    }
  }
  return {call_key(route, Strides::ignored), std::move(served)};
}

void ErrorBook::add(const MeasuredRoute& measured) {
  entries_[key_of(measured.route, measured.settings)] = {measured.relative_l1, measured.cosine, measured.note};
}

const ErrorBook::Entry* ErrorBook::find(const trace::RouteRow& route, const SettingsPoint& settings) const {
  const auto at = entries_.find(key_of(route, settings));
  return at == entries_.end() ? nullptr : &at->second;
}

}  // namespace attn::ui
