// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panel/fact_table.h"

#include <QApplication>
#include <QClipboard>
#include <QHeaderView>
#include <QKeyEvent>
#include <QPainter>
#include <QRegularExpression>
#include <QStyledItemDelegate>
#include <QTextLayout>
#include <QtMath>
#include <algorithm>
#include <numeric>

namespace attn::ui {

namespace {

constexpr int kMarginX = 6;
constexpr int kMarginY = 4;
constexpr int kFirstMargin = 12;  ///< in line with the panels' own texts

int left_margin(int column) { return column == 0 ? kFirstMargin : kMarginX; }

/// Text in lines of at most `room` pixels, broken between words and only where a word is longer within it.
class Lines {
 public:
  Lines(const QString& text, const QFont& font, int room, Qt::Alignment alignment = Qt::AlignLeft)
      : layout_(QString(text).replace('\n', QChar::LineSeparator), font) {
    QTextOption option(alignment);
    option.setWrapMode(QTextOption::WrapAtWordBoundaryOrAnywhere);
    layout_.setTextOption(option);
    layout_.beginLayout();
    for (QTextLine line = layout_.createLine(); line.isValid(); line = layout_.createLine()) {
      line.setLineWidth(room);
      line.setPosition({0.0, height_});
      height_ += line.height();
    }
    layout_.endLayout();
  }
  [[nodiscard]] int height() const { return qCeil(height_); }
  void draw(QPainter* painter, QPointF at) const { layout_.draw(painter, at); }

 private:
  QTextLayout layout_;
  qreal height_ = 0.0;
};

/// Text from the top of its cell, wrapped.
class WrappedText final : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    QStyleOptionViewItem item = option;
    initStyleOption(&item, index);
    const QString text = item.text;
    item.text.clear();
    item.widget->style()->drawControl(QStyle::CE_ItemViewItem, &item, painter, item.widget);
    painter->save();
    painter->setPen(index.data(Qt::ForegroundRole).value<QColor>());
    const QRect box = item.rect.adjusted(left_margin(index.column()), kMarginY, -kMarginX, -kMarginY);
    const auto alignment = Qt::Alignment(index.data(Qt::TextAlignmentRole).toInt()) & Qt::AlignHorizontal_Mask;
    Lines(text, item.font, box.width(), alignment).draw(painter, box.topLeft());
    painter->restore();
  }

  [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    QStyleOptionViewItem item = option;
    initStyleOption(&item, index);
    const auto* table = qobject_cast<const QTableView*>(item.widget);
    const int width = table == nullptr ? 200 : table->columnWidth(index.column());
    const int room = std::max(20, width - left_margin(index.column()) - kMarginX);
    return {natural_width(item, index), Lines(item.text, item.font, room).height() + 2 * kMarginY};
  }

 private:
  static int natural_width(const QStyleOptionViewItem& item, const QModelIndex& index) {
    int widest = 0;
    for (const QString& line : item.text.split('\n')) {
      widest = std::max(widest, QFontMetrics(item.font).horizontalAdvance(line));
    }
    return widest + left_margin(index.column()) + kMarginX + 2;
  }
};

}  // namespace

FactModel::FactModel(const Theme& theme, QStringList headings, QObject* parent)
    : QAbstractTableModel(parent), theme_(theme), headings_(std::move(headings)) {
  connect(&theme_, &Theme::changed, this, [this] {
    if (!rows_.empty()) emit dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1), {Qt::ForegroundRole});
  });
}

void FactModel::set_rows(std::vector<FactRow> rows) {
  if (rows == rows_) return;
  beginResetModel();
  rows_ = std::move(rows);
  endResetModel();
}

int FactModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

int FactModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(headings_.size());
}

QVariant FactModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const FactRow& row = rows_[static_cast<std::size_t>(index.row())];
  const auto column = static_cast<std::size_t>(index.column());
  if (column >= row.size()) return {};
  const Fact& fact = row[column];
  switch (role) {
    case Qt::DisplayRole:
      return fact.text;
    case Qt::ForegroundRole:
      return theme_[fact.ink];
    case Qt::ToolTipRole:
      return fact.tip.isEmpty() ? QVariant() : fact.tip;
    case Qt::TextAlignmentRole:
      return QVariant::fromValue((fact.number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignTop);
    case Qt::FontRole: {
      QFont font = theme_.text_font();
      if (fact.strong) font.setWeight(QFont::DemiBold);
      return font;
    }
    default:
      return {};
  }
}

