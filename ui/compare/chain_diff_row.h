// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/compare/run_comparison.h"
#include "ui/theme/theme.h"

#include <QWidget>
#include <vector>

namespace attn::ui {

/// Two chains as one row of chips: who was asked in both, who only in the baseline, who only now.
class ChainDiffRow final : public QWidget {
  Q_OBJECT

 public:
  ChainDiffRow(const Registry& registry, const Theme& theme, QWidget* parent = nullptr);
  void show_chains(const RunComparison& comparison, const trace::TraceSnapshot& then, const trace::TraceSnapshot& now);

 private:
  const Registry& registry_;
  const Theme& theme_;
  std::vector<QWidget*> chips_;
};

}  // namespace attn::ui
