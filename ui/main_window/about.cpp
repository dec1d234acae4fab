// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/main_window/about.h"

#include <QApplication>
#include <QMessageBox>

namespace attn::ui {

namespace {

struct Part {
  const char* name;
  const char* licence;
};

constexpr Part kParts[] = {
    {"Qt", "LGPL-3.0"},        {"QCustomPlot", "GPL-3.0-or-later"},
    {"oneDNN", "Apache-2.0"},  {"oneTBB", "Apache-2.0"},
    {"Highway", "Apache-2.0"}, {"tl::expected", "CC0-1.0"},
    {"spdlog", "MIT"},         {"JSON for Modern C++", "MIT"},
    {"CLI11", "BSD-3-Clause"}, {"libpng", "libpng-2.0"},
    {"Inter", "OFL-1.1"},      {"JetBrains Mono", "OFL-1.1"},
};

}  // namespace

QString about_text() {
  QStringList parts;
  for (const Part& part : kParts) {
    parts << QStringLiteral("%1 (%2)").arg(QString::fromLatin1(part.name), QString::fromLatin1(part.licence));
  }
  const QString tell = QApplication::translate(
      "About",
      "<h3>Attnscope %1</h3>"
      "<p>Inspector and control panel for attention routing in image and video diffusion.</p>"
      "<p><b>No telemetry, no update check.</b> It opens no connection to any network. What it keeps stays in this "
      "account's files: settings, presets, and the workspace of a window.</p>"
      "<p>Free software under the GNU General Public License, version 3 or later; there is no warranty.</p>"
      "<p>Built on Qt %2 and other free parts, each under its own licence:<br>%3.</p>");
  return tell.arg(QApplication::applicationVersion(), QString::fromLatin1(qVersion()), parts.join(", "));
}

void show_about(QWidget* window) {
  auto* box = new QMessageBox(QMessageBox::NoIcon, QApplication::translate("About", "About Attnscope"), about_text(),
                              QMessageBox::Close, window);
  box->setObjectName("about_box");
  box->setIconPixmap(window->windowIcon().pixmap(64));
  box->setAttribute(Qt::WA_DeleteOnClose);
  box->setModal(false);
  box->show();
}

}  // namespace attn::ui
