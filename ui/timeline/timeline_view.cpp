// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/timeline/timeline_view.h"

#include "ui/format/format.h"
#include "ui/timeline/ticks.h"

#include <QAccessible>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QPainter>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

namespace attn::ui {

namespace {

constexpr double kNames = 96.0;  ///< left of the lanes
constexpr double kRight = 16.0;
constexpr double kSteps = 26.0;  ///< the line of step numbers
constexpr double kAxis = 24.0;   ///< the axis below
constexpr double kGap = 7.0;
constexpr double kZoom = 0.75;
constexpr double kPan = 0.12;  ///< of what is seen

/// W, A, S and D by where they are on the keyboard, for those who write with another layout; where a platform does not
/// say, by letter. The numbers are evdev's plus 8, as X11 and Wayland report them.
int wasd(const QKeyEvent& event) {
  switch (event.nativeScanCode()) {
    case 25:
      return Qt::Key_W;
    case 38:
      return Qt::Key_A;
    case 39:
      return Qt::Key_S;
    case 40:
      return Qt::Key_D;
    default:
      return event.key();
  }
}

}  // namespace

TimelineView::TimelineView(Selection& selection, const Theme& theme, QWidget* parent)
    : QWidget(parent), selection_(selection), theme_(theme) {
  setObjectName("timeline_view");
  setFocusPolicy(Qt::StrongFocus);
  setMinimumHeight(110);
  setAccessibleName(tr("Timeline"));
  connect(&theme_, &Theme::changed, this, qOverload<>(&QWidget::update));
  connect(&selection_, &Selection::changed, this, &TimelineView::show_selection);
}

void TimelineView::set_calls(const trace::CallView& calls) {
  const bool another = lanes_.set_calls(calls);
  map_.set_data(lanes_.data_end(), lanes_.least_span());
  if (another) {
    map_.fit();
    focused_ = std::max(0, lanes_.lane_of(selection_.role().value_or(Role::none)));
    if (!std::exchange(follows_, true)) emit follow_changed(true);
  }
  if (another || bright_kinds_.size() < calls.kinds()) bright_kinds_ = kinds_of_route();
  if (follows_ && !map_.shows_end()) map_.go_to_end();
  describe();
  update();
}

void TimelineView::set_axis(TimelineAxis axis) {
  if (axis == lanes_.axis()) return;
  lanes_.set_axis(axis);
  map_.set_data(lanes_.data_end(), lanes_.least_span());
  fit();
}

void TimelineView::fit() {
  map_.fit();
  moved();
}

void TimelineView::follow() {
  map_.go_to_end();
  moved();
}

void TimelineView::set_running(bool running) {
  running_ = running;
  update();
}

void TimelineView::zoom(double factor) {
  const double x = underMouse() ? mapFromGlobal(QCursor::pos()).x() : (map_.left() + map_.right()) / 2.0;
  map_.zoom(factor, x);
  moved();
}

void TimelineView::moved() {
  if (follows_ != map_.shows_end()) {
    follows_ = map_.shows_end();
    emit follow_changed(follows_);
  }
  update();
}

QRectF TimelineView::lane_box(std::size_t lane) const {
  const auto count = static_cast<double>(std::max<std::size_t>(1, lanes_.lanes().size()));
  const double room = std::max(1.0, height() - kSteps - kAxis);
  const double each = std::min(room / count, 48.0);
  return {map_.left(), kSteps + each * static_cast<double>(lane) + kGap, map_.right() - map_.left(),
          std::max(6.0, each - 2.0 * kGap)};
}

int TimelineView::lane_at(double y) const {
  for (std::size_t i = 0; i < lanes_.lanes().size(); ++i) {
    const QRectF box = lane_box(i).adjusted(0, -kGap, 0, kGap);
    if (y >= box.top() && y < box.bottom()) return static_cast<int>(i);
  }
  return -1;
}

void TimelineView::resizeEvent(QResizeEvent*) { map_.set_pixels(kNames, width() - kNames - kRight); }

// --- painting

void TimelineView::paintEvent(QPaintEvent*) {
  if (lanes_.lanes().empty()) return;
  QPainter painter(this);
  painter.setFont(theme_.small_font());
  paint_selection(painter);
  paint_axis(painter);
  paint_steps(painter);
  for (std::size_t lane = 0; lane < lanes_.lanes().size(); ++lane) paint_lane(painter, lane);
  paint_now(painter);
}

void TimelineView::paint_steps(QPainter& painter) {
  const QFontMetrics metrics(theme_.small_font());
  const double bottom = lane_box(lanes_.lanes().size() - 1).bottom() + kGap;
  double free_from = map_.left() - 4.0;
  painter.setPen(theme_[Ink::dim]);
  painter.drawText(QRectF(0, 0, kNames - 14, kSteps), Qt::AlignRight | Qt::AlignVCenter, tr("step"));
  const auto first = std::partition_point(lanes_.steps().begin(), lanes_.steps().end(), [&](const StepBegin& step) {
    return lanes_.begin_of(step.call) < map_.begin();
  });
  for (auto step = first; step != lanes_.steps().end(); ++step) {
    const double x = map_.x_of(lanes_.begin_of(step->call));
    if (x > map_.right()) break;
    if (x < free_from) continue;
    const QString text = QString::number(step->step);
    const double width = metrics.horizontalAdvance(text);
    painter.setPen(theme_[Ink::line]);
    painter.drawLine(QPointF(std::round(x) + 0.5, kSteps - 5), QPointF(std::round(x) + 0.5, bottom));
    painter.setPen(theme_[Ink::dim]);
    painter.drawText(QRectF(x - 1, 0, width + 4, kSteps - 4), Qt::AlignLeft | Qt::AlignVCenter, text);
    free_from = x + width + 14.0;
  }
}

QString TimelineView::axis_text(double at) const {
  if (lanes_.axis() == TimelineAxis::number) return count_text(std::llround(at));
  return at <= 0.0 ? QStringLiteral("0 s") : precise_seconds(at, map_.span());
}

void TimelineView::paint_axis(QPainter& painter) {
  const QFontMetrics metrics(theme_.small_font());
  const double top = lane_box(lanes_.lanes().size() - 1).bottom() + kGap;
  painter.setPen(theme_[Ink::line]);
  painter.drawLine(QPointF(map_.left(), std::round(top) + 0.5), QPointF(map_.right(), std::round(top) + 0.5));
  double tick = tick_size(map_.span(), static_cast<int>((map_.right() - map_.left()) / 110.0));
  if (lanes_.axis() == TimelineAxis::number) tick = std::max(1.0, tick);
  painter.setPen(theme_[Ink::dim]);
  painter.drawText(QRectF(0, top, kNames - 14, kAxis), Qt::AlignRight | Qt::AlignVCenter,
                   lanes_.axis() == TimelineAxis::number ? tr("call") : tr("time"));
  for (double at = std::ceil(map_.begin() / tick) * tick; at <= map_.end() + tick * 1e-6; at += tick) {
    const double x = map_.x_of(at);
    const QString text = axis_text(at);
    const double width = metrics.horizontalAdvance(text) + 2.0;
    const double left = std::clamp(x - width / 2.0, map_.left() - 8.0, width > 0 ? map_.right() + kRight - width : x);
    painter.setPen(theme_[Ink::line]);
    painter.drawLine(QPointF(std::round(x) + 0.5, top), QPointF(std::round(x) + 0.5, top + 4.0));
    painter.setPen(theme_[Ink::dim]);
    painter.drawText(QRectF(left, top + 4.0, width, kAxis - 6.0), Qt::AlignCenter, text);
  }
}

void TimelineView::paint_lane(QPainter& painter, std::size_t lane) {
  const QRectF box = lane_box(lane);
  const bool focused = static_cast<int>(lane) == focused_ && hasFocus();
  const Lanes::Lane& one = lanes_.lanes()[lane];
  const bool chosen = selection_.role() == one.role;
  QFont font = theme_.text_font();
  font.setWeight(chosen ? QFont::DemiBold : QFont::Normal);
  painter.setFont(font);
  painter.setPen(focused ? theme_[Ink::accent] : theme_[Ink::text]);
  const QString name = one.role == Role::none ? tr("other") : text_of(name_of(one.role));
  painter.drawText(QRectF(0, box.top() - 4, kNames - 14, box.height() + 8), Qt::AlignRight | Qt::AlignVCenter, name);
  if (focused) {
    painter.setPen(QPen(theme_[Ink::accent], 1.0));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(box.adjusted(-3.5, -3.5, 3.5, 3.5));
  }
  painter.save();
  painter.setClipRect(box.adjusted(-1, 0, 1, 0));
  lanes_.marks(lane, map_, marks_);
  for (const LaneMark& mark : marks_) paint_mark(painter, mark, box);
  painter.restore();
  painter.setFont(theme_.small_font());
}

void TimelineView::paint_mark(QPainter& painter, const LaneMark& mark, const QRectF& box) {
  // Samples of one backend stand together, so that a merged mark shows who served how much of it.
  struct Part {
    const std::string* backend = nullptr;
    int samples = 0;
    bool bright = false;
  };
  std::array<Part, LaneMark::kSamples> parts;
  std::size_t used = 0;
  for (std::size_t i = 0; i < mark.samples; ++i) {
    const std::uint32_t kind = mark.kinds[i];
    const std::string& backend = lanes_.calls().kind(kind).route.id.backend;
    std::size_t at = 0;
    while (at < used && *parts[at].backend != backend) ++at;
    if (at == used) ++used;
    parts[at].backend = &backend;
    ++parts[at].samples;
    parts[at].bright |= bright_kinds_.empty() || (kind < bright_kinds_.size() && bright_kinds_[kind]);
  }
  const double gap = mark.count == 1 && mark.right - mark.left > 5.0 ? 1.0 : 0.0;
  double top = box.top();
  for (std::size_t i = 0; i < used; ++i) {
    const double height = box.height() * parts[i].samples / static_cast<double>(mark.samples);
    const QString name = text_of(*parts[i].backend);
    QColor color = theme_.backend(name);
    if (!parts[i].bright) color.setAlphaF(0.32F);
    const QRectF part(mark.left, top, std::max(1.0, mark.right - mark.left - gap), height);
    painter.fillRect(part, color);
    if (name.contains('+') && part.width() >= 6.0) painter.fillRect(part, QBrush(theme_[Ink::panel], Qt::BDiagPattern));
    top += height;
  }
}

void TimelineView::paint_selection(QPainter& painter) {
  if (selection_.role() == Role::transformer && selection_.step()) {
    if (const auto range = lanes_.range_of_step(*selection_.step())) {
      const double left = std::max(map_.left(), map_.x_of(range->first));
      const double right = std::min(map_.right(), std::max(map_.x_of(range->second), left + 2.0));
      const double bottom = lane_box(lanes_.lanes().size() - 1).bottom() + kGap;
      QColor tint = theme_[Ink::selection];
      tint.setAlphaF(0.6F);
      if (right > left) painter.fillRect(QRectF(left, 0, right - left, bottom), tint);
    }
  }
  const auto& call = selection_.call();
  if (!call || call->run != lanes_.calls().run() || call->index >= lanes_.calls().size()) return;
  const int lane = lanes_.lane_of(selection_.role().value_or(Role::none));
  if (lane < 0) return;
  const QRectF box = lane_box(static_cast<std::size_t>(lane));
  const double left = map_.x_of(lanes_.begin_of(call->index));
  const double right = std::max(left + 3.0, map_.x_of(lanes_.end_of(call->index)));
  if (right < map_.left() || left > map_.right()) return;
  painter.setPen(Qt::NoPen);
  painter.setBrush(theme_[Ink::accent]);
  painter.drawRect(QRectF(left - 2, box.top() - 4, right - left + 4, 3));
  painter.drawRect(QRectF(left - 2, box.bottom() + 1, right - left + 4, 3));
}

void TimelineView::paint_now(QPainter& painter) {
  if (!running_ || !map_.shows_end()) return;
  const double x = std::round(map_.x_of(map_.data_end()));
  const double bottom = lane_box(lanes_.lanes().size() - 1).bottom() + kGap;
  painter.setPen(QPen(theme_[Ink::accent], 1.5));
  painter.drawLine(QPointF(x, 4), QPointF(x, bottom));
}

// --- mouse and keys

void TimelineView::wheelEvent(QWheelEvent* event) {
  const QPoint turned = event->angleDelta();
  const bool sideways = event->modifiers().testFlag(Qt::ShiftModifier) || std::abs(turned.x()) > std::abs(turned.y());
  if (sideways) {
    map_.pan(-(turned.x() != 0 ? turned.x() : turned.y()));
  } else {
    map_.zoom(std::pow(kZoom, turned.y() / 120.0), event->position().x());
  }
  moved();
  event->accept();
}

void TimelineView::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) {
    QWidget::mousePressEvent(event);
    return;
  }
  pressed_ = event->position();
  dragged_from_ = event->position().x();
  dragging_ = false;
}

