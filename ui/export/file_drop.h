// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QObject>
#include <QString>
#include <functional>

class QWidget;

namespace attn::ui {

/// Lets one file be dropped onto a widget.
class FileDrop final : public QObject {
  Q_OBJECT

 public:
  /// `dropped` gets the path of a local file.
  FileDrop(QWidget* widget, std::function<void(const QString&)> dropped);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  std::function<void(const QString&)> dropped_;
};

}  // namespace attn::ui
