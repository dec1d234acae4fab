// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/exchange/formats.h"

#include <QObject>
#include <QString>
#include <QStringList>
#include <vector>

namespace attn::ui {

/// What is to be made of the settings.
struct ExportRequest {
  const ExchangeFormat* format = nullptr;  ///< one of exchange_formats()
  QString path;                            ///< empty: only the text is wanted
  ExportOptions options;                   ///< without `existing`, which is what the file holds
};

/// What writing would change.
struct ExportPreview {
  QString path;
  const ExchangeFormat* format = nullptr;
  QString text;        ///< the whole of it
  QString diff;        ///< lines after "+ ", "- " or "  ", "..." for a gap; empty when nothing would change
  QStringList losses;  ///< "key: why; nearest is ...", one for each setting that the format cannot say
  QStringList notes;   ///< what else a person should know
  QString error;       ///< a sentence; then nothing can be written
  bool new_file = false;
  SdNextForm form = SdNextForm::overrides;  ///< the one that will be written, of SD.Next
};

struct ExportResult {
  QString path;
  QString backup;  ///< copy of the file as it was; empty for a new file
  QString error;
};

/// What is to be read.
struct ImportRequest {
  QString path;
  const ExchangeFormat* format = nullptr;  ///< null: as the text looks
  ExportOptions options;                   ///< form and steps
};

/// One thing that an import changes.
struct ImportChange {
  QString name;  ///< a setting's key, or what is said about the attention backend
  QString before;
  QString after;
  bool left_out = false;  ///< the text does not name it, which means its default there
  QString stored{};       ///< what the text holds where that is no good value; its default counts
};

/// What a text would change, before it does.
struct ImportPreview {
  QString path;
  const ExchangeFormat* format = nullptr;  ///< null: the file could not be read
  std::vector<ImportChange> changes;
  QStringList notes;     ///< renamed choices and old spellings that were understood, keys left aside
  QStringList wrong;     ///< values that do not hold, a sentence each; their defaults count, as on a server's start
  QStringList problems;  ///< sentences; when there is one, nothing can be applied
  ImportText read;       ///< what apply() takes
};

struct ImportResult {
  QString path;
  std::vector<ImportChange> changes;  ///< what was applied
  QString error;                      ///< a sentence; then nothing was applied
};

/// Takes settings to production and back. Work happens off the GUI thread; every signal arrives on it. A newer
/// preview replaces an older one that is not answered yet.
class ExportService : public QObject {
  Q_OBJECT

 public:
  using QObject::QObject;
  virtual void preview(const ExportRequest& request) = 0;
  virtual void write(const ExportRequest& request) = 0;
  virtual void read(const ImportRequest& request) = 0;
  /// Puts what was previewed into the engine, all or none.
  virtual void apply(const ImportPreview& preview) = 0;
  /// Settings and choices as they were before the last apply(); imported() says what that changed.
  virtual void put_back() = 0;

 signals:
  /// apply() or put_back() has begun; imported() ends it.
  void applying();
  void previewed(const attn::ui::ExportPreview& preview);
  void written(const attn::ui::ExportResult& result);
  void import_previewed(const attn::ui::ImportPreview& preview);
  void imported(const attn::ui::ImportResult& result);
};

/// A format's title as a list shows it: "Launch flags of ComfyUI".
[[nodiscard]] QString title_of(const ExchangeFormat& format);

}  // namespace attn::ui
