// SPDX-License-Identifier: GPL-3.0-or-later
// What each token is, and which tiles follow from it: every case of layout.json.
#include "core/layout/layout_reader.h"
#include "core/sparse/radial.h"
#include "core/sparse/tile_geometry.h"
#include "support/oracle.h"

#include <QtTest>
#include <memory>

using namespace attn;
using nlohmann::json;

namespace {

const json& layout_oracle() {
  static const json parsed = test::oracle("layout.json");
  return parsed;
}

std::optional<std::int64_t> number_or_none(const json& value) {
  return value.is_null() ? std::nullopt : std::optional(value.get<std::int64_t>());
}

/// As the oracle writes a layout.
json written(const TokenLayout& layout) {
  json spans = json::array();
  for (const TokenSpan& span : layout.spans) spans.push_back({span.kind, span.start, span.end});
  json kinds = json::array();
  for (const std::string_view kind : kinds_of(layout)) kinds.push_back(kind);
  return {{"source", layout.source},
          {"length", layout.length},
          {"spans", spans},
          {"kinds", kinds},
          {"sparsifiable_tokens", sparsifiable_tokens(layout)}};
}
json written(const std::optional<TokenLayout>& layout) { return layout ? written(*layout) : json(nullptr); }

TokenLayout layout_of(const json& spans, std::int64_t length) {
  TokenLayout layout{"test", length, {}};
  for (const json& span : spans) layout.spans.push_back({span[0], span[1], span[2]});
  return layout;
}

DenoiserArgument argument_of(const json& pair) {
  const json& value = pair[1];
  DenoiserArgument argument;
  argument.name = pair[0];
  argument.is_tensor = value["kind"] == "tensor";
  if (!argument.is_tensor) return argument;
  argument.is_floating = value["dtype"].get<std::string>().starts_with("float");
  for (const json& element : value["values"]) {
    argument.values.push_back(element.is_boolean() ? (element.get<bool>() ? 1 : 0) : element.get<std::int64_t>());
  }
  argument.shape = value.contains("shape") ? value["shape"].get<std::vector<std::int64_t>>()
                                           : std::vector{static_cast<std::int64_t>(argument.values.size())};
  return argument;
}

std::vector<Segment> segments_of(const json& pairs) {
  std::vector<Segment> segments;
  for (const json& pair : pairs) segments.push_back({pair[0], pair[1]});
  return segments;
}

TileGrid grid_of(const json& row) { return {row["seq_q"], row["seq_kv"], row["block_q"], row["block_kv"]}; }

json written(const std::vector<Segment>& segments) {
  json list = json::array();
  for (const Segment& segment : segments) list.push_back({segment.kind, segment.count});
  return list;
}

template <class T>
std::vector<Segment> live_of(const json& row) {
  std::size_t count = 0;
  for (const json& run : row["live_runs"]) count += run[1].get<std::size_t>();
  const auto values = std::make_unique<T[]>(count);
  std::size_t at = 0;
  for (const json& run : row["live_runs"]) {
    for (std::size_t i = 0; i < run[1].get<std::size_t>(); ++i) values[at++] = run[0].get<T>();
  }
  return live_segments(std::span<const T>(values.get(), count), row["kind"].get<std::string>(),
                       row["pad_kind"].get<std::string>());
}

QString text(const json& value) { return test::q(value.dump()); }

}  // namespace

class LayoutTest : public QObject {
  Q_OBJECT

 private slots:
  void the_fixed_name_sets_are_the_oracles() {
    QCOMPARE(text(json(text_first_classes())), text(layout_oracle()["joint_text_first"]));
    QCOMPARE(text(json(sparsifiable_kinds())), text(layout_oracle()["sparsifiable_kinds"]));
    QCOMPARE(text(json(dropped_kinds())), text(layout_oracle()["dropped_kinds"]));
  }

  void indices_become_runs() {
    int met = 0;
    for (const json& row : layout_oracle()["runs"]) {
      json runs = json::array();
      for (const TokenRun& run : contiguous_runs(row["indices"])) runs.push_back({run.start, run.end});
      QCOMPARE(text(runs), text(row["runs"]));
      ++met;
    }
    QCOMPARE(met, 16);
  }

  void index_tensors_publish_a_layout() {
    int met = 0;
    for (const json& row : layout_oracle()["index_kwargs"]) {
      std::vector<DenoiserArgument> arguments;
      for (const json& pair : row["kwargs"]) arguments.push_back(argument_of(pair));
      QCOMPARE(text(written(index_layout(arguments, number_or_none(row["length"])))), text(row["layout"]));
      ++met;
    }
    QCOMPARE(met, 34);
  }

