// SPDX-License-Identifier: GPL-3.0-or-later
// Numbers that people write and the plan that geometry gives, with the figures of the reports behind them.
#include "app/jobs/sparse/sparse_plan.h"
#include "app/jobs/job_runner.h"
#include "app/jobs/profile/profile_job.h"
#include "app/jobs/sparse/budget_text.h"
#include "app/jobs/sparse/headline.h"
#include "app/jobs/sparse/layout_text.h"
#include "app/jobs/targets/targets.h"
#include "app/jobs/tensors/generated.h"
#include "backends/all.h"
#include "core/engine/engine.h"
#include "support/oracle.h"

#include <QtTest>
#include <limits>

using namespace attn;
using namespace attn::app;
using attn::test::q;

namespace {

class Table final : public RouteObserver {
 public:
  void observe(const RouteRecord& record) noexcept override { table.add(trace::make_event(record)); }
  trace::RouteTable table;
};

}  // namespace

class SparsePlanTest : public QObject {
  Q_OBJECT

 private slots:
  // --- memory of the selection ----------------------------------------------------------------------------
  void a_video_length_states_its_bytes() {
    SparsePlanRequest request;
    request.tokens = 38222;
    request.heads = 56;
    const auto plan = plan_sparse(request);
    QVERIFY(plan.has_value());
    QCOMPARE(plan->grid.query_tiles(), 299);
    QCOMPARE(plan->grid.key_tiles(), 598);
    QCOMPARE(plan->scores_bytes, 40'051'648);
    QCOMPARE(plan->scores_bytes_per_head, 715'208);
    QCOMPARE(plan->keep_bytes, 10'012'912);
  }

  void a_limit_chunks_over_the_heads() {
    SparsePlanRequest request;
    request.tokens = 38222;
    request.heads = 56;
    for (const std::int64_t limit : {10'000'000LL, 10LL << 20, 2'000'000LL, 1'100'000LL}) {
      request.memory_limit = limit;
      const auto plan = plan_sparse(request);
      QVERIFY(plan.has_value());
      QVERIFY(plan->chunks > 1);
      QVERIFY(plan->chunk_bytes <= limit);
      QCOMPARE(plan->chunk_bytes, plan->chunk_heads * (plan->scores_bytes_per_head + plan->pooled_bytes_per_head));
      QVERIFY(plan->chunks * plan->chunk_heads >= 56);
      QVERIFY((plan->chunks - 1) * plan->chunk_heads < 56);
      // The selector makes the same chunks.
      const auto view = TensorView::contiguous({1, 56, 38222, 128}, DType::bfloat16);
      QCOMPARE(selection_cost(view, view, plan->grid, plan->request).chunks, plan->chunks);
    }
    request.memory_limit = 1'000'000;
    const auto refused = plan_sparse(request);
    QVERIFY(!refused.has_value());
    QVERIFY2(q(refused.error()).contains("over the limit of 1000000"), refused.error().c_str());
  }

  void chunks_choose_the_same_tiles_data() {
    QTest::addColumn<int>("kv_heads");
    QTest::addColumn<bool>("shared");
    QTest::addColumn<int>("batch");
    QTest::newRow("a head each") << 8 << false << 1;
    QTest::newRow("grouped") << 2 << false << 1;
    QTest::newRow("batch") << 4 << false << 2;
    QTest::newRow("shared") << 8 << true << 2;
  }
  void chunks_choose_the_same_tiles() {
    QFETCH(int, kv_heads);
    QFETCH(bool, shared);
    QFETCH(int, batch);
    SparsePlanRequest request;
    request.tokens = 2222;
    request.heads = 8;
    request.kv_heads = kv_heads;
    request.head_shared = shared;
    request.batch = batch;
    request.head_dim = 32;
    request.layout = *read_layout("text:222,image:2000");
    const auto unlimited = plan_sparse(request);
    QVERIFY(unlimited.has_value());
    request.memory_limit = unlimited->chunk_bytes / (unlimited->chunk_heads > 1 ? 2 : 1);
    if (kv_heads == 2 || shared) request.memory_limit = unlimited->chunk_bytes / batch / (kv_heads == 2 ? 2 : 1);
    const auto plan = plan_sparse(request);
    QVERIFY2(plan.has_value(), plan ? "" : plan.error().c_str());
    QVERIFY(plan->chunks > 1);
    const auto check = check_chunks(request, *plan, available_memory());
    QVERIFY2(check.has_value(), check ? "" : check.error().c_str());
    QVERIFY(check->identical);
    QCOMPARE(check->kept, plan->kept_tiles * plan->heads);
    const auto no_room = check_chunks(request, *plan, 1000);
    QVERIFY(!no_room.has_value());
  }

  void lengths_past_32_bits_are_planned_without_memory() {
    SparsePlanRequest request;
    request.tokens = 4'000'000;
    request.heads = 64;
    request.block_q = 1024;
    request.block_kv = 1024;
    const auto plan = plan_sparse(request);
    QVERIFY(plan.has_value());
    QCOMPARE(plan->scores_bytes, std::int64_t{3907} * 3907 * 64 * 4);
    request.heads = std::numeric_limits<std::int64_t>::max() / 2;
    QVERIFY(!plan_sparse(request).has_value());
  }

  // --- pins follow the declared spans ---------------------------------------------------------------------
  void pins_follow_the_spans_data() {
    QTest::addColumn<QString>("layout");
    QTest::addColumn<int>("first_row");
    QTest::addColumn<int>("first_column");
    QTest::newRow("text first") << "text:512,image:8192" << 0 << 0;
    QTest::newRow("image first") << "image:8192,text:512" << 64 << 128;
  }
  void pins_follow_the_spans() {
    QFETCH(QString, layout);
    QFETCH(int, first_row);
    QFETCH(int, first_column);
    SparsePlanRequest request;
    request.layout = *read_layout(layout.toStdString());
    const auto plan = plan_sparse(request);
    QVERIFY(plan.has_value());
    QCOMPARE(plan->tokens, 8704);
    QCOMPARE(plan->grid.query_tiles(), 68);
    QCOMPARE(plan->grid.key_tiles(), 136);
    QCOMPARE(plan->pinned_tiles, 1056);
    QCOMPARE(QString::number(plan->density, 'f', 3), QString("0.391"));
    QCOMPARE(plan->pinned_rows, (std::vector<TileSpan>{{first_row, first_row + 3}}));
    QCOMPARE(plan->pinned_columns, (std::vector<TileSpan>{{first_column, first_column + 7}}));
    QVERIFY(plan->warnings.empty());
  }

  void a_layout_of_another_length_is_shown_and_its_text_stays_pinned() {
    SparsePlanRequest request;
    request.tokens = 8192;
    request.layout = *read_layout("text:512,image:8192");
    const auto plan = plan_sparse(request);
    QVERIFY(plan.has_value());
    QCOMPARE(q(plan->mismatch),
             "layout mismatch: the layout text:512,image:8192 declares 8704 tokens, the call has 8192");
    QCOMPARE(plan->warnings.size(), std::size_t{1});
    QCOMPARE(plan->pinned_rows, (std::vector<TileSpan>{{0, 3}}));
    QCOMPARE(plan->pinned_columns, (std::vector<TileSpan>{{0, 7}}));
    // Tokens about which the layout says nothing are kept.
    request.tokens = 8704 + 128;
    const auto longer = plan_sparse(request);
    QVERIFY(!longer->mismatch.empty());
    QCOMPARE(longer->pinned_rows, (std::vector<TileSpan>{{0, 3}, {68, 68}}));
  }

  void layouts_read_and_write_back() {
    for (const char* text : {"text:512,image:4096", "image:100", "text:3,cond:4,video:5,pad:6"}) {
      const auto layout = read_layout(text);
      QVERIFY2(layout.has_value(), text);
      QCOMPARE(q(layout_text(*layout)), QString(text));
    }
    const auto spans = read_layout(" Text:0-512, IMAGE:512-4608 ");
    QVERIFY(spans.has_value());
    QCOMPARE(spans->length, 4608);
    QCOMPARE(q(layout_text(*spans)), "text:512,image:4096");
    QCOMPARE(spans->spans, read_layout("text:512,image:4096")->spans);
    QCOMPARE(read_layout("text:0,image:9")->spans.size(), std::size_t{1});
  }

  void wrong_layouts_are_said_in_a_sentence_data() {
    QTest::addColumn<QString>("layout");
    QTest::addColumn<QString>("part");
    QTest::newRow("empty") << ""
                           << "does not read";
    QTest::newRow("no count") << "text"
                              << "\"text\" does not read";
    QTest::newRow("no kind") << ":512"
                             << "does not read";
    QTest::newRow("negative") << "text:-5"
                              << "does not read";
    QTest::newRow("no number") << "text:many"
                               << "does not read";
    QTest::newRow("trailing comma") << "text:5,"
                                    << "does not read";
    QTest::newRow("no tokens") << "text:0"
                               << "no tokens";
    QTest::newRow("overlap") << "text:0-512,image:500-4608"
                             << "overlap";
    QTest::newRow("gap") << "text:0-512,image:600-4608"
                         << "the layout is wrong";
    QTest::newRow("gap at the start") << "image:600-4608"
                                      << "the layout is wrong";
    QTest::newRow("inverted") << "text:512-0"
                              << "ends where it starts or before";
    QTest::newRow("mixed") << "text:512,image:512-4608"
                           << "mixes runs and spans";
    QTest::newRow("huge") << "text:9223372036854775807"
                          << "does not read";
  }
  void wrong_layouts_are_said_in_a_sentence() {
    QFETCH(QString, layout);
    QFETCH(QString, part);
    const auto read = read_layout(layout.toStdString());
    QVERIFY(!read.has_value());
    QVERIFY2(q(read.error()).contains(part), read.error().c_str());
  }

  // --- one unit: kept -------------------------------------------------------------------------------------
  void budgets_of_other_systems_are_read_as_kept_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<double>("kept");
    QTest::addColumn<bool>("low");
    QTest::newRow("percent") << "30" << 0.3 << false;
    QTest::newRow("with its sign") << " 30 % " << 0.3 << false;
    QTest::newRow("part of a percent") << "0.5" << 0.005 << true;
    QTest::newRow("all") << "100" << 1.0 << false;
    QTest::newRow("the floor") << "20" << 0.2 << false;
    QTest::newRow("SVG keeps") << "svg=0.10" << 0.1 << true;
    QTest::newRow("VSA skips") << "vsa=0.9" << 0.1 << true;
    QTest::newRow("ComfyUI percent") << "sla=30.0" << 0.3 << false;
    QTest::newRow("SGLang keeps") << "sglang=0.30" << 0.3 << false;
  }
  void budgets_of_other_systems_are_read_as_kept() {
    QFETCH(QString, text);
    QFETCH(double, kept);
    QFETCH(bool, low);
    const auto budget = read_budget(text.toStdString());
    QVERIFY2(budget.has_value(), budget ? "" : budget.error().c_str());
    QCOMPARE(*budget, kept);
    QCOMPARE(floor_warning(*budget).empty(), !low);
  }

