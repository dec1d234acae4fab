// SPDX-License-Identifier: GPL-3.0-or-later
// Weight files that are truncated, corrupt or foreign: one sentence each, and never more than that.
#include "app/jobs/pipeline/weights.h"
#include "app/jobs/tensors/safetensors.h"
#include "support/oracle.h"
#include "support/shapes.h"
#include "support/tiny_shapes.h"

#include <QTemporaryDir>
#include <QtTest>
#include <cmath>
#include <fstream>
#include <functional>
#include <random>

using namespace attn;
using namespace attn::app;
using attn::test::q;
using attn::test::TinyShapes;
using nlohmann::ordered_json;

namespace {

/// Header and data of a safetensors file with a header as given, whatever it says.
std::string file_of(const std::string& header, const std::string& data = {}) {
  std::string bytes(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(header.size() >> (8 * i));
  return bytes + header + data;
}

/// Two tensors, small enough to try every byte.
std::string two_tensors() {
  return file_of(R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F16","shape":[2,3],"data_offsets":[0,12]},)"
                 R"("b.weight":{"dtype":"F32","shape":[1],"data_offsets":[12,16]}})",
                 std::string("\x00\x3C\x00\x40\x00\x42\x00\x44\x00\x45\x00\x46", 12) + std::string(4, '\0'));
}

/// What a person may read: one sentence on one line, of plain characters and a bearable length.
bool is_one_sentence(const std::string& text) {
  const bool plain =
      std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x20; });
  if (text.empty() || !plain || text.size() > 2000) qWarning("no sentence: %s", text.c_str());
  return !text.empty() && plain && text.size() <= 2000;
}

}  // namespace

