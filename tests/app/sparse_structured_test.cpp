// SPDX-License-Identifier: GPL-3.0-or-later
// Generated tensors with structure, and what they show: an adaptive selection keeps more attention than a fixed band.
#include "app/jobs/sparse/quality.h"
#include "app/jobs/sparse/structured_tensors.h"
#include "app/jobs/targets/targets.h"
#include "app/jobs/tensors/generated.h"
#include "backends/all.h"
#include "core/call/call_text.h"
#include "core/engine/engine.h"
#include "core/layout/layout_reader.h"
#include "support/oracle.h"

#include <QtTest>
#include <cmath>
#include <cstdio>

using namespace attn;
using namespace attn::app;
using attn::test::q;

namespace {

AttentionCall written(std::string_view text) { return parse_call(text)->call; }

bool same_bytes(HostTensor& a, HostTensor& b) {
  return a.memory().size() == b.memory().size() &&
         std::memcmp(a.memory().data(), b.memory().data(), a.memory().size()) == 0;
}

/// Mean scaled score between a token and those of a set.
double mean_score(const AttentionCall& call, std::int64_t head, std::int64_t from,
                  const std::vector<std::int64_t>& to) {
  double sum = 0.0;
  for (const std::int64_t token : to) {
    for (std::int64_t d = 0; d < call.head_dim(); ++d) {
      sum += static_cast<double>(load_element(call.query, head * call.query.step(1) + from * call.query.step(2) + d)) *
             static_cast<double>(load_element(call.key, head * call.key.step(1) + token * call.key.step(2) + d));
    }
  }
  return sum * call.effective_scale() / static_cast<double>(to.size());
}

}  // namespace

class SparseStructuredTest : public QObject {
  Q_OBJECT

 private slots:
  void the_same_options_give_the_same_bytes() {
    const AttentionCall call = written("q[1,4,500,32] bf16");
    StructureOptions options;
    options.layout = prefix_layout(500, 100);
    auto first = structured_tensors(call, options);
    auto second = structured_tensors(call, options);
    QVERIFY(first.has_value() && second.has_value());
    QVERIFY(same_bytes(first->query, second->query));
    QVERIFY(same_bytes(first->key, second->key));
    QVERIFY(same_bytes(first->value, second->value));
    options.seed = 1;
    auto other = structured_tensors(call, options);
    QVERIFY(!same_bytes(first->query, other->query));
    QCOMPARE(first->grid, (std::vector<std::int64_t>{20, 20}));
  }

  void near_tokens_score_higher_than_far_ones() {
    StructureOptions options;
    options.grid = {32, 32};
    const auto made = structured_tensors(written("q[1,4,1024,64] fp32"), options);
    QVERIFY(made.has_value());
    // Head 0 looks at places. The tokens above and below are near, although far in the sequence.
    double near = 0.0;
    double far = 0.0;
    for (std::int64_t y = 4; y < 28; y += 5) {
      for (std::int64_t x = 4; x < 28; x += 5) {
        const std::int64_t at = y * 32 + x;
        near += mean_score(made->call, 0, at, {at - 32, at + 32, at - 1, at + 1});
        const std::int64_t opposite = (y + 16) % 32 * 32;
        far += mean_score(made->call, 0, at,
                          {opposite + (x + 14) % 32, opposite + (x + 16) % 32, opposite + (x + 18) % 32});
      }
    }
    QVERIFY2(near / 25 > 5.0, qPrintable(QString::number(near / 25)));
    QVERIFY2(far / 25 < 2.0, qPrintable(QString::number(far / 25)));
  }

  void near_in_time_counts_in_three_dimensions() {
    StructureOptions options;
    options.grid = {8, 12, 12};
    const auto made = structured_tensors(written("q[1,1,1152,64] fp32"), options);
    QVERIFY(made.has_value());
    double near = 0.0;
    double far = 0.0;
    for (std::int64_t at = 3 * 144; at < 5 * 144; at += 7) {
      near += mean_score(made->call, 0, at, {at - 144, at + 144});
      far += mean_score(made->call, 0, at, {at - 3 * 144, at + 3 * 144});
    }
    QVERIFY2(near / 42 > far / 42 + 1.5, qPrintable(QString("%1 and %2").arg(near / 42).arg(far / 42)));
  }

  void text_follows_its_spans() {
    // The same picture with the text in front and behind: the image tokens hold the same features.
    StructureOptions front;
    front.layout = segment_layout(std::vector<Segment>{{"text", 64}, {"image", 256}});
    StructureOptions behind;
    behind.layout = segment_layout(std::vector<Segment>{{"image", 256}, {"text", 64}});
    const AttentionCall call = written("q[1,4,320,64] fp32");
    const auto first = structured_tensors(call, front);
    const auto last = structured_tensors(call, behind);
    QVERIFY(first.has_value() && last.has_value());
    const double near_front = mean_score(first->call, 0, 64 + 8 * 16 + 8, {64 + 8 * 16 + 9, 64 + 9 * 16 + 8});
    const double near_behind = mean_score(last->call, 0, 8 * 16 + 8, {8 * 16 + 9, 9 * 16 + 8});
    QVERIFY(std::abs(near_front - near_behind) < 3.0 && near_front > 4.0 && near_behind > 4.0);
    // Text has no place: no text token stands out for the place alone (head 0 hardly looks at kinds).
    QVERIFY(mean_score(first->call, 0, 64 + 8 * 16 + 8, {0, 1, 2, 3, 60, 61, 62, 63}) < 2.0);
  }

