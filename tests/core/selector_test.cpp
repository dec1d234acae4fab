// SPDX-License-Identifier: GPL-3.0-or-later
// Which tiles are kept: every case of selector.json, bit for bit.
#include "core/sparse/selector.h"
#include "core/tensor/half.h"
#include "core/tensor/host_buffer.h"
#include "support/oracle.h"

#include <QtTest>
#include <cmath>
#include <limits>
#include <map>
#include <memory>

using namespace attn;
using nlohmann::json;

namespace {

/// The tensors of one safetensors file as views into its bytes.
class Tensors {
 public:
  explicit Tensors(const std::string& path) : bytes_(test::file_bytes(path)) {
    std::uint64_t header = 0;
    std::memcpy(&header, bytes_.data(), sizeof(header));
    header_ = json::parse(bytes_.substr(8, header));
    // The data is copied once, so that it is aligned as the file promises it relative to its own start.
    data_ = HostBuffer(bytes_.size() - 8 - header);
    std::memcpy(data_.data(), bytes_.data() + 8 + header, data_.size());
  }

  [[nodiscard]] TensorView view(const std::string& name) {
    const json& entry = header_.at(name);
    static const std::map<std::string, DType> dtypes{
        {"F32", DType::float32}, {"F16", DType::float16}, {"BF16", DType::bfloat16}, {"I8", DType::int8}};
    const auto shape = entry["shape"].get<std::vector<std::int64_t>>();
    TensorView view = TensorView::contiguous(shape, dtypes.at(entry["dtype"]));
    view.data = data_.data() + entry["data_offsets"][0].get<std::size_t>();
    return view;
  }
  [[nodiscard]] std::vector<std::uint8_t> flags(const std::string& name) {
    const TensorView tensor = view(name);
    const auto* first = static_cast<const std::uint8_t*>(tensor.data);
    return {first, first + tensor.elements()};
  }

 private:
  std::string bytes_;
  json header_;
  HostBuffer data_;
};

/// A contiguous fp32 tensor filled by `value(b, h, s, d)`.
template <class F>
HostTensor filled(std::initializer_list<std::int64_t> shape, F value) {
  HostTensor tensor(shape, DType::float32);
  const auto& sizes = tensor.view().shape;
  std::size_t at = 0;
  for (std::int64_t b = 0; b < sizes[0]; ++b) {
    for (std::int64_t h = 0; h < sizes[1]; ++h) {
      for (std::int64_t s = 0; s < sizes[2]; ++s) {
        for (std::int64_t d = 0; d < sizes[3]; ++d) tensor.as<float>()[at++] = value(b, h, s, d);
      }
    }
  }
  return tensor;
}

MaskTiles no_marks(std::int64_t query_tokens, std::int64_t key_tokens, std::int64_t block_q = 128,
                   std::int64_t block_kv = 64) {
  return *MaskTiles::make({query_tokens, key_tokens, block_q, block_kv}, 1, {}, {});
}

QString error_of(const TensorView& query, const TensorView& key, const TileMarks& marks,
                 const SelectorRequest& request) {
  BlockSelection selection;
  const auto selected = select_tiles(query, key, marks, request, selection);
  return selected ? QString() : test::q(selected.error());
}

}  // namespace

class SelectorTest : public QObject {
  Q_OBJECT

  json oracle_ = test::oracle("selector.json");
  std::unique_ptr<Tensors> tensors_;

  MaskTiles marks_of(const json& row, const TensorView& query, const TensorView& key) {
    const TileGrid grid{query.size(-2), key.size(-2), row["block_q"], row["block_kv"]};
    std::vector<std::uint8_t> pins;
    std::vector<std::uint8_t> drops;
    std::int64_t heads = 1;
    if (row.contains("pins")) {
      pins = tensors_->flags(row["pins"]);
      heads = tensors_->view(row["pins"]).size(1);
    }
    if (row.contains("drops")) drops = tensors_->flags(row["drops"]);
    return *MaskTiles::make(grid, heads, std::move(pins), std::move(drops));
  }

  std::pair<TensorView, TensorView> input(const std::string& id) {
    for (const json& entry : oracle_["inputs"]) {
      if (entry["id"] == id) return {tensors_->view(entry["q"]), tensors_->view(entry["k"])};
    }
    return {};
  }

 private slots:
  void initTestCase() { tensors_ = std::make_unique<Tensors>(std::string(ATTN_ORACLES) + "/selector.safetensors"); }

