// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/theme/theme.h"

#include <QPlainTextEdit>
#include <QSyntaxHighlighter>

namespace attn::ui {

/// Colours the lines of a unified diff: what goes, what comes, where.
class DiffHighlighter final : public QSyntaxHighlighter {
  Q_OBJECT

 public:
  DiffHighlighter(const Theme& theme, QTextDocument* document) : QSyntaxHighlighter(document), theme_(theme) {
    connect(&theme_, &Theme::changed, this, &QSyntaxHighlighter::rehighlight);
  }

 protected:
  void highlightBlock(const QString& line) override {
    const bool file = line.startsWith("+++") || line.startsWith("---");
    const Ink ink = file || line.startsWith("@@") ? Ink::dim
                    : line.startsWith('+')        ? Ink::ok
                    : line.startsWith('-')        ? Ink::bad
                                                  : Ink::text;
    setFormat(0, static_cast<int>(line.size()), theme_[ink]);
  }

 private:
  const Theme& theme_;
};

/// A read-only diff.
class DiffView final : public QPlainTextEdit {
  Q_OBJECT

 public:
  DiffView(const Theme& theme, QWidget* parent = nullptr) : QPlainTextEdit(parent) {
    setReadOnly(true);
    setLineWrapMode(QPlainTextEdit::NoWrap);
    setFont(theme.fixed_font());
    document()->setDefaultFont(theme.fixed_font());
    document()->setDocumentMargin(8);
    setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    set_look(this, "diff");
    new DiffHighlighter(theme, document());
  }
};

}  // namespace attn::ui
