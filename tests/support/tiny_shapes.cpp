// SPDX-License-Identifier: GPL-3.0-or-later
#include "support/tiny_shapes.h"

#include "core/tensor/half.h"

#include <QDir>
#include <QFile>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <random>

namespace attn::test {
namespace {

using Tensor = TinyShapes::Tensor;
using nlohmann::ordered_json;

constexpr long long kText = 32;
constexpr long long kLength = 12;
constexpr long long kWidth = 128;
constexpr long long kHeadDim = 64;
constexpr long long kBlocks = 2;
constexpr long long kTime = 32;
constexpr long long kFrequencies = 4;
constexpr long long kChannels = 4;
constexpr long long kLow = 8;
constexpr long long kMid = 16;
constexpr long long kHigh = 32;

const std::vector<std::string>& vocabulary() {
  static const std::vector<std::string> kWords{"<pad>",  "<unk>", "<start>", "a",    "background", "blue",
                                               "circle", "green", "large",   "left", "of",         "on",
                                               "red",    "small", "square",  "star", "white",      "yellow"};
  return kWords;
}

class List {
 public:
  void add(const std::string& name, std::vector<long long> shape) { all.push_back({name, std::move(shape)}); }
  void linear(const std::string& name, long long inputs, long long outputs) {
    add(name + ".weight", {outputs, inputs});
    add(name + ".bias", {outputs});
  }
  void norm(const std::string& name, long long width) {
    add(name + ".weight", {width});
    add(name + ".bias", {width});
  }
  void conv(const std::string& name, long long inputs, long long outputs) {
    add(name + ".weight", {outputs, inputs, 3, 3});
    add(name + ".bias", {outputs});
  }
  void res(const std::string& name, long long width) {
    norm(name + ".norm1", width);
    conv(name + ".conv1", width, width);
    norm(name + ".norm2", width);
    conv(name + ".conv2", width, width);
  }
  void cells(const std::string& name, long long width) {
    norm(name + ".norm", width);
    linear(name + ".qkv", width, 3 * width);
    linear(name + ".out", width, width);
  }
  std::vector<Tensor> all;
};

void add_text_encoder(List& list) {
  list.add("te.token.weight", {static_cast<long long>(vocabulary().size()), kText});
  list.add("te.position.weight", {kLength, kText});
  list.norm("te.blocks.0.norm1", kText);
  list.linear("te.blocks.0.qkv", kText, 3 * kText);
  list.linear("te.blocks.0.out", kText, kText);
  list.norm("te.blocks.0.norm2", kText);
  list.linear("te.blocks.0.fc1", kText, 4 * kText);
  list.linear("te.blocks.0.fc2", 4 * kText, kText);
  list.norm("te.norm", kText);
}

void add_stream(List& list, const std::string& at, bool last) {
  list.linear(at + "qkv", kWidth, 3 * kWidth);
  list.add(at + "query_norm.weight", {kHeadDim});
  list.add(at + "key_norm.weight", {kHeadDim});
  if (last) return;
  list.linear(at + "out", kWidth, kWidth);
  list.linear(at + "fc1", kWidth, 4 * kWidth);
  list.linear(at + "fc2", 4 * kWidth, kWidth);
}

void add_denoiser(List& list) {
  const std::string at = "transformer.";
  list.linear(at + "image_in", kChannels, kWidth);
  list.add(at + "position_in.weight", {kWidth, 4 * kFrequencies});
  list.linear(at + "text_in", kText, kWidth);
  list.linear(at + "time_in", kTime, kWidth);
  list.linear(at + "time_out", kWidth, kWidth);
  list.linear(at + "pooled_in", kText, kWidth);
  list.linear(at + "modulation", kWidth, 12 * kWidth);
  for (long long i = 0; i < kBlocks; ++i) {
    const std::string block = at + "blocks." + std::to_string(i) + ".";
    add_stream(list, block + "image.", false);
    add_stream(list, block + "text.", i + 1 == kBlocks);
    list.add(block + "offset", {12, kWidth});
  }
  list.linear(at + "final_modulation", kWidth, 2 * kWidth);
  list.linear(at + "image_out", kWidth, kChannels);
}

void add_autoencoder(List& list) {
  const std::string e = "vae.encoder.";
  list.conv(e + "conv_in", 3, kLow);
  list.res(e + "res1", kLow);
  list.conv(e + "down1", kLow, kMid);
  list.res(e + "res2", kMid);
  list.conv(e + "down2", kMid, kHigh);
  list.res(e + "res3", kHigh);
  list.cells(e + "attention", kHigh);
  list.res(e + "res4", kHigh);
  list.norm(e + "norm", kHigh);
  list.conv(e + "conv_out", kHigh, kChannels);
  const std::string d = "vae.decoder.";
  list.conv(d + "conv_in", kChannels, kHigh);
  list.res(d + "res1", kHigh);
  list.cells(d + "attention", kHigh);
  list.res(d + "res2", kHigh);
  list.conv(d + "up1", kHigh, kMid);
  list.res(d + "res3", kMid);
  list.res(d + "res4", kMid);
  list.conv(d + "up2", kMid, kLow);
  list.res(d + "res5", kLow);
  list.norm(d + "norm", kLow);
  list.conv(d + "conv_out", kLow, 3);
}

void save(const QString& path, const std::string& bytes) {
  QFile file(path);
  if (!file.open(QIODevice::WriteOnly)) qFatal("cannot write %s", qPrintable(path));
  file.write(bytes.data(), static_cast<qint64>(bytes.size()));
}

}  // namespace

std::vector<Tensor> TinyShapes::tensors() {
  List list;
  add_text_encoder(list);
  add_denoiser(list);
  add_autoencoder(list);
  return list.all;
}

std::string TinyShapes::config() {
  return ordered_json{{"pipeline_class", "ShapesPipeline"},
                      {"transformer_class", "ShapesTransformer2DModel"},
                      {"vocabulary", vocabulary()},
                      {"pad_id", 0},
                      {"unknown_id", 1},
                      {"start_id", 2},
                      {"text_length", kLength},
                      {"text_width", kText},
                      {"text_heads", 2},
                      {"text_blocks", 1},
                      {"width", kWidth},
                      {"heads", kWidth / kHeadDim},
                      {"blocks", kBlocks},
                      {"time_features", kTime},
                      {"position_frequencies", kFrequencies},
                      {"rope_extent", 16.0},
                      {"rope_theta", 100.0},
                      {"latent_channels", kChannels},
                      {"latent_factor", 4},
                      {"vae_widths", {kLow, kMid, kHigh}},
                      {"vae_groups", 4},
                      {"latent_mean", {0.1, -0.1, 0.2, 0.0}},
                      {"latent_std", {1.0, 0.9, 1.1, 1.2}},
                      {"shift_base", 2.0},
                      {"shift_tokens", 256},
                      {"default_steps", 20},
                      {"default_guidance", 3.0}}
      .dump();
}

std::string TinyShapes::weights(const std::vector<Tensor>& of) {
  ordered_json header = ordered_json::object();
  std::string data;
  std::mt19937 random(7);
  for (const Tensor& tensor : of) {
    long long elements = 1;
    for (const long long size : tensor.shape) elements *= size;
    const bool vector = tensor.shape.size() == 1;
    const long long inputs = vector ? 1 : elements / tensor.shape[0];
    const std::size_t begin = data.size();
    for (long long i = 0; i < elements; ++i) {
      const float uniform = static_cast<float>(random() >> 8U) * 0x1p-23F - 1.0F;
      const bool scale = vector && tensor.name.ends_with("weight");
      const float value =
          vector ? 0.1F * uniform + (scale ? 1.0F : 0.0F) : uniform * 1.7F / std::sqrt(static_cast<float>(inputs));
      const std::uint16_t bits = to_float16(value).bits;
      data.push_back(static_cast<char>(bits & 0xFFU));
      data.push_back(static_cast<char>(bits >> 8U));
    }
    header[tensor.name] = {{"dtype", "F16"}, {"shape", tensor.shape}, {"data_offsets", {begin, data.size()}}};
  }
  const std::string text = header.dump();
  std::string bytes(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(text.size() >> (8 * i));
  return bytes + text + data;
}

void TinyShapes::write(const QString& folder) {
  save(QDir(folder).filePath("config.json"), config());
  save(QDir(folder).filePath("shapes.safetensors"), weights());
}

}  // namespace attn::test