void TimelineView::mouseMoveEvent(QMouseEvent* event) {
  if (!pressed_) return;
  constexpr double kDrag = 4.0;
  if (!dragging_ && std::abs(event->position().x() - pressed_->x()) < kDrag) return;
  dragging_ = true;
  setCursor(Qt::ClosedHandCursor);
  map_.pan(dragged_from_ - event->position().x());
  dragged_from_ = event->position().x();
  moved();
}

void TimelineView::mouseReleaseEvent(QMouseEvent* event) {
  const bool clicked = pressed_ && !dragging_;
  pressed_.reset();
  unsetCursor();
  if (!clicked || event->button() != Qt::LeftButton) return;
  const QPointF at = event->position();
  const int lane = lane_at(at.y());
  if (at.y() < kSteps && !lanes_.steps().empty()) {
    const auto after = std::partition_point(lanes_.steps().begin(), lanes_.steps().end(), [&](const StepBegin& step) {
      return lanes_.begin_of(step.call) <= map_.at(at.x());
    });
    if (after != lanes_.steps().begin()) selection_.choose_step(Role::transformer, (after - 1)->step, this);
    update();
    return;
  }
  if (lane < 0) return;
  focus_lane(lane);
  if (at.x() < map_.left()) {
    selection_.choose_role(lanes_.lanes()[static_cast<std::size_t>(lane)].role, this);
    show_selection();
  } else if (const auto place = lanes_.at(static_cast<std::size_t>(lane), at.x(), map_)) {
    choose(static_cast<std::size_t>(lane), *place);
  }
}

