// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/format/format.h"

#include "core/call/call_text.h"

#include <QtTest>

using namespace attn;
using namespace attn::ui;

Q_DECLARE_METATYPE(attn::trace::RouteRow)

namespace {

trace::EventShape shape(std::initializer_list<int> sizes) {
  trace::EventShape out;
  for (const int size : sizes) out.size[out.rank++] = size;
  return out;
}

trace::RouteRow row_of(std::initializer_list<int> query, std::initializer_list<int> key) {
  trace::RouteRow row;
  row.id.role = Role::transformer;
  row.id.query = shape(query);
  row.id.key = shape(key);
  row.value = row.id.key;
  return row;
}

}  // namespace

class FormatTest : public QObject {
  Q_OBJECT

 private slots:
  void numbers_are_written_for_people_data() {
    QTest::addColumn<QString>("got");
    QTest::addColumn<QString>("want");
    const QString thin(QChar(0x202F));
    QTest::newRow("small count") << count_text(12) << "12";
    QTest::newRow("grouped count") << count_text(1234567) << "1" + thin + "234" + thin + "567";
    QTest::newRow("one call") << counted(1, "call") << "1 call";
    QTest::newRow("no call") << counted(0, "call") << "0 calls";
    QTest::newRow("microseconds") << seconds_text(136e-6) << "136 µs";
    QTest::newRow("almost a millisecond") << seconds_text(0.00099999) << "1.0 ms";
    QTest::newRow("few milliseconds") << seconds_text(0.0031) << "3.1 ms";
    QTest::newRow("milliseconds") << seconds_text(0.088) << "88 ms";
    QTest::newRow("almost a second") << seconds_text(0.99996) << "1.0 s";
    QTest::newRow("seconds") << seconds_text(25.44) << "25.4 s";
    QTest::newRow("minutes") << seconds_text(124.0) << "2 min 04 s";
    QTest::newRow("hours") << seconds_text(7260.0) << "2 h 01 min";
    QTest::newRow("bytes") << bytes_text(64) << "64 B";
    QTest::newRow("mebibytes") << bytes_text(std::int64_t{64} << 20) << "64 MiB";
    QTest::newRow("fraction") << bytes_text((std::int64_t{3} << 30) / 2) << "1.5 GiB";
    QTest::newRow("share") << share_text(0.9919) << "99.2 %";
    QTest::newRow("tiny share") << share_text(0.0006) << "< 0.1 %";
    QTest::newRow("whole") << share_text(1.0) << "100 %";
    QTest::newRow("one step") << steps_text(3, 3) << "3";
    QTest::newRow("steps") << steps_text(0, 27) << "0–27";
    QTest::newRow("shape") << shape_text(shape({1, 24, 4608, 128})) << "1×24×4608×128";
  }
  void numbers_are_written_for_people() {
    QFETCH(QString, got);
    QFETCH(QString, want);
    QCOMPARE(got, want);
  }

  void a_route_is_written_as_a_call_that_reads_back_data() {
    QTest::addColumn<trace::RouteRow>("row");
    QTest::addColumn<QString>("want");
    QTest::newRow("plain") << row_of({1, 24, 4608, 128}, {1, 24, 4608, 128})
                           << "q[1,24,4608,128] k[1,24,4608,128] bf16 role=transformer step=0";
    trace::RouteRow masked = row_of({2, 8, 4096, 40}, {2, 8, 77, 40});
    masked.mask = trace::MaskKind::boolean;
    masked.id.dtype = masked.key_dtype = masked.value_dtype = DType::float16;
    masked.query_layout = masked.key_layout = masked.value_layout = Layout::transposed;
    masked.first_step = 3;
    QTest::newRow("masked") << masked
                            << "q[2,8,4096,40] k[2,8,77,40] fp16 mask=bool strides=transposed role=transformer step=3";
    trace::RouteRow text = row_of({1, 12, 77, 64}, {1, 4, 77, 64});
    text.id.role = Role::te;
    text.causal = true;
    text.gqa = true;
    QTest::newRow("causal, grouped") << text << "q[1,12,77,64] k[1,4,77,64] bf16 causal gqa role=te step=0";
    trace::RouteRow mixed = row_of({1, 8, 64, 64}, {1, 8, 64, 64});
    mixed.id.dtype = DType::float32;
    QTest::newRow("mixed dtypes") << mixed << "q[1,8,64,64] k[1,8,64,64] q=fp32 k=bf16 v=bf16 role=transformer step=0";
  }
  void a_route_is_written_as_a_call_that_reads_back() {
    QFETCH(trace::RouteRow, row);
    QFETCH(QString, want);
    const std::string text = written_call(row, false);
    QCOMPARE(text_of(text), want);
    const Expected<WrittenCall> read = parse_call(text);
    QVERIFY2(read.has_value(), read ? "" : read.error().c_str());
    QCOMPARE(read->role, row.id.role);
    QCOMPARE(read->call.query.dtype, row.id.dtype);
    QCOMPARE(layout_of(read->call.query), row.query_layout);
    QCOMPARE(read->call.attn_mask.has_value(), row.mask != trace::MaskKind::none);
    QCOMPARE(read->call.enable_gqa, row.gqa);
    QVERIFY(!read->call.query.device.is_cpu());
    QVERIFY(parse_call(written_call(row, true))->call.query.device.is_cpu());
  }
};

QTEST_GUILESS_MAIN(FormatTest)
#include "format_test.moc"
