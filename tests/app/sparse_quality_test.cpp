// SPDX-License-Identifier: GPL-3.0-or-later
// Quality numbers against a plain evaluation in double.
#include "app/jobs/sparse/quality.h"
#include "app/jobs/sparse/structured_tensors.h"
#include "app/jobs/sparse/threads.h"
#include "app/jobs/targets/targets.h"
#include "app/jobs/tensors/generated.h"
#include "backends/all.h"
#include "core/call/call_text.h"
#include "core/engine/engine.h"
#include "core/layout/layout_reader.h"
#include "support/oracle.h"

#include <QtTest>
#include <cmath>
#include <limits>

using namespace attn;
using namespace attn::app;
using attn::test::q;

namespace {

AttentionCall written(std::string_view text) { return parse_call(text)->call; }

/// The chain of one backend.
struct Chain {
  explicit Chain(std::string_view backend, std::string_view target = "rtx-4090")
      : engine(make_registry(), *find_target(target)) {
    const OptionList labels{engine.registry().by_name(backend)->label};
    if (!engine.set(keys::overrides, labels)) qFatal("overrides");
    plan = engine.plan();
  }
  [[nodiscard]] const PlanEntry& entry() const { return **block_mask_entry(engine.registry(), *plan); }
  Engine engine;
  std::shared_ptr<const Plan> plan;
};

/// Probabilities of one query row in double; all 0 where no key is allowed.
std::vector<double> probabilities(const AttentionCall& call, std::int64_t b, std::int64_t h, std::int64_t i) {
  const TensorView& query = call.query;
  const TensorView& key = call.key;
  const std::int64_t kv = h / (call.heads() / call.kv_heads());
  std::vector<double> p(static_cast<std::size_t>(call.key_tokens()));
  double largest = -std::numeric_limits<double>::infinity();
  for (std::size_t j = 0; j < p.size(); ++j) {
    const auto token = static_cast<std::int64_t>(j);
    double score = 0.0;
    for (std::int64_t d = 0; d < call.head_dim(); ++d) {
      const std::int64_t at_query = b * query.step(-4) + h * query.step(-3) + i * query.step(-2) + d * query.step(-1);
      const std::int64_t at_key = b * key.step(-4) + kv * key.step(-3) + token * key.step(-2) + d * key.step(-1);
      score += static_cast<double>(load_element(query, at_query)) * static_cast<double>(load_element(key, at_key));
    }
    score *= call.effective_scale();
    if (call.attn_mask) {
      const TensorView& mask = *call.attn_mask;
      const auto at = [&mask](int dim, std::int64_t n) { return mask.size(dim) == 1 ? 0 : n * mask.step(dim); };
      const float value = load_element(mask, at(-4, b) + at(-3, h) + at(-2, i) + at(-1, token));
      if (mask.dtype != DType::boolean) score += static_cast<double>(value);
      if (mask.dtype == DType::boolean && value == 0.0F) score = -std::numeric_limits<double>::infinity();
    }
    p[j] = score;
    largest = std::max(largest, score);
  }
  double sum = 0.0;
  for (double& value : p) {
    value = std::isinf(largest) ? 0.0 : std::exp(value - largest);
    sum += value;
  }
  for (double& value : p) value = sum > 0.0 ? value / sum : 0.0;
  return p;
}

/// Everything that QualityProbe::measure says, from the definitions.
struct Truth {
  double mass = 0.0;
  double relative_l1 = 0.0;
  double cosine = 0.0;
};

Truth truth_of(const AttentionCall& call, const BlockSelection& selection) {
  double kept = 0.0;
  double rows = 0.0;
  double away = 0.0;
  double reference = 0.0;
  double dot = 0.0;
  double dense_squares = 0.0;
  double sparse_squares = 0.0;
  const TensorView& value = call.value;
  for (std::int64_t b = 0; b < call.batch(); ++b) {
    for (std::int64_t h = 0; h < call.heads(); ++h) {
      const std::int64_t kv = h / (call.heads() / call.kv_heads());
      for (std::int64_t i = 0; i < call.query_tokens(); ++i) {
        const std::vector<double> p = probabilities(call, b, h, i);
        double row_mass = 0.0;
        std::vector<double> dense(static_cast<std::size_t>(call.value_dim()));
        std::vector<double> sparse(dense.size());
        for (std::size_t j = 0; j < p.size(); ++j) {
          const auto token = static_cast<std::int64_t>(j);
          const bool in = selection.kept(b, h, i / selection.block_q, token / selection.block_kv);
          if (in) row_mass += p[j];
          for (std::size_t d = 0; d < dense.size(); ++d) {
            const double v = static_cast<double>(
                load_element(value, b * value.step(-4) + kv * value.step(-3) + token * value.step(-2) +
                                        static_cast<std::int64_t>(d) * value.step(-1)));
            dense[d] += p[j] * v;
            if (in) sparse[d] += p[j] * v;
          }
        }
        kept += row_mass;
        rows += 1.0;
        for (std::size_t d = 0; d < dense.size(); ++d) {
          const double s = row_mass > 0.0 ? sparse[d] / row_mass : 0.0;
          away += std::abs(s - dense[d]);
          reference += std::abs(dense[d]);
          dot += s * dense[d];
          dense_squares += dense[d] * dense[d];
          sparse_squares += s * s;
        }
      }
    }
  }
  return {kept / rows, away / reference, dot / std::sqrt(dense_squares * sparse_squares)};
}

void compare(double got, double want, double tolerance, const char* what) {
  QVERIFY2(std::abs(got - want) <= tolerance,
           qPrintable(QString("%1: %2, should be %3").arg(what).arg(got, 0, 'g', 12).arg(want, 0, 'g', 12)));
}

}  // namespace

