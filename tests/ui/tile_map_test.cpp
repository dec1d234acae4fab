// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/block_mask/tile_map.h"

#include "ui/block_mask/npy_file.h"
#include "ui/block_mask/tile_view.h"

#include <QFile>
#include <QSet>
#include <QTemporaryDir>
#include <QtTest>

using namespace attn;
using namespace attn::ui;

namespace {

/// 3 query tiles by 6 key tiles: the first tile is text, the last key tiles are padding.
TokenLayout layout() { return {"written", 384, {{"text", 0, 64}, {"image", 64, 320}, {"pad", 320, 384}}}; }

std::shared_ptr<BlockSelection> selection(std::int64_t heads) {
  auto made = std::make_shared<BlockSelection>();
  made->heads = heads;
  made->query_tiles = 3;
  made->key_tiles = 6;
  made->keep.assign(static_cast<std::size_t>(heads * 18), 0);
  return made;
}

QString drawn(const std::vector<TileKind>& kinds) {
  QString text;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (i > 0 && i % 6 == 0) text += '/';
    text += QStringLiteral(".?x=#-")[static_cast<int>(kinds[i])];
  }
  return text;
}

}  // namespace

class TileMapTest : public QObject {
  Q_OBJECT

 private slots:
  void geometry_alone_gives_pins_drops_diagonal_and_candidates() {
    const TokenLayout spans = layout();
    const TileMap map(384, &spans, 0.3, nullptr, TileOrigin::run);
    QVERIFY(!map.has_tiles());
    QVERIFY(map.origin() == TileOrigin::geometry);
    QVERIFY(map.layout_published());
    // The third query tile holds padding, so it pins what is not dropped.
    QCOMPARE(drawn(map.kinds(0, 0)), QString("#####-/#?==?-/#####-"));
    QVERIFY(map.keep(0).empty());
  }

  void chosen_and_left_out_follow_the_head() {
    const TokenLayout spans = layout();
    auto made = selection(2);
    for (std::size_t i = 0; i < 5; ++i) {
      for (const std::size_t head : {0U, 18U}) made->keep[head + i] = made->keep[head + 12 + i] = 1;
    }
    for (const std::size_t head : {0U, 18U}) made->keep[head + 6] = made->keep[head + 8] = made->keep[head + 9] = 1;
    made->keep[7] = 1;        // head 0 chooses the tile left of the diagonal
    made->keep[18 + 10] = 1;  // head 1 the one right of it
    const TileMap map(384, &spans, 0.5, made, TileOrigin::generated);
    QCOMPARE(map.heads(), 2);
    QCOMPARE(drawn(map.kinds(0, 0)), QString("#####-/#x==.-/#####-"));
    QCOMPARE(drawn(map.kinds(0, 1)), QString("#####-/#.==x-/#####-"));
    QCOMPARE(drawn(map.kinds(0, -1)), QString("#####-/#x==x-/#####-"));
    QCOMPARE(map.kept_share(0)[7], 0.5F);
    QCOMPARE(map.kept_share(0)[8], 1.0F);
    QCOMPARE(map.density(0, 0), 14.0 / 18.0);
    QCOMPARE(map.density(0, -1), 14.0 / 18.0);
    QCOMPARE(map.keep(0).size(), std::size_t{36});
  }

  void a_selection_of_another_grid_is_left_aside() {
    const TileMap map(384, nullptr, 0.3, std::make_shared<BlockSelection>(), TileOrigin::run);
    QVERIFY(!map.has_tiles() && !map.layout_published());
    const TileMap longer(4096, nullptr, 0.3, selection(1), TileOrigin::run);
    QVERIFY(!longer.has_tiles());
  }

  void kinds_differ_by_hatch_or_by_much_light_not_by_colour_alone_data() {
    QTest::addColumn<bool>("dark");
    QTest::newRow("dark") << true;
    QTest::newRow("light") << false;
  }
  void kinds_differ_by_hatch_or_by_much_light_not_by_colour_alone() {
    QFETCH(bool, dark);
    Theme theme;
    theme.choose(dark ? ThemeChoice::dark : ThemeChoice::light);
    QSet<int> hatches;
    for (const TileKind kind :
         {TileKind::chosen, TileKind::diagonal, TileKind::pinned, TileKind::dropped, TileKind::candidate}) {
      hatches.insert(hatch_of(kind));
    }
    QCOMPARE(hatches.size(), 5);
    // Chosen and left out have no hatch: one is bright where the other is the ground.
    QVERIFY(contrast(color_of(TileKind::chosen, theme), color_of(TileKind::left_out, theme)) >= 3.0);
    QVERIFY(contrast(color_of(TileKind::diagonal, theme), color_of(TileKind::chosen, theme)) >= 1.8);
  }

  void an_npy_file_has_numpys_header_data() {
    QTest::addColumn<std::vector<std::int64_t>>("shape");
    QTest::addColumn<QByteArray>("said");
    QTest::newRow("three dims") << std::vector<std::int64_t>{2, 3, 4} << QByteArray("'shape': (2, 3, 4), }");
    QTest::newRow("one dim") << std::vector<std::int64_t>{24} << QByteArray("'shape': (24, ), }");
    QTest::newRow("empty") << std::vector<std::int64_t>{0, 5, 5} << QByteArray("'shape': (0, 5, 5), }");
  }
  void an_npy_file_has_numpys_header() {
    QFETCH(std::vector<std::int64_t>, shape);
    QFETCH(QByteArray, said);
    std::size_t count = 1;
    for (const std::int64_t size : shape) count *= static_cast<std::size_t>(size);
    std::vector<std::uint8_t> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = i % 3 == 0;
    const QByteArray bytes = npy_of_bools(values, shape);
    QVERIFY(bytes.startsWith(QByteArray("\x93NUMPY\x01\x00", 8)));
    const auto length = static_cast<std::uint8_t>(bytes[8]) + 256 * static_cast<std::uint8_t>(bytes[9]);
    QCOMPARE((10 + length) % 64, 0);
    const QByteArray header = bytes.mid(10, length);
    QVERIFY2(header.startsWith("{'descr': '|b1', 'fortran_order': False, "), header.constData());
    QVERIFY2(header.contains(said), header.constData());
    QVERIFY(header.endsWith('\n'));
    QCOMPARE(bytes.size(), static_cast<qsizetype>(10 + length) + static_cast<qsizetype>(count));
    for (std::size_t i = 0; i < count; ++i) QCOMPARE(bytes[10 + length + static_cast<qsizetype>(i)], char(values[i]));
  }

  void a_file_that_cannot_be_written_says_which_and_why() {
    const QTemporaryDir place;
    const QString path = place.filePath("no folder/mask.npy");
    const Expected<void> done = write_whole_file(path, "x");
    QVERIFY(!done);
    QVERIFY(done.error().find(path.toStdString()) != std::string::npos);
    QVERIFY(write_whole_file(place.filePath("mask.npy"), "x").has_value());
  }
};

QTEST_MAIN(TileMapTest)
#include "tile_map_test.moc"
