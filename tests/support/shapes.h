// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/jobs/pipeline/shapes_model.h"
#include "app/jobs/targets/targets.h"
#include "backends/all.h"

#include <QtGlobal>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace attn::test {

/// The bundled model; stops the test program with its sentence when it cannot be loaded.
inline std::shared_ptr<app::ShapesModel> shapes_model() {
  auto model = app::ShapesModel::load(app::ShapesModel::bundled());
  if (!model) qFatal("%s", model.error().c_str());
  return *std::move(model);
}

/// An engine for a target; "cpu" is this machine's processor.
inline std::unique_ptr<Engine> engine_for(const char* target, LogSink sink = {}) {
  auto found = app::find_target(target);
  if (!found) qFatal("%s", found.error().c_str());
  return std::make_unique<Engine>(make_registry(), *std::move(found), std::move(sink));
}

/// Serves a network's calls by the engine's router, outside a generation.
class RouterCalls final : public app::AttentionCalls {
 public:
  explicit RouterCalls(Engine& engine, DType dtype = DType::float32)
      : router_(engine.plan(), nullptr),
        device_(engine.plan()->target().is_cpu() ? Device::cpu() : Device::accel()),
        dtype_(dtype) {}
  bool serve(Role role, std::size_t site, const AttentionCall& call) override {
    sites.emplace_back(role, site);
    return router_(call).failure.empty();
  }
  [[nodiscard]] Device device() const override { return device_; }
  [[nodiscard]] DType dtype() const override { return dtype_; }

  std::vector<std::pair<Role, std::size_t>> sites;

 private:
  Router router_;
  Device device_;
  DType dtype_;
};

}  // namespace attn::test
