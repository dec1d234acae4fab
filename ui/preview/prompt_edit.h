// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/theme/theme.h"

#include <QPlainTextEdit>
#include <QSet>

class QCompleter;

namespace attn::ui {

/// A prompt of a model with a vocabulary: offers its words while one is typed and underlines those it does not know.
/// Return never makes a line.
class PromptEdit final : public QPlainTextEdit {
  Q_OBJECT

 public:
  PromptEdit(const QStringList& words, const Theme& theme, QWidget* parent = nullptr);

  [[nodiscard]] QString prompt() const { return toPlainText().simplified(); }
  void set_prompt(const QString& prompt);
  /// The prompt without the word that is being typed, as long as it may become one of the model's.
  [[nodiscard]] QString settled_prompt() const;
  /// Places of the words that the model does not know.
  [[nodiscard]] QList<std::pair<int, int>> unknown() const;
  [[nodiscard]] QCompleter* completer() const noexcept { return completer_; }
  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override { return {120, sizeHint().height()}; }

 signals:
  /// Another text, or another word that is being typed.
  void edited();

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;
  void insertFromMimeData(const QMimeData* source) override;
  [[nodiscard]] bool canInsertFromMimeData(const QMimeData* source) const override;

 private:
  void offer();
  void complete(const QString& word);
  void mark_unknown();
  [[nodiscard]] bool is_begun(int begin, int end) const;
  [[nodiscard]] QTextCursor word_at_cursor() const;

  const Theme& theme_;
  QSet<QString> words_;
  QCompleter* completer_;
};

}  // namespace attn::ui
