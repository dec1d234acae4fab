// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/platform/platform_service.h"
#include "ui/theme/theme.h"

#include <QScrollArea>

class QCheckBox;
class QLabel;
class QLineEdit;
class QPushButton;
class QVBoxLayout;

namespace attn::ui {

class FactTable;
class Section;

/// What really works on the target's machine: kernels (switch and probe side by side), packages version by version,
/// what a log says is missing, backends in quarantine, and whether results repeat bit for bit.
class PlatformPage final : public QScrollArea {
  Q_OBJECT

 public:
  PlatformPage(PlatformService& service, const Theme& theme, QWidget* parent = nullptr);

  /// Reads a server's log.
  void read_log(const QString& path);

 signals:
  /// Somebody wants to see an override where it is switched on.
  void override_wanted(const QString& label);

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  Section* add_section(const QString& title);
  QLabel* add_note(Section* section, const char* name, const char* look);
  FactTable* add_table(Section* section, const char* name, const QStringList& headings);
  QPushButton* add_button(Section* section, const char* name, const QString& text, const QString& tip);
  void make_kernels();
  void make_packages();
  void make_incidents();
  void make_quarantine();
  void make_repeats();
  void refresh();
  void show_kernels();
  void show_packages();
  void show_incidents();
  void show_quarantine();
  void show_repeats();
  void browse_python();
  void browse_log();

  PlatformService& service_;
  const Theme& theme_;
  QVBoxLayout* column_;

  Section* kernels_section_ = nullptr;
  FactTable* kernels_ = nullptr;
  QLabel* kernels_note_ = nullptr;
  QLabel* forecast_ = nullptr;
  QCheckBox* math_only_ = nullptr;

  Section* packages_section_ = nullptr;
  QLineEdit* python_ = nullptr;
  QLabel* packages_note_ = nullptr;
  QLabel* dead_ = nullptr;
  FactTable* packages_ = nullptr;

  QLabel* incidents_note_ = nullptr;
  FactTable* incidents_ = nullptr;
  QPushButton* show_override_ = nullptr;

  QLabel* quarantine_note_ = nullptr;
  FactTable* quarantine_ = nullptr;
  QPushButton* lift_ = nullptr;

  Section* repeats_section_ = nullptr;
  QPushButton* repeat_ = nullptr;
  QLabel* repeats_note_ = nullptr;
  FactTable* repeats_ = nullptr;
};

/// "✓ runs", "does not run", "unknown", and how a label shows it.
struct RunsText {
  QString words;
  const char* look;
};
[[nodiscard]] RunsText runs_text(Support runs);

}  // namespace attn::ui
