// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/tensors/findings.h"
#include "app/jobs/tensors/generated.h"
#include "app/jobs/tensors/safetensors.h"
#include "app/jobs/tensors/tensors_call.h"
#include "core/call/call_text.h"
#include "support/oracle.h"

#include <QTemporaryDir>
#include <QtTest>
#include <cmath>
#include <fstream>
#include <limits>

using namespace attn;
using namespace attn::app;
using attn::test::q;

namespace {

AttentionCall written(std::string_view text) { return parse_call(text)->call; }

std::string header_and(std::string_view header, std::size_t data_bytes, std::optional<std::uint64_t> length = {}) {
  std::string bytes(8, '\0');
  const std::uint64_t stated = length.value_or(header.size());
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(stated >> (8 * i));
  return bytes + std::string(header) + std::string(data_bytes, '\0');
}

}  // namespace

class TensorsTest : public QObject {
  Q_OBJECT

 private slots:
  void generated_numbers_are_normal_and_depend_on_three_numbers_only() {
    double sum = 0.0;
    double squares = 0.0;
    constexpr int kCount = 100000;
    for (int i = 0; i < kCount; ++i) {
      const double x = static_cast<double>(normal_at(7, 1, static_cast<std::uint64_t>(i)));
      QVERIFY(std::isfinite(x));
      sum += x;
      squares += x * x;
    }
    QVERIFY(std::abs(sum / kCount) < 0.02);
    QVERIFY(std::abs(squares / kCount - 1.0) < 0.02);
    QCOMPARE(normal_at(7, 1, 5), normal_at(7, 1, 5));
    QVERIFY(normal_at(7, 1, 5) != normal_at(8, 1, 5));
    QVERIFY(normal_at(7, 1, 5) != normal_at(7, 2, 5));
  }

  void a_tensor_does_not_depend_on_the_number_of_threads() {
    // Large enough for several threads; each element must be what the formula says for its index alone.
    const CallTensors made = generate(written("q[1,8,1024,64] fp32"), 3);
    const float* values = made.query.as<float>();
    for (std::uint64_t i = 0; i < 8 * 1024 * 64; i += 4099) QCOMPARE(values[i], normal_at(3, 0, i));
  }

  void a_view_holds_the_same_values_as_a_contiguous_tensor_data() {
    QTest::addColumn<QString>("layout");
    for (const char* layout : {"strides=transposed", "strides=qkv", "v_strides=[512,-16,64,1]"}) {
      QTest::newRow(layout) << QString(layout);
    }
  }
  void a_view_holds_the_same_values_as_a_contiguous_tensor() {
    QFETCH(QString, layout);
    const std::string shape = "q[2,4,8,16] fp16 ";
    const CallTensors plain = generate(written(shape), 1);
    const CallTensors view = generate(written(shape + layout.toStdString()), 1);
    const CallTensors copy = contiguous_copy(view);
    QVERIFY(copy.call.value.is_contiguous());
    QVERIFY(std::equal(copy.value.as<char>(), copy.value.as<char>() + copy.value.size(), plain.value.as<char>()));
    QVERIFY(std::equal(copy.query.as<char>(), copy.query.as<char>() + copy.query.size(), plain.query.as<char>()));
  }

  void shared_elements_are_one_element() {
    const CallTensors made = generate(written("q[1,4,8,16] fp32 strides=expanded"), 1);
    QCOMPARE(made.key.size(), std::size_t{8 * 16 * 4});
    const CallTensors copy = contiguous_copy(made);
    const float* values = copy.key.as<float>();
    for (std::size_t i = 0; i < 8 * 16; ++i) QCOMPARE(values[i], values[3 * 8 * 16 + i]);
  }

  void padding_hides_the_last_keys() {
    const CallTensors made = generate(written("q[1,1,2,16] k[1,1,8,16] mask=padding:3"), 1, 3);
    const char* mask = made.mask.as<char>();
    for (int i = 0; i < 8; ++i) QCOMPARE(int(mask[i]), i < 5 ? 1 : 0);
    const CallTensors additive = generate(written("q[1,1,2,16] k[1,1,8,16] fp32 mask=float"), 1);
    QCOMPARE(additive.mask.as<float>()[0], 0.0F);
    QVERIFY(std::isinf(additive.mask.as<float>()[7]));
  }