class PipelineWeightsTest : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir folder_;
  const std::string weights_ = TinyShapes::weights();

  [[nodiscard]] std::string path(const char* name) const { return folder_.filePath(name).toStdString(); }
  void write(const std::string& where, const std::string& bytes) const {
    std::ofstream(where, std::ios::binary | std::ios::trunc)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  /// True: the file was taken. False: it was refused in a sentence. Anything else ends the test.
  bool taken(const std::string& bytes) const {
    const std::string where = path("w.safetensors");
    write(where, bytes);
    const auto weights = Weights::read(where);
    if (weights) return true;
    if (!is_one_sentence(weights.error()) || weights.error().find(where) == std::string::npos) {
      qFatal("not a sentence with the file's name: %s", weights.error().c_str());
    }
    return false;
  }
  std::string model_error(const std::string& weights, const std::string& config = TinyShapes::config()) const {
    write(path("config.json"), config);
    write(path("shapes.safetensors"), weights);
    const auto model = ShapesModel::load(folder_.path().toStdString());
    if (model) return {};
    if (!is_one_sentence(model.error())) qFatal("no sentence");
    return model.error();
  }

 private slots:
  void a_good_file_is_taken() {
    QVERIFY(taken(two_tensors()));
    const auto weights = Weights::read(path("w.safetensors"));
    Weights mine = *weights;
    const auto a = mine.take("a", {2, 3});
    QCOMPARE(std::vector<float>(a.begin(), a.end()), (std::vector<float>{1, 2, 3, 4, 5, 6}));
    QVERIFY(!mine.finish().has_value());  // b.weight is left
    (void)mine.take("b.weight", {1});
    QVERIFY(mine.finish().has_value());
  }

  void every_truncation_is_refused() {
    const std::string whole = two_tensors();
    for (std::size_t length = 0; length < whole.size(); ++length) QVERIFY(!taken(whole.substr(0, length)));
  }

  void every_extension_is_refused() {
    for (const std::size_t more : {1U, 7U, 4096U}) QVERIFY(!taken(two_tensors() + std::string(more, '\0')));
  }

  void flipped_bits_give_a_file_or_a_sentence() {
    const std::string whole = two_tensors();
    int refused = 0;
    for (std::size_t bit = 0; bit < whole.size() * 8; bit += 3) {
      std::string flipped = whole;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
      refused += taken(flipped) ? 0 : 1;
    }
    // Every third bit, so that every place in a byte has its turn. Nearly every bit of the header counts; those of
    // names, of the metadata and of the numbers do not have to.
    QVERIFY2(refused > 270, qPrintable(QString::number(refused)));
  }

  void random_headers_give_a_file_or_a_sentence() {
    std::mt19937 random(1);
    const std::vector<std::string> pieces{"{",
                                          "}",
                                          "[",
                                          "]",
                                          ",",
                                          ":",
                                          "\"a\"",
                                          "\"b\"",
                                          "0",
                                          "12",
                                          "-1",
                                          "1e99",
                                          "null",
                                          "\"F16\"",
                                          "\"dtype\"",
                                          "\"shape\"",
                                          "\"data_offsets\"",
                                          "true",
                                          "18446744073709551615",
                                          " ",
                                          "\\",
                                          "\"\xFF\"",
                                          "\"\\u0000\""};
    for (int i = 0; i < 600; ++i) {
      std::string header = "{\"a\":{\"dtype\":\"F16\",\"shape\":[";
      if (i % 2 == 0) header.clear();
      for (unsigned n = random() % 24; n > 0; --n) header += pieces[random() % pieces.size()];
      (void)taken(file_of(header, std::string(random() % 16, '\1')));
    }
    for (int i = 0; i < 200; ++i) {
      std::string bytes(random() % 200, '\0');
      for (char& c : bytes) c = static_cast<char>(random());
      QVERIFY(!taken(bytes));
    }
  }

  void deep_and_wide_headers_are_refused_without_a_deep_stack() {
    constexpr std::size_t kDeep = 1'000'000;
    QVERIFY(!taken(file_of(std::string(kDeep, '['))));
    QVERIFY(!taken(file_of(R"({"a":{"dtype":"F16","shape":)" + std::string(kDeep, '[') + std::string(kDeep, ']') +
                           R"(,"data_offsets":[0,0]}})")));
    QVERIFY(!taken(file_of(R"({"a":{"dtype":"F16","shape":[)" + std::string(kDeep, '[') + std::string(kDeep, ']') +
                           R"(],"data_offsets":[0,0]}})")));
    std::string dims = R"({"a":{"dtype":"F16","shape":[1)";
    for (int i = 0; i < 100'000; ++i) dims += ",1";
    QVERIFY(!taken(file_of(dims + R"(],"data_offsets":[0,2]}})", "xx")));
    QVERIFY(!taken(file_of(R"({")" + std::string(kDeep, 'n') + R"(":7})")));
  }

  void a_foreign_file_is_refused_data() {
    QTest::addColumn<QByteArray>("bytes");
    const auto row = [](const char* name, const std::string& bytes) {
      QTest::newRow(name) << QByteArray(bytes.data(), static_cast<qsizetype>(bytes.size()));
    };
    row("empty", "");
    row("text", "These are not weights, they are a letter to somebody.");
    row("zip", std::string("PK\x03\x04", 4) + std::string(200, '\0'));
    row("picture", "\x89PNG\r\n\x1A\n" + std::string(100, '\x55'));
    row("elf",
        "\x7F"
        "ELF" +
            std::string(200, '\2'));
    row("pickle", std::string("\x80\x02}q\x00.", 6));
    row("gguf", "GGUF" + std::string(64, '\0'));
    row("json", R"({"weights":[1,2,3]})");
    row("zeros", std::string(4096, '\0'));
    row("ones", std::string(4096, '\xFF'));
    row("eight bytes", std::string("\x02\0\0\0\0\0\0\0", 8));
  }
  void a_foreign_file_is_refused() {
    QFETCH(QByteArray, bytes);
    QVERIFY(!taken(bytes.toStdString()));
  }

  void what_is_no_weight_is_refused_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QString>("part");
    const auto row = [](const char* name, const std::string& bytes, const char* part) {
      QTest::newRow(name) << QByteArray(bytes.data(), static_cast<qsizetype>(bytes.size())) << QString(part);
    };
    const auto one = [](const char* dtype, const std::string& data) {
      return file_of(R"({"a":{"dtype":")" + std::string(dtype) + R"(","shape":[1],"data_offsets":[0,)" +
                         std::to_string(data.size()) + "]}}",
                     data);
    };
    row("double", one("F64", std::string(8, '\0')), "dtype F64 is none of a weight");
    row("bool", one("BOOL", std::string(1, '\1')), "dtype BOOL is none of a weight");
    row("whole number", one("I64", std::string(8, '\0')), "dtype I64 is none of a call");
    row("infinity", one("F16", std::string("\x00\x7C", 2)), "element 0 is no finite number");
    row("not a number", one("F32", std::string("\x00\x00\xC0\x7F", 4)), "element 0 is no finite number");
    row("newline in a name", file_of("{\"a\\nb\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[0,2]}}", "xx"),
        "tensor a?b: its shape and dtype need 4 bytes");
  }
  void what_is_no_weight_is_refused() {
    QFETCH(QByteArray, bytes);
    QFETCH(QString, part);
    const std::string where = path("w.safetensors");
    write(where, bytes.toStdString());
    const auto weights = Weights::read(where);
    QVERIFY(!weights.has_value());
    QVERIFY2(q(weights.error()).contains(part), weights.error().c_str());
  }

  void a_model_needs_exactly_its_tensors() {
    QCOMPARE(q(model_error(weights_)), QString());
    auto tensors = TinyShapes::tensors();
    const TinyShapes::Tensor gone = tensors[20];
    tensors.erase(tensors.begin() + 20);
    QVERIFY(q(model_error(TinyShapes::weights(tensors)))
                .endsWith("has no tensor " + q(gone.name) + ", which the model needs"));
    tensors = TinyShapes::tensors();
    tensors.push_back({"lora.up", {2, 2}});
    QVERIFY(q(model_error(TinyShapes::weights(tensors))).endsWith("tensor lora.up is none of the model's"));
    tensors = TinyShapes::tensors();
    tensors[2].shape = {31};
    QVERIFY(q(model_error(TinyShapes::weights(tensors)))
                .endsWith("tensor " + q(tensors[2].name) + " has the shape [31]; the model's is [32]"));
    QVERIFY(q(model_error(TinyShapes::weights({}))).contains("has no tensor te."));
  }

  void a_faulty_config_is_refused_data() {
    QTest::addColumn<QString>("change");
    QTest::addColumn<QString>("part");
    const auto row = [](const char* change, const char* part) {
      QTest::newRow(change) << QString(change) << QString(part);
    };
    row(R"({"width":null})", "width is not what the model needs: a whole number from 1 to 4096");
    row(R"({"heads":3})", "heads is not what the model needs: it has to divide width");
    row(R"({"heads":64})", "a multiple of 4");
    row(R"({"blocks":0})", "blocks");
    row(R"({"width":4096,"heads":64,"blocks":64})", "a model of at most 200 million weights");
    row(R"({"vocabulary":["a","a","b"]})", "without repetitions");
    row(R"({"vocabulary":"a"})", "vocabulary");
    row(R"({"start_id":99})", "start_id");
    row(R"({"vae_widths":[8,16]})", "vae_widths");
    row(R"({"vae_groups":3})", "it has to divide every one of vae_widths");
    row(R"({"latent_std":[1,1,1,0]})", "latent_std is not what the model needs: numbers over 0");
    row(R"({"latent_mean":[1]})", "a list of 4 numbers");
    row(R"({"latent_factor":8})", "latent_factor");
    row(R"({"rope_theta":-1})", "rope_theta is not what the model needs: a number over 0");
    row(R"({"pipeline_class":""})", "pipeline_class");
  }
  void a_faulty_config_is_refused() {
    QFETCH(QString, change);
    QFETCH(QString, part);
    ordered_json config = ordered_json::parse(TinyShapes::config());
    config.update(ordered_json::parse(change.toStdString()));
    const std::string error = model_error(weights_, config.dump());
    QVERIFY2(q(error).contains(part), error.c_str());
    QVERIFY(q(error).contains("config.json: "));
  }

  void a_config_without_a_key_names_it() {
    const ordered_json whole = ordered_json::parse(TinyShapes::config());
    for (const auto& [key, value] : whole.items()) {
      ordered_json config = whole;
      config.erase(key);
      QVERIFY2(q(model_error(weights_, config.dump())).contains("the key " + q(key) + " is missing"), key.c_str());
    }
    QVERIFY(q(model_error(weights_, "[]")).contains("is not a JSON object"));
    QVERIFY(q(model_error(weights_, "{")).contains("is not a JSON object"));
  }

  void a_folder_without_a_model_is_refused() {
    QTemporaryDir empty;
    const auto model = ShapesModel::load(empty.path().toStdString());
    QVERIFY(!model.has_value());
    QVERIFY(q(model.error()).contains("config.json: there is no such file"));
  }

  void corrupt_model_files_never_crash() {
    // The real size of a header: flips at places that a seed chooses, and truncations at every tensor.
    const std::string whole = weights_;
    std::uint64_t header = 0;
    for (std::size_t i = 0; i < 8; ++i) header |= std::uint64_t{static_cast<unsigned char>(whole[i])} << (8 * i);
    std::mt19937 random(3);
    for (int i = 0; i < 100; ++i) {
      std::string flipped = whole;
      const std::size_t at = random() % (header + 8);
      flipped[at] = static_cast<char>(flipped[at] ^ (1 << (random() % 8)));
      (void)taken(flipped);
    }
    const ordered_json entries = ordered_json::parse(whole.substr(8, header));
    for (const auto& [name, entry] : entries.items()) {
      QVERIFY(!taken(whole.substr(0, 8 + header + entry["data_offsets"][0].get<std::size_t>())));
    }
  }
};

QTEST_GUILESS_MAIN(PipelineWeightsTest)
#include "pipeline_weights_test.moc"