QVariant FactModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  const auto column = static_cast<std::size_t>(section);
  const bool number = !rows_.empty() && column < rows_.front().size() && rows_.front()[column].number;
  if (role == Qt::TextAlignmentRole) {
    return QVariant::fromValue((number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
  }
  // The first heading stands over texts that begin a little further in.
  if (role == Qt::DisplayRole) return section == 0 ? "  " + headings_[0] : headings_[section];
  return {};
}

FactTable::FactTable(const Theme& theme, const QStringList& headings, QWidget* parent)
    : QTableView(parent), model_(theme, headings) {
  setModel(&model_);
  setItemDelegate(new WrappedText(this));
  setSelectionBehavior(SelectRows);
  setEditTriggers(NoEditTriggers);
  setShowGrid(false);
  setTabKeyNavigation(false);
  setVerticalScrollMode(ScrollPerPixel);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  verticalHeader()->hide();
  verticalHeader()->setMinimumSectionSize(20);
  horizontalHeader()->setSectionResizeMode(QHeaderView::Fixed);
  horizontalHeader()->setHighlightSections(false);
  horizontalHeader()->setSectionsClickable(false);
  setAccessibleName(headings.join(", "));
  set_look(this, "boxed");
}

void FactTable::set_rows(std::vector<FactRow> rows) {
  model_.set_rows(std::move(rows));
  fit();
}

void FactTable::show_all_rows() {
  all_ = true;
  setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  fit();
}

void FactTable::limit_height(int pixels) {
  most_ = pixels;
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  fit();
}

QSize FactTable::sizeHint() const {
  if (!all_ && most_ == 0) return QTableView::sizeHint();
  const int height = rows_height();
  return {QTableView::sizeHint().width(), all_ ? height : std::min(height, most_)};
}

int FactTable::rows_height() const {
  return horizontalHeader()->height() + verticalHeader()->length() + 2 * frameWidth() + 2;
}

void FactTable::resizeEvent(QResizeEvent* event) {
  QTableView::resizeEvent(event);
  fit();
}

std::vector<int> FactTable::wishes() const {
  std::vector<int> widths;
  for (int column = 0; column < model_.columnCount(); ++column) {
    const int heading = horizontalHeader()->sectionSizeHint(column);
    widths.push_back(std::max(heading, model_.rowCount() == 0 ? 0 : sizeHintForColumn(column)));
  }
  return widths;
}

int FactTable::longest_word(int column) const {
  int longest = horizontalHeader()->sectionSizeHint(column);
  for (const FactRow& row : model_.rows()) {
    if (static_cast<std::size_t>(column) >= row.size()) continue;
    const Fact& fact = row[static_cast<std::size_t>(column)];
    QFont font = this->font();
    if (fact.strong) font.setWeight(QFont::DemiBold);
    const QFontMetrics metrics(font);
    for (const QString& word : fact.text.split(QRegularExpression("\\s"))) {
      longest = std::max(longest, metrics.horizontalAdvance(word) + left_margin(column) + kMarginX + 4);
    }
  }
  return longest;
}

void FactTable::fit() {
  const int columns = model_.columnCount();
  const int room = viewport()->width();
  std::vector<int> widths = wishes();
  const int wished = std::accumulate(widths.begin(), widths.end(), 0);
  // Short columns have what they wish; those that wish more than their share divide the rest by their wishes, but none
  // is narrower than its longest word.
  if (wished > room && columns > 1) {
    const int share = room / columns;
    int rest = room;
    int wide = 0;
    for (const int width : widths) (width <= share ? rest : wide) += width <= share ? -width : std::min(width, room);
    for (int column = 0; column < columns; ++column) {
      int& width = widths[static_cast<std::size_t>(column)];
      if (width <= share) continue;
      const auto part = static_cast<int>(static_cast<qint64>(rest) * std::min(width, room) / wide);
      width = std::max(part, std::min(longest_word(column), rest * 2 / 3));
    }
  }
  int left = room;
  for (int column = 0; column + 1 < columns; ++column) {
    setColumnWidth(column, widths[static_cast<std::size_t>(column)]);
    left -= widths[static_cast<std::size_t>(column)];
  }
  // A number far from its neighbours is hard to follow: then the names in front have what is left.
  const bool number = !model_.rows().empty() && model_.rows().front().size() == static_cast<std::size_t>(columns) &&
                      model_.rows().front().back().number;
  const int spare = number && columns > 1 ? std::max(0, left - widths.back()) : 0;
  if (spare > 0) setColumnWidth(0, widths.front() + spare);
  setColumnWidth(columns - 1, std::max(left - spare, 60));
  resizeRowsToContents();
  if (all_ || most_ > 0) {
    const int height = sizeHint().height();
    if (minimumHeight() != height || maximumHeight() != height) setFixedHeight(height);
  }
}

void FactTable::keyPressEvent(QKeyEvent* event) {
  if (!event->matches(QKeySequence::Copy)) {
    QTableView::keyPressEvent(event);
    return;
  }
  QStringList lines;
  QModelIndexList chosen = selectionModel()->selectedRows();
  std::sort(chosen.begin(), chosen.end(), [](const auto& a, const auto& b) { return a.row() < b.row(); });
  for (const QModelIndex& row : chosen) {
    QStringList cells;
    for (const Fact& fact : model_.rows()[static_cast<std::size_t>(row.row())]) cells << fact.text;
    lines << cells.join('\t');
  }
  if (!lines.isEmpty()) QApplication::clipboard()->setText(lines.join('\n'));
}

}  // namespace attn::ui