  void a_low_budget_is_worded_so_that_it_cannot_be_turned_round() {
    QCOMPARE(q(budget_text(0.1)), "keep 10 % (skip 90 %)");
    QCOMPARE(q(budget_text(0.125)), "keep 12.5 % (skip 87.5 %)");
    QCOMPARE(q(budget_text(1.0)), "keep 100 % (skip 0 %)");
    QVERIFY(q(floor_warning(0.1)).startsWith("keep 10 % (skip 90 %) is below the floor of 20 % kept"));
    QCOMPARE(floor_warning(*read_budget("svg=0.10")), floor_warning(*read_budget("vsa=0.9")));
  }

  void a_budget_is_said_in_every_systems_number() {
    const std::vector<ForeignBudget> foreign = foreign_budgets(0.3);
    QStringList all;
    for (const ForeignBudget& one : foreign) all << q(one.system) + " " + q(one.value);
    QCOMPARE(all, (QStringList{"SD.Next 30", "ComfyUI 30.0", "Sparse-VideoGen 0.30", "VSA 0.70", "SGLang 0.30",
                               "sol-attn not expressible"}));
  }

  void wrong_budgets_are_said_in_a_sentence_data() {
    QTest::addColumn<QString>("text");
    for (const char* text : {"0", "-5", "101", "nan", "inf", "", "many", "30x", "svg=1.5", "vsa=1", "vsa=-0.1", "abc=3",
                             "30,30", "30,,40", "1e400"}) {
      QTest::newRow(text) << QString(text);
    }
  }
  void wrong_budgets_are_said_in_a_sentence() {
    QFETCH(QString, text);
    const auto read = read_budgets(text.toStdString());
    QVERIFY(!read.has_value());
    QVERIFY(q(read.error()).startsWith("the budget "));
    QVERIFY(!q(read.error()).contains('\n'));
  }

