// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/services.h"
#include "ui/theme/theme.h"

#include <QDialog>
#include <QMap>
#include <QTimer>

class QLabel;
class QLineEdit;
class QListWidget;
class QPushButton;
class QSettings;
class QStackedWidget;
class QTabBar;
class QPlainTextEdit;

namespace attn::ui {

class DiffView;
class FactTable;
class FormatOptions;

/// The settings as another system reads them: the format, what it wants to know, the text and what would change in a
/// file, what cannot be said. Nothing is written before the button is pressed.
class ExportDialog final : public QDialog {
  Q_OBJECT

 public:
  ExportDialog(ExportService& service, const TargetList& targets, const Theme& theme, QWidget* parent = nullptr);

  void set_path(const QString& path);
  [[nodiscard]] QString path() const;
  /// By the name in exchange_formats(); false: there is none.
  bool choose_format(std::string_view name);
  [[nodiscard]] const ExchangeFormat& format() const;
  void set_steps(int steps);
  /// Asks again: the settings are others now.
  void refresh();
  /// The format, and the file of each.
  void save(QSettings& settings) const;
  void restore(const QSettings& settings);

 private:
  void make_left(QWidget* parent);
  void make_right(QWidget* parent, const Theme& theme);
  void make_buttons(QWidget* parent);
  void connect_all();
  void browse();
  void take_format();
  void ask_preview();
  void show_preview(const ExportPreview& preview);
  void show_remarks(const ExportPreview& preview);
  [[nodiscard]] QString summary_of(const ExportPreview& preview) const;
  void show_written(const ExportResult& result);
  void copy();
  void say(const QString& text, const char* look);
  [[nodiscard]] ExportRequest request() const;

  ExportService& service_;
  const TargetList& targets_;
  QListWidget* formats_;
  FormatOptions* options_;
  QLineEdit* path_;
  QPushButton* browse_;
  QLabel* summary_;
  QTabBar* tabs_;
  QStackedWidget* pages_;
  DiffView* diff_;
  QPlainTextEdit* text_;
  FactTable* remarks_;
  QLabel* message_;
  QPushButton* copy_;
  QPushButton* write_;
  QPushButton* close_;
  QMap<QString, QString> paths_;  ///< by format
  QTimer typing_;
};

}  // namespace attn::ui
