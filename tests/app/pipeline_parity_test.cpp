// SPDX-License-Identifier: GPL-3.0-or-later
// The bundled model against the reference that trained it: fixed noise and prompt, values out of the float16 weights
// in float32, stored by training/export.py. ATTNSCOPE_SHAPES_PARITY and ATTNSCOPE_RESOURCES name other folders, for a
// model that is not the bundled one.
#include "app/jobs/pipeline/picture.h"
#include "app/jobs/pipeline/prompt.h"
#include "app/jobs/pipeline/sampler.h"
#include "app/jobs/tensors/safetensors.h"
#include "support/oracle.h"
#include "support/shapes.h"

#include <QtTest>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

using namespace attn;
using namespace attn::app;
using nlohmann::json;

namespace {

std::string folder() {
  const QByteArray chosen = qgetenv("ATTNSCOPE_SHAPES_PARITY");
  return chosen.isEmpty() ? std::string(ATTN_ORACLES) : chosen.toStdString();
}

}  // namespace

class PipelineParityTest : public QObject {
  Q_OBJECT

 private:
  std::shared_ptr<ShapesModel> model_;
  std::unique_ptr<Engine> engine_;
  std::optional<SafetensorsFile> values_;
  json notes_;
  double tolerance_ = 0.0;
  std::set<std::string> met_;

  std::vector<float> floats(const char* name) {
    met_.insert(name);
    const auto tensor = values_->load(name);
    if (!tensor) qFatal("%s", tensor.error().c_str());
    if (tensor->view().dtype != DType::float32) qFatal("%s is not F32", name);
    return {tensor->as<float>(), tensor->as<float>() + tensor->view().elements()};
  }

  template <class Number>
  std::vector<Number> numbers(const char* name) {
    met_.insert(name);
    const auto bytes = values_->bytes(name);
    if (!bytes) qFatal("%s", bytes.error().c_str());
    std::vector<Number> values(bytes->size() / sizeof(Number));
    std::memcpy(values.data(), bytes->data(), values.size() * sizeof(Number));
    return values;
  }