void TimelineView::keyPressEvent(QKeyEvent* event) {
  if (lanes_.lanes().empty() || (event->modifiers() & ~(Qt::KeypadModifier | Qt::ShiftModifier)) != Qt::NoModifier) {
    QWidget::keyPressEvent(event);
    return;
  }
  const double page = (map_.right() - map_.left()) * kPan;
  switch (wasd(*event)) {
    case Qt::Key_F:
    case Qt::Key_0:
      fit();
      return;
    case Qt::Key_W:
    case Qt::Key_Plus:
    case Qt::Key_Equal:
      zoom(kZoom);
      return;
    case Qt::Key_S:
    case Qt::Key_Minus:
      zoom(1.0 / kZoom);
      return;
    case Qt::Key_A:
    case Qt::Key_Left:
      map_.pan(-page);
      break;
    case Qt::Key_D:
    case Qt::Key_Right:
      map_.pan(page);
      break;
    case Qt::Key_Home:
      map_.go_to_begin();
      break;
    case Qt::Key_End:
      map_.go_to_end();
      break;
    case Qt::Key_Period:
    case Qt::Key_Comma:
      go(event->key() == Qt::Key_Period ? 1 : -1);
      return;
    case Qt::Key_Up:
    case Qt::Key_Down:
      focus_lane(focused_ + (event->key() == Qt::Key_Up ? -1 : 1));
      return;
    default:
      QWidget::keyPressEvent(event);
      return;
  }
  moved();
}

