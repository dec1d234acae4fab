// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QObject>
#include <QString>
#include <vector>

namespace attn::ui {

/// Settings under a name.
struct PresetFact {
  QString name;
  QString about;
  bool shipped = false;
  QString problem;  ///< why it cannot be applied; empty when it can
};

struct PresetState {
  std::vector<PresetFact> presets;  ///< the shipped ones first
  QString chosen;                   ///< the one last applied or saved; empty: none
  bool modified = false;            ///< the settings are no longer what it says
  QString said;                     ///< what came of the last action, a sentence; empty when it went well
};

/// Presets, own and shipped. Files are read and written off the GUI thread; members and signals belong to it.
class PresetService : public QObject {
  Q_OBJECT

 public:
  using QObject::QObject;
  [[nodiscard]] virtual const PresetState& state() const = 0;
  virtual void choose(const QString& name) = 0;
  /// An own preset of that name is replaced.
  virtual void save(const QString& name) = 0;
  virtual void rename(const QString& from, const QString& to) = 0;
  virtual void remove(const QString& name) = 0;
  /// Takes a profile among the own presets.
  virtual void import_file(const QString& path) = 0;
  virtual void export_file(const QString& name, const QString& path) = 0;

 signals:
  /// choose() has begun; applied() ends it.
  void applying(const QString& name);
  void applied();
  void changed();
};

}  // namespace attn::ui
