// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/block_mask/tile_view.h"

#include "ui/format/format.h"

#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

namespace attn::ui {

namespace {

constexpr double kStrip = 15.0;     ///< thickness of the token spans along an axis
constexpr double kGap = 2.0;        ///< between a strip and the map
constexpr double kWidestTile = 44;  ///< pixels of a key tile at the greatest zoom

QColor mixed(const QColor& a, const QColor& b, double share_of_b) {
  const auto mix = [&](double x, double y) { return static_cast<float>(x + (y - x) * share_of_b); };
  return QColor::fromRgbF(mix(a.redF(), b.redF()), mix(a.greenF(), b.greenF()), mix(a.blueF(), b.blueF()));
}

QColor color_of_span(std::string_view kind, const Theme& theme) {
  if (is_sparsifiable(kind)) return mixed(theme[Ink::panel], theme[Ink::tile_chosen], 0.35);
  if (is_dropped(kind)) return mixed(theme[Ink::panel], theme[Ink::tile_dropped], 0.45);
  return mixed(theme[Ink::panel], theme[Ink::tile_pinned], 0.45);
}

QString range_text(std::int64_t first, std::int64_t end) {
  return QStringLiteral("%1–%2").arg(count_text(first), count_text(end - 1));
}

QString kinds_in(const TokenLayout& layout, std::int64_t first, std::int64_t end) {
  QStringList kinds;
  for (const TokenSpan& span : layout.spans) {
    const QString kind = text_of(span.kind);
    if (span.start < end && span.end > first && !kinds.contains(kind)) kinds << kind;
  }
  return kinds.join(", ");
}

}  // namespace

QColor color_of(TileKind kind, const Theme& theme) {
  switch (kind) {
    case TileKind::left_out:
      return theme[Ink::window];
    case TileKind::candidate:
      return theme[Ink::hover];
    case TileKind::chosen:
      return theme[Ink::tile_chosen];
    case TileKind::diagonal:
      return theme[Ink::tile_diagonal];
    case TileKind::pinned:
      return theme[Ink::tile_pinned];
    case TileKind::dropped:
      return mixed(theme[Ink::window], theme[Ink::tile_dropped], 0.3);
  }
  return theme[Ink::window];
}

Qt::BrushStyle hatch_of(TileKind kind) {
  switch (kind) {
    case TileKind::diagonal:
      return Qt::HorPattern;
    case TileKind::pinned:
      return Qt::BDiagPattern;
    case TileKind::dropped:
      return Qt::DiagCrossPattern;
    case TileKind::candidate:
      return Qt::Dense6Pattern;
    case TileKind::left_out:
    case TileKind::chosen:
      break;
  }
  return Qt::NoBrush;
}

namespace {

QBrush hatch_brush(TileKind kind, const Theme& theme) {
  QColor ink = theme[kind == TileKind::dropped ? Ink::tile_dropped : Ink::window];
  if (kind == TileKind::candidate) ink = theme[Ink::faint];
  ink.setAlphaF(kind == TileKind::dropped ? 0.9F : 0.5F);
  return {ink, hatch_of(kind)};
}

}  // namespace

void paint_swatch(QPainter& painter, const QRectF& box, TileKind kind, const Theme& theme) {
  painter.setPen(QPen(theme[Ink::line], 1.0));
  painter.setBrush(color_of(kind, theme));
  painter.drawRect(box);
  if (hatch_of(kind) == Qt::NoBrush) return;
  painter.setPen(Qt::NoPen);
  painter.setBrush(hatch_brush(kind, theme));
  painter.drawRect(box);
}

TileView::TileView(const Theme& theme, QWidget* parent) : QWidget(parent), theme_(theme) {
  setObjectName("tile_view");
  setFocusPolicy(Qt::StrongFocus);
  QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Preferred);
  policy.setHeightForWidth(true);
  setSizePolicy(policy);
  setAccessibleName(tr("Block mask"));
  connect(&theme_, &Theme::changed, this, [this] {
    rebuild();
    update();
  });
}

