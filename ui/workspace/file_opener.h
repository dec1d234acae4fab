// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/workspace/file_kinds.h"

#include <QObject>
#include <functional>
#include <map>

namespace attn::ui {

class NoticeBanner;
class WorkspaceDocument;

/// Opens a file of any kind where it belongs; whoever brings it, by drop, menu or list of recent files, need not know
/// what it is. GUI thread.
class FileOpener final : public QObject {
  Q_OBJECT

 public:
  FileOpener(WorkspaceService& service, WorkspaceDocument& document, NoticeBanner& banner, QObject* parent);

  /// What to do with a file of a kind; of workspaces the document takes care.
  void set(FileKind kind, std::function<void(const QString& path)> open) { openers_[kind] = std::move(open); }
  /// Looks at the file first, off the GUI thread.
  void open(const QString& path);
  /// A file dialog.
  void ask(QWidget* window);

 private:
  void take(const FileLook& look);

  WorkspaceService& service_;
  WorkspaceDocument& document_;
  NoticeBanner& banner_;
  std::map<FileKind, std::function<void(const QString&)>> openers_;
};

}  // namespace attn::ui