class SparseQualityTest : public QObject {
  Q_OBJECT

 private slots:
  void numbers_are_those_of_a_plain_evaluation_data() {
    QTest::addColumn<QString>("call");
    QTest::addColumn<QString>("layout");
    QTest::addColumn<double>("budget");
    QTest::addColumn<bool>("radial");
    QTest::addColumn<bool>("shared");
    QTest::newRow("fp32") << "q[1,3,400,32] fp32"
                          << "" << 0.3 << false << false;
    QTest::newRow("ragged last tiles, text first") << "q[1,2,461,40] fp32"
                                                   << "text:77" << 0.4 << false << false;
    QTest::newRow("padding dropped") << "q[1,2,512,16] fp32"
                                     << "pad:128" << 0.5 << false << false;
    QTest::newRow("batch of two") << "q[2,2,384,32] fp32"
                                  << "" << 0.2 << false << false;
    QTest::newRow("shared by heads") << "q[1,4,384,32] fp32"
                                     << "" << 0.2 << false << true;
    QTest::newRow("grouped heads") << "q[1,6,384,32] k[1,2,384,32] fp32 gqa"
                                   << "" << 0.3 << false << false;
    QTest::newRow("radial") << "q[1,3,640,32] fp32"
                            << "text:64" << 0.3 << true << false;
    QTest::newRow("own scale") << "q[1,2,384,32] fp32 scale=0.05"
                               << "" << 0.3 << false << false;
    QTest::newRow("transposed in memory") << "q[1,2,384,32] fp32 strides=transposed"
                                          << "" << 0.3 << false << false;
    QTest::newRow("value_dim of its own") << "q[1,2,384,32] k[1,2,384,32] v[1,2,384,48] fp32"
                                          << "" << 0.3 << false << false;
  }
  void numbers_are_those_of_a_plain_evaluation() {
    QFETCH(QString, call);
    QFETCH(QString, layout);
    QFETCH(double, budget);
    QFETCH(bool, radial);
    QFETCH(bool, shared);
    const Chain chain("flex");
    const CallTensors tensors = generate(written(call.toStdString()), 5);
    ProbeOptions options;
    options.head_shared = shared;
    const std::int64_t tokens = tensors.call.query_tokens();
    if (!layout.isEmpty()) {
      const QStringList parts = layout.split(':');
      const std::vector<Segment> segments{{parts[0].toStdString(), parts[1].toLongLong()},
                                          {"image", tokens - parts[1].toLongLong()}};
      options.layout = segment_layout(segments);
    }
    auto probe = QualityProbe::make(tensors.call, chain.entry(), options);
    QVERIFY2(probe.has_value(), probe ? "" : probe.error().c_str());
    const auto quality = probe->measure(radial ? SparsePattern::radial : SparsePattern::adaptive, budget);
    QVERIFY2(quality.has_value(), quality ? "" : quality.error().c_str());
    QVERIFY(!quality->dense);
    const BlockSelection& selection = probe->selection();
    QCOMPARE(selection.heads, radial || shared ? 1 : tensors.call.heads());
    const Truth truth = truth_of(tensors.call, selection);
    compare(quality->mass_kept, truth.mass, 2e-6, "mass kept");
    compare(quality->relative_l1, truth.relative_l1, 2e-5, "relative L1");
    compare(quality->cosine, truth.cosine, 2e-6, "cosine");
    const auto kept = std::count(selection.keep.begin(), selection.keep.end(), std::uint8_t{1});
    compare(quality->density, static_cast<double>(kept) / static_cast<double>(selection.keep.size()), 1e-12, "density");
    QVERIFY(quality->density < 1.0 && quality->mass_kept < 1.0 && quality->relative_l1 > 0.0);
    QVERIFY(quality->attention_seconds > 0.0);
    QVERIFY((quality->select_seconds > 0.0) == !radial);
  }

