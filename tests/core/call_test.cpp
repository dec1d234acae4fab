// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/call/attention_call.h"
#include "core/call/block_selection.h"
#include "support/oracle.h"

#include <QtTest>

using namespace attn;
using attn::test::q;

namespace {

AttentionCall call_of(std::initializer_list<std::int64_t> query, std::initializer_list<std::int64_t> key) {
  AttentionCall call;
  call.query = TensorView::contiguous(query, DType::bfloat16);
  call.key = call.value = TensorView::contiguous(key, DType::bfloat16);
  return call;
}

}  // namespace

class CallTest : public QObject {
  Q_OBJECT

 private slots:
  void sizes_count_from_the_last_dimension() {
    const AttentionCall call = call_of({2, 24, 4608, 128}, {2, 24, 512, 128});
    QCOMPARE(call.batch(), std::int64_t{2});
    QCOMPARE(call.heads(), std::int64_t{24});
    QCOMPARE(call.query_tokens(), std::int64_t{4608});
    QCOMPARE(call.key_tokens(), std::int64_t{512});
    QCOMPARE(call.head_dim(), std::int64_t{128});
    QCOMPARE(call_of({2, 3, 4, 5, 6}, {2, 3, 4, 5, 6}).batch(), std::int64_t{6});
    QCOMPARE(call_of({5, 6}, {5, 6}).batch(), std::int64_t{1});
  }

  void scale_is_one_over_root_head_dim_unless_given() {
    AttentionCall call = call_of({1, 1, 4, 64}, {1, 1, 4, 64});
    QCOMPARE(call.effective_scale(), 0.125);
    call.scale = 0.0;
    QCOMPARE(call.effective_scale(), 0.0);
  }

  void flops_count_both_products() {
    QCOMPARE(flops_of(call_of({1, 24, 4608, 128}, {1, 24, 4608, 128})), 4.0 * 24 * 4608.0 * 4608.0 * 128);
    // The square bool mask model: 113585 tokens overflow 32 bits many times over.
    QVERIFY(flops_of(call_of({1, 16, 113585, 128}, {1, 16, 113585, 128})) > 1e14);
  }

  void legal_calls_pass_data() {
    QTest::addColumn<QList<qint64>>("query");
    QTest::addColumn<QList<qint64>>("key");
    QTest::addColumn<QList<qint64>>("value");
    QTest::addColumn<bool>("gqa");
    using L = QList<qint64>;
    QTest::newRow("rank 2") << L{8, 64} << L{9, 64} << L{9, 32} << false;
    QTest::newRow("rank 3") << L{4, 8, 64} << L{4, 9, 64} << L{4, 9, 64} << false;
    QTest::newRow("rank 4") << L{2, 4, 8, 64} << L{2, 4, 9, 64} << L{2, 4, 9, 64} << false;
    QTest::newRow("rank 5") << L{3, 2, 4, 8, 64} << L{3, 2, 4, 9, 64} << L{3, 2, 4, 9, 64} << false;
    QTest::newRow("grouped") << L{2, 8, 8, 64} << L{2, 2, 9, 64} << L{2, 2, 9, 64} << true;
    QTest::newRow("no keys") << L{2, 8, 8, 64} << L{2, 8, 0, 64} << L{2, 8, 0, 64} << false;
  }
  void legal_calls_pass() {
    const Expected<void> ok = check_call(fetched());
    QVERIFY2(ok.has_value(), ok ? "" : ok.error().c_str());
  }