  /// Picture-like values (channels, height, width) as a map, and back.
  static FeatureMap to_map(const std::vector<float>& values, std::int64_t channels, std::int64_t side) {
    FeatureMap map(side, side, channels);
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::int64_t i = 0; i < map.cells(); ++i) {
        map.row(0)[i * channels + c] = values[static_cast<std::size_t>(c * map.cells() + i)];
      }
    }
    return map;
  }
  static std::vector<float> to_planes(const float* cells, std::int64_t channels, std::int64_t count) {
    std::vector<float> values(static_cast<std::size_t>(channels * count));
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::int64_t i = 0; i < count; ++i)
        values[static_cast<std::size_t>(c * count + i)] = cells[i * channels + c];
    }
    return values;
  }

  /// Norm of the difference, and its largest element, both against the reference's.
  static double error_of(const std::vector<float>& ours, const std::vector<float>& reference) {
    if (ours.size() != reference.size()) return HUGE_VAL;
    double difference = 0.0;
    double norm = 0.0;
    double largest = 0.0;
    double peak = 0.0;
    for (std::size_t i = 0; i < ours.size(); ++i) {
      const double away = static_cast<double>(ours[i]) - static_cast<double>(reference[i]);
      if (!std::isfinite(away)) return HUGE_VAL;
      difference += away * away;
      norm += static_cast<double>(reference[i]) * static_cast<double>(reference[i]);
      largest = std::max(largest, std::abs(away));
      peak = std::max(peak, static_cast<double>(std::abs(reference[i])));
    }
    return std::max(std::sqrt(difference / norm), largest / peak);
  }
  void agrees(const char* what, const std::vector<float>& ours, const std::vector<float>& reference) const {
    const double error = error_of(ours, reference);
    qInfo("%s: relative error %.2e", what, error);
    QVERIFY2(error < tolerance_, what);
  }

  std::vector<TokenizedPrompt> prompts() const {
    std::vector<TokenizedPrompt> all;
    for (const json& prompt : notes_["prompts"]) all.push_back(*tokenize(prompt.get<std::string>(), model_->config()));
    return all;
  }

  /// Runs `work` where the networks run.
  template <class Work>
  static void with_workers(Work work) {
    Workers workers(2);
    workers.enter([&] { work(workers); });
  }

  TextStates text_states() const {
    TextStates states;
    with_workers([&](Workers& workers) {
      test::RouterCalls calls(*engine_);
      if (!model_->text_encoder().run(prompts(), calls, workers, states)) qFatal("text encoder");
    });
    return states;
  }

  std::vector<float> velocity_of(const FeatureMap& latent, float time, const Conditioning& text, DType dtype) const {
    std::vector<float> velocity;
    with_workers([&](Workers& workers) {
      test::RouterCalls calls(*engine_, dtype);
      DenoiserPass pass = model_->denoiser().prepare(text, latent.height(), latent.width(), calls, workers);
      if (!model_->denoiser().run(pass, 0, latent, time, calls, workers, velocity)) qFatal("denoiser");
    });
    return velocity;
  }

 private slots:
  void initTestCase() {
    model_ = test::shapes_model();
    engine_ = test::engine_for("cpu");
    auto file = SafetensorsFile::open(folder() + "/shapes_parity.safetensors");
    if (!file) qFatal("%s", file.error().c_str());
    values_ = *std::move(file);
    notes_ = json::parse(test::file_bytes(folder() + "/shapes_parity.json"));
    tolerance_ = notes_["relative_tolerance"].get<double>();
    QVERIFY(tolerance_ <= 1e-3);
  }

  void words_become_the_same_ids() {
    const auto ids = numbers<std::int32_t>("token_ids");
    const auto mask = numbers<std::uint8_t>("token_mask");
    const auto length = static_cast<std::size_t>(model_->config().text_length);
    const auto all = prompts();
    QCOMPARE(ids.size(), all.size() * length);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const TokenizedPrompt& prompt = all[i / length];
      QCOMPARE(prompt.ids[i % length], std::int64_t{ids[i]});
      QCOMPARE(static_cast<std::int64_t>(i % length) < prompt.live, mask[i] != 0);
    }
  }

  void text_states_agree() {
    const TextStates states = text_states();
    std::vector<float> ours = states.states;
    std::vector<float> reference = floats("text_states");
    // Rows of padding are nobody's: the reference computes them too, but they are not compared.
    const auto width = static_cast<std::size_t>(model_->config().text_width);
    const auto length = static_cast<std::size_t>(model_->config().text_length);
    QCOMPARE(ours.size(), reference.size());
    for (std::size_t i = 0; i < ours.size(); ++i) {
      const std::size_t prompt = i / (width * length);
      if (static_cast<std::int64_t>(i / width % length) >= states.live[prompt]) ours[i] = reference[i] = 0.0F;
    }
    agrees("text states", ours, reference);
    agrees("pooled text", states.pooled, floats("text_pooled"));
  }

  void one_forward_agrees_data() {
    QTest::addColumn<int>("dtype");
    QTest::addColumn<bool>("trim");
    QTest::newRow("float32") << int(DType::float32) << false;
    QTest::newRow("float16") << int(DType::float16) << false;
    QTest::newRow("without padding") << int(DType::float32) << true;
  }
  void one_forward_agrees() {
    QFETCH(int, dtype);
    QFETCH(bool, trim);
    const FeatureMap latent = to_map(floats("noise"), model_->config().latent_channels, 16);
    const TextStates states = text_states();
    std::vector<float> cells;
    if (trim) {
      for (std::int64_t prompt = 0; prompt < states.batch; ++prompt) {
        const auto one = velocity_of(latent, floats("time").at(0), trimmed(states, prompt), DType(dtype));
        cells.insert(cells.end(), one.begin(), one.end());
      }
    } else {
      cells = velocity_of(latent, floats("time").at(0), padded(states), DType(dtype));
    }
    std::vector<float> ours;
    const std::size_t half = cells.size() / 2;
    for (const std::size_t at : {std::size_t{0}, half}) {
      const auto planes = to_planes(cells.data() + at, latent.channels(), latent.cells());
      ours.insert(ours.end(), planes.begin(), planes.end());
    }
    agrees("velocity", ours, floats("velocity"));
  }

  void times_agree() {
    const auto times = shifted_times(20, 256, 1.0, model_->config());
    agrees("times", times, floats("times_20_steps"));
  }

  void four_steps_with_guidance_agree() {
    FeatureMap latent = to_map(floats("noise"), model_->config().latent_channels, 16);
    const auto times = shifted_times(4, 256, 1.0, model_->config());
    const Conditioning text = padded(text_states());
    for (std::size_t step = 0; step < 4; ++step) {
      std::vector<float> velocity = velocity_of(latent, times[step], text, DType::float32);
      const float* free = velocity.data() + velocity.size() / 2;
      euler_step(latent, times[step + 1] - times[step], velocity, free, notes_["guidance_of_4_steps"].get<double>());
    }
    agrees("latent after 4 steps", to_planes(latent.row(0), latent.channels(), latent.cells()),
           floats("latent_after_4_steps"));
  }

  void the_decoded_picture_agrees() {
    const FeatureMap latent = to_map(floats("noise"), model_->config().latent_channels, 16);
    FeatureMap picture;
    with_workers([&](Workers& workers) {
      test::RouterCalls calls(*engine_);
      QVERIFY(model_->autoencoder().decode(latent, calls, workers, picture));
    });
    agrees("picture", to_planes(picture.row(0), 3, picture.cells()), floats("picture"));
  }

  void the_encoded_picture_agrees() {
    std::vector<float> values = floats("picture");
    for (float& value : values) value = std::clamp(value, -1.0F, 1.0F);
    const FeatureMap picture = to_map(values, 3, 64);
    FeatureMap latent;
    with_workers([&](Workers& workers) {
      test::RouterCalls calls(*engine_);
      QVERIFY(model_->autoencoder().encode(picture, calls, workers, latent));
    });
    agrees("latent", to_planes(latent.row(0), latent.channels(), latent.cells()), floats("encoded_picture"));
  }

  void every_value_was_met() {
    for (const StoredTensor& tensor : values_->tensors()) QVERIFY2(met_.contains(tensor.name), tensor.name.c_str());
    QCOMPARE(met_.size(), values_->tensors().size());
  }
};

QTEST_GUILESS_MAIN(PipelineParityTest)
#include "pipeline_parity_test.moc"
