// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/pipeline/config.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attn::app {

/// A prompt as the text encoder takes it.
struct TokenizedPrompt {
  std::vector<std::int64_t> ids;  ///< text_length of them: the start token, the words, padding
  std::int64_t live = 0;          ///< tokens before the padding
};

/// The words that a person may write: the vocabulary without its special tokens.
[[nodiscard]] std::vector<std::string> prompt_words(const ShapesConfig& config);

/// Lower case, split at white space; commas and full stops are dropped. The empty prompt is the start token alone.
/// Error: a word that the model does not know, with the nearest ones that it does, or more words than it reads.
[[nodiscard]] Expected<TokenizedPrompt> tokenize(std::string_view prompt, const ShapesConfig& config);

}  // namespace attn::app
