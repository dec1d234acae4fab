// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/policy/policy_rows.h"

#include "ui/control_panel/change_mark.h"
#include "ui/format/format.h"
#include "ui/policy/outcome_text.h"

#include <QCheckBox>
#include <QComboBox>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QSignalBlocker>
#include <QStandardItemModel>
#include <QVBoxLayout>
#include <QWheelEvent>

namespace attn::ui {

namespace {

/// A wheel over the panel scrolls it; it changes a choice only where the keyboard is.
class CalmCombo final : public QComboBox {
 public:
  using QComboBox::QComboBox;

 protected:
  void wheelEvent(QWheelEvent* event) override {
    if (hasFocus()) {
      QComboBox::wheelEvent(event);
    } else {
      event->ignore();
    }
  }
};

enum StrictChoice { by_rule, strict, lenient, mixed };

StrictChoice strictness_of(const AttentionChoices& choices, Role role) {
  const auto found = choices.strict.find(role);
  if (found == choices.strict.end()) return by_rule;
  return found->second ? strict : lenient;
}

StrictChoice strictness_of(const AttentionChoices& choices, std::optional<Role> role) {
  if (role) return strictness_of(choices, *role);
  const StrictChoice first = strictness_of(choices, kChoiceRoles.front());
  for (const Role one : kChoiceRoles) {
    if (strictness_of(choices, one) != first) return mixed;
  }
  return first;
}

QString backend_of(const AttentionChoices& choices, std::optional<Role> role) {
  if (!role) return text_of(choices.all.value_or(std::string(kAutoRequest)));
  const auto found = choices.per_role.find(*role);
  return found == choices.per_role.end() ? QString() : text_of(found->second);
}

QString mark_of(SelectionState state) {
  if (state == SelectionState::rejected) return QStringLiteral("  ✕");
  return state == SelectionState::unverified ? QStringLiteral("  ?") : QString();
}

void fill(QComboBox* box, const std::vector<AskableBackend>& backends, std::optional<Role> role, const QString& now) {
  const QSignalBlocker quiet(box);
  box->clear();
  if (role) {
    box->addItem(PolicyRows::tr("as for all"), QString());
    box->setItemData(0, PolicyRows::tr("What is asked for all, which means the denoiser"), Qt::ToolTipRole);
  }
  for (const AskableBackend& backend : backends) {
    box->addItem(backend.name + mark_of(backend.state), backend.name);
    box->setItemData(box->count() - 1, backend.reason, Qt::ToolTipRole);
  }
  // A dispatcher's own name, as a profile may bring one.
  if (box->findData(now) < 0) box->addItem(now, now);
  box->setCurrentIndex(box->findData(now));
}

QComboBox* combo(QWidget* parent) {
  auto* box = new CalmCombo(parent);
  box->setFocusPolicy(Qt::StrongFocus);
  box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  box->setMaxVisibleItems(16);
  set_look(box, "compact");
  return box;
}

}  // namespace

PolicyRows::PolicyRows(PolicyService& service, const Theme& theme, QWidget* parent)
    : QWidget(parent), service_(service), theme_(theme) {
  setObjectName("policy_rows");
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(6, 2, 12, 4);
  column->setSpacing(4);
  auto* grid = new QGridLayout;
  grid->setHorizontalSpacing(6);
  grid->setVerticalSpacing(4);
  grid->setColumnStretch(2, 1);
  grid->setColumnMinimumWidth(0, 12);
  add_row(grid, std::nullopt);
  add_speed(grid);
  for (const Role role : {Role::transformer, Role::te, Role::vae}) add_row(grid, role);
  column->addLayout(grid);
  const auto note = [&](const char* name, const char* look) {
    auto* label = new QLabel(this);
    label->setObjectName(name);
    label->setWordWrap(true);
    label->setContentsMargins(20, 0, 0, 0);
    set_look(label, look);
    label->hide();
    column->addWidget(label);
    return label;
  };
  pending_ = note("policy_pending", "pending");
  refused_ = note("policy_refused", "bad");
  connect(&service_, &PolicyService::changed, this, &PolicyRows::refresh);
  refresh();
}

void PolicyRows::add_row(QGridLayout* grid, std::optional<Role> role) {
  const QString name = role ? text_of(name_of(*role)) : QStringLiteral("all");
  Row row{role,
          new ChangeMark(ChangeMark::Kind::edited, theme_, this),
          new ChangeMark(ChangeMark::Kind::changed, theme_, this),
          combo(this),
          combo(this),
          nullptr,
          nullptr};
  row.edited->setObjectName("policy_edited_" + name);
  row.changed->setObjectName("policy_changed_" + name);
  row.backend->setObjectName("policy_backend_" + name);
  row.backend->setAccessibleName(role ? tr("Attention backend of %1").arg(name) : tr("Attention backend for all"));
  row.backend->setToolTip(
      tr("attention_backend: what the dispatcher in front of the router gets. ✕ this target cannot run it,\n"
         "? nobody knows. auto takes the best exact backend while a speed profile is active."));
  row.strict->setObjectName("policy_strict_" + name);
  row.strict->setFixedWidth(84);
  row.strict->setAccessibleName(role ? tr("Strictness of %1").arg(name) : tr("Strictness of all roles"));
  row.strict->setToolTip(
      tr("Strict: a backend that cannot serve is an error. Lenient: the router serves instead, with a warning.\n"
         "By rule: strict where somebody chose the backend."));
  row.strict->addItems({tr("by rule"), tr("strict"), tr("lenient")});
  row.strict->setPlaceholderText(tr("mixed"));
  auto* label = new QLabel(role ? name : tr("For all"), this);
  label->setBuddy(row.backend);
  auto* marks = new QHBoxLayout;
  marks->setSpacing(0);
  marks->addWidget(row.edited);
  marks->addWidget(row.changed);
  const int at = grid->rowCount();
  grid->addLayout(marks, at, 0);
  grid->addWidget(label, at, 1);
  grid->addWidget(row.backend, at, 2);
  grid->addWidget(row.strict, at, 3);
  if (role) {
    const auto words = [&](const QString& object, int line) {
      auto* text = new QLabel(this);
      text->setObjectName(object + name);
      text->setWordWrap(true);
      text->setTextInteractionFlags(Qt::TextSelectableByMouse);
      grid->addWidget(text, at + line, 1, 1, 3);
      return text;
    };
    row.outcome = words("policy_outcome_", 1);
    row.detail = words("policy_detail_", 2);
    row.detail->setContentsMargins(0, 0, 0, 6);
    set_look(row.detail, "dim");
  }
  rows_.push_back(row);
  const std::size_t index = rows_.size() - 1;
  connect(row.backend, &QComboBox::activated, this, [this, index](int chosen) {
    choose_backend(rows_[index], rows_[index].backend->itemData(chosen).toString());
  });
  connect(row.strict, &QComboBox::activated, this, [this, index](int chosen) { choose_strict(rows_[index], chosen); });
  connect(row.edited, &QAbstractButton::clicked, this, [this, index] {
    AttentionChoices choices = service_.state().wanted;
    copy_row(rows_[index], service_.state().applied, choices);
    choose(choices);
  });
  connect(row.changed, &QAbstractButton::clicked, this, [this, index] {
    AttentionChoices choices = service_.state().wanted;
    copy_row(rows_[index], AttentionChoices(), choices);
    choose(choices);
  });
}

void PolicyRows::add_speed(QGridLayout* grid) {
  speed_edited_ = new ChangeMark(ChangeMark::Kind::edited, theme_, this);
  speed_changed_ = new ChangeMark(ChangeMark::Kind::changed, theme_, this);
  speed_ = new QCheckBox(tr("Speed profile"), this);
  speed_->setObjectName("policy_speed");
  speed_->setToolTip(
      tr("While one is active, auto takes the best exact backend of the target;\n"
         "without one a generation stays bit-identical."));
  auto* marks = new QHBoxLayout;
  marks->setSpacing(0);
  marks->addWidget(speed_edited_);
  marks->addWidget(speed_changed_);
  const int at = grid->rowCount();
  grid->addLayout(marks, at, 0);
  grid->addWidget(speed_, at, 1, 1, 3);
  const auto set = [this](bool on) {
    AttentionChoices choices = service_.state().wanted;
    choices.speed_active = on;
    choose(choices);
  };
  connect(speed_, &QCheckBox::clicked, this, set);
  connect(speed_edited_, &QAbstractButton::clicked, this, [this, set] { set(service_.state().applied.speed_active); });
  connect(speed_changed_, &QAbstractButton::clicked, this, [set] { set(false); });
}

void PolicyRows::copy_row(const Row& row, const AttentionChoices& from, AttentionChoices& to) {
  if (!row.role) {
    to.all = from.all;
    return;
  }
  to.per_role.erase(*row.role);
  to.strict.erase(*row.role);
  if (const auto own = from.per_role.find(*row.role); own != from.per_role.end()) to.per_role.insert(*own);
  if (const auto own = from.strict.find(*row.role); own != from.strict.end()) to.strict.insert(*own);
}

void PolicyRows::choose_backend(const Row& row, const QString& name) {
  AttentionChoices choices = service_.state().wanted;
  if (!row.role) {
    choices.all.reset();
    if (name != text_of(kAutoRequest)) choices.all = utf8_of(name);
  } else if (name.isEmpty()) {
    choices.per_role.erase(*row.role);
  } else {
    choices.per_role[*row.role] = utf8_of(name);
  }
  choose(choices);
}

void PolicyRows::choose_strict(const Row& row, int at) {
  AttentionChoices choices = service_.state().wanted;
  for (const Role role : kChoiceRoles) {
    if (row.role && *row.role != role) continue;
    choices.strict.erase(role);
    if (at != by_rule) choices.strict[role] = at == strict;
  }
  choose(choices);
}

void PolicyRows::choose(const AttentionChoices& choices) {
  const Expected<void> chosen = service_.choose(choices);
  refused_->setVisible(!chosen);
  if (!chosen) refused_->setText(text_of(chosen.error()));
  refresh();
}

void PolicyRows::refresh() {
  for (Row& row : rows_) show_row(row);
  const PolicyState& state = service_.state();
  const QSignalBlocker quiet(speed_);
  speed_->setChecked(state.wanted.speed_active);
  const auto on_off = [](bool on) { return on ? tr("on") : tr("off"); };
  speed_edited_->set_on(state.wanted.speed_active != state.applied.speed_active, on_off(state.applied.speed_active));
  speed_changed_->set_on(state.applied.speed_active, on_off(false));
  pending_->setVisible(state.is_pending());
  pending_->setText(
      tr("● Counts from the next job on: a model has to load for it. The running job keeps what it "
         "began with."));
}

void PolicyRows::show_row(Row& row) {
  const PolicyState& state = service_.state();
  const QString wanted = backend_of(state.wanted, row.role);
  const QString applied = backend_of(state.applied, row.role);
  const auto own = row.role ? state.for_role.find(*row.role) : state.for_role.end();
  fill(row.backend, own == state.for_role.end() ? state.for_all : own->second, row.role, wanted);
  const StrictChoice strictness = strictness_of(state.wanted, row.role);
  row.strict->setCurrentIndex(strictness == mixed ? -1 : strictness);
  const bool other_strictness =
      row.role && strictness_of(state.wanted, *row.role) != strictness_of(state.applied, *row.role);
  const QString standard = row.role ? tr("as for all, strict by rule") : text_of(kAutoRequest);
  const QString before = row.role && applied.isEmpty() ? tr("as for all") : applied;
  row.edited->set_on(wanted != applied || other_strictness, before);
  const bool stated = row.role && strictness_of(state.applied, *row.role) != by_rule;
  row.changed->set_on(applied != backend_of(AttentionChoices(), row.role) || stated, standard);
  if (row.outcome == nullptr) return;
  for (const RoleOutcome& outcome : state.outcomes) {
    if (outcome.decision.role != row.role) continue;
    const OutcomeText text = outcome_text(outcome, state.target);
    row.outcome->setText(text.headline);
    set_look(row.outcome, text.look);
    row.detail->setText(text.detail);
    // Where nobody chose anything, once is enough.
    const bool plain = outcome.decision.level == ChoiceLevel::standard && row.role != Role::transformer;
    row.detail->setVisible(!plain);
  }
}

bool PolicyRows::is_edited() const { return service_.state().is_pending(); }

bool PolicyRows::is_changed() const {
  AttentionChoices standard;
  standard.dispatcher = service_.state().applied.dispatcher;  // a setting with marks of its own
  return !(service_.state().applied == standard);
}

QString PolicyRows::note() const { return policy_note(service_.state()); }

bool PolicyRows::matches(const QString& needle) const {
  QString words = QStringLiteral("attention_backend attention backend dispatcher speed profile strict lenient role");
  for (const AskableBackend& backend : service_.state().for_all) words += ' ' + backend.name;
  for (const Role role : kChoiceRoles) words += ' ' + text_of(name_of(role));
  return words.contains(needle);
}

}  // namespace attn::ui