  void every_case_keeps_the_tiles_of_the_oracle_data() {
    QTest::addColumn<int>("index");
    for (std::size_t i = 0; i < oracle_["cases"].size(); ++i) {
      QTest::newRow(oracle_["cases"][i]["id"].get<std::string>().c_str()) << static_cast<int>(i);
    }
    QCOMPARE(oracle_["cases"].size(), std::size_t{66});
  }
  void every_case_keeps_the_tiles_of_the_oracle() {
    QFETCH(int, index);
    const json& row = oracle_["cases"][static_cast<std::size_t>(index)];
    const auto [query, key] = input(row["input"]);
    const MaskTiles marks = marks_of(row, query, key);
    const SelectorRequest request{row["budget"], row["head_shared"], row["force"], 32LL << 20, {}};
    BlockSelection selection;
    const auto selected = select_tiles(query, key, marks, request, selection);
    QVERIFY2(selected.has_value(), selected ? "" : selected.error().c_str());

    const auto of_row = [&row](const char* name, std::int64_t head, std::int64_t i) {
      const json& per_row = row[name];
      const json& own = per_row[0].is_array() ? per_row[static_cast<std::size_t>(head)] : per_row;
      return own[static_cast<std::size_t>(i)].get<std::int64_t>();
    };
    for (std::int64_t head = 0; head < marks.heads(); ++head) {
      for (std::int64_t i = 0; i < marks.grid().query_tiles(); ++i) {
        const std::int64_t candidates = marks.count_row(head, i).candidates;
        QCOMPARE(candidates, of_row("candidates_per_row", head, i));
        QCOMPARE(keep_count(candidates, request.budget), of_row("keep_per_row", head, i));
      }
    }
    QCOMPARE(*selected, row["result"] == "keep");
    if (!*selected) return;
    QCOMPARE(selection.batch, query.size(0));
    QCOMPARE(selection.heads, row["heads_out"].get<std::int64_t>());
    QCOMPARE(selection.query_tiles, row["nq"].get<std::int64_t>());
    QCOMPARE(selection.key_tiles, row["nk"].get<std::int64_t>());
    QVERIFY(selection.keep == tensors_->flags(row["keep"]));
    QCOMPARE(std::count(selection.keep.begin(), selection.keep.end(), 1), row["kept_tiles"].get<std::ptrdiff_t>());
    QCOMPARE(selection.density, row["density"].get<double>());
  }

  void counts_are_rounded_up_in_fp32() {
    int met = 0;
    for (const json& entry : oracle_["keep_count"]) {
      for (std::size_t n = 0; n < entry["counts"].size(); ++n) {
        QCOMPARE(keep_count(static_cast<std::int64_t>(n), entry["budget"]), entry["counts"][n].get<std::int64_t>());
        ++met;
      }
    }
    QCOMPARE(met, 19 * 301);
    for (const json& row : oracle_["keep_count_vs_double"]) {
      QCOMPARE(keep_count(row[0], row[1]), row[2].get<std::int64_t>());
      QCOMPARE(static_cast<std::int64_t>(std::ceil(row[0].get<double>() * row[1].get<double>())),
               row[3].get<std::int64_t>());
      ++met;
    }
    QCOMPARE(met, 19 * 301 + 333);
  }

  void a_count_stays_within_what_there_is() {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const double infinity = std::numeric_limits<double>::infinity();
    QCOMPARE(keep_count(10, 0.0), 0);
    QCOMPARE(keep_count(10, -0.5), 0);
    QCOMPARE(keep_count(10, nan), 0);
    QCOMPARE(keep_count(10, 1.5), 10);
    QCOMPARE(keep_count(10, infinity), 10);
    QCOMPARE(keep_count(10, 1e-30), 1);
    QCOMPARE(keep_count(0, infinity), 0);
    QCOMPARE(keep_count((1LL << 40) + 1, 1.0), (1LL << 40) + 1);
    QCOMPARE(keep_count(1LL << 40, 0.25), 1LL << 38);
  }

  void strides_do_not_matter() {
    const auto [query, key] = input("d");
    const MaskTiles marks = no_marks(1000, 1000);
    BlockSelection expected;
    QVERIFY(*select_tiles(query, key, marks, {}, expected));
    for (const std::array<int, 4> order : {std::array{0, 2, 1, 3}, std::array{3, 1, 0, 2}, std::array{1, 2, 3, 0}}) {
      std::vector<HostTensor> copies;
      const auto reordered = [&](const TensorView& from) {
        HostTensor copy(from.sizes(), from.dtype);
        TensorView view = copy.view();
        std::int64_t step = 1;
        for (int place = 3; place >= 0; --place) {
          const auto dim = static_cast<std::size_t>(order[static_cast<std::size_t>(place)]);
          view.stride[dim] = step;
          step *= view.shape[dim];
        }
        for (std::int64_t at = 0; at < from.elements(); ++at) {
          std::int64_t rest = at;
          std::int64_t to = 0;
          for (std::size_t dim = 4; dim-- > 0; rest /= from.shape[dim]) to += rest % from.shape[dim] * view.stride[dim];
          static_cast<float*>(view.data)[to] = static_cast<const float*>(from.data)[at];
        }
        copies.push_back(std::move(copy));
        return view;
      };
      const TensorView query_view = reordered(query);
      const TensorView key_view = reordered(key);
      BlockSelection selection;
      QVERIFY(*select_tiles(query_view, key_view, marks, {}, selection));
      QVERIFY(selection.keep == expected.keep);
    }
  }