  void the_budget_of_100_percent_is_the_dense_call() {
    const Chain chain("flex");
    const CallTensors tensors = generate(written("q[1,2,384,32] bf16"), 1);
    auto probe = QualityProbe::make(tensors.call, chain.entry(), {});
    QVERIFY(probe.has_value());
    for (const SparsePattern pattern : {SparsePattern::adaptive, SparsePattern::radial}) {
      const auto quality = probe->measure(pattern, 1.0);
      QVERIFY(quality.has_value());
      QVERIFY(quality->dense);
      QCOMPARE(quality->density, 1.0);
      QCOMPARE(quality->mass_kept, 1.0);
      QCOMPARE(quality->relative_l1, 0.0);
      QCOMPARE(quality->cosine, 1.0);
      QCOMPARE(quality->select_seconds, 0.0);
    }
  }

  void mass_and_error_move_one_way_with_the_budget_data() {
    QTest::addColumn<QString>("backend");
    QTest::newRow("flex") << "flex";
    QTest::newRow("sdnq") << "sdnq";
  }
  void mass_and_error_move_one_way_with_the_budget() {
    QFETCH(QString, backend);
    const Chain chain(backend.toStdString());
    const auto tensors = structured_tensors(written("q[1,4,1024,64] bf16"), {});
    QVERIFY(tensors.has_value());
    auto probe = QualityProbe::make(tensors->call, chain.entry(), {});
    QVERIFY2(probe.has_value(), probe ? "" : probe.error().c_str());
    double mass = 0.0;
    double density = 0.0;
    double error = std::numeric_limits<double>::infinity();
    for (const double budget : {0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9, 1.0}) {
      const auto quality = probe->measure(SparsePattern::adaptive, budget);
      QVERIFY(quality.has_value());
      QVERIFY(quality->mass_kept >= mass);
      QVERIFY(quality->density >= density);
      QVERIFY(quality->relative_l1 <= error);
      mass = quality->mass_kept;
      density = quality->density;
      error = quality->relative_l1;
    }
    QCOMPARE(mass, 1.0);
    QCOMPARE(error, 0.0);
  }

