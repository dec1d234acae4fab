// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/tensor/expected.h"

#include <QByteArray>
#include <QDateTime>
#include <QObject>
#include <QString>
#include <optional>

namespace attn::ui {

/// The beginning of a file that somebody wants to open.
struct FileLook {
  QString path;
  QByteArray head;  ///< up to WorkspaceService::kHead bytes
  qint64 size = 0;
  QString error;  ///< why it cannot be read: a sentence
};

struct FileText {
  QString path;
  QString text;
  QString error;  ///< a sentence; then there is no text
};

struct FileWritten {
  QString path;
  QString error;                   ///< a sentence; then the file is as it was
  bool changed_by_others = false;  ///< the error is that somebody else wrote the file since it was read or written here
};

/// What a window that did not come to its end left behind.
struct LeftBehind {
  QString text;  ///< a workspace
  QDateTime at;  ///< when it was last kept
};

/// The files of workspaces. Members and signals belong to the GUI thread; files are read and written off it, and what
/// is asked first is done first.
class WorkspaceService : public QObject {
  Q_OBJECT

 public:
  using QObject::QObject;
  static constexpr qint64 kHead = qint64{1} << 20;

  /// The engine's settings and choices as a profile's text.
  [[nodiscard]] virtual QString settings_text() const = 0;
  /// Puts target and profile in force, all or nothing; for a running job they wait like any setting. Error: a sentence.
  [[nodiscard]] virtual Expected<void> take_settings(const QString& target, const QString& profile) = 0;

  virtual void look(const QString& path) = 0;
  virtual void read(const QString& path) = 0;
  /// Unless `over_others`, a file that somebody else changed since it was read or written here is left as it is.
  virtual void write(const QString& path, const QString& text, bool over_others) = 0;

  /// Whether autosave() and end() keep anything.
  [[nodiscard]] virtual bool keeps() const = 0;
  /// Keeps the workspace in this window's own place, beside the person's file. A newer text replaces one that waits.
  virtual void autosave(const QString& text) = 0;
  /// The newest workspace that a window without an end left, until it is dropped.
  [[nodiscard]] virtual std::optional<LeftBehind> left_behind() const = 0;
  /// Forgets it; left_behind() is the next one, if there is one.
  virtual void drop_left_behind() = 0;
  /// The workspace of the window that was last closed; empty: there is none.
  [[nodiscard]] virtual QString last() const = 0;
  /// The window ends as it should: its workspace becomes last(), and nothing is left behind. Returns when it is done.
  virtual void end(const QString& text) = 0;

 signals:
  void looked(const attn::ui::FileLook& look);
  void read_done(const attn::ui::FileText& read);
  void written(const attn::ui::FileWritten& written);
};

}  // namespace attn::ui