void TileView::set_map(TileMap map) {
  const bool other = map.grid() != map_.grid();
  map_ = std::move(map);
  batch_ = std::clamp(batch_, 0, std::max(0, map_.batches() - 1));
  head_ = std::clamp(head_, -1, std::max(0, map_.heads() - 1));
  rebuild();
  if (other) fit();
  update();
}

void TileView::show_head(int batch, int head) {
  if (batch == batch_ && head == head_) return;
  batch_ = std::clamp(batch, 0, std::max(0, map_.batches() - 1));
  head_ = std::clamp(head, -1, std::max(0, map_.heads() - 1));
  rebuild();
  update();
}

void TileView::rebuild() {
  kinds_ = map_.kinds(batch_, head_);
  share_ = head_ < 0 && map_.has_tiles() ? map_.kept_share(batch_) : std::vector<float>();
  const auto columns = static_cast<int>(map_.empty() ? 0 : map_.grid().key_tiles());
  const auto rows = static_cast<int>(map_.empty() ? 0 : map_.grid().query_tiles());
  image_ = QImage(columns, rows, QImage::Format_RGB32);
  for (int row = 0; row < rows; ++row) {
    auto* line = reinterpret_cast<QRgb*>(image_.scanLine(row));
    for (int column = 0; column < columns; ++column) {
      const auto at =
          static_cast<std::size_t>(row) * static_cast<std::size_t>(columns) + static_cast<std::size_t>(column);
      const QColor color = color_of(kinds_[at], theme_);
      const bool shaded = !share_.empty() && kinds_[at] == TileKind::chosen;
      line[column] =
          (shaded ? mixed(theme_[Ink::window], color, 0.15 + 0.85 * static_cast<double>(share_[at])) : color).rgb();
    }
  }
  setAccessibleDescription(
      map_.empty()
          ? QString()
          : tr("%1 × %2 tiles, density %3").arg(rows).arg(columns).arg(map_.density(batch_, head_), 0, 'f', 3));
}

QRectF TileView::map_area() const {
  const double at = kStrip + kGap;
  return {at, at, std::max(1.0, width() - at - 1.0), std::max(1.0, height() - at - 1.0)};
}

double TileView::fit_scale() const {
  const QRectF area = map_area();
  const auto tokens = static_cast<double>(std::max<std::int64_t>(1, map_.grid().query_tokens));
  return std::min(area.width(), area.height()) / tokens;
}

TileView::Frame TileView::frame() const {
  const double scale = std::max(scale_, fit_scale());
  const QRectF area = map_area();
  return {scale, area.topLeft() - offset_ * scale};
}

double TileView::zoom_factor() const { return std::max(1.0, scale_ / fit_scale()); }

void TileView::fit() {
  scale_ = 0.0;
  offset_ = {};
  update();
  emit zoomed(1.0);
}

void TileView::zoom(double factor, const QPointF& at) {
  if (map_.empty()) return;
  const Frame before = frame();
  const double most = std::max(fit_scale(), kWidestTile / static_cast<double>(map_.grid().block_kv));
  const double wanted = std::clamp(before.scale * factor, fit_scale(), most);
  const QPointF token = (at - before.origin) / before.scale;
  scale_ = wanted <= fit_scale() * 1.0001 ? 0.0 : wanted;
  move_to(token - (at - map_area().topLeft()) / wanted);
  emit zoomed(zoom_factor());
}

void TileView::move_to(const QPointF& offset) {
  const Frame now = frame();
  const auto tokens = static_cast<double>(map_.grid().query_tokens);
  const QRectF area = map_area();
  offset_ = {std::clamp(offset.x(), 0.0, std::max(0.0, tokens - area.width() / now.scale)),
             std::clamp(offset.y(), 0.0, std::max(0.0, tokens - area.height() / now.scale))};
  update();
}