  void segments_follow_each_other() {
    int met = 0;
    for (const json& row : layout_oracle()["segments"]) {
      const std::string source = row["source"].is_null() ? "segments" : row["source"];
      const auto layout = segment_layout(segments_of(row["segments"]), number_or_none(row["length"]), source);
      QCOMPARE(text(written(layout)), text(row["layout"]));
      ++met;
    }
    QCOMPARE(met, 15);
  }

  void a_prefix_is_text_and_the_rest_image() {
    int met = 0;
    for (const json& row : layout_oracle()["prefix"]) {
      QCOMPARE(text(written(prefix_layout(row["length"], row["prefix"]))), text(row["layout"]));
      ++met;
    }
    QCOMPARE(met, 9);
  }

  void live_masks_become_segments() {
    int met = 0;
    for (const json& row : layout_oracle()["live"]) {
      const std::string dtype = row["dtype"];
      const std::vector<Segment> segments = dtype == "bool"    ? live_of<bool>(row)
                                            : dtype == "int64" ? live_of<std::int64_t>(row)
                                                               : live_of<float>(row);
      QCOMPARE(text(written(segments)), text(row["segments"]));
      ++met;
    }
    QCOMPARE(met, 13);
  }

  void stream_ids_publish_a_layout_for_verified_classes() {
    int met = 0;
    for (const json& row : layout_oracle()["stream_ids"]) {
      const std::string name = row["class_name"].is_null() ? "" : row["class_name"];
      std::optional<std::vector<std::int64_t>> shapes[2];
      std::vector<DenoiserArgument> arguments;
      for (const json& pair : row["extra"]) arguments.push_back(argument_of(pair));
      for (const int i : {0, 1}) {
        const json& shape = row[i == 0 ? "txt_ids_shape" : "img_ids_shape"];
        if (shape.is_null()) continue;
        shapes[i] = shape.get<std::vector<std::int64_t>>();
        arguments.push_back({i == 0 ? "txt_ids" : "img_ids", true, true, *shapes[i], {}});
      }
      const auto layout = row["via"] == "kwargs" ? layout_from_arguments(name, arguments)
                                                 : stream_id_layout(name, shapes[0], shapes[1]);
      QCOMPARE(text(written(layout)), text(row["layout"]));
      ++met;
    }
    QCOMPARE(met, 33);
  }

  void a_layout_pins_and_drops_tiles() {
    int met = 0;
    for (const json& row : layout_oracle()["pins"]) {
      const LayoutTiles tiles(layout_of(row["layout"]["spans"], row["layout"]["length"]), grid_of(row));
      const std::int64_t columns = tiles.grid().key_tiles();
      QCOMPARE(tiles.grid().query_tiles(), row["nq"].get<std::int64_t>());
      QCOMPARE(columns, row["nk"].get<std::int64_t>());
      const std::string pins = row["pins"];
      const std::string drops = row["drops"];
      std::int64_t pinned = 0;
      std::int64_t dropped = 0;
      std::vector<TileMark> marks(static_cast<std::size_t>(columns));
      for (std::int64_t i = 0; i < tiles.grid().query_tiles(); ++i) {
        tiles.mark_row(0, i, marks);
        std::int64_t candidates = 0;
        for (std::int64_t j = 0; j < columns; ++j) {
          const auto bit = static_cast<std::size_t>(i * columns + j);
          const TileMark mark = marks[static_cast<std::size_t>(j)];
          QCOMPARE(mark == TileMark::pinned, test::bit_at(pins, bit));
          QCOMPARE(mark == TileMark::dropped, test::bit_at(drops, bit));
          pinned += mark == TileMark::pinned ? 1 : 0;
          dropped += mark == TileMark::dropped ? 1 : 0;
          candidates += mark == TileMark::candidate ? 1 : 0;
        }
        QCOMPARE(tiles.count_row(0, i).candidates, candidates);
      }
      QCOMPARE(pinned, row["pin_count"].get<std::int64_t>());
      QCOMPARE(dropped, row["drop_count"].get<std::int64_t>());
      ++met;
    }
    QCOMPARE(met, 39);
  }