  void an_expanded_head_selects_as_its_copies_would() {
    const auto [query, key] = input("h");
    TensorView expanded = key;
    expanded.shape[1] = 3;
    expanded.stride[1] = 0;
    TensorView queries = query;
    queries.shape[1] = 3;
    queries.stride[1] = 0;
    BlockSelection one;
    BlockSelection three;
    QVERIFY(*select_tiles(query, key, no_marks(1409, 1409), {}, one));
    QVERIFY(*select_tiles(queries, expanded, no_marks(1409, 1409), {}, three));
    for (std::size_t head = 0; head < 3; ++head) {
      QVERIFY(std::equal(one.keep.begin(), one.keep.end(),
                         three.keep.begin() + static_cast<std::ptrdiff_t>(head * one.keep.size())));
    }
  }

  void half_precision_is_widened_exactly() {
    // Every finite fp16 value, sums included, must rank as its fp32 twin does: two tensors of one content.
    for (const DType dtype : {DType::float16, DType::bfloat16}) {
      HostTensor narrow({1, 1, 1024, 64}, dtype);
      HostTensor wide({1, 1, 1024, 64}, DType::float32);
      for (std::size_t i = 0; i < 65536; ++i) {
        const auto bits = static_cast<std::uint16_t>(i * 40503U);
        const float value = dtype == DType::float16 ? to_float(Float16{bits}) : to_float(BFloat16{bits});
        const bool usable = std::isfinite(value) && std::fabs(value) < 1e15F;
        narrow.as<std::uint16_t>()[i] = usable ? bits : std::uint16_t{0};
        wide.as<float>()[i] = usable ? value : 0.0F;
      }
      BlockSelection from_narrow;
      BlockSelection from_wide;
      QVERIFY(*select_tiles(narrow.view(), narrow.view(), no_marks(1024, 1024), {}, from_narrow));
      QVERIFY(*select_tiles(wide.view(), wide.view(), no_marks(1024, 1024), {}, from_wide));
      QVERIFY(from_narrow.keep == from_wide.keep);
    }
  }

  void a_score_that_is_no_number_is_below_all_others() {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float infinity = std::numeric_limits<float>::infinity();
    const HostTensor query = filled({1, 1, 128, 1}, [](auto...) { return 1.0F; });
    const HostTensor key = filled({1, 1, 64 * 8, 1}, [&](auto, auto, std::int64_t s, auto) {
      const float by_tile[] = {0.0F, 0.0F, nan, -infinity, -5.0F, infinity, -0.0F, 0.0F};
      return by_tile[s / 64];
    });
    const auto kept = [&](double budget) {
      BlockSelection selection;
      (void)select_tiles(query.view(), key.view(), no_marks(128, 512), {budget, false, true, 0, {}}, selection);
      std::string tiles;
      for (std::size_t j = 2; j < 8; ++j) tiles += selection.keep[j] != 0 ? std::to_string(j) : "";
      return test::q(tiles);
    };
    QCOMPARE(kept(1.0 / 6), QString("5"));
    QCOMPARE(kept(2.0 / 6), QString("56"));  // -0 equals 0: the lower index
    QCOMPARE(kept(3.0 / 6), QString("567"));
    QCOMPARE(kept(4.0 / 6), QString("4567"));
    QCOMPARE(kept(5.0 / 6), QString("34567"));
    QCOMPARE(kept(1.0), QString("234567"));
  }

  void a_call_without_data_reports_what_geometry_decides() {
    const auto [query, key] = input("e");
    TensorView planned = query;
    planned.data = nullptr;
    BlockSelection with_data;
    BlockSelection without;
    without.keep = {1, 2, 3};
    QVERIFY(*select_tiles(query, key, no_marks(1024, 1024), {}, with_data));
    QVERIFY(*select_tiles(planned, key, no_marks(1024, 1024), {}, without));
    QVERIFY(!without.has_tiles());
    QCOMPARE(without.density, with_data.density);
    QCOMPARE(without.heads, with_data.heads);
    QCOMPARE(without.key_tiles, with_data.key_tiles);
  }

