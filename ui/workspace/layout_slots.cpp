// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/workspace/layout_slots.h"

#include <QSettings>

namespace attn::ui {

namespace {

QString key(int slot, const char* name) { return QStringLiteral("layout/slot%1/%2").arg(slot + 1).arg(name); }

}  // namespace

void LayoutSlots::keep(int slot, LayoutState layout) {
  layout.geometry.clear();
  slots_.at(static_cast<std::size_t>(slot)) = std::move(layout);
  emit changed();
}

void LayoutSlots::save(QSettings& settings) const {
  for (int slot = 0; slot < kCount; ++slot) {
    const auto& layout = at(slot);
    if (!layout) continue;
    settings.setValue(key(slot, "docks"), layout->docks);
    settings.setValue(key(slot, "center"), layout->center);
    settings.setValue(key(slot, "chart"), layout->chart);
    settings.setValue(key(slot, "side"), layout->side);
  }
}

void LayoutSlots::restore(const QSettings& settings) {
  for (int slot = 0; slot < kCount; ++slot) {
    if (!settings.contains(key(slot, "docks"))) continue;
    slots_[static_cast<std::size_t>(slot)] = LayoutState{{},
                                                         settings.value(key(slot, "docks")).toByteArray(),
                                                         settings.value(key(slot, "center")).toByteArray(),
                                                         settings.value(key(slot, "chart")).toInt(),
                                                         settings.value(key(slot, "side")).toInt()};
  }
  emit changed();
}

}  // namespace attn::ui
