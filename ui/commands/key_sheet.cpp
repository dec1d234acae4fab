// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/commands/key_sheet.h"

#include "ui/commands/command_delegate.h"

#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QScrollArea>
#include <QVBoxLayout>
#include <algorithm>

namespace attn::ui {

namespace {

constexpr int kColumns = 2;

/// Keys as caps, which a screen reader reads as text.
class KeyCaps final : public QWidget {
 public:
  KeyCaps(const QString& keys, const Theme& theme, QWidget* parent) : QWidget(parent), keys_(keys), theme_(theme) {
    setAccessibleName(keys);
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
    connect(&theme, &Theme::changed, this, [this] { update(); });
  }
  [[nodiscard]] QSize sizeHint() const override {
    return {key_caps_width(theme_, keys_), QFontMetrics(theme_.small_font()).height() + 6};
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter painter(this);
    paint_key_caps(painter, theme_, keys_, rect(), Ink::text);
  }

 private:
  QString keys_;
  const Theme& theme_;
};

struct SectionOfKeys {
  QString title;
  std::vector<const Command*> rows;
};

std::vector<SectionOfKeys> sections_of(const CommandRegistry& commands) {
  std::vector<SectionOfKeys> sections;
  for (const Command& command : commands.all()) {
    if (command.keys().isEmpty()) continue;
    const QString title = command.section();
    const auto at = std::find_if(sections.begin(), sections.end(), [&](const auto& one) { return one.title == title; });
    if (at != sections.end()) {
      at->rows.push_back(&command);
    } else {
      sections.push_back({title, {&command}});
    }
  }
  return sections;
}

}  // namespace

KeySheet::KeySheet(const CommandRegistry& commands, const Theme& theme, QWidget* parent) : QDialog(parent) {
  setObjectName("key_sheet");
  setWindowTitle(tr("Keys"));
  setAttribute(Qt::WA_DeleteOnClose);
  auto* outer = new QVBoxLayout(this);
  outer->setContentsMargins(0, 0, 0, 0);
  outer->setSpacing(0);
  auto* area = new QScrollArea(this);
  area->setAccessibleName(tr("Keys by menu"));
  area->setFrameShape(QFrame::NoFrame);
  area->setWidgetResizable(true);
  area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  auto* page = new QWidget(area);
  auto* row = new QHBoxLayout(page);
  row->setContentsMargins(24, 18, 24, 18);
  row->setSpacing(40);
  const std::vector<SectionOfKeys> sections = sections_of(commands);
  std::size_t lines = 0;
  for (const SectionOfKeys& section : sections) lines += section.rows.size() + 2;
  // A section stays in one column; the next column begins where the first has its share.
  std::size_t filled = 0;
  QVBoxLayout* column = nullptr;
  int columns = 0;
  for (const SectionOfKeys& section : sections) {
    const std::size_t due = lines * static_cast<std::size_t>(columns) / kColumns;
    if (column == nullptr || (columns < kColumns && filled + section.rows.size() / 2 >= due)) {
      if (column != nullptr) column->addStretch(1);
      column = new QVBoxLayout;
      column->setSpacing(18);
      row->addLayout(column, 1);
      ++columns;
    }
    column->addWidget(make_section(section.title, section.rows, theme));
    filled += section.rows.size() + 2;
  }
  if (column != nullptr) column->addStretch(1);
  area->setWidget(page);
  outer->addWidget(area, 1);
  auto* foot = new QFrame(this);
  set_look(foot, "foot");
  auto* feet = new QHBoxLayout(foot);
  feet->setContentsMargins(24, 10, 24, 10);
  auto* hint =
      new QLabel(tr("Ctrl+Shift+P finds every command by a few of its letters, also those without keys."), foot);
  set_look(hint, "dim");
  auto* close = new QPushButton(tr("Close"), foot);
  close->setObjectName("key_sheet_close");
  close->setDefault(true);
  connect(close, &QPushButton::clicked, this, &QDialog::accept);
  feet->addWidget(hint, 1);
  feet->addWidget(close);
  outer->addWidget(foot);
  const QSize wanted = page->sizeHint() + QSize(20, foot->sizeHint().height() + 8);
  resize(wanted.boundedTo(parent->size() - QSize(60, 60)).expandedTo({640, 360}));
}

QWidget* KeySheet::make_section(const QString& title, const std::vector<const Command*>& rows, const Theme& theme) {
  auto* box = new QWidget(this);
  box->setAccessibleName(title);
  auto* grid = new QGridLayout(box);
  grid->setContentsMargins(0, 0, 0, 0);
  grid->setHorizontalSpacing(24);
  grid->setVerticalSpacing(5);
  grid->setColumnStretch(0, 1);
  auto* heading = new QLabel(title, box);
  set_look(heading, "title");
  grid->addWidget(heading, 0, 0, 1, 2);
  auto* rule = new QFrame(box);
  set_look(rule, "rule");
  grid->addWidget(rule, 1, 0, 1, 2);
  int line = 2;
  for (const Command* command : rows) {
    const QString text = command->name.isEmpty() ? command->text() : command->name;
    auto* what = new QLabel(text, box);
    what->setToolTip(command->action->toolTip());
    grid->addWidget(what, line, 0);
    grid->addWidget(new KeyCaps(command->keys(), theme, box), line, 1, Qt::AlignRight | Qt::AlignVCenter);
    lines_ << QStringList{title, text, command->keys()}.join(QStringLiteral(" | "));
    ++line;
  }
  return box;
}

}  // namespace attn::ui
