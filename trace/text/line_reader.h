// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "trace/event/route_event.h"

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attn::trace {

/// Walks a log line field by field. Every taker skips the blanks after what it took; one that does not find what it
/// looks for leaves the place where it was. Colour codes of a terminal are dropped at the start.
class LineReader {
 public:
  explicit LineReader(std::string_view line);

  /// Goes behind the first `marker` that begins a message: at the start, after a blank, or after the quote of the
  /// in-memory JSON form.
  bool skip_to(std::string_view marker);
  /// Takes `literal` when it comes next.
  bool take(std::string_view literal);
  /// The characters up to the next blank; may be empty.
  std::string_view word();
  /// `name` and the word behind it; nullopt when the name does not come next or the word is empty.
  std::optional<std::string_view> field(std::string_view name);
  /// "True" or "False".
  std::optional<bool> boolean();
  /// A whole number, 0 or more.
  template <class T>
  std::optional<T> number() {
    T value{};
    const char* begin = rest().data();
    const auto [end, error] = std::from_chars(begin, begin + rest().size(), value);
    if (error != std::errc{} || value < 0) return std::nullopt;
    at_ += static_cast<std::size_t>(end - begin);
    skip_blanks();
    return value;
  }
  /// "[1, 24, 4608, 128]" of rank 0 to 5.
  std::optional<EventShape> shape();
  /// A list of quoted labels, "['Flash attention', 'SDNQ attention']"; a label may hold blanks and escaped quotes.
  std::optional<std::vector<std::string>> labels();
  [[nodiscard]] bool at_end() const noexcept;

 private:
  [[nodiscard]] std::string_view rest() const noexcept { return std::string_view(text_).substr(at_); }
  void skip_blanks() noexcept;
  std::optional<std::string> label();

  std::string text_;
  std::size_t at_ = 0;
  bool in_json_ = false;  ///< the message stands between the quotes of the in-memory form
};

}  // namespace attn::trace
