// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/pipeline/shapes_model.h"

#include "app/jobs/files/atomic_file.h"
#include "app/jobs/resources.h"
#include "app/jobs/targets/targets.h"
#include "backends/all.h"

#include <exception>

namespace attn::app {
namespace {

/// Serves the preview's one picture through a router of its own: no generation runs yet that it could belong to.
class OwnRouter final : public AttentionCalls {
 public:
  OwnRouter() : engine_(make_registry(), cpu_target()), router_(engine_.plan(), nullptr) {}
  bool serve(Role, std::size_t, const AttentionCall& call) override { return router_(call).failure.empty(); }
  [[nodiscard]] Device device() const override { return Device::cpu(); }
  [[nodiscard]] DType dtype() const override { return DType::float32; }

 private:
  Engine engine_;
  Router router_;
};

}  // namespace

ShapesModel::ShapesModel(Weights& weights, ShapesConfig config)
    : config_(std::move(config)),
      text_encoder_(weights, config_),
      denoiser_(weights, config_),
      autoencoder_(weights, config_) {}

std::filesystem::path ShapesModel::bundled() { return resource_path("models/shapes"); }

Expected<std::shared_ptr<ShapesModel>> ShapesModel::load(const std::filesystem::path& folder) {
  const auto text = read_text(folder / "config.json", std::size_t{1} << 20);
  if (!text) return fail(text.error());
  auto config = ShapesConfig::parse(*text, (folder / "config.json").string());
  if (!config) return fail(config.error());
  auto weights = Weights::read(folder / "shapes.safetensors");
  if (!weights) return fail(weights.error());
  Workers workers(0);
  Expected<std::shared_ptr<ShapesModel>> result = fail("");
  workers.enter([&] {
    try {
      auto model = std::make_shared<ShapesModel>(*weights, *std::move(config));
      if (auto all = weights->finish(); !all) {
        result = fail(all.error());
        return;
      }
      OwnRouter attention;
      model->preview_ = LatentPreview(model->autoencoder_, model->config_, attention, workers);
      result = std::move(model);
    } catch (const std::exception& error) {  // oneDNN's, or no memory
      result = fail((folder / "shapes.safetensors").string() + ": the model could not be prepared: " + error.what());
    }
  });
  return result;
}

}  // namespace attn::app
