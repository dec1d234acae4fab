// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/stored/stored_banner.h"

#include "ui/panel/fact_table.h"

#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

namespace attn::ui {

namespace {

/// What is right, without the key that stands in the first column.
QString right_of(const StoredFinding& finding) {
  QString text = finding.problem;
  if (text.startsWith(finding.key)) text = text.mid(finding.key.size());
  while (!text.isEmpty() && QStringLiteral(":; ").contains(text.front())) text = text.mid(1);
  return text;
}

}  // namespace

StoredBanner::StoredBanner(const Theme& theme, QWidget* parent) : QFrame(parent), theme_(theme) {
  setObjectName("stored_banner");
  set_look(this, "banner");
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(12, 8, 12, 8);
  column->setSpacing(6);
  auto* row = new QHBoxLayout;
  row->setSpacing(8);
  sentence_ = new QLabel(this);
  sentence_->setObjectName("stored_sentence");
  sentence_->setWordWrap(true);
  sentence_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  set_look(sentence_, "pending");
  details_ = new QPushButton(tr("Details"), this);
  details_->setObjectName("stored_details");
  auto* close = new QPushButton(tr("Dismiss"), this);
  close->setObjectName("stored_dismiss");
  row->addWidget(sentence_, 1);
  row->addWidget(details_);
  row->addWidget(close);
  column->addLayout(row);
  table_ = new FactTable(theme, {tr("Setting"), tr("Stored"), tr("Used"), tr("Default"), tr("What is wrong")}, this);
  table_->setObjectName("stored_table");
  table_->limit_height(170);
  column->addWidget(table_);
  connect(details_, &QPushButton::clicked, this, [this] { show_table(table_->isHidden()); });
  connect(close, &QPushButton::clicked, this, &QWidget::hide);
  hide();
}

void StoredBanner::show_report(const StoredReport& report) {
  const QString file = QFileInfo(report.path).fileName();
  if (!report.error.isEmpty()) {
    sentence_->setText(tr("⚠ Nothing of %1 is used: %2").arg(file, report.error));
  } else {
    QStringList said;
    for (const StoredFinding& finding : report.findings) {
      const bool standard = finding.used == finding.fallback;
      said << tr("%1: stored %2, used %3%4")
                  .arg(finding.key, finding.stored, standard ? tr("default ") : QString(), finding.used);
    }
    // More than a few are read in the table.
    constexpr int kFew = 2;
    const QString rest = said.size() > kFew ? tr(" and %1 more").arg(said.size() - kFew) : QString();
    const QString count = said.size() == 1 ? tr("1 stored value of %1 does not hold").arg(file)
                                           : tr("%1 stored values of %2 do not hold").arg(said.size()).arg(file);
    sentence_->setText(tr("⚠ %1. %2%3. The file stays as it is.").arg(count, said.mid(0, kFew).join("; "), rest));
  }
  std::vector<FactRow> rows;
  for (const StoredFinding& finding : report.findings) {
    rows.push_back({{finding.key},
                    {finding.stored, Ink::bad},
                    {finding.used, Ink::ok},
                    {finding.fallback, Ink::dim},
                    {right_of(finding), Ink::dim}});
  }
  table_->set_rows(std::move(rows));
  details_->setVisible(!report.findings.empty());
  setVisible(!report.is_good());
  show_table(true);
  if (report.findings.empty()) table_->hide();
}

void StoredBanner::show_table(bool shown) {
  table_->setVisible(shown);
  details_->setText(shown ? tr("Hide details") : tr("Details"));
}

}  // namespace attn::ui