  void what_does_not_belong_together_is_refused_with_a_sentence() {
    const auto view = [](std::initializer_list<std::int64_t> shape) {
      return TensorView::contiguous(shape, DType::float32);
    };
    const TensorView q = view({1, 4, 512, 8});
    QCOMPARE(error_of(q, view({1, 4, 512, 16}), no_marks(512, 512), {}),
             QString("query and key must have one head_dim: query [1, 4, 512, 8], key [1, 4, 512, 16]"));
    QCOMPARE(error_of(q, view({1, 3, 512, 8}), no_marks(512, 512), {}),
             QString("query heads must be a multiple of key heads: query [1, 4, 512, 8], key [1, 3, 512, 8]"));
    QCOMPARE(error_of(q, view({2, 4, 512, 8}), no_marks(512, 512), {}),
             QString("query and key must have one batch size: query [1, 4, 512, 8], key [2, 4, 512, 8]"));
    QCOMPARE(error_of(view({1, 1, 4, 512, 8}), q, no_marks(512, 512), {}),
             QString("tiles are selected for tensors of rank 2 to 4: query [1, 1, 4, 512, 8], key [1, 4, 512, 8]"));
    QCOMPARE(error_of(q, q, no_marks(512, 640), {}),
             QString("the tile marks are for 512 x 640 tokens, the call has 512 x 512"));
    QCOMPARE(error_of(q, q, no_marks(512, 512), {std::numeric_limits<double>::quiet_NaN(), false, false, 0, {}}),
             QString("the budget is no number; a share from 0 to 1 would be right"));
    const auto three = MaskTiles::make({512, 512}, 3, std::vector<std::uint8_t>(3 * 4 * 8, 0), {});
    QCOMPARE(error_of(q, q, *three, {}),
             QString("the tile marks are for 3 heads; the selection has 4, so 1 or that many would be right"));
    QCOMPARE(test::q(MaskTiles::make({512, 512}, 1, std::vector<std::uint8_t>(31, 0), {}).error()),
             QString("a tile mask has 31 elements; 1 heads of 4 x 8 tiles are 32"));
    QCOMPARE(test::q(MaskTiles::make({512, 512, 0, 64}, 1, {}, {}).error()),
             QString("tiles of 0 x 64 tokens are none; both sides are 1 or more"));
  }

  void tensors_without_elements_select_nothing() {
    const auto none = [](std::initializer_list<std::int64_t> shape) {
      const TensorView view = TensorView::contiguous(shape, DType::float32);
      BlockSelection selection;
      const auto selected =
          select_tiles(view, view, no_marks(view.size(-2), view.size(-2)), {0.3, false, true, 1, {}}, selection);
      return selected.has_value() && selection.keep.empty();
    };
    QVERIFY(none({1, 2, 0, 8}));
    QVERIFY(none({0, 2, 512, 8}));
    QVERIFY(none({1, 0, 512, 8}));
  }

  void the_cost_is_known_before_and_chunks_keep_to_their_limit() {  // field case 27
    const TensorView view = TensorView::contiguous({1, 56, 38222, 128}, DType::bfloat16);
    const TileGrid grid{38222, 38222};
    const SelectionCost cost = selection_cost(view, view, grid, {});
    QCOMPARE(cost.query_tiles, 299);
    QCOMPARE(cost.key_tiles, 598);
    QCOMPARE(cost.scores_bytes, 40051648);
    QCOMPARE(cost.keep_bytes, 10012912);
    QVERIFY(cost.scratch_bytes <= 32LL << 20);
    SelectorRequest limited;
    limited.scratch_bytes = 10'000'000;
    const SelectionCost chunked = selection_cost(view, view, grid, limited);
    QVERIFY(chunked.scratch_bytes <= limited.scratch_bytes);
    QCOMPARE(chunked.chunks, 2);
    QCOMPARE(chunked.keep_bytes, cost.keep_bytes);
  }

  void the_long_geometry_selects_the_same_in_chunks() {  // field case 27, values without head variety to stay small
    HostTensor memory = filled({1, 1, 38222, 4}, [](auto, auto, std::int64_t s, std::int64_t d) {
      return std::sin(static_cast<float>(s) * 0.01F * static_cast<float>(d + 1));
    });
    TensorView view = memory.view();
    view.shape[1] = 56;
    view.stride[1] = 0;
    const LayoutTiles tiles({"test", 38222, {{"text", 0, 300}, {"video", 300, 38222}}}, {38222, 38222});
    BlockSelection whole;
    BlockSelection chunked;
    SelectorRequest request;
    QVERIFY(*select_tiles(view, view, tiles, request, whole));
    request.scratch_bytes = 10'000;
    QVERIFY(*select_tiles(view, view, tiles, request, chunked));
    QCOMPARE(whole.keep.size(), std::size_t{10012912});
    QVERIFY(whole.keep == chunked.keep);
    QCOMPARE(static_cast<double>(std::count(whole.keep.begin(), whole.keep.end(), 1)) / 10012912.0, whole.density);
  }
};

QTEST_GUILESS_MAIN(SelectorTest)
#include "selector_test.moc"
