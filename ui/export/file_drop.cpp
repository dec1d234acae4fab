// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/export/file_drop.h"

#include <QDropEvent>
#include <QMimeData>
#include <QUrl>
#include <QWidget>

namespace attn::ui {

namespace {

/// The one local file that is carried; empty when it is something else.
QString carried_file(const QDropEvent& event) {
  const QList<QUrl> urls = event.mimeData()->urls();
  return urls.size() == 1 && urls.front().isLocalFile() ? urls.front().toLocalFile() : QString();
}

}  // namespace

FileDrop::FileDrop(QWidget* widget, std::function<void(const QString&)> dropped)
    : QObject(widget), dropped_(std::move(dropped)) {
  widget->setAcceptDrops(true);
  widget->installEventFilter(this);
}

bool FileDrop::eventFilter(QObject* watched, QEvent* event) {
  const bool drop = event->type() == QEvent::Drop;
  if (!drop && event->type() != QEvent::DragEnter && event->type() != QEvent::DragMove) {
    return QObject::eventFilter(watched, event);
  }
  auto* carried = static_cast<QDropEvent*>(event);
  const QString path = carried_file(*carried);
  if (path.isEmpty()) return QObject::eventFilter(watched, event);
  carried->acceptProposedAction();
  if (drop) dropped_(path);
  return true;
}

}  // namespace attn::ui
