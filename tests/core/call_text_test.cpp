// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/call/call_text.h"
#include "core/call/call_strides.h"
#include "support/oracle.h"

#include <QtTest>

using namespace attn;
using attn::test::q;

namespace {

std::string strides_of(const TensorView& view) { return shape_text(view.strides()); }

WrittenCall read(std::string_view text) {
  auto written = parse_call(text);
  if (!written) qFatal("%s", written.error().c_str());
  return *written;
}

}  // namespace

class CallTextTest : public QObject {
  Q_OBJECT

 private slots:
  void what_is_left_out_has_the_stated_default() {
    const WrittenCall written = read("q[1,24,4608,128]");
    const AttentionCall& call = written.call;
    QCOMPARE(q(shape_text(call.query.sizes())), QString("[1, 24, 4608, 128]"));
    QCOMPARE(q(shape_text(call.key.sizes())), QString("[1, 24, 4608, 128]"));
    QCOMPARE(q(shape_text(call.value.sizes())), QString("[1, 24, 4608, 128]"));
    QVERIFY(call.query.dtype == DType::bfloat16 && call.key.dtype == DType::bfloat16);
    QVERIFY(!call.attn_mask && !call.is_causal && !call.enable_gqa && !call.scale);
    QVERIFY(call.query.is_contiguous() && call.query.device == Device::accel());
    QVERIFY(written.role == Role::transformer);
    QCOMPARE(written.step, 0);
    QVERIFY(!call.has_data());
  }

  void every_token_of_the_contract_is_read() {
    const WrittenCall written = read(
        "q[1,24,4608,128] k[1,8,512,128] v[1,8,512,64] fp16 mask=bool causal gqa scale=0.1 strides=transposed "
        "role=te step=3/20 dropout=0.25 device=cpu");
    const AttentionCall& call = written.call;
    QCOMPARE(call.kv_heads(), std::int64_t{8});
    QCOMPARE(call.value_dim(), std::int64_t{64});
    QVERIFY(call.query.dtype == DType::float16);
    QVERIFY(call.attn_mask->dtype == DType::boolean);
    QCOMPARE(q(shape_text(call.attn_mask->sizes())), QString("[1, 1, 4608, 512]"));
    QVERIFY(call.is_causal && call.enable_gqa);
    QCOMPARE(*call.scale, 0.1);
    QCOMPARE(call.dropout_p, 0.25);
    QCOMPARE(q(strides_of(call.query)), QString("[14155776, 128, 3072, 1]"));
    QVERIFY(written.role == Role::te);
    QCOMPARE(written.step, 3);
    QCOMPARE(written.steps, 20);
    QVERIFY(call.query.device.is_cpu() && call.value.device.is_cpu());
  }

  void masks_have_dtype_and_shape() {
    QVERIFY(!read("q[1,2,8,64] mask=none").call.attn_mask);
    QVERIFY(read("q[1,2,8,64] mask=float").call.attn_mask->dtype == DType::bfloat16);
    QVERIFY(read("q[1,2,8,64] fp16 mask=fp32").call.attn_mask->dtype == DType::float32);
    const WrittenCall padded = read("q[2,2,8,64] mask=padding:3");
    QCOMPARE(q(shape_text(padded.call.attn_mask->sizes())), QString("[1, 1, 1, 8]"));
    QCOMPARE(padded.hidden_keys, std::int64_t{3});
    QCOMPARE(q(shape_text(read("q[1,2,8,64] mask=bool[1, 2, 8, 8]").call.attn_mask->sizes())), QString("[1, 2, 8, 8]"));
    QCOMPARE(int(read("q[1,2,8,64] mask=float[8,8]").call.attn_mask->rank), 2);
  }