  void what_cannot_be_made_is_said_in_a_sentence_data() {
    QTest::addColumn<QString>("call");
    QTest::addColumn<QString>("grid");
    QTest::addColumn<int>("layout");
    QTest::addColumn<QString>("part");
    QTest::newRow("cross attention") << "q[1,2,64,32] k[1,2,32,32]"
                                     << "" << 0 << "self attention";
    QTest::newRow("mask") << "q[1,2,64,32] mask=bool"
                          << "" << 0 << "without a mask";
    QTest::newRow("strides") << "q[1,2,64,32] strides=transposed"
                             << "" << 0 << "leave strides= out";
    QTest::newRow("grid of another size") << "q[1,2,64,32]"
                                          << "8x9" << 0 << "does not hold the 64 image tokens";
    QTest::newRow("grid of one dim") << "q[1,2,64,32]"
                                     << "64" << 0 << "frames x height x width";
    QTest::newRow("layout of another length") << "q[1,2,64,32]"
                                              << "" << 65 << "layout mismatch";
    QTest::newRow("head_dim") << "q[1,2,64,4]"
                              << "" << 0 << "head_dim of 8";
  }
  void what_cannot_be_made_is_said_in_a_sentence() {
    QFETCH(QString, call);
    QFETCH(QString, grid);
    QFETCH(int, layout);
    QFETCH(QString, part);
    StructureOptions options;
    for (const QString& size : grid.split('x', Qt::SkipEmptyParts)) options.grid.push_back(size.toLongLong());
    if (layout > 0) options.layout = prefix_layout(layout);
    const auto made = structured_tensors(written(call.toStdString()), options);
    QVERIFY(!made.has_value());
    QVERIFY2(q(made.error()).contains(part), made.error().c_str());
  }

  void the_square_grid_is_as_square_as_there_is() {
    QCOMPARE(square_grid(4096), (std::vector<std::int64_t>{64, 64}));
    QCOMPARE(square_grid(4080), (std::vector<std::int64_t>{60, 68}));
    QCOMPARE(square_grid(7), (std::vector<std::int64_t>{1, 7}));
    QCOMPARE(square_grid(1), (std::vector<std::int64_t>{1, 1}));
  }

  void adaptive_keeps_more_attention_than_the_radial_control_data() {
    QTest::addColumn<QString>("call");
    QTest::addColumn<QString>("grid");
    QTest::addColumn<int>("text");
    QTest::newRow("image 64 x 64") << "q[1,8,4096,64] bf16"
                                   << "64x64" << 0;
    QTest::newRow("text and image") << "q[1,4,4608,64] bf16"
                                    << "64x64" << 512;
    QTest::newRow("video 8 x 20 x 32") << "q[1,4,5120,64] bf16"
                                       << "8x20x32" << 0;
  }
  /// At the same number of tiles.
  void adaptive_keeps_more_attention_than_the_radial_control() {
    QFETCH(QString, call);
    QFETCH(QString, grid);
    QFETCH(int, text);
    StructureOptions structure;
    for (const QString& size : grid.split('x')) structure.grid.push_back(size.toLongLong());
    const AttentionCall shape = written(call.toStdString());
    if (text > 0) structure.layout = prefix_layout(shape.query_tokens(), text);
    const auto tensors = structured_tensors(shape, structure);
    QVERIFY2(tensors.has_value(), tensors ? "" : tensors.error().c_str());

    Engine engine(make_registry(), *find_target("rtx-4090"));
    QVERIFY(engine.set(keys::overrides, OptionList{"Flex attention"}).has_value());
    const auto plan = engine.plan();
    ProbeOptions options;
    options.layout = structure.layout;
    auto probe = QualityProbe::make(tensors->call, **block_mask_entry(engine.registry(), *plan), options);
    QVERIFY2(probe.has_value(), probe ? "" : probe.error().c_str());
    std::printf("%s\n  kept %%   adaptive: density  mass kept  rel. L1   radial: density  mass kept  rel. L1\n",
                QTest::currentDataTag());
    for (const double budget : {0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5}) {
      const auto adaptive = probe->measure(SparsePattern::adaptive, budget);
      const auto radial = probe->measure(SparsePattern::radial, budget);
      QVERIFY(adaptive.has_value() && radial.has_value());
      std::printf("  %6.0f           %9.4f  %9.4f  %7.4f         %9.4f  %9.4f  %7.4f\n", budget * 100.0,
                  adaptive->density, adaptive->mass_kept, adaptive->relative_l1, radial->density, radial->mass_kept,
                  radial->relative_l1);
      QCOMPARE(adaptive->density, radial->density);
      // At 5 % of a picture the diagonal holds most of what is kept, in both: there they may be level.
      QVERIFY(adaptive->mass_kept > radial->mass_kept - (budget < 0.1 ? 0.005 : 0.0));
    }
    std::fflush(stdout);
  }
};

QTEST_GUILESS_MAIN(SparseStructuredTest)
#include "sparse_structured_test.moc"
