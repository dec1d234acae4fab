// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/control_panel/backend_row.h"

#include "ui/control_panel/require_toggle.h"
#include "ui/format/format.h"
#include "ui/services.h"

#include <QCheckBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QVBoxLayout>
#include <algorithm>

namespace attn::ui {

namespace {

QString joined(const std::vector<std::string>& names) {
  QString out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) out += i + 1 == names.size() ? BackendRow::tr(" or ") : QStringLiteral(", ");
    out += text_of(names[i]);
  }
  return out;
}

}  // namespace

BackendFact backend_fact(const BackendSpec& spec, const BackendReport* report, const Target& target, bool wanted_on,
                         bool applied_on) {
  using Row = BackendRow;
  if (!spec.on_platform(target.platform)) {
    return {Row::tr("unavailable here: needs %1").arg(joined(*spec.platforms)), "dim",
            Row::tr("This target's platform is %1.").arg(text_of(target.platform))};
  }
  if (wanted_on != applied_on) {
    return {wanted_on ? Row::tr("joins when the chain is rebuilt") : Row::tr("leaves when the chain is rebuilt"),
            "pending", Row::tr("Edited, not applied")};
  }
  const BackendState state = report == nullptr ? BackendState::disabled : report->state;
  const QString reason = report == nullptr ? QString() : text_of(report->reason);
  switch (state) {
    case BackendState::ready:
      return {reason.isEmpty() ? Row::tr("✓ ready") : Row::tr("✓ ready, narrowed: %1").arg(reason), "ok", reason};
    case BackendState::failed:
      return {Row::tr("✕ failed to prepare: %1").arg(reason), "bad", reason};
    case BackendState::skipped:
      return {Row::tr("nothing to serve: %1").arg(reason), "dim", reason};
    case BackendState::unavailable:
      return {Row::tr("unavailable here: %1").arg(reason), "dim", reason};
    case BackendState::disabled:
      break;
  }
  if (!reason.isEmpty()) return {Row::tr("unavailable here: %1").arg(reason), "dim", reason};
  if (spec.terminal) return {Row::tr("takes whatever the others declined"), "dim", {}};
  return {};
}

BackendRow::BackendRow(EngineLink& link, JobControl& jobs, const Theme& theme, const OptionState& state,
                       const BackendSpec& spec, QWidget* parent)
    : ChoiceRow(link, theme, state, spec.label, parent), jobs_(jobs), spec_(spec) {
  show_backend(text_of(spec.name));
  setToolTip(QStringLiteral("<p><b>%1</b></p><p>%2</p>")
                 .arg(text_of(spec.label).toHtmlEscaped(), text_of(spec.help).toHtmlEscaped()));
  search_text_ += ' ' + text_of(spec.name).toLower();
  toggle_ = new RequireToggle(text_of(spec.label), theme, this);
  toggle_->setObjectName("require");
  row_->removeWidget(box());
  row_->removeWidget(note_label());
  auto* line = new QHBoxLayout;
  line->setSpacing(8);
  line->addWidget(box());
  line->addStretch(1);
  line->addWidget(toggle_);
  auto* column = new QVBoxLayout;
  column->setSpacing(1);
  column->addLayout(line);
  column->addWidget(note_label());
  row_->addLayout(column, 1);
  row_->setAlignment(row_->itemAt(0)->layout(), Qt::AlignTop);  // the marks stand beside the name
  row_->setContentsMargins(6, 4, 12, 1);
  note_label()->setAlignment(Qt::AlignLeft | Qt::AlignTop);
  note_label()->setContentsMargins(22, 0, 0, 3);
  connect(toggle_, &QAbstractButton::clicked, this, &BackendRow::set_required);
  connect(&jobs_, &JobControl::required_changed, this, &BackendRow::show_required);
  connect(box(), &QAbstractButton::toggled, this, &BackendRow::show_required);
  show_required();
}

void BackendRow::show_facts(const BackendFact& fact, std::optional<std::int64_t> served) {
  QStringList words;
  if (!fact.text.isEmpty()) words << fact.text;
  if (served && (*served > 0 || QLatin1String(fact.look) == QLatin1String("ok"))) {
    words << tr("%1 of the last run").arg(counted(*served, tr("call")));
  }
  show_note(words.join(QStringLiteral(" · ")), fact.look, fact.tip);
  note_label()->setHidden(words.isEmpty());
}

void BackendRow::show_required() {
  const std::vector<std::string>& required = jobs_.required();
  const bool is_required = std::find(required.begin(), required.end(), spec_.name) != required.end();
  toggle_->setChecked(is_required);
  toggle_->setHidden(!box()->isChecked() && !is_required);
}

void BackendRow::set_required(bool required) {
  std::vector<std::string> names = jobs_.required();
  std::erase(names, spec_.name);
  if (required) names.push_back(spec_.name);
  jobs_.require(std::move(names));
}

}  // namespace attn::ui