  void layouts_are_those_of_real_projections() {
    const AttentionCall fused = read("q[1,56,99865,128] strides=qkv").call;
    for (const TensorView* view : {&fused.query, &fused.key, &fused.value}) {
      QCOMPARE(q(strides_of(*view)), QString("[2147496960, 128, 21504, 1]"));
      QVERIFY(layout_of(*view) == Layout::fused_qkv);
    }
    const AttentionCall grouped = read("q[2,8,100,64] k[2,2,100,64] gqa strides=qkv").call;
    QCOMPARE(q(strides_of(grouped.key)), QString("[76800, 64, 768, 1]"));  // (8 + 2 + 2) * 64 = 768
    const AttentionCall cross = read("q[2,10,4096,64] k[2,10,77,64] strides=qkv").call;
    QCOMPARE(q(strides_of(cross.query)), QString("[2621440, 64, 640, 1]"));
    QCOMPARE(q(strides_of(cross.key)), QString("[98560, 64, 1280, 1]"));
    const AttentionCall expanded = read("q[2,10,16,64] strides=expanded").call;
    QVERIFY(expanded.query.is_contiguous());
    QCOMPARE(q(strides_of(expanded.key)), QString("[1024, 0, 64, 1]"));
    QVERIFY(layout_of(expanded.value) == Layout::expanded);
    QCOMPARE(q(strides_of(read("q[2,1,16,64] strides=expanded").call.key)), QString("[0, 1024, 64, 1]"));
    const AttentionCall one = read("q[1,16,62,128] v_strides=[126976,128,2048,1]").call;
    QVERIFY(one.query.is_contiguous());
    QVERIFY(layout_of(one.value) == Layout::transposed);
  }

  void one_tensor_may_differ_in_dtype_and_device() {
    const AttentionCall call = read("q[1,30,1024,64] q=fp32 k=fp32 v=bf16 v_device=accel:1").call;
    QVERIFY(call.query.dtype == DType::float32 && call.key.dtype == DType::float32);
    QVERIFY(call.value.dtype == DType::bfloat16);
    QVERIFY(call.value.device == Device::accel(1));
  }

  void order_and_spaces_do_not_matter() {
    const std::string plain = write_call(read("q[1,2,8,64] k[1,2,9,64] causal fp16"));
    QCOMPARE(q(write_call(read("  fp16\tcausal k[1, 2, 9, 64]  q=[1, 2, 8, 64] "))), q(plain));
  }

  void writing_gives_the_shortest_text_that_reads_back_data() {
    QTest::addColumn<QString>("text");
    for (const char* text : {"q[1,24,4608,128]",
                             "q[8,64]",
                             "q[2,8,64]",
                             "q[1,2,3,8,64]",
                             "q[1,24,4608,128] k[1,24,512,128]",
                             "q[1,8,16,64] v[1,8,16,32]",
                             "q[1,8,16,64] k[1,2,16,64] gqa",
                             "q[1,8,16,64] fp32",
                             "q[1,8,16,64] fp16 v=bf16",
                             "q[1,8,16,64] mask=bool",
                             "q[1,8,16,64] mask=float",
                             "q[1,8,16,64] mask=fp32",
                             "q[1,8,16,64] mask=padding:4",
                             "q[1,8,16,64] mask=bool[1,8,16,16]",
                             "q[1,8,16,64] causal",
                             "q[1,8,16,64] scale=0.1",
                             "q[1,8,16,64] scale=0",
                             "q[1,8,16,64] dropout=0.5",
                             "q[1,8,16,64] strides=transposed",
                             "q[1,8,16,64] strides=qkv",
                             "q[1,8,16,64] strides=expanded",
                             "q[1,8,16,64] v_strides=[8192,64,512,1]",
                             "q[1,8,16,64] q_strides=[0,0,-64,1] k_strides=[8192,1024,64,2]",
                             "q[1,8,16,64] device=cpu",
                             "q[1,8,16,64] k_device=cpu",
                             "q[1,8,16,64] device=accel:1 v_device=accel",
                             "q[1,8,16,64] role=vae",
                             "q[1,8,16,64] role=None",
                             "q[1,8,16,64] step=3",
                             "q[1,8,16,64] step=0/20",
                             "q[1,8,16,64] step=19/20"}) {
      QTest::newRow(text) << QString(text);
    }
  }
  void writing_gives_the_shortest_text_that_reads_back() {
    QFETCH(QString, text);
    QCOMPARE(q(write_call(read(text.toStdString()))), text);
  }

