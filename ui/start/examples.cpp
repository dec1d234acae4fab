// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/start/examples.h"

#include "core/settings/settings.h"

#include <QCoreApplication>

namespace attn::ui {

const std::vector<Example>& examples() {
  static const std::vector<Example> kExamples = [] {
    std::vector<Example> out(3);
    Example& shapes = out[0];
    shapes.id = "example.shapes";
    shapes.title = QT_TRANSLATE_NOOP("Examples", "Shapes: see a picture form");
    shapes.what = QT_TRANSLATE_NOOP("Examples",
                                    "The small bundled model draws. Every attention call of it goes through the chain, "
                                    "and the picture is what the chosen kernels make of it.");
    shapes.facts = QT_TRANSLATE_NOOP("Examples", "computed on this machine");
    shapes.model = "shapes";
    shapes.settings = {{std::string(keys::overrides), OptionList{"SDNQ attention"}}};
    shapes.prompt = "a large red circle left of a small blue star on a green background";
    shapes.show = Example::Show::picture;

    Example& flux = out[1];
    flux.id = "example.flux";
    flux.title = QT_TRANSLATE_NOOP("Examples", "FLUX.1 dev on an RTX 4090: why did this call fall back");
    flux.what = QT_TRANSLATE_NOOP("Examples",
                                  "Three backends are asked before plain sdpa. One call of the generation gets none of "
                                  "them; the record beside the table says what each one checked.");
    flux.facts = QT_TRANSLATE_NOOP("Examples", "1 609 calls · planned, without data");
    flux.model = "flux.1-dev";
    flux.target = "rtx-4090";
    flux.settings = {{std::string(keys::overrides), OptionList{"SDNQ attention", "Sage attention", "Flash attention"}}};
    flux.show = Example::Show::fallback;

    Example& sparse = out[2];
    sparse.id = "example.sparse";
    sparse.title = QT_TRANSLATE_NOOP("Examples", "Wan 2.1 14B, sparse: what 30 % costs");
    sparse.what =
        QT_TRANSLATE_NOOP("Examples",
                          "75 600 tokens of video, of which each keeps 30 % of the key tiles, and 70 % in the "
                          "first and last steps. The budget sweep then weighs other shares.");
    sparse.facts = QT_TRANSLATE_NOOP("Examples", "8 021 calls planned · then a sweep, computed on this machine");
    sparse.model = "wan-2.1-14b";
    sparse.target = "rtx-4090";
    sparse.settings = {{std::string(keys::overrides), OptionList{"SDNQ attention", "Flash attention"}},
                       {"sparse_attention_enabled", true},
                       {"sparse_attention_budget", std::int64_t{30}},
                       {"sparse_attention_schedule_steps", std::int64_t{3}},
                       {"sparse_attention_schedule_bump", std::int64_t{40}}};
    sparse.show = Example::Show::budget;
    return out;
  }();
  return kExamples;
}

}  // namespace attn::ui
