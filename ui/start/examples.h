// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/services.h"

#include <QString>
#include <string>
#include <utility>
#include <vector>

namespace attn::ui {

/// Something to look at for a person who sees the window for the first time.
struct Example {
  enum class Show { picture, fallback, budget };  ///< what to bring to the front when it has run
  const char* id = "";                            ///< of its command: "example.flux"
  const char* title = "";
  const char* what = "";    ///< what will be seen, a sentence or two
  const char* facts = "";   ///< "24 GB card, 1024 × 1024, 28 steps · planned, a moment"
  const char* model = "";   ///< a model's id
  const char* target = "";  ///< a machine's name; empty: as it is
  std::vector<std::pair<std::string, OptionValue>> settings;  ///< all others go to their defaults
  std::map<QString, double> inputs;                           ///< of the model, beside its defaults
  QString prompt;                                             ///< of a model that draws
  Show show = Show::fallback;
};

/// The three of the start page, in its order.
[[nodiscard]] const std::vector<Example>& examples();

}  // namespace attn::ui