  void wrong_text_is_refused_in_a_sentence_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("part");
    const auto row = [](const char* text, const char* part) { QTest::newRow(text) << QString(text) << QString(part); };
    row("", "the call has no query");
    row("fp16", "the call has no query");
    row("q[1,24,0,128]", "size 0 is below 1");
    row("q[1,24,-5,128]", "size -5 is below 1");
    row("q[1,24,x,128]", "\"x\" is no whole number");
    row("q[1,24,4.5,128]", "\"4.5\" is no whole number");
    row("q[]", "\"\" is no whole number");
    row("q[1,24,8,128", "no list of numbers in brackets");
    row("q[1,2,3,4,5,6]", "has 6 dimensions");
    row("q[64]", "has rank 1");
    row("q[1,24,9999999999,128]", "is over 2147483647");
    row("q[99999999999999999999,64]", "is no whole number");
    row("q[2147483647,2147483647,2147483647,64]", "more than 2^60 elements");
    row("q[1,8,16,64] q[1,8,16,64]", "says again");
    row("q[1,8,16,64] causal causal", "says again");
    row("q[1,8,16,64] fp16 bf16", "says again");
    row("q[1,8,16,64] int4", "unknown token \"int4\"");
    row("q[1,8,16,64] bool", "unknown token \"bool\"");
    row("q[1,8,16,64] q=int4", "is no dtype");
    row("q[1,8,16,64] mask=maybe", "write mask=none, bool, float, padding:N");
    row("q[1,8,16,64] mask=padding:17", "N from 1 to the 16 keys");
    row("q[1,8,16,64] mask=padding:0", "N from 1 to the 16 keys");
    row("q[1,8,16,64] mask=bool[1,1,16,15]", "does not broadcast");
    row("q[1,8,16,64] k[1,8,16,32]", "head_dim");
    row("q[1,8,16,64] k[1,2,16,64]", "enable_gqa must be set");
    row("q[1,8,16,64] k[1,3,16,64] gqa", "do not divide the 8 heads");
    row("q[1,8,16,64] k[2,8,16,64]", "batch of");
    row("q[1,8,16,64] v[1,8,17,64]", "tokens of");
    row("q[1,8,16,64] scale=big", "\"big\" is no finite number");
    row("q[1,8,16,64] scale=inf", "is no finite number");
    row("q[1,8,16,64] dropout=1.5", "is no probability");
    row("q[1,8,16,64] strides=row", "write strides=contiguous");
    row("q[8,64] strides=transposed", "needs heads");
    row("q[1,1,16,64] strides=expanded", "more than one head or batch");
    row("q[1,8,16,64] q_strides=[1,2]", "write one stride for each");
    row("q[1,8,16,64] q_strides=[1152921504606846976,1,1,1]", "more than 2^60");
    row("q[1,8,16,64] device=tpu", "is no device");
    row("q[1,8,16,64] role=unet", "write role=te");
    row("q[1,8,16,64] step=20/20", "write step=I");
    row("q[1,8,16,64] step=-1", "write step=I");
    row("q[1,8,16,64] step=1/x", "write step=I");
    row("q[1,8,16,64] colour=red", "unknown token \"colour=red\"");
    row("q[1,8,16,64] =", "unknown token \"=\"");
  }
  void wrong_text_is_refused_in_a_sentence() {
    QFETCH(QString, text);
    QFETCH(QString, part);
    const auto written = parse_call(text.toStdString());
    QVERIFY(!written.has_value());
    QVERIFY2(q(written.error()).contains(part), written.error().c_str());
  }

  void help_names_every_token() {
    for (const char* token : {"q[", "k[", "v[", "bf16", "mask=", "padding:N", "causal", "gqa",
                              "scale=", "strides=", "q_strides=", "device=", "role=", "step="}) {
      QVERIFY2(call_notation_help().find(token) != std::string_view::npos, token);
    }
  }
};

QTEST_GUILESS_MAIN(CallTextTest)
#include "call_text_test.moc"
