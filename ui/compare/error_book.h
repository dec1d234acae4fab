// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/compare/call_key.h"
#include "ui/compare/error_service.h"

#include <QString>
#include <map>
#include <optional>
#include <tuple>

namespace attn::ui {

/// Measured errors by what they depend on: the call without its strides, the backend with its kernel, the target, and
/// the options of that backend (of the sparse stage too where it selected). So an error holds for every run in which
/// that is the same, and for no other. Grows with what is measured, a few hundred bytes each.
class ErrorBook {
 public:
  struct Entry {
    double relative_l1 = 0.0;
    double cosine = 1.0;
    QString note;
  };

  explicit ErrorBook(const Registry& registry) : registry_(registry) {}
  void add(const MeasuredRoute& measured);
  [[nodiscard]] const Entry* find(const trace::RouteRow& route, const SettingsPoint& settings) const;
  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }

 private:
  using Key = std::tuple<CallKey, std::string>;
  [[nodiscard]] Key key_of(const trace::RouteRow& route, const SettingsPoint& settings) const;

  const Registry& registry_;
  std::map<Key, Entry> entries_;
};

}  // namespace attn::ui