void TimelineView::focusInEvent(QFocusEvent* event) {
  describe();
  update();
  QWidget::focusInEvent(event);
}

void TimelineView::focusOutEvent(QFocusEvent* event) {
  update();
  QWidget::focusOutEvent(event);
}

bool TimelineView::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const int lane = lane_at(help->pos().y());
  const auto place = lane < 0 || help->pos().x() < map_.left()
                         ? std::nullopt
                         : lanes_.at(static_cast<std::size_t>(lane), help->pos().x(), map_);
  if (place) {
    QToolTip::showText(help->globalPos(), text_of_mark(static_cast<std::size_t>(lane), *place), this);
  } else {
    QToolTip::hideText();
  }
  return true;
}

// --- selection

void TimelineView::go(int calls) {
  if (focused_ < 0 || focused_ >= static_cast<int>(lanes_.lanes().size())) return;
  const auto lane = static_cast<std::size_t>(focused_);
  const auto count = static_cast<std::ptrdiff_t>(lanes_.lanes()[lane].calls.size());
  const auto& call = selection_.call();
  const auto place =
      call && call->run == lanes_.calls().run() ? lanes_.place_of(lane, call->index) : std::optional<std::size_t>();
  const std::ptrdiff_t from = place ? static_cast<std::ptrdiff_t>(*place) : (calls > 0 ? -1 : count);
  choose(lane, static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(from + calls, 0, count - 1)));
}

