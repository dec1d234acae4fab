// SPDX-License-Identifier: GPL-3.0-or-later
// The selection on the device, run on the host: every case of selector.json, and core/sparse to the last bit.
#include "backends/attention_case.h"
#include "backends/cuda/kernels/selection_plan.h"
#include "core/sparse/selector.h"
#include "cuda/host_memory.h"

#include <QTest>
#include <cmath>
#include <limits>

namespace attn::test {
namespace {

using cuda::SelectionTask;

/// A selection's memory and what the device wrote to it.
struct DeviceSelection {
  std::vector<std::uint8_t> keep;
  std::vector<int> tiles;
  std::vector<int> counts;
};

std::vector<std::uint8_t> marks_of(const TileMarks& marks) {
  std::vector<std::uint8_t> bytes;
  std::vector<TileMark> row(static_cast<std::size_t>(marks.grid().key_tiles()));
  for (std::int64_t head = 0; head < marks.heads(); ++head) {
    for (std::int64_t i = 0; i < marks.grid().query_tiles(); ++i) {
      marks.mark_row(head, i, row);
      for (const TileMark mark : row) bytes.push_back(static_cast<std::uint8_t>(mark));
    }
  }
  return bytes;
}

SelectionTask task_of(const TensorView& query, const TensorView& key, const TileGrid& grid, bool head_shared) {
  SelectionTask task;
  task.shape = {static_cast<int>(query.size(-4)),
                static_cast<int>(query.size(-3)),
                static_cast<int>(key.size(-3)),
                static_cast<int>(query.size(-2)),
                static_cast<int>(key.size(-2)),
                static_cast<int>(query.size(-1)),
                1};
  task.query = *cuda::device_tensor(query);
  task.key = *cuda::device_tensor(key);
  task.block_q = static_cast<int>(grid.block_q);
  task.block_kv = static_cast<int>(grid.block_kv);
  task.head_shared = head_shared;
  return task;
}

DeviceSelection select(SelectionTask task, const cuda::HostRun& run = {}) {
  const int heads = task.head_shared ? 1 : task.shape.heads;
  const int rows = cuda::tiles_of(task.shape.query_tokens, task.block_q);
  const int columns = cuda::tiles_of(task.shape.key_tokens, task.block_kv);
  DeviceSelection made;
  const auto lists = static_cast<std::size_t>(task.shape.batch * heads * rows);
  made.keep.assign(lists * static_cast<std::size_t>(columns), 0xFF);
  made.tiles.assign(made.keep.size(), -1);
  made.counts.assign(lists, -1);
  task.keep = made.keep.data();
  task.lists = {made.tiles.data(), made.counts.data(), rows, columns, heads * rows, task.head_shared ? 0 : rows};
  if (!cuda::refuse_selection(task).empty()) return {};
  Memory workspace(cuda::selection_workspace_bytes(task));
  (void)cuda::host_selection(task, workspace.data(), run);
  return made;
}

/// Whether lists say what keep bytes say, in ascending order.
bool same(const DeviceSelection& made) {
  const std::size_t columns = made.counts.empty() ? 0 : made.keep.size() / made.counts.size();
  for (std::size_t row = 0; row < made.counts.size(); ++row) {
    std::vector<int> expected;
    for (std::size_t j = 0; j < columns; ++j) {
      if (made.keep[row * columns + j] != 0) expected.push_back(static_cast<int>(j));
    }
    const auto first = made.tiles.begin() + static_cast<std::ptrdiff_t>(row * columns);
    if (made.counts[row] != static_cast<int>(expected.size())) return false;
    if (!std::equal(expected.begin(), expected.end(), first)) return false;
  }
  return true;
}

}  // namespace

class CudaSelectionTest : public QObject {
  Q_OBJECT

  nlohmann::json oracle_ = oracle("selector.json");
  SafeTensors tensors_ = SafeTensors::oracle("selector.safetensors");

  [[nodiscard]] std::vector<std::uint8_t> flags(const std::string& name) const {
    const HostTensor tensor = tensors_.tensor(name);
    const auto* first = tensor.as<std::uint8_t>();
    return {first, first + tensor.view().elements()};
  }
  [[nodiscard]] MaskTiles marks_of_row(const nlohmann::json& row, const TileGrid& grid) const {
    std::vector<std::uint8_t> pins;
    std::vector<std::uint8_t> drops;
    std::int64_t heads = 1;
    if (row.contains("pins")) {
      pins = flags(row["pins"]);
      heads = tensors_.tensor(row["pins"].get<std::string>()).view().size(1);
    }
    if (row.contains("drops")) drops = flags(row["drops"]);
    return *MaskTiles::make(grid, heads, std::move(pins), std::move(drops));
  }

