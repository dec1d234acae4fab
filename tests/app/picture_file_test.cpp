// SPDX-License-Identifier: GPL-3.0-or-later
// Pictures as PNG with their settings inside, and what becomes of files that are none.
#include "app/jobs/pipeline/picture_file.h"
#include "app/jobs/files/atomic_file.h"
#include "app/jobs/pipeline/png_file.h"
#include "support/oracle.h"
#include "support/shapes.h"

#include <QTemporaryDir>
#include <QtTest>
#include <random>

using namespace attn;
using namespace attn::app;
using attn::test::q;

namespace {

Picture picture(std::int64_t width, std::int64_t height) {
  Picture made{width, height, {}};
  for (std::int64_t i = 0; i < width * height * 3; ++i) made.rgb.push_back(static_cast<std::uint8_t>(i * 7 % 251));
  return made;
}

GenerationSettings everything() {
  GenerationSettings settings;
  settings.prompt = "a \"red\" circle, caf\xC3\xA9 \xE2\x98\x85";
  settings.negative_prompt = "a blue\nstar";
  settings.seed = 18'446'744'073'709'551'615ULL;
  settings.width = 192;
  settings.height = 64;
  settings.steps = 7;
  settings.guidance = 2.5;
  settings.hires = {384, 128, 9, 0.35, HiresSettings::Upscale::image};
  settings.dtype = DType::bfloat16;
  settings.text = TextForm::trimmed;
  settings.step_source = StepSource::hook;
  settings.compiled = true;
  return settings;
}

}  // namespace

