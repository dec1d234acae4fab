// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "backends/cudnn/library.h"

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace attn::cudnn {

/// One backend descriptor, destroyed with its owner. The library must outlive it.
class Descriptor {
 public:
  Descriptor() = default;
  Descriptor(const Library& library, RawDescriptor raw) : library_(&library), raw_(raw) {}
  Descriptor(Descriptor&& other) noexcept : library_(other.library_), raw_(std::exchange(other.raw_, nullptr)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(library_, other.library_);
    std::swap(raw_, other.raw_);
    return *this;
  }
  ~Descriptor() {
    if (raw_ != nullptr) library_->destroy(raw_);
  }

  [[nodiscard]] RawDescriptor raw() const noexcept { return raw_; }

 private:
  const Library* library_ = nullptr;
  RawDescriptor raw_ = nullptr;
};

/// Makes descriptors and remembers the first thing that went wrong; after that nothing is asked any more.
class Maker {
 public:
  explicit Maker(const Library& library) : library_(library) {}

  /// `subject` names the thing in an error: "the plan".
  [[nodiscard]] Descriptor begin(Kind kind, std::string_view subject);
  void set(const Descriptor& at, Attribute attribute, Type type, std::int64_t count, const void* values);
  void finish(const Descriptor& at);

  void set_integers(const Descriptor& at, Attribute attribute, std::span<const std::int64_t> values) {
    set(at, attribute, Type::int64, static_cast<std::int64_t>(values.size()), values.data());
  }
  void set_descriptor(const Descriptor& at, Attribute attribute, const Descriptor& value) {
    RawDescriptor raw = value.raw();
    set(at, attribute, Type::descriptor, 1, &raw);
  }
  template <class Enumeration>
  void set_enumeration(const Descriptor& at, Attribute attribute, Type type, Enumeration value) {
    const int number = static_cast<int>(value);
    set(at, attribute, type, 1, &number);
  }
  void set_flag(const Descriptor& at, Attribute attribute, bool value) { set(at, attribute, Type::boolean, 1, &value); }

  [[nodiscard]] const std::string& error() const noexcept { return error_; }
  [[nodiscard]] bool failed() const noexcept { return !error_.empty(); }
  /// The status behind error(); 0 while nothing failed.
  [[nodiscard]] int status() const noexcept { return status_; }
  [[nodiscard]] const Library& library() const noexcept { return library_; }

 private:
  void check(std::string_view call, int status);

  const Library& library_;
  std::string subject_;
  std::string error_;
  int status_ = 0;
};

}  // namespace attn::cudnn