 private slots:
  void every_case_keeps_the_tiles_of_the_oracle() {
    int kept = 0;
    int dense = 0;
    for (const auto& row : oracle_["cases"]) {
      HostTensor query;
      HostTensor key;
      for (const auto& entry : oracle_["inputs"]) {
        if (entry["id"] != row["input"]) continue;
        query = tensors_.tensor(entry["q"].get<std::string>());
        key = tensors_.tensor(entry["k"].get<std::string>());
      }
      const TileGrid grid{query.view().size(-2), key.view().size(-2), row["block_q"], row["block_kv"]};
      const MaskTiles marks = marks_of_row(row, grid);
      const std::vector<std::uint8_t> bytes = marks_of(marks);
      SelectionTask task = task_of(query.view(), key.view(), grid, row["head_shared"]);
      task.budget = row["budget"].get<float>();
      task.marks = bytes.data();
      task.mark_heads = static_cast<int>(marks.heads());
      const DeviceSelection made = select(task);
      const std::string id = row["id"].get<std::string>();
      QVERIFY2(same(made), id.c_str());
      if (row["result"] == "keep") {
        QVERIFY2(made.keep == flags(row["keep"]), id.c_str());
        ++kept;
      } else {
        // The host decides from geometry alone that such a call stays dense; asked all the same, every candidate stays.
        BlockSelection forced;
        QVERIFY(*select_tiles(query.view(), key.view(), marks, {row["budget"], row["head_shared"], true, 1 << 20, {}},
                              forced));
        QVERIFY2(made.keep == forced.keep, id.c_str());
        ++dense;
      }
    }
    QCOMPARE(kept + dense, 66);
    QVERIFY(kept > dense);
  }

  void the_selection_is_that_of_the_host_to_the_last_bit_data() {
    QTest::addColumn<int>("tokens");
    QTest::addColumn<int>("keys");
    QTest::addColumn<int>("dim");
    QTest::addColumn<double>("budget");
    QTest::addColumn<bool>("shared");
    QTest::addColumn<int>("dtype");
    const auto bf16 = static_cast<int>(DType::bfloat16);
    QTest::newRow("ragged") << 700 << 1111 << 64 << 0.3 << false << bf16;
    QTest::newRow("shared") << 700 << 1111 << 128 << 0.45 << true << static_cast<int>(DType::float16);
    QTest::newRow("more tiles than threads") << 129 << 64 * 300 + 1 << 8 << 0.1 << false << bf16;
    QTest::newRow("float") << 257 << 640 << 40 << 0.7 << false << static_cast<int>(DType::float32);
    QTest::newRow("nothing asked") << 300 << 640 << 16 << 0.0 << false << bf16;
    QTest::newRow("one tile") << 5 << 3 << 16 << 0.3 << false << bf16;
  }
  void the_selection_is_that_of_the_host_to_the_last_bit() {
    QFETCH(int, tokens);
    QFETCH(int, keys);
    QFETCH(int, dim);
    QFETCH(double, budget);
    QFETCH(bool, shared);
    QFETCH(int, dtype);
    HostTensor query({2, 4, tokens, dim}, static_cast<DType>(dtype));
    HostTensor key({2, 2, keys, dim}, static_cast<DType>(dtype));
    fill_normal(query.view(), 3);
    fill_normal(key.view(), 4);
    const TileGrid grid{tokens, keys};
    const LayoutTiles marks({"test", keys, {{"text", 0, 70}, {"video", 70, keys}}}, grid);
    BlockSelection host;
    QVERIFY(*select_tiles(query.view(), key.view(), marks, {budget, shared, true, 1 << 20, {}}, host));
    const std::vector<std::uint8_t> bytes = marks_of(marks);
    SelectionTask task = task_of(query.view(), key.view(), grid, shared);
    task.budget = static_cast<float>(budget);
    task.marks = bytes.data();
    cuda::AuditReport report;
    for (const cuda::ThreadOrder order :
         {cuda::ThreadOrder::forward, cuda::ThreadOrder::reverse, cuda::ThreadOrder::shuffled}) {
      const DeviceSelection made = select(task, {order, &report});
      QVERIFY(made.keep == host.keep);
      QVERIFY(same(made));
    }
    QVERIFY2(report.races == 0, report.first.c_str());
    QVERIFY2(report.unset_reads == 0, report.first.c_str());
    QVERIFY2(report.out_of_bounds == 0, report.first.c_str());
    QVERIFY(report.accesses > 0);
  }