QRectF TileView::tile_box(const Frame& frame, std::int64_t row, std::int64_t first, std::int64_t last) const {
  const TileGrid& grid = map_.grid();
  const auto x = [&](std::int64_t tile) {
    return frame.origin.x() + static_cast<double>(std::min(tile * grid.block_kv, grid.key_tokens)) * frame.scale;
  };
  const auto y = [&](std::int64_t tile) {
    return frame.origin.y() + static_cast<double>(std::min(tile * grid.block_q, grid.query_tokens)) * frame.scale;
  };
  return {QPointF(x(first), y(row)), QPointF(x(last), y(row + 1))};
}

void TileView::paintEvent(QPaintEvent*) {
  if (map_.empty()) return;
  QPainter painter(this);
  const Frame now = frame();
  const QRectF area = map_area();
  const double side = static_cast<double>(map_.grid().query_tokens) * now.scale;
  const QRectF shown = area.intersected(QRectF(now.origin, QSizeF(side, side)));
  paint_tiles(painter, shown, now);
  paint_spans(painter, shown, now);
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(theme_[hasFocus() ? Ink::accent : Ink::line], 1.0));
  painter.drawRect(shown.adjusted(-0.5, -0.5, 0.5, 0.5));
}

void TileView::paint_tiles(QPainter& painter, const QRectF& area, const Frame& frame) const {
  const TileGrid& grid = map_.grid();
  painter.save();
  painter.setClipRect(area);
  const QSizeF whole(static_cast<double>(grid.key_tiles() * grid.block_kv) * frame.scale,
                     static_cast<double>(grid.query_tiles() * grid.block_q) * frame.scale);
  // Tiles smaller than a pixel are averaged; larger ones keep their edges.
  painter.setRenderHint(QPainter::SmoothPixmapTransform, static_cast<double>(grid.block_kv) * frame.scale < 1.0);
  painter.drawImage(QRectF(frame.origin, whole), image_);
  paint_hatches(painter, area, frame);
  paint_grid(painter, area, frame);
  painter.restore();
}

void TileView::paint_hatches(QPainter& painter, const QRectF& area, const Frame& frame) const {
  const TileGrid& grid = map_.grid();
  const std::int64_t columns = grid.key_tiles();
  painter.setPen(Qt::NoPen);
  for (std::int64_t row = 0; row < grid.query_tiles(); ++row) {
    const QRectF line = tile_box(frame, row, 0, columns);
    if (line.bottom() < area.top() || line.top() > area.bottom()) continue;
    for (std::int64_t first = 0; first < columns;) {
      const TileKind kind = kinds_[static_cast<std::size_t>(row * columns + first)];
      std::int64_t last = first + 1;
      while (last < columns && kinds_[static_cast<std::size_t>(row * columns + last)] == kind) ++last;
      const bool wide = static_cast<double>(grid.block_q) * frame.scale >= 3.0 || kind != TileKind::diagonal;
      if (hatch_of(kind) != Qt::NoBrush && wide) {
        painter.setBrush(hatch_brush(kind, theme_));
        painter.drawRect(tile_box(frame, row, first, last));
      }
      first = last;
    }
  }
}

void TileView::paint_grid(QPainter& painter, const QRectF& area, const Frame& frame) const {
  const TileGrid& grid = map_.grid();
  if (static_cast<double>(grid.block_kv) * frame.scale < 7.0) return;
  QColor ink = theme_[Ink::window];
  ink.setAlphaF(0.55F);
  painter.setPen(QPen(ink, 1.0));
  for (std::int64_t column = 1; column < grid.key_tiles(); ++column) {
    const double x = std::round(tile_box(frame, 0, column, column).left()) + 0.5;
    if (x > area.left() && x < area.right()) painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()));
  }
  for (std::int64_t row = 1; row < grid.query_tiles(); ++row) {
    const double y = std::round(tile_box(frame, row, 0, 0).top()) + 0.5;
    if (y > area.top() && y < area.bottom()) painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y));
  }
}