  void mass_is_the_same_for_any_number_of_threads_and_sums_to_one_a_row() {
    const CallTensors tensors = generate(written("q[2,3,300,24] k[2,3,333,24] fp32"), 9);
    const TileGrid grid{300, 333};
    const auto alone = TileMass::measure(tensors.call, grid, {});
    const auto together = TileMass::measure(tensors.call, grid, on_all_threads());
    QVERIFY(alone.has_value() && together.has_value());
    for (std::int64_t h = 0; h < 6; ++h) {
      for (std::int64_t i = 0; i < grid.query_tiles(); ++i) {
        double sum = 0.0;
        for (std::int64_t j = 0; j < grid.key_tiles(); ++j) {
          QCOMPARE(alone->at(h / 3, h % 3, i, j), together->at(h / 3, h % 3, i, j));
          sum += static_cast<double>(alone->at(h / 3, h % 3, i, j));
        }
        compare(sum, static_cast<double>(std::min<std::int64_t>(128, 300 - i * 128)), 1e-4, "mass of a tile row");
      }
    }
  }

  void masks_take_part_in_the_mass_data() {
    QTest::addColumn<QString>("call");
    QTest::newRow("padding") << "q[1,2,200,16] fp32 mask=padding:50";
    QTest::newRow("bool per head") << "q[1,2,200,16] fp32 mask=bool[1,2,1,200]";
    QTest::newRow("float") << "q[1,2,200,16] fp32 mask=float[1,1,200,200]";
  }
  void masks_take_part_in_the_mass() {
    QFETCH(QString, call);
    CallTensors tensors = generate(written(call.toStdString()), 3);
    const TileGrid grid{200, 200};
    // A row that may attend to nothing has no mass.
    const bool full_rows = tensors.call.attn_mask->size(-2) == 200;
    if (full_rows) {
      for (std::int64_t j = 0; j < 200; ++j) {
        store_element(*tensors.call.attn_mask, 7 * 200 + j, -std::numeric_limits<float>::infinity());
      }
    }
    const auto mass = TileMass::measure(tensors.call, grid, on_all_threads());
    QVERIFY(mass.has_value());
    for (std::int64_t h = 0; h < 2; ++h) {
      std::vector<double> want(8, 0.0);
      for (std::int64_t i = 0; i < 200; ++i) {
        const std::vector<double> p = probabilities(tensors.call, 0, h, i);
        for (std::size_t j = 0; j < p.size(); ++j) want[static_cast<std::size_t>(i / 128 * 4) + j / 64] += p[j];
      }
      for (std::int64_t n = 0; n < 8; ++n) {
        compare(static_cast<double>(mass->at(0, h, n / 4, n % 4)), want[static_cast<std::size_t>(n)], 1e-4, "mass");
      }
    }
  }

  void a_masked_call_is_measured_where_the_kernel_combines_masks() {
    const CallTensors tensors = generate(written("q[1,2,640,32] fp16 mask=padding:100"), 3);
    const Chain sdnq("sdnq");
    auto probe = QualityProbe::make(tensors.call, sdnq.entry(), {});
    QVERIFY2(probe.has_value(), probe ? "" : probe.error().c_str());
    const auto quality = probe->measure(SparsePattern::adaptive, 0.5);
    QVERIFY(quality.has_value());
    QVERIFY(quality->mass_kept > 0.3 && quality->mass_kept < 1.0);
    const Chain flex("flex");
    const auto refused = QualityProbe::make(tensors.call, flex.entry(), {});
    QVERIFY(!refused.has_value());
    QCOMPARE(q(refused.error()), "the sparse stage leaves this call dense: masked");
  }