  void equal_scores_go_to_the_lower_index_and_nan_is_below_all() {
    HostTensor query({1, 1, 128, 1}, DType::float32);
    HostTensor key({1, 1, 64 * 8, 1}, DType::float32);
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float infinity = std::numeric_limits<float>::infinity();
    const float by_tile[] = {0.0F, 0.0F, nan, -infinity, -5.0F, infinity, -0.0F, 0.0F};
    for (int i = 0; i < 128; ++i) query.as<float>()[i] = 1.0F;
    for (int i = 0; i < 512; ++i) key.as<float>()[i] = by_tile[i / 64];
    SelectionTask task = task_of(query.view(), key.view(), {128, 512}, false);
    const char* expected[] = {"", "5", "56", "567", "4567", "34567", "234567"};
    for (int count = 1; count <= 6; ++count) {
      task.budget = static_cast<float>(count) / 6.0F - 1e-3F;
      const DeviceSelection made = select(task);
      std::string tiles;
      for (std::size_t j = 2; j < 8; ++j) tiles += made.keep[j] != 0 ? std::to_string(j) : "";
      QCOMPARE(q(tiles), QString(expected[count]));
    }
  }

  void the_budget_of_the_step_is_read_when_the_kernel_runs() {
    HostTensor query({1, 1, 1024, 8}, DType::bfloat16);
    fill_normal(query.view(), 5);
    SelectionTask task = task_of(query.view(), query.view(), {1024, 1024}, false);
    const float budgets[] = {0.9F, 0.3F, 0.1F};
    int step = 0;
    task.budgets = budgets;
    task.steps = 3;
    task.step = &step;
    const MaskTiles marks = *MaskTiles::make({1024, 1024}, 1, {}, {});
    for (const int now : {-2, 0, 1, 2, 7}) {
      step = now;
      BlockSelection host;
      const auto budget = static_cast<double>(budgets[std::clamp(now, 0, 2)]);
      QVERIFY(*select_tiles(query.view(), query.view(), marks, {budget, false, true, 1 << 20, {}}, host));
      QVERIFY(select(task).keep == host.keep);
    }
  }

  void counts_are_those_of_the_host() {
    for (int candidates = 0; candidates <= 1100; ++candidates) {
      for (int percent = -1; percent <= 101; ++percent) {
        const double budget = percent / 100.0;
        QCOMPARE(static_cast<std::int64_t>(cuda::kept_of(candidates, static_cast<float>(budget))),
                 keep_count(candidates, budget));
      }
    }
    QCOMPARE(cuda::kept_of(10, std::numeric_limits<float>::quiet_NaN()), 0);
  }

  void keep_bytes_become_lists() {
    BlockSelection selection;
    selection.heads = 3;
    selection.query_tiles = 50;
    selection.key_tiles = 7;
    for (int i = 0; i < 3 * 50 * 7; ++i) selection.keep.push_back(i * 7919 % 13 < 4 ? 1 : 0);
    const HostLists expected(selection);
    std::vector<int> tiles(selection.keep.size(), -1);
    std::vector<int> counts(150, -1);
    const cuda::ListParams params{selection.keep.data(), tiles.data(), counts.data(), 150, 7};
    cuda::run_on_host<cuda::ListKernel>(params, {3, 1, 1}, {});
    QVERIFY(tiles == expected.tiles);
    QVERIFY(counts == expected.counts);
  }

  void what_does_not_fit_is_refused_with_a_clause() {
    SelectionTask task;
    task.shape = {1, 4, 2, 128, 64 * 9000, 64, 64};
    QCOMPARE(q(cuda::refuse_selection(task)), QString("takes at most 5120 key tiles"));
    task.shape.key_tokens = 640;
    QVERIFY(cuda::refuse_selection(task).empty());
    task.mark_heads = 3;
    QCOMPARE(q(cuda::refuse_selection(task)), QString("needs marks for one head or for all that select"));
    task.mark_heads = 4;
    task.block_kv = 0;
    QCOMPARE(q(cuda::refuse_selection(task)), QString("needs tiles of one token or more"));
  }
};

}  // namespace attn::test

QTEST_GUILESS_MAIN(attn::test::CudaSelectionTest)
#include "selection_test.moc"