void TileView::paint_spans(QPainter& painter, const QRectF& area, const Frame& frame) const {
  painter.setFont(theme_.small_font());
  const QFontMetrics metrics(theme_.small_font());
  const auto tokens = map_.grid().query_tokens;
  for (const TokenSpan& span : map_.layout().spans) {
    const double first = static_cast<double>(std::clamp<std::int64_t>(span.start, 0, tokens)) * frame.scale;
    const double last = static_cast<double>(std::clamp<std::int64_t>(span.end, 0, tokens)) * frame.scale;
    const QString kind = text_of(span.kind);
    const QString whole = kind + ' ' + range_text(span.start, span.end);
    for (const bool across : {true, false}) {
      const double low = across ? area.left() : area.top();
      const double high = across ? area.right() : area.bottom();
      const double from = std::max(low, (across ? frame.origin.x() : frame.origin.y()) + first);
      const double to = std::min(high, (across ? frame.origin.x() : frame.origin.y()) + last);
      if (to - from < 1.0) continue;
      painter.save();
      if (!across) {  // bottom to top along the left edge
        painter.translate(area.left() - kGap - kStrip, to);
        painter.rotate(-90.0);
      } else {
        painter.translate(from, area.top() - kGap - kStrip);
      }
      const QRectF box(0, 0, to - from, kStrip);
      painter.fillRect(box, color_of_span(span.kind, theme_));
      painter.setPen(QPen(theme_[Ink::panel], 1.0));
      painter.drawLine(box.topRight(), box.bottomRight());
      painter.setPen(theme_[Ink::text]);
      const QString text = metrics.horizontalAdvance(whole) + 8 <= box.width() ? whole : kind;
      if (metrics.horizontalAdvance(text) + 4 <= box.width()) painter.drawText(box, Qt::AlignCenter, text);
      painter.restore();
    }
  }
}

std::vector<TileKind> TileView::kinds_shown() const {
  std::vector<TileKind> shown;
  for (const TileKind kind : {TileKind::chosen, TileKind::diagonal, TileKind::pinned, TileKind::dropped,
                              TileKind::candidate, TileKind::left_out}) {
    if (std::find(kinds_.begin(), kinds_.end(), kind) != kinds_.end()) shown.push_back(kind);
  }
  return shown;
}

QString TileView::text_at(const QPointF& at) const {
  if (map_.empty()) return {};
  const Frame now = frame();
  const TileGrid& grid = map_.grid();
  const QPointF token = (at - now.origin) / now.scale;
  const auto inside = [](double value, std::int64_t tokens) {
    return value >= 0.0 && value < static_cast<double>(tokens);
  };
  const bool on_rows = inside(token.y(), grid.query_tokens);
  const bool on_columns = inside(token.x(), grid.key_tokens);
  const QRectF area = map_area();
  const auto span_text = [&](double place) {
    QStringList said;
    for (const TokenSpan& span : map_.layout().spans) {
      if (place < static_cast<double>(span.start) || place >= static_cast<double>(span.end)) continue;
      said << tr("%1: tokens %2").arg(text_of(span.kind), range_text(span.start, span.end));
    }
    return said.join('\n');
  };
  if (at.y() < area.top() && on_columns && at.x() >= area.left()) return span_text(token.x());
  if (at.x() < area.left() && on_rows && at.y() >= area.top()) return span_text(token.y());
  if (!on_rows || !on_columns || !area.contains(at)) return {};
  const auto row = static_cast<std::int64_t>(token.y()) / grid.block_q;
  const auto column = static_cast<std::int64_t>(token.x()) / grid.block_kv;
  const auto index = static_cast<std::size_t>(row * grid.key_tiles() + column);
  const auto line = [&](const QString& what, std::int64_t tile, std::int64_t block, std::int64_t tokens) {
    const std::int64_t first = tile * block;
    const std::int64_t end = std::min(first + block, tokens);
    const QString kinds = kinds_in(map_.layout(), first, end);
    return tr("%1 tile %2 · tokens %3%4")
        .arg(what, count_text(tile), range_text(first, end), kinds.isEmpty() ? QString() : " · " + kinds);
  };
  QString text = line(tr("query"), row, grid.block_q, grid.query_tokens) + '\n' +
                 line(tr("key"), column, grid.block_kv, grid.key_tokens) + '\n';
  if (!share_.empty() && (kinds_[index] == TileKind::chosen || kinds_[index] == TileKind::left_out)) {
    return text + tr("chosen by %1 of %2 heads")
                      .arg(std::lround(static_cast<double>(share_[index]) * map_.heads()))
                      .arg(map_.heads());
  }
  return text + name_of(kinds_[index]);
}