void TimelineView::choose(std::size_t lane, std::size_t place) {
  const std::size_t call = lanes_.lanes()[lane].calls[place];
  const trace::CallRecord& record = lanes_.calls()[call];
  trace::RouteRow route = lanes_.calls().kind_of(record).route;
  route.first_step = route.last_step = record.step;
  selection_.choose_call({lanes_.calls().run(), call, record}, route, this);
}

void TimelineView::focus_lane(int lane) {
  focused_ = std::clamp(lane, 0, static_cast<int>(lanes_.lanes().size()) - 1);
  describe();
  update();
}

std::vector<bool> TimelineView::kinds_of_route() const {
  const auto& route = selection_.route();
  if (!route) return {};
  std::vector<bool> kinds(lanes_.calls().kinds());
  bool any = false;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    kinds[i] = lanes_.calls().kind(i).route.id == route->id;
    any = any || kinds[i];
  }
  return any ? kinds : std::vector<bool>();
}

void TimelineView::show_selection() {
  bright_kinds_ = kinds_of_route();
  if (const auto& role = selection_.role()) {
    if (const int lane = lanes_.lane_of(*role); lane >= 0) focused_ = lane;
  }
  const auto& call = selection_.call();
  if (call && call->run == lanes_.calls().run() && call->index < lanes_.calls().size()) {
    map_.reveal(lanes_.begin_of(call->index), lanes_.end_of(call->index));
    moved();
  }
  describe();
  update();
}

QString TimelineView::text_of_mark(std::size_t lane, std::size_t place) const {
  const std::size_t call = lanes_.lanes()[lane].calls[place];
  const trace::CallRecord& record = lanes_.calls()[call];
  const trace::RouteRow& route = lanes_.calls().kind_of(record).route;
  QString text = tr("call %1, step %2: %3")
                     .arg(count_text(static_cast<qint64>(call)))
                     .arg(record.step)
                     .arg(text_of(route.id.backend));
  if (route.variant != route.executed) text += ' ' + text_of(route.variant);
  text += ", q " + shape_text(route.id.query);
  if (record.timed()) text += ", " + seconds_text(static_cast<double>(record.seconds));
  return text;
}

void TimelineView::describe() {
  if (focused_ >= static_cast<int>(lanes_.lanes().size())) return;
  const auto lane = static_cast<std::size_t>(focused_);
  const Lanes::Lane& one = lanes_.lanes()[lane];
  QString text = tr("lane %1 of %2, %3, %4")
                     .arg(focused_ + 1)
                     .arg(lanes_.lanes().size())
                     .arg(text_of(name_of(one.role)), counted(static_cast<qint64>(one.calls.size()), tr("call")));
  const auto& call = selection_.call();
  if (call && call->run == lanes_.calls().run()) {
    if (const auto place = lanes_.place_of(lane, call->index)) text += "; " + text_of_mark(lane, *place);
  }
  if (text == accessibleDescription()) return;
  setAccessibleDescription(text);
  if (!hasFocus()) return;
  QAccessibleEvent said(this, QAccessible::DescriptionChanged);
  QAccessible::updateAccessibility(&said);
}

}  // namespace attn::ui
