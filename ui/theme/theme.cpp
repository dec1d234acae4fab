// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/theme/theme.h"

#include "ui/format/format.h"

#include <QApplication>
#include <QFile>
#include <QFontDatabase>
#include <QPainter>
#include <QPalette>
#include <QRegularExpression>
#include <QStyle>
#include <QStyleFactory>
#include <QSvgRenderer>
#include <QWidget>
#include <algorithm>

// Resources of a static library have to be asked for, outside of any namespace.
static void load_resources() {
  Q_INIT_RESOURCE(attn_icons);
  Q_INIT_RESOURCE(attn_themes);
}

namespace attn::ui {

namespace {

QFont face(const QStringList& wanted, QFontDatabase::SystemFont fallback, double points) {
  QFont font = QFontDatabase::systemFont(fallback);
  const QStringList present = QFontDatabase::families();
  for (const QString& family : wanted) {
    if (!present.contains(family)) continue;
    font.setFamilies({family});
    break;
  }
  font.setPointSizeF(points);
  return font;
}

QPalette palette_of(const Colors& c) {
  QPalette palette;
  const auto all = [&](QPalette::ColorRole role, Ink ink) { palette.setColor(role, c[ink]); };
  all(QPalette::Window, Ink::panel);
  all(QPalette::WindowText, Ink::text);
  all(QPalette::Base, Ink::window);
  all(QPalette::AlternateBase, Ink::raised);
  all(QPalette::Text, Ink::text);
  all(QPalette::PlaceholderText, Ink::dim);
  all(QPalette::Button, Ink::raised);
  all(QPalette::ButtonText, Ink::text);
  all(QPalette::BrightText, Ink::on_accent);
  all(QPalette::Highlight, Ink::accent_fill);
  all(QPalette::HighlightedText, Ink::on_accent);
  all(QPalette::Link, Ink::accent);
  all(QPalette::LinkVisited, Ink::accent);
  all(QPalette::ToolTipBase, Ink::raised);
  all(QPalette::ToolTipText, Ink::text);
  all(QPalette::Light, Ink::hover);
  all(QPalette::Midlight, Ink::raised);
  all(QPalette::Mid, Ink::line);
  all(QPalette::Dark, Ink::line);
  all(QPalette::Shadow, Ink::window);
  for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText}) {
    palette.setColor(QPalette::Disabled, role, c[Ink::faint]);
  }
  return palette;
}

QPixmap tinted(QByteArray svg, const QColor& color, int size, qreal ratio) {
  svg.replace("currentColor", color.name().toLatin1());
  QSvgRenderer renderer(svg);
  QPixmap pixmap(QSize(size, size) * ratio);
  pixmap.setDevicePixelRatio(ratio);
  pixmap.fill(Qt::transparent);
  QPainter painter(&pixmap);
  renderer.render(&painter, QRectF(0, 0, size, size));
  return pixmap;
}

}  // namespace

Theme::Theme(QObject* parent) : QObject(parent), colors_(Colors::light()) {
  load_resources();
  system_dark_ = QApplication::palette().color(QPalette::Window).lightnessF() < 0.5;
  text_ = face({"Inter"}, QFontDatabase::GeneralFont, 9.5);
  small_ = face({"Inter"}, QFontDatabase::GeneralFont, 8.5);
  fixed_ = face({"JetBrains Mono"}, QFontDatabase::FixedFont, 8.75);
  QApplication::setStyle(QStyleFactory::create("Fusion"));
  apply();
}

void Theme::choose(ThemeChoice choice) {
  if (choice == choice_) return;
  choice_ = choice;
  apply();
}

void Theme::apply() {
  const bool dark = choice_ == ThemeChoice::dark || (choice_ == ThemeChoice::system && system_dark_);
  colors_ = dark ? Colors::dark() : Colors::light();
  QApplication::setFont(text_);
  QApplication::setPalette(palette_of(colors_));
  qApp->setStyleSheet(style_sheet(colors_, small_, fixed_));
  emit changed();
}

QIcon Theme::icon(const QString& name, Ink ink) const {
  QFile file(QStringLiteral(":/icons/%1.svg").arg(name));
  if (!file.open(QIODevice::ReadOnly)) return {};
  const QByteArray svg = file.readAll();
  QIcon icon;
  for (const qreal ratio : {1.0, 2.0, 3.0}) {
    icon.addPixmap(tinted(svg, colors_[ink], 16, ratio), QIcon::Normal);
    icon.addPixmap(tinted(svg, colors_[Ink::faint], 16, ratio), QIcon::Disabled);
  }
  return icon;
}

void set_look(QWidget* widget, const char* look) {
  widget->setProperty("look", QString::fromLatin1(look));
  // A plain QWidget paints no background of a style sheet unless it is told to.
  if (QLatin1String(look) == QLatin1String("panel")) widget->setAttribute(Qt::WA_StyledBackground);
  if (widget->testAttribute(Qt::WA_WState_Polished)) {
    widget->style()->unpolish(widget);
    widget->style()->polish(widget);
  }
}

QString style_sheet(const Colors& colors, const QFont& small, const QFont& fixed) {
  QFile file(QStringLiteral(":/themes/window.qss"));
  if (!file.open(QIODevice::ReadOnly)) return {};
  QString sheet = QString::fromUtf8(file.readAll());
  std::vector<std::pair<QString, QString>> names;
  for (std::size_t i = 0; i < kInks; ++i) {
    const auto ink = static_cast<Ink>(i);
    names.emplace_back('@' + text_of(name_of(ink)), colors[ink].name());
  }
  names.emplace_back("@theme", colors.is_dark() ? "dark" : "light");
  names.emplace_back("@small_size", QString::number(small.pointSizeF()) + "pt");
  names.emplace_back("@fixed_size", QString::number(fixed.pointSizeF()) + "pt");
  names.emplace_back("@fixed_face", fixed.families().value(0, fixed.family()));
  // Longer names first, so that @accent does not eat the front of @accent_fill.
  std::sort(names.begin(), names.end(), [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
  for (const auto& [name, value] : names) sheet.replace(name, value);
  return sheet;
}

}  // namespace attn::ui
