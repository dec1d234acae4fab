// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/workspace/file_opener.h"

#include "ui/workspace/notice_banner.h"
#include "ui/workspace/workspace_document.h"

#include <QFileDialog>
#include <QFileInfo>

namespace attn::ui {

FileOpener::FileOpener(WorkspaceService& service, WorkspaceDocument& document, NoticeBanner& banner, QObject* parent)
    : QObject(parent), service_(service), document_(document), banner_(banner) {
  set(FileKind::workspace, [this](const QString& path) { document_.open(path); });
  connect(&service_, &WorkspaceService::looked, this, &FileOpener::take);
}

void FileOpener::open(const QString& path) { service_.look(path); }

void FileOpener::ask(QWidget* window) {
  const QStringList recent = document_.recent();
  auto* dialog =
      new QFileDialog(window, tr("Open"), recent.isEmpty() ? QString() : QFileInfo(recent[0]).path(), open_filter());
  dialog->setObjectName("open_dialog");
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setFileMode(QFileDialog::ExistingFile);
  connect(dialog, &QFileDialog::fileSelected, this, &FileOpener::open);
  dialog->open();
}

void FileOpener::take(const FileLook& look) {
  if (!look.error.isEmpty()) {
    banner_.say(tr("%1 was not opened: %2.").arg(QFileInfo(look.path).fileName(), look.error), "bad");
    return;
  }
  const auto opener = openers_.find(kind_of(look).kind);
  if (opener == openers_.end()) {
    banner_.say(refusal_of(look), "bad");
    return;
  }
  // A workspace is added when it holds; what a dialog does with the others is seen there.
  if (opener->first != FileKind::workspace) document_.add_recent(look.path);
  opener->second(look.path);
}

}  // namespace attn::ui
