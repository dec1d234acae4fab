// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/exchange/json_text.h"

#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// Walks JSON text once and notes where the members of its top-level object are. The first thing that is wrong ends
/// the walk with a sentence.
class JsonReader {
 public:
  explicit JsonReader(JsonText& into) : into_(into), text_(into.text_) {}
  [[nodiscard]] Expected<void> read();

 private:
  // Each returns false when error_ was set.
  bool members();
  bool member();
  bool value(JsonKind& kind);
  bool nested(JsonKind& kind);
  bool key_in(char closer);  ///< takes a key and its colon when `closer` says that the level is an object
  bool scalar(JsonKind& kind);
  bool string();
  bool escape();
  bool unicode_escape();
  bool character();
  bool number(JsonKind& kind);
  bool word(std::string_view name);
  bool expect(char c, std::string_view what);

  bool wrong(std::string_view expected);  ///< always false
  void skip_blanks() noexcept;
  [[nodiscard]] bool at_end() const noexcept { return at_ >= text_.size(); }
  [[nodiscard]] char next() const noexcept { return at_end() ? '\0' : text_[at_]; }
  bool digits();

  JsonText& into_;
  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  std::size_t line_start_ = 0;
  std::string error_;
};

/// The characters that a JSON string stands for; `quoted` is valid and holds its quotes. A surrogate without its
/// partner becomes U+FFFD.
[[nodiscard]] std::string decode_json_string(std::string_view quoted);

}  // namespace attn