  void a_radial_band_is_the_narrowest_that_is_dense_enough() {
    int met = 0;
    for (const json& row : layout_oracle()["radial"]) {
      const RadialBand band(grid_of(row), row["density"]);
      const std::vector<std::uint8_t> keep = band.keep();
      const std::string expected = row["keep"];
      QCOMPARE(static_cast<std::int64_t>(keep.size()), row["nq"].get<std::int64_t>() * row["nk"].get<std::int64_t>());
      for (std::size_t i = 0; i < keep.size(); ++i) QCOMPARE(keep[i] != 0, test::bit_at(expected, i));
      QCOMPARE(band.kept(), row["kept"].get<std::int64_t>());
      QCOMPARE(band.radius().has_value(), !row["radius"].is_null());
      if (band.radius()) QCOMPARE(*band.radius(), row["radius"].get<double>());
      ++met;
    }
    QCOMPARE(met, 266);
  }

  void text_is_pinned_where_it_was_declared_to_be() {  // field case 33
    const auto pinned_rows = [](const TokenLayout& layout) {
      const LayoutTiles tiles(layout, {8704, 8704});
      std::vector<std::int64_t> rows;
      for (std::int64_t i = 0; i < 68; ++i) {
        if (tiles.count_row(0, i).pinned == 136) rows.push_back(i);
      }
      return rows;
    };
    const std::vector<Segment> text_first{{"text", 512}, {"image", 8192}};
    const std::vector<Segment> image_first{{"image", 8192}, {"text", 512}};
    QCOMPARE(pinned_rows(segment_layout(text_first)), (std::vector<std::int64_t>{0, 1, 2, 3}));
    QCOMPARE(pinned_rows(segment_layout(image_first)), (std::vector<std::int64_t>{64, 65, 66, 67}));
    const SelectionTotals totals = selection_totals(LayoutTiles(segment_layout(text_first), {8704, 8704}), 0.3);
    QCOMPARE(totals.pinned, 1056);
    QCOMPARE(totals.tiles, 68 * 136);
    QCOMPARE(qRound(totals.density() * 1000), 391);
  }

  void a_layout_that_does_not_tile_its_sequence_says_how() {
    const auto faults = [](const TokenLayout& layout, std::optional<std::int64_t> tokens = std::nullopt) {
      std::string all;
      for (const std::string& fault : layout_faults(layout, tokens)) all += fault + "\n";
      return test::q(all);
    };
    QCOMPARE(faults(layout_of({{"text", 0, 64}, {"image", 64, 512}}, 512), 512), QString());
    QCOMPARE(faults(layout_of({{"image", 0, 300}, {"text", 100, 300}}, 300)),
             QString("span \"text\" (100 to 300) overlaps the span before it, which ends at 300\n"));
    QCOMPARE(faults(layout_of({{"text", 0, 64}, {"image", 256, 512}}, 600)),
             QString("tokens 64 to 256 belong to no span, so their tiles are pinned\n"
                     "tokens 512 to 600 belong to no span, so their tiles are pinned\n"));
    QCOMPARE(faults(layout_of({{"image", 0, 1152}}, 1000)),
             QString("span \"image\" (0 to 1152) runs past the length 1000; the rest is ignored\n"));
    QCOMPARE(faults(layout_of({{"image", 0, 100}}, 100), 200),
             QString("the layout describes 100 tokens, the sequence has 200; it is not used\n"));
    QCOMPARE(faults(layout_of({{"image", 0, 100}, {"text", 90, 80}, {"text", -5, 10}}, 100)),
             QString("span \"text\" (90 to 80) is no range of tokens; a start is 0 or more and below its end\n"
                     "span \"text\" (-5 to 10) is no range of tokens; a start is 0 or more and below its end\n"));
  }

  void inverted_and_negative_spans_cover_only_what_they_can() {
    const TokenLayout layout = layout_of({{"image", 90, 80}, {"image", -64, 128}}, 256);
    QCOMPARE(covered_runs(layout, is_sparsifiable, 256), (std::vector<TokenRun>{{0, 128}}));
    const LayoutTiles tiles(layout, {256, 256});
    QCOMPARE(tiles.count_row(0, 0).pinned, 2);
    QCOMPARE(tiles.count_row(0, 1).pinned, 4);
  }

  void a_segment_too_long_to_count_ends_at_the_last_token() {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    const std::vector<Segment> segments{{"text", 5}, {"image", most}, {"pad", 1}};
    const TokenLayout layout = segment_layout(segments);
    QCOMPARE(layout.length, most);
    QCOMPARE(layout.spans.size(), std::size_t{2});
  }
};

QTEST_GUILESS_MAIN(LayoutTest)
#include "layout_test.moc"