class PictureFileTest : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir folder_;
  [[nodiscard]] std::string path(const char* name) const { return folder_.filePath(name).toStdString(); }

 private slots:
  void pixels_come_back() {
    for (const auto& [width, height] : {std::pair(1, 1), std::pair(64, 72), std::pair(513, 3)}) {
      const Picture made = picture(width, height);
      const auto bytes = png_bytes(made, {});
      QVERIFY(bytes.has_value());
      const auto read = read_png(*bytes);
      QVERIFY2(read.has_value(), read ? "" : read.error().c_str());
      QVERIFY(*read == made);
    }
  }

  void settings_come_back_out_of_the_picture() {
    const auto engine = test::engine_for("rtx-3090");
    QVERIFY(engine->set("sdp_overrides", OptionList{"Sage attention", "SDNQ attention"}).has_value());
    QVERIFY(engine->set("sparse_attention_enabled", true).has_value());
    const PictureSettings settings = settings_of(everything(), "rtx-3090", *engine);
    QVERIFY(save_picture(path("a.png"), picture(192, 64), settings).has_value());
    const auto read = read_picture_settings(path("a.png"));
    QVERIFY2(read.has_value(), read ? "" : read.error().c_str());
    QVERIFY(read->generation == settings.generation);
    QCOMPARE(q(read->target), QString("rtx-3090"));
    const auto other = test::engine_for("rtx-3090");
    QVERIFY(other->values().all() != engine->values().all());
    const auto set = other->set_all(read->settings);
    QVERIFY2(set.has_value(), set ? "" : set.error().c_str());
    QVERIFY(other->values().all() == engine->values().all());
    QCOMPARE(q(other->plan()->chain()), q(engine->plan()->chain()));
  }

  void the_chunk_is_a_text_that_every_reader_takes() {
    const auto engine = test::engine_for("cpu");
    QVERIFY(save_picture(path("b.png"), picture(8, 8), settings_of(everything(), "cpu", *engine)).has_value());
    const std::string bytes = *read_text(path("b.png"));
    const std::size_t at = bytes.find("tEXtattnscope");
    QVERIFY(at != std::string::npos);
    QVERIFY(at < bytes.find("IDAT"));
    const std::string text = read_png_texts(bytes)->at("attnscope");
    QVERIFY(std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7F; }));
    const auto json = nlohmann::json::parse(text);
    QCOMPARE(json["version"], 1);
    QCOMPARE(json["generation"]["seed"], 18'446'744'073'709'551'615ULL);
    QCOMPARE(json["generation"]["hires"]["upscale"], "image");
  }

  void every_value_is_read_or_refused_data() {
    QTest::addColumn<QString>("json");
    QTest::addColumn<QString>("part");
    const auto row = [](const char* json, const char* part) { QTest::newRow(json) << QString(json) << QString(part); };
    row("[]", "an object is needed");
    row(R"({"prompt":3})", "prompt 3: a text is needed");
    row(R"({"seed":-1})", "seed -1: a whole number that is not negative");
    row(R"({"steps":2.5})", "steps 2.5: a whole number");
    row(R"({"steps":1e300})", "steps");
    row(R"({"guidance":"much"})", "guidance \"much\": a number");
    row(R"({"dtype":"int8"})", "dtype \"int8\": one of float32, float16, bfloat16");
    row(R"({"text":"loose"})", "text \"loose\": padded or trimmed");
    row(R"({"step_source":[]})", "step_source: callback or hook");
    row(R"({"compiled":1})", "compiled 1: true or false");
    row(R"({"hires":true})", "hires: an object or null");
    row(R"({"hires":{"upscale":"magic"}})", "hires upscale \"magic\": latent or image");
    row(R"({"hires":{"width":[[]]}})", "hires width: a whole number");
  }
  void every_value_is_read_or_refused() {
    QFETCH(QString, json);
    QFETCH(QString, part);
    const auto settings = read_generation(nlohmann::ordered_json::parse(json.toStdString()));
    QVERIFY(!settings.has_value());
    QVERIFY2(q(settings.error()).contains(part), settings.error().c_str());
  }

  void what_is_absent_is_the_default() {
    const auto settings = read_generation(nlohmann::ordered_json::parse(R"({"prompt":"a star","other":[1]})"));
    GenerationSettings expected;
    expected.prompt = "a star";
    QVERIFY(settings.has_value() && *settings == expected);
  }

  void files_that_hold_no_settings_say_why_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QString>("part");
    const auto row = [](const char* name, const std::string& bytes, const char* part) {
      QTest::newRow(name) << QByteArray(bytes.data(), static_cast<qsizetype>(bytes.size())) << QString(part);
    };
    const auto with = [](const std::string& text) { return *png_bytes(picture(4, 4), {{"attnscope", text}}); };
    row("empty", "", "is no PNG that can be read");
    row("text", "hello", "is no PNG that can be read");
    row("other picture", *png_bytes(picture(4, 4), {{"parameters", "Steps: 20"}}), "(its texts: parameters)");
    row("no text", *png_bytes(picture(4, 4), {}), "(its texts: none)");
    row("no json", with("{"), "not the JSON object");
    row("list", with("[]"), "not the JSON object");
    row("future", with(R"({"version":2,"generation":{}})"), "another version than 1");
    row("wrong value", with(R"({"version":1,"generation":{"steps":"many"}})"), "steps \"many\"");
    row("wrong setting", with(R"({"version":1,"generation":{},"settings":{"a":{}}})"), "setting a");
  }
  void files_that_hold_no_settings_say_why() {
    QFETCH(QByteArray, bytes);
    QFETCH(QString, part);
    QVERIFY(write_atomically(path("c.png"), bytes.toStdString()).has_value());
    const auto settings = read_picture_settings(path("c.png"));
    QVERIFY(!settings.has_value());
    QVERIFY2(q(settings.error()).contains(part), settings.error().c_str());
    QVERIFY(q(settings.error()).startsWith(q(path("c.png"))));
  }

  void a_broken_png_gives_a_sentence_wherever_it_is_broken() {
    const auto engine = test::engine_for("cpu");
    QVERIFY(save_picture(path("d.png"), picture(16, 16), settings_of(everything(), "cpu", *engine)).has_value());
    const std::string whole = *read_text(path("d.png"));
    int unread = 0;
    for (std::size_t length = 0; length < whole.size(); ++length) {
      const auto pixels = read_png(std::string_view(whole).substr(0, length));
      if (!pixels) ++unread;
      (void)read_png_texts(std::string_view(whole).substr(0, length));
    }
    QCOMPARE(static_cast<std::size_t>(unread), whole.size());
    std::mt19937 random(5);
    for (int i = 0; i < 2000; ++i) {
      std::string flipped = whole;
      const std::size_t at = random() % flipped.size();
      flipped[at] = static_cast<char>(flipped[at] ^ (1 << (random() % 8)));
      (void)read_png(flipped);
      (void)read_png_texts(flipped);
    }
  }

  void a_huge_picture_is_refused_before_memory_is_asked_for() {
    std::string bytes = *png_bytes(picture(4, 4), {});
    bytes[16] = '\x7F';  // the width's first byte
    QVERIFY(!read_png(bytes).has_value());
  }

  void a_picture_is_written_whole_or_not_at_all() {
    const auto engine = test::engine_for("cpu");
    const auto settings = settings_of(everything(), "cpu", *engine);
    QVERIFY(!save_picture(path("no/such/folder.png"), picture(4, 4), settings).has_value());
    QVERIFY(!save_picture(folder_.path().toStdString(), picture(4, 4), settings).has_value());
    QVERIFY(write_atomically(path("old.png"), "old").has_value());
    QFile::setPermissions(q(path("old.png")), QFileDevice::ReadOwner);
    QVERIFY(!save_picture(path("old.png"), picture(4, 4), settings).has_value());
    QCOMPARE(q(*read_text(path("old.png"))), QString("old"));
  }

  void resizing_keeps_what_it_should() {
    FeatureMap map(3, 2, 2);
    for (std::int64_t i = 0; i < 12; ++i) map.row(0)[i] = i % 2 == 0 ? 5.0F : static_cast<float>(i / 4);
    for (const auto& larger : {resized_bilinear(map, 9, 4), resized_bicubic(map, 9, 4)}) {
      QCOMPARE(larger.height(), std::int64_t{9});
      for (std::int64_t cell = 0; cell < larger.cells(); ++cell) {
        QVERIFY(std::abs(larger.row(0)[cell * 2] - 5.0F) < 1e-5F);  // a constant stays one
      }
      // Row 4 is the middle one, over the centre of the middle row.
      QVERIFY(std::abs(larger.row(4)[1] - 1.0F) < 1e-5F);
    }
    const FeatureMap same = resized_bicubic(map, 3, 2);
    QVERIFY(std::equal(map.row(0), map.row(3), same.row(0)));
  }

  void a_decoded_picture_is_clamped_and_rounded() {
    FeatureMap map(1, 2, 3);
    const float values[] = {-1.0F, 1.0F, 0.0F, -7.0F, 9.0F, std::nanf("")};
    std::copy(std::begin(values), std::end(values), map.row(0));
    QCOMPARE(to_picture(map).rgb, (std::vector<std::uint8_t>{0, 255, 128, 0, 255, 0}));
  }
};

QTEST_GUILESS_MAIN(PictureFileTest)
#include "picture_file_test.moc"
