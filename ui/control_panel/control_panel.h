// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/policy/target_probe.h"
#include "ui/link/engine_link.h"
#include "ui/services.h"
#include "ui/theme/theme.h"

#include <QWidget>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

class QLabel;
class QLineEdit;
class QScrollArea;
class QSettings;
class QVBoxLayout;

namespace attn::ui {

class BackendRow;
class EffectBox;
class OptionRow;
class PolicyRows;
class PresetRows;
class Section;
class SparseContext;
class SparseExtras;

/// Everything that can be set: the target, the overrides, the kernel flags, then every option under the heading that
/// its spec names. The forms come from the specs.
class ControlPanel final : public QWidget {
  Q_OBJECT

 public:
  ControlPanel(EngineLink& link, const Services& services, SparseContext& sparse, const Theme& theme,
               QWidget* parent = nullptr);

  /// The run whose calls the backends count and whose routes pending edits are weighed against.
  void set_run(const trace::TraceSnapshot& run);

  void focus_search();
  /// Narrows the list to options that have these letters.
  void search_for(const QString& letters);
  /// What a probe found about the kernels behind the flags, beside their boxes.
  void show_kernels(const std::vector<KernelRow>& kernels);
  /// Which sections are open.
  void save(QSettings& settings) const;
  void restore(const QSettings& settings);

 signals:
  /// Something inside is edited and not applied, or applied and not the default.
  void marked(bool edited, bool changed);

 private:
  struct Group {
    Section* section;
    std::vector<OptionRow*> rows;
  };
  /// Something between the rows that a search shows and hides with a row.
  struct Companion {
    OptionRow* row;
    QWidget* widget;
  };
  Group& group(const QString& title);
  void add_rows(Group& group, const OptionState& state);
  void add_backends(Group& group, const OptionState& state);
  void add_kernel_note();
  void add_exclusions(Group& group, const OptionState& state);
  void add_companion(Group& group, OptionRow* row, QWidget* widget);
  void refresh();
  void show_backend_states();
  void show_search();
  void show_refusal(const QString& key, const QString& sentence);

  EngineLink& link_;
  JobControl& jobs_;
  SparseContext& sparse_context_;
  const Theme& theme_;
  QLineEdit* search_;
  QLabel* refusal_;
  QLabel* nothing_found_;
  EffectBox* effect_;
  QWidget* target_section_;
  Section* preset_section_;
  PresetRows* presets_;
  QLabel* kernel_note_;
  QVBoxLayout* column_;
  std::vector<Group> groups_;
  std::vector<BackendRow*> backends_;
  std::map<std::string, std::int64_t> served_;  ///< calls of the run by who executed them
  std::int64_t run_calls_ = 0;
  SparseExtras* sparse_;
  PolicyRows* policy_;
  std::vector<Companion> companions_;
};

}  // namespace attn::ui
