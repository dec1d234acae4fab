// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/sparse/exclusion_list.h"

#include "app/gui/sweep_job.h"
#include "ui/sparse/skip_reasons.h"

#include <QtTest>

using namespace attn;
using namespace attn::ui;

namespace {

std::vector<ModelNames> models() {
  return {{"flux", "FLUX", {"FluxPipeline", "FluxTransformer2DModel", "f1"}},
          {"flux-fill", "FLUX Fill", {"FluxFillPipeline", "FluxTransformer2DModel", "f1"}},
          {"sd", "SD", {"StableDiffusionPipeline", "UNet2DConditionModel", std::nullopt}}};
}

}  // namespace

class ExclusionListTest : public QObject {
  Q_OBJECT

 private slots:
  void every_name_is_offered_once_with_what_it_names() {
    QStringList names;
    QStringList whats;
    for (const KnownName& known : known_names(models())) {
      names << known.name;
      whats << known.what;
    }
    QCOMPARE(names, (QStringList{"f1", "FluxFillPipeline", "FluxPipeline", "FluxTransformer2DModel",
                                 "StableDiffusionPipeline", "UNet2DConditionModel"}));
    QCOMPARE(whats[0], QString("architecture · FLUX, FLUX Fill"));
    QCOMPARE(whats[3], QString("denoiser class · FLUX, FLUX Fill"));
  }

  void the_loaded_models_entry_matches_by_any_name_in_any_case_data() {
    QTest::addColumn<QString>("entry");
    QTest::addColumn<bool>("matches");
    QTest::newRow("architecture") << "F1" << true;
    QTest::newRow("pipeline") << "fluxpipeline" << true;
    QTest::newRow("denoiser") << " FLUXTRANSFORMER2DMODEL " << true;
    QTest::newRow("another model") << "FluxFillPipeline" << false;
    QTest::newRow("part of a name") << "Flux" << false;
  }
  void the_loaded_models_entry_matches_by_any_name_in_any_case() {
    QFETCH(QString, entry);
    QFETCH(bool, matches);
    const std::vector<ModelNames> all = models();
    const std::vector<Exclusion> found = exclusions_of("nobody," + entry, all, &all[0]);
    QCOMPARE(found.size(), std::size_t{2});
    QVERIFY(!found[0].matches && found[0].known_as.isEmpty());
    QCOMPARE(found[1].matches, matches);
    QCOMPARE(found[1].text, entry.trimmed());
  }

  void adding_keeps_what_is_there_and_leaves_out_repeats() {
    QCOMPARE(with_exclusions("a,b", "c, D"), QString("a, b, c, D"));
    QCOMPARE(with_exclusions("a,b", "A, b"), QString("a,b"));
    QCOMPARE(with_exclusions("", ", ,"), QString(""));
    QCOMPARE(with_exclusions("", "x, X"), QString("x"));
  }

  void reasons_are_added_up_and_the_first_remedy_is_given() {
    trace::TraceSnapshot run;
    trace::RouteRow row;
    row.calls = 10;
    row.id.query = {{1, 24, 4096, 128, 0}, 4};
    row.stage_skips = {{"not the denoiser", 2}, {"below the minimum sequence", 3}};
    run.routes = {row, row};
    run.routes[1].id.query.size[2] = 6144;
    QCOMPARE(dense_reason(run), QString("below the minimum sequence (6 calls), not the denoiser (4 calls). To change "
                                        "that, set the minimum sequence to 6\u202f144 or less"));
    QCOMPARE(skip_lines(row), (QStringList{"3 of 10 calls stayed dense: below the minimum sequence",
                                           "2 of 10 calls stayed dense: not the denoiser"}));
    QCOMPARE(dense_reason({}), QString());
  }

  void every_reason_of_the_stage_has_an_answer_or_needs_none() {
    QStringList without;
    for (const std::string_view reason : SparseStage::reasons()) {
      if (remedy_for(reason, 100).isEmpty()) without << QString::fromUtf8(reason.data(), qsizetype(reason.size()));
    }
    QCOMPARE(without, (QStringList{"not the denoiser", "causal", "cross attention"}));
  }

  void a_sweep_takes_as_many_tokens_as_the_time_allows() {
    QCOMPARE(app::tokens_within(4608, 1.0), 4608);
    QCOMPARE(app::tokens_within(4608, 20.0), 4608);
    QCOMPARE(app::tokens_within(38222, 80.0), 19072);  // half of them take a quarter of the time
    QCOMPARE(app::tokens_within(38222, 1e9), 1024);
    QCOMPARE(app::tokens_within(512, 1e9), 512);
  }

  void a_shortened_layout_keeps_its_text() {
    const TokenLayout layout{"segments", 4608, {{"text", 0, 512}, {"image", 512, 4608}}};
    const auto shorter = app::shortened(layout, 2048);
    QVERIFY(shorter.has_value());
    QVERIFY(shorter->spans == (std::vector<TokenSpan>{{"text", 0, 512}, {"image", 512, 2048}}));
    QCOMPARE(shorter->length, 2048);
    QVERIFY(!app::shortened(layout, 512).has_value());
    const TokenLayout two{"segments", 1000, {{"image", 0, 300}, {"text", 300, 400}, {"video", 400, 1000}}};
    const auto scaled = app::shortened(two, 612);
    QVERIFY(scaled.has_value() && scaled->length <= 612 && scaled->spans.size() == 3);
    QVERIFY(layout_faults(*scaled).empty());
  }
};

QTEST_GUILESS_MAIN(ExclusionListTest)
#include "exclusion_list_test.moc"
