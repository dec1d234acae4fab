// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/pipeline/prompt.h"

#include "app/jobs/nearest.h"

#include <algorithm>

namespace attn::app {
namespace {

std::vector<std::string> words_of(std::string_view prompt) {
  std::vector<std::string> words;
  std::string word;
  const auto finish = [&] {
    if (!word.empty()) words.push_back(word);
    word.clear();
  };
  for (const char c : prompt) {
    const bool space = c == ' ' || c == ',' || c == '.' || (c >= '\t' && c <= '\r');
    if (space) {
      finish();
    } else {
      word.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
    }
  }
  finish();
  return words;
}

}  // namespace

std::vector<std::string> prompt_words(const ShapesConfig& config) {
  std::vector<std::string> words;
  for (std::size_t id = 0; id < config.vocabulary.size(); ++id) {
    const auto at = static_cast<std::int64_t>(id);
    if (at != config.pad_id && at != config.unknown_id && at != config.start_id) words.push_back(config.vocabulary[id]);
  }
  return words;
}

Expected<TokenizedPrompt> tokenize(std::string_view prompt, const ShapesConfig& config) {
  const std::vector<std::string> known = prompt_words(config);
  const std::vector<std::string> words = words_of(prompt);
  TokenizedPrompt tokens;
  tokens.ids.push_back(config.start_id);
  for (const std::string& word : words) {
    if (std::find(known.begin(), known.end(), word) == known.end()) {
      return fail("the model does not know the word \"" + quotable(word, 40) + "\"" +
                  nearest_hint(word, known, "; it knows " + joined(known)));
    }
    const auto at = std::find(config.vocabulary.begin(), config.vocabulary.end(), word);
    tokens.ids.push_back(at - config.vocabulary.begin());
  }
  if (static_cast<std::int64_t>(tokens.ids.size()) > config.text_length) {
    return fail("the prompt has " + std::to_string(words.size()) + " words; the model reads " +
                std::to_string(config.text_length - 1) + " at most");
  }
  tokens.live = static_cast<std::int64_t>(tokens.ids.size());
  tokens.ids.resize(static_cast<std::size_t>(config.text_length), config.pad_id);
  return tokens;
}

}  // namespace attn::app
