// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QByteArray>
#include <QFile>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace attn::test {

/// A safetensors file with float32 and bool tensors.
class TensorsFile {
 public:
  void add(const std::string& name, const std::vector<int>& shape, const std::vector<float>& values) {
    put(name, "F32", shape,
        QByteArray(reinterpret_cast<const char*>(values.data()),
                   static_cast<qsizetype>(values.size() * sizeof(float))));
  }
  void add_mask(const std::vector<int>& shape, const std::vector<bool>& values) {
    QByteArray bytes;
    for (const bool value : values) bytes.append(value ? '\1' : '\0');
    put("mask", "BOOL", shape, bytes);
  }
  void save(const QString& path) const {
    const std::string text = header_.dump();
    QByteArray bytes(8, '\0');
    for (int i = 0; i < 8; ++i) bytes[i] = static_cast<char>(text.size() >> (8 * i));
    QFile file(path);
    if (!file.open(QIODevice::WriteOnly)) qFatal("tensors");
    file.write(bytes + QByteArray::fromStdString(text) + data_);
  }

 private:
  void put(const std::string& name, const char* dtype, const std::vector<int>& shape, const QByteArray& bytes) {
    header_[name] = {{"dtype", dtype}, {"shape", shape}, {"data_offsets", {data_.size(), data_.size() + bytes.size()}}};
    data_ += bytes;
  }
  nlohmann::json header_ = nlohmann::json::object();
  QByteArray data_;
};

}  // namespace attn::test