  void illegal_calls_name_tensors_sizes_and_rule_data() {
    QTest::addColumn<QList<qint64>>("query");
    QTest::addColumn<QList<qint64>>("key");
    QTest::addColumn<QList<qint64>>("value");
    QTest::addColumn<bool>("gqa");
    QTest::addColumn<QString>("part");
    using L = QList<qint64>;
    QTest::newRow("rank 1") << L{64} << L{64} << L{64} << false << "rank 1; attention takes ranks 2 to 5";
    QTest::newRow("head_dim") << L{1, 4, 8, 64} << L{1, 4, 8, 32} << L{1, 4, 8, 32} << false
                              << "head_dim of key[1, 4, 8, 32] does not match query[1, 4, 8, 64]";
    QTest::newRow("lengths") << L{1, 4, 8, 64} << L{1, 4, 8, 64} << L{1, 4, 9, 64} << false << "tokens of value";
    QTest::newRow("batch") << L{2, 4, 8, 64} << L{1, 4, 8, 64} << L{1, 4, 8, 64} << false << "batch of key";
    QTest::newRow("heads") << L{1, 4, 8, 64} << L{1, 2, 8, 64} << L{1, 2, 8, 64} << false << "enable_gqa must be set";
    QTest::newRow("groups") << L{1, 4, 8, 64} << L{1, 3, 8, 64} << L{1, 3, 8, 64} << true
                            << "do not divide the 4 heads";
    QTest::newRow("value heads") << L{1, 4, 8, 64} << L{1, 2, 8, 64} << L{1, 4, 8, 64} << true << "heads of value";
    QTest::newRow("negative") << L{1, 4, -8, 64} << L{1, 4, 8, 64} << L{1, 4, 8, 64} << false << "negative size";
  }
  void illegal_calls_name_tensors_sizes_and_rule() {
    QFETCH(QString, part);
    const Expected<void> ok = check_call(fetched());
    QVERIFY(!ok.has_value());
    QVERIFY2(q(ok.error()).contains(part), ok.error().c_str());
  }

  void a_mask_must_broadcast_from_the_right_and_both_sizes_are_named() {
    // Field case 37: a mask built for 128 x 256 with a call of 2 x 2.
    AttentionCall call = call_of({2, 1, 2, 16}, {2, 1, 2, 16});
    call.attn_mask = TensorView::contiguous({1, 1, 128, 256}, DType::boolean);
    const Expected<void> ok = check_call(call);
    QVERIFY(!ok.has_value());
    QVERIFY2(q(ok.error()).contains("attn_mask[1, 1, 128, 256]") && q(ok.error()).contains("2x2"), ok.error().c_str());
    for (const auto& shape : {std::vector<std::int64_t>{2, 2}, {2}, {1, 1, 2, 2}, {2, 1, 1, 2}, {1, 2, 1, 2, 1}}) {
      call.attn_mask = TensorView::contiguous(shape, DType::boolean);
      QVERIFY2(check_call(call).has_value(), shape_text(shape).c_str());
    }
  }

  void roles_read_back_as_the_trace_prints_them() {
    for (const Role role : {Role::none, Role::te, Role::transformer, Role::vae, Role::other}) {
      QVERIFY(parse_role(name_of(role)) == role);
    }
    QCOMPARE(q(name_of(Role::none)), QString("None"));
    QVERIFY(!parse_role("unet").has_value());
  }

  void one_selection_may_hold_for_all_batch_elements_and_heads() {
    BlockSelection selection;
    selection.query_tiles = 2;
    selection.key_tiles = 3;
    QVERIFY(!selection.has_tiles());
    selection.keep = {1, 0, 0, 0, 0, 1};
    QVERIFY(selection.has_tiles());
    QVERIFY(selection.kept(5, 7, 0, 0) && !selection.kept(5, 7, 1, 0) && selection.kept(0, 3, 1, 2));
  }

 private:
  static AttentionCall fetched() {
    QFETCH(QList<qint64>, query);
    QFETCH(QList<qint64>, key);
    QFETCH(QList<qint64>, value);
    QFETCH(bool, gqa);
    const auto view = [](const QList<qint64>& sizes) {
      const std::vector<std::int64_t> shape(sizes.begin(), sizes.end());
      return TensorView::contiguous(shape, DType::bfloat16);
    };
    AttentionCall call;
    call.query = view(query);
    call.key = view(key);
    call.value = view(value);
    call.enable_gqa = gqa;
    return call;
  }
};

QTEST_GUILESS_MAIN(CallTest)
#include "call_test.moc"