  void lists_of_budgets_keep_their_order() {
    QCOMPARE(*read_budgets("30, 5,svg=0.1"), (std::vector<double>{0.3, 0.05, 0.1}));
  }

  void amounts_and_blocks_are_read() {
    QCOMPARE(*read_bytes("10MB"), 10'000'000);
    QCOMPARE(*read_bytes("10 MiB"), 10LL << 20);
    QCOMPARE(*read_bytes("1.5GiB"), 3LL << 29);
    QCOMPARE(*read_bytes("4096"), 4096);
    for (const char* text : {"", "0", "-1MB", "ten", "5XB", "nan", "1e300"}) QVERIFY2(!read_bytes(text), text);
    QCOMPARE(*read_block("128x64"), (std::pair<std::int64_t, std::int64_t>{128, 64}));
    for (const char* text : {"", "128", "0x64", "128x", "x64", "128x64x2", "-1x5"}) QVERIFY2(!read_block(text), text);
  }

  void wrong_sizes_are_said_in_a_sentence() {
    const SparsePlanRequest nothing;
    QVERIFY(q(plan_sparse(nothing).error()).contains("--tokens"));
    for (int field = 0; field < 7; ++field) {
      SparsePlanRequest request;
      request.tokens = 1024;
      std::int64_t* const fields[] = {&request.tokens,   &request.heads,   &request.batch,   &request.head_dim,
                                      &request.kv_heads, &request.block_q, &request.block_kv};
      *fields[field] = -1;
      const auto plan = plan_sparse(request);
      QVERIFY(!plan.has_value());
      QVERIFY2(q(plan.error()).endsWith("1 or more would be right"), plan.error().c_str());
    }
    SparsePlanRequest request;
    request.tokens = 1024;
    request.heads = 6;
    request.kv_heads = 4;
    QVERIFY(q(plan_sparse(request).error()).contains("no multiple"));
  }