  void a_call_that_does_not_fit_is_refused_with_both_sizes() {
    const AttentionCall call = written("q[1,32,27000,128]");
    QVERIFY(check_memory(call, 1000, std::int64_t{1} << 40).has_value());
    const auto refused = check_memory(call, 93'312'000'000, std::int64_t{8} << 30);
    QVERIFY(!refused.has_value());
    for (const char* part : {"q[1, 32, 27000, 128]", "86.90 GiB", "8.00 GiB are free"}) {
      QVERIFY2(q(refused.error()).contains(part), refused.error().c_str());
    }
    QVERIFY(available_memory() > 0);
  }

  void what_was_written_is_read_back() {
    QTemporaryDir folder;
    const std::string path = folder.filePath("out.safetensors").toStdString();
    const CallTensors made = generate(written("q[2,3,4,16] fp16"), 5);
    QVERIFY(write_safetensors(path, "q", made.call.query).has_value());
    const auto file = SafetensorsFile::open(path);
    QVERIFY2(file.has_value(), file ? "" : file.error().c_str());
    const auto tensor = file->load("q");
    QVERIFY(tensor.has_value());
    QCOMPARE(q(shape_text(tensor->view().sizes())), QString("[2, 3, 4, 16]"));
    QVERIFY(tensor->view().dtype == DType::float16);
    QVERIFY(std::equal(tensor->as<char>(), tensor->as<char>() + tensor->view().bytes(), made.query.as<char>()));
  }

  void the_oracle_file_is_readable() {
    const auto file = SafetensorsFile::open(std::string(ATTN_ORACLES) + "/attention.safetensors");
    QVERIFY2(file.has_value(), file ? "" : file.error().c_str());
    QVERIFY(!file->tensors().empty());
    for (const StoredTensor& tensor : file->tensors()) {
      if (tensor.dtype == "F32") QVERIFY2(file->load(tensor.name).has_value(), tensor.name.c_str());
    }
  }

  void a_faulty_file_is_refused_in_a_sentence_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QString>("part");
    const auto row = [](const char* name, const std::string& bytes, const char* part) {
      QTest::newRow(name) << QByteArray(bytes.data(), static_cast<qsizetype>(bytes.size())) << QString(part);
    };
    const std::string one = R"({"q":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
    row("empty", "", "shorter than its header");
    row("seven bytes", "1234567", "shorter than its header");
    row("header too long", header_and(one, 8, 1 << 20), "does not fit");
    row("header enormous", header_and(one, 8, std::numeric_limits<std::uint64_t>::max()), "does not fit");
    row("no json", header_and("{\"q\":", 8), "the header is not JSON");
    row("no object", header_and("[]", 0), "not a JSON object");
    row("twice",
        header_and(
            R"({"q":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"q":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
            8),
        "the name q is there twice");
    row("entry is text", header_and(R"({"q":"F32"})", 0), "tensor q: its entry is not an object");
    row("no dtype", header_and(R"({"q":{"shape":[2],"data_offsets":[0,8]}})", 8), "field dtype is missing");
    row("odd dtype", header_and(R"({"q":{"dtype":"F31","shape":[2],"data_offsets":[0,8]}})", 8), "dtype F31 is none");
    row("negative size", header_and(R"({"q":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", 8), "shape holds -2");
    row("broken size", header_and(R"({"q":{"dtype":"F32","shape":[2.5],"data_offsets":[0,8]}})", 8), "shape holds 2.5");
    row("overflow",
        header_and(R"({"q":{"dtype":"F32","shape":[2147483647,2147483647,2147483647],"data_offsets":[0,8]}})", 8),
        "more elements than can be counted");
    row("no offsets", header_and(R"({"q":{"dtype":"F32","shape":[2]}})", 8), "field data_offsets is missing");
    row("backwards", header_and(R"({"q":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8), "do not lie in");
    row("outside", header_and(R"({"q":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})", 8),
        "do not lie in the 8 bytes");
    row("too short", header_and(R"({"q":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4),
        "need 8 bytes, its range has 4");
    row("overlap",
        header_and(
            R"({"q":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"k":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
            12),
        "tensor k overlaps");
    row("hole", header_and(R"({"q":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})", 12),
        "bytes 0 to 4 belong to no tensor");
    row("tail", header_and(one, 12), "bytes 8 to 12 belong to no tensor");
    row("metadata", header_and(R"({"__metadata__":3})", 0), "__metadata__ is not an object");
  }
  void a_faulty_file_is_refused_in_a_sentence() {
    QFETCH(QByteArray, bytes);
    QFETCH(QString, part);
    QTemporaryDir folder;
    const std::string path = folder.filePath("bad.safetensors").toStdString();
    std::ofstream(path, std::ios::binary).write(bytes.data(), bytes.size());
    const auto file = SafetensorsFile::open(path);
    QVERIFY(!file.has_value());
    QVERIFY2(q(file.error()).contains(part), file.error().c_str());
    QVERIFY(q(file.error()).startsWith(q(path)));
  }

  void a_file_that_is_none_is_refused() {
    QTemporaryDir folder;
    QVERIFY(SafetensorsFile::open("/no/such/file").error().find("there is no such file") != std::string::npos);
    QVERIFY(SafetensorsFile::open(folder.path().toStdString()).error().find("is not a file") != std::string::npos);
  }

  void a_call_needs_a_query_and_words_that_fit() {
    QTemporaryDir folder;
    const std::string path = folder.filePath("x.safetensors").toStdString();
    const CallTensors made = generate(written("q[1,2,4,16] fp32"), 5);
    QVERIFY(write_safetensors(path, "x", made.call.query).has_value());
    QVERIFY(read_file_call(*SafetensorsFile::open(path), "").error().find("has no tensor q; it has x") !=
            std::string::npos);
    QVERIFY(write_safetensors(path, "query", made.call.query).has_value());
    const auto file = SafetensorsFile::open(path);
    QVERIFY(read_file_call(*file, "causal role=te step=2/5").has_value());
    QVERIFY(!read_file_call(*file, "q[1,2,4,16]").has_value());
    QVERIFY(!read_file_call(*file, "strides=transposed").has_value());
    QVERIFY(!read_file_call(*file, "colour").has_value());
  }

  void fully_masked_rows_are_counted() {
    HostTensor mask({1, 1, 2, 4}, DType::boolean);
    for (int i = 4; i < 8; ++i) mask.as<char>()[i] = 1;
    AttentionCall call = written("q[1,1,2,16] k[1,1,4,16] fp32 mask=bool");
    call.attn_mask = mask.view();
    QCOMPARE(fully_masked_rows(call), std::int64_t{1});
    QVERIFY(q(findings_of(call).at(0)).startsWith("1 fully masked row:"));

    HostTensor additive({1, 1, 2, 4}, DType::float32);
    for (int i = 4; i < 8; ++i) additive.as<float>()[i] = 1.0F;
    call.attn_mask = additive.view();
    QCOMPARE(fully_masked_rows(call), std::int64_t{0});
    QVERIFY(q(findings_of(call).at(0)).contains("float mask of only 0/1: did you mean bool?"));
    for (int i = 0; i < 4; ++i) additive.as<float>()[i] = -std::numeric_limits<float>::infinity();
    QCOMPARE(fully_masked_rows(call), std::int64_t{1});
    QVERIFY(!looks_like_boolean(additive.view()));
  }

  void a_padding_mask_with_causal_can_hide_whole_rows() {
    // The first two keys are hidden and query 0 and 1 see no later ones.
    HostTensor mask({1, 1, 1, 4}, DType::boolean);
    mask.as<char>()[2] = mask.as<char>()[3] = 1;
    AttentionCall call = written("q[1,1,4,16] causal fp32 mask=bool[1,1,1,4]");
    call.attn_mask = mask.view();
    QCOMPARE(fully_masked_rows(call), std::int64_t{2});
  }

  void values_that_are_no_numbers_are_counted() {
    HostTensor tensor({2, 3}, DType::float32);
    tensor.as<float>()[1] = std::nanf("");
    tensor.as<float>()[4] = std::numeric_limits<float>::infinity();
    tensor.as<float>()[5] = -std::numeric_limits<float>::infinity();
    QCOMPARE(count_values(tensor.view()).nan, std::int64_t{1});
    QCOMPARE(count_values(tensor.view()).inf, std::int64_t{2});
  }
};

QTEST_GUILESS_MAIN(TensorsTest)
#include "tensors_test.moc"