  void what_is_not_measured_is_said_in_a_sentence_data() {
    QTest::addColumn<QString>("call");
    QTest::addColumn<QString>("sentence");
    QTest::newRow("causal") << "q[1,2,256,32] causal"
                            << "the sparse stage leaves this call dense: causal";
    QTest::newRow("cross attention") << "q[1,2,256,32] k[1,2,128,32]"
                                     << "the sparse stage leaves this call dense: cross attention";
    QTest::newRow("on the cpu") << "q[1,2,256,32] device=cpu"
                                << "flex declines the call: ";
    QTest::newRow("rank 3") << "q[2,256,32]"
                            << "flex declines the call: ";
  }
  void what_is_not_measured_is_said_in_a_sentence() {
    QFETCH(QString, call);
    QFETCH(QString, sentence);
    const Chain chain("flex");
    const CallTensors tensors = generate(written(call.toStdString()), 0);
    const auto probe = QualityProbe::make(tensors.call, chain.entry(), {});
    QVERIFY(!probe.has_value());
    QVERIFY2(q(probe.error()).startsWith(sentence), probe.error().c_str());
  }

  void data_layout_and_budget_are_checked() {
    const Chain chain("flex");
    const auto planned = QualityProbe::make(written("q[1,2,256,32]"), chain.entry(), {});
    QVERIFY(!planned.has_value());
    QCOMPARE(q(planned.error()), "measuring needs a query, a key and a value with data");
    const CallTensors tensors = generate(written("q[1,2,256,32]"), 0);
    ProbeOptions options;
    options.layout = prefix_layout(300, 20);
    const auto mismatch = QualityProbe::make(tensors.call, chain.entry(), options);
    QVERIFY(!mismatch.has_value());
    QCOMPARE(q(mismatch.error()), "layout mismatch: the layout declares 300 tokens, the call has 256");
    auto probe = QualityProbe::make(tensors.call, chain.entry(), {});
    QVERIFY(probe.has_value());
    for (const double budget : {0.0, -0.1, 1.01, std::nan("")}) {
      QVERIFY(!probe->measure(SparsePattern::adaptive, budget).has_value());
    }
  }

  void a_chain_without_block_masks_names_the_backends_that_take_one() {
    const Chain chain("sage");
    const auto none = block_mask_entry(chain.engine.registry(), *chain.plan);
    QVERIFY(!none.has_value());
    QCOMPARE(q(none.error()), "no enabled backend takes a block mask: enable sdnq or flex");
    const auto sage = block_mask_entry(chain.engine.registry(), *chain.plan, "sage");
    QCOMPARE(q(sage.error()), "sage takes no block mask; no enabled backend takes a block mask: enable sdnq or flex");
    const auto flex = block_mask_entry(chain.engine.registry(), *chain.plan, "flex");
    QCOMPARE(q(flex.error()), "flex is not in the chain (disabled)");
  }

  void the_radial_control_keeps_as_many_tiles_and_what_is_pinned() {
    for (const double budget : {0.05, 0.1, 0.3, 0.5, 0.9}) {
      for (const std::int64_t text : {0, 200, 512}) {
        const TileGrid grid{4608, 4608};
        const LayoutTiles marks(prefix_layout(4608, text), grid);
        const SelectionTotals totals = selection_totals(marks, budget);
        const BlockSelection radial = radial_selection(marks, totals.kept, budget);
        const auto kept = std::count(radial.keep.begin(), radial.keep.end(), std::uint8_t{1});
        QCOMPARE(kept, totals.kept);
        QCOMPARE(radial.density, totals.density());
        std::vector<TileMark> row(static_cast<std::size_t>(grid.key_tiles()));
        for (std::int64_t i = 0; i < grid.query_tiles(); ++i) {
          marks.mark_row(0, i, row);
          for (std::int64_t j = 0; j < grid.key_tiles(); ++j) {
            const TileMark mark = row[static_cast<std::size_t>(j)];
            if (mark == TileMark::pinned || mark == TileMark::diagonal) QVERIFY(radial.kept(0, 0, i, j));
          }
        }
      }
    }
  }
};

QTEST_GUILESS_MAIN(SparseQualityTest)
#include "sparse_quality_test.moc"