  // --- a stage that nothing can feed ----------------------------------------------------------------------
  void a_headline_says_how_many_calls_the_stage_served_data() {
    QTest::addColumn<QString>("overrides");
    QTest::addColumn<bool>("on");
    QTest::addColumn<int>("min_tokens");
    QTest::addColumn<QString>("text");
    QTest::newRow("nothing takes a block mask")
        << "SageAttention" << true << 0
        << "Sparse is on but served 0 of 40 calls: no enabled backend takes a block mask: enable sdnq or flex";
    QTest::newRow("flex takes it") << "Flex attention" << true << 0 << "Sparse served 40 of 40 calls";
    QTest::newRow("sdnq takes it") << "SDNQ attention" << true << 0 << "Sparse served 40 of 40 calls";
    QTest::newRow("another backend stands before")
        << "SageAttention,Flex attention" << true << 0
        << "Sparse is on but served 0 of 40 calls: sage served every call and takes no block mask, while flex came "
           "after or declined; `attnctl explain` says why";
    QTest::newRow("the stage declines")
        << "Flex attention" << true << 32768
        << "Sparse is on but served 0 of 40 calls: flex served, but the stage left every call dense: below the minimum "
           "sequence";
    QTest::newRow("off") << "SageAttention" << false << 0 << "";
  }
  void a_headline_says_how_many_calls_the_stage_served() {
    QFETCH(QString, overrides);
    QFETCH(bool, on);
    QFETCH(int, min_tokens);
    QFETCH(QString, text);
    Engine engine(make_registry(), *find_target("rtx-4090"));
    OptionList labels;
    for (const QString& label : overrides.split(',')) {
      const BackendSpec* spec = nullptr;
      for (const BackendSpec& one : engine.registry().ascending()) {
        if (label.startsWith("Sage") ? one.name == "sage" : one.label == label.toStdString()) spec = &one;
      }
      QVERIFY2(spec != nullptr, qPrintable(label));
      labels.push_back(spec->label);
    }
    QVERIFY(engine.set_all({{std::string(keys::overrides), labels},
                            {"sparse_attention_enabled", on},
                            {"sparse_attention_min_tokens", std::int64_t{min_tokens}}}));
    CallSchedule schedule = make_schedule(*parse_call("q[1,4,4096,128] bf16 role=transformer"));
    schedule.distinct[0].times = 40;
    schedule.calls = 40;
    schedule.forwards.assign(40, schedule.forwards.at(0));
    Table observer;
    const auto job = make_schedule_job(std::move(schedule), Compute::none, 0);
    JobEnvironment environment{engine, &observer, false, {}, {}};
    QVERIFY(job->run(environment).has_value());
    trace::TraceSnapshot snapshot;
    snapshot.routes = observer.table.by_calls();
    const auto plan = engine.plan();
    const SparseHeadline headline = sparse_headline(engine.registry(), *plan, snapshot);
    QCOMPARE(q(headline.text()), text);
    if (on) QCOMPARE(headline.calls, 40);
  }
};

QTEST_GUILESS_MAIN(SparsePlanTest)
#include "sparse_plan_test.moc"
