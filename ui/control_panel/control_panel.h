// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/policy/target_probe.h"
#include "ui/link/engine_link.h"
#include "ui/services.h"
#include "ui/theme/theme.h"

#include <QWidget>
#include <vector>

class QLabel;
class QLineEdit;
class QScrollArea;
class QSettings;
class QVBoxLayout;

namespace attn::ui {

class OptionRow;
class PolicyRows;
class Section;
class SparseContext;
class SparseExtras;

/// Everything that can be set: the target, the overrides, the kernel flags, then every option under the heading that
/// its spec names. The forms come from the specs.
class ControlPanel final : public QWidget {
  Q_OBJECT

 public:
  ControlPanel(EngineLink& link, const TargetList& targets, SparseContext& sparse, PolicyService& policy,
               const Theme& theme, QWidget* parent = nullptr);

  void focus_search();
  /// Narrows the list to options that have these letters.
  void search_for(const QString& letters);
  /// What a probe found about the kernels behind the flags, beside their boxes.
  void show_kernels(const std::vector<KernelRow>& kernels);
  /// Which sections are open.
  void save(QSettings& settings) const;
  void restore(const QSettings& settings);

 signals:
  /// Something inside is edited and not applied.
  void edited(bool any);

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
  void add_exclusions(Group& group, const OptionState& state);
  void add_companion(Group& group, OptionRow* row, QWidget* widget);
  void refresh();
  void show_backend_states();
  void show_search();
  void show_refusal(const QString& key, const QString& sentence);

  EngineLink& link_;
  const Theme& theme_;
  QLineEdit* search_;
  QLabel* refusal_;
  QLabel* nothing_found_;
  QWidget* target_section_;
  QVBoxLayout* column_;
  std::vector<Group> groups_;
  SparseExtras* sparse_;
  PolicyRows* policy_;
  std::vector<Companion> companions_;
};

}  // namespace attn::ui
