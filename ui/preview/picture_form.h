// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/preview/preview_service.h"
#include "ui/theme/theme.h"

#include <QWidget>

class QCheckBox;
class QComboBox;
class QDoubleSpinBox;
class QLabel;
class QLineEdit;
class QSettings;
class QSpinBox;
class QToolButton;

namespace attn::ui {

class FlowLayout;
class PromptEdit;

/// What the bundled model is to draw, as a form in the workload panel.
class PictureForm final : public QWidget {
  Q_OBJECT

 public:
  PictureForm(const PreviewService& service, const Theme& theme, QWidget* parent = nullptr);

  [[nodiscard]] PictureRequest request() const;
  void set_request(const PictureRequest& request);
  /// For a run: where the seed is random, draws another and shows it.
  void draw_seed();
  /// The seed stays from now on, so that two runs differ by their settings alone.
  void keep_seed();
  /// Steps of the first pass.
  [[nodiscard]] int steps() const;

  void save(QSettings& settings) const;
  void restore(const QSettings& settings);

 signals:
  void steps_changed();

 private:
  QWidget* cell(const QString& label, QWidget* field);
  QWidget* size_cell(const QString& label, QSpinBox* width, QSpinBox* height);
  QSpinBox* number(const char* name, const QString& label, int low, int high, int step, const QString& tip);
  QDoubleSpinBox* real(const char* name, const QString& label, double low, double high, double step,
                       const QString& tip);
  QComboBox* choice(const char* name, const QString& label, const QStringList& texts, const QString& tip);
  void make_prompt();
  void make_common();
  void make_second();
  void make_rare();
  void show_second(bool on);
  void show_more(bool more);
  void check_prompt();

  const PreviewService& service_;
  const Theme& theme_;
  FlowLayout* flow_ = nullptr;
  PromptEdit* prompt_ = nullptr;
  QLabel* problem_ = nullptr;
  QSpinBox* width_ = nullptr;
  QSpinBox* height_ = nullptr;
  QSpinBox* steps_ = nullptr;
  QDoubleSpinBox* guidance_ = nullptr;
  QLineEdit* seed_ = nullptr;
  QCheckBox* random_ = nullptr;
  QCheckBox* second_ = nullptr;
  QSpinBox* second_width_ = nullptr;
  QSpinBox* second_height_ = nullptr;
  QSpinBox* second_steps_ = nullptr;
  QDoubleSpinBox* strength_ = nullptr;
  QComboBox* upscale_ = nullptr;
  QList<QWidget*> second_cells_;
  QToolButton* more_ = nullptr;
  QLineEdit* negative_ = nullptr;
  QComboBox* dtype_ = nullptr;
  QComboBox* text_ = nullptr;
  QComboBox* source_ = nullptr;
  QCheckBox* compiled_ = nullptr;
  QList<QWidget*> rare_cells_;
};

}  // namespace attn::ui