QImage TileView::picture(const QString& title) const {
  const TileGrid& grid = map_.grid();
  const double tile = std::clamp(1200.0 / static_cast<double>(std::max<std::int64_t>(1, grid.key_tiles())), 1.0, 16.0);
  const double scale = tile / static_cast<double>(grid.block_kv);
  const double side = static_cast<double>(grid.query_tokens) * scale;
  constexpr double kMargin = 12.0;
  constexpr double kLine = 24.0;
  const QRectF area(kMargin + kStrip + kGap, kMargin + kLine + kStrip + kGap, side, side);
  QImage image(static_cast<int>(std::ceil(std::max(area.right() + kMargin, 480.0))),
               static_cast<int>(std::ceil(area.bottom() + kLine + kMargin)), QImage::Format_RGB32);
  image.fill(theme_[Ink::panel]);
  QPainter painter(&image);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setFont(theme_.text_font());
  painter.setPen(theme_[Ink::text]);
  painter.drawText(QRectF(kMargin, kMargin, image.width() - 2 * kMargin, kLine), Qt::AlignLeft | Qt::AlignTop, title);
  painter.setRenderHint(QPainter::Antialiasing, false);
  const Frame whole{scale, area.topLeft()};
  paint_tiles(painter, area, whole);
  paint_spans(painter, area, whole);
  double x = kMargin;
  painter.setFont(theme_.small_font());
  for (const TileKind kind : kinds_shown()) {
    paint_swatch(painter, QRectF(x, area.bottom() + 9.0, 14, 10), kind, theme_);
    painter.setPen(theme_[Ink::text]);
    painter.drawText(QRectF(x + 20, area.bottom() + 4.0, 120, 20), Qt::AlignLeft | Qt::AlignVCenter, name_of(kind));
    x += 20 + painter.fontMetrics().horizontalAdvance(name_of(kind)) + 18;
  }
  return image;
}

void TileView::resizeEvent(QResizeEvent*) { move_to(offset_); }

void TileView::wheelEvent(QWheelEvent* event) {
  if (map_.empty() || event->angleDelta().y() == 0) {
    event->ignore();
    return;
  }
  zoom(std::pow(1.2, event->angleDelta().y() / 120.0), event->position());
  event->accept();
}

void TileView::mousePressEvent(QMouseEvent* event) {
  grabbed_ = event->position();
  setFocus(Qt::MouseFocusReason);
}

void TileView::mouseMoveEvent(QMouseEvent* event) {
  if (!event->buttons().testFlag(Qt::LeftButton) || map_.empty()) return;
  move_to(offset_ - (event->position() - grabbed_) / frame().scale);
  grabbed_ = event->position();
}

void TileView::keyPressEvent(QKeyEvent* event) {
  const double step = 60.0 / frame().scale;
  switch (event->key()) {
    case Qt::Key_Plus:
    case Qt::Key_Equal:
      return zoom_in();
    case Qt::Key_Minus:
      return zoom_out();
    case Qt::Key_0:
    case Qt::Key_F:
      return fit();
    case Qt::Key_Left:
      return move_to(offset_ - QPointF(step, 0));
    case Qt::Key_Right:
      return move_to(offset_ + QPointF(step, 0));
    case Qt::Key_Up:
      return move_to(offset_ - QPointF(0, step));
    case Qt::Key_Down:
      return move_to(offset_ + QPointF(0, step));
    default:
      QWidget::keyPressEvent(event);
  }
}

bool TileView::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const QString text = text_at(help->pos());
  if (text.isEmpty()) {
    QToolTip::hideText();
  } else {
    QToolTip::showText(help->globalPos(), text, this);
  }
  return true;
}

}  // namespace attn::ui
