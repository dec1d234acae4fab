// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/control_panel/control_panel.h"

#include "ui/control_panel/backend_row.h"
#include "ui/control_panel/effect_box.h"
#include "ui/control_panel/preset_rows.h"
#include "ui/control_panel/section.h"
#include "ui/control_panel/target_selector.h"
#include "ui/control_panel/value_rows.h"
#include "ui/format/format.h"
#include "ui/platform/platform_page.h"
#include "ui/policy/policy_rows.h"
#include "ui/sparse/exclusions_row.h"
#include "ui/sparse/sparse_extras.h"

#include <QAction>
#include <QCheckBox>
#include <QLabel>
#include <QLineEdit>
#include <QScrollArea>
#include <QScrollBar>
#include <QSettings>
#include <QVBoxLayout>
#include <algorithm>

namespace attn::ui {

namespace {

const std::string kSparse(keys::sparse_prefix);
const std::string kExclude = kSparse + "exclude";
/// The setting beside which `attention_backend` stands: both are asked of the dispatcher.
constexpr std::string_view kDispatcher = "hf_attention";

/// Sections that are open before anybody has said otherwise.
bool opens_by_default(const QString& title) { return title != "Attention Slicing" && title != "Attention Dispatcher"; }

}  // namespace

ControlPanel::ControlPanel(EngineLink& link, const Services& services, SparseContext& sparse, const Theme& theme,
                           QWidget* parent)
    : QWidget(parent), link_(link), jobs_(services.jobs), sparse_context_(sparse), theme_(theme) {
  setObjectName("control_panel");
  auto* outer = new QVBoxLayout(this);
  outer->setContentsMargins(0, 0, 0, 0);
  outer->setSpacing(0);

  search_ = new QLineEdit(this);
  search_->setObjectName("option_search");
  search_->setPlaceholderText(tr("Find an option"));
  search_->setAccessibleName(tr("Find an option"));
  search_->setToolTip(tr("Narrows the list to options whose name, key or help has these letters (Ctrl+F)"));
  search_->setClearButtonEnabled(true);
  QAction* glass = search_->addAction(theme.icon("search"), QLineEdit::LeadingPosition);
  connect(&theme, &Theme::changed, glass, [this, glass] { glass->setIcon(theme_.icon("search")); });
  auto* search_row = new QVBoxLayout;
  search_row->setContentsMargins(12, 9, 12, 5);
  search_row->addWidget(search_);
  refusal_ = new QLabel(this);
  refusal_->setWordWrap(true);
  refusal_->hide();
  set_look(refusal_, "bad");
  search_row->addWidget(refusal_);
  outer->addLayout(search_row);
  effect_ = new EffectBox(link, theme, this);
  outer->addWidget(effect_);

  auto* area = new QScrollArea(this);
  area->setWidgetResizable(true);
  area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  area->setFocusPolicy(Qt::NoFocus);
  auto* content = new QWidget(area);
  column_ = new QVBoxLayout(content);
  column_->setContentsMargins(0, 0, 0, 12);
  column_->setSpacing(0);
  auto* target_section = new Section(tr("Target"), theme, content);
  target_section->add(new TargetSelector(link, services.targets, theme, target_section));
  target_section_ = target_section;
  column_->addWidget(target_section);
  preset_section_ = new Section(tr("Presets"), theme, content);
  presets_ = new PresetRows(services.presets, theme, preset_section_);
  preset_section_->add(presets_);
  column_->addWidget(preset_section_);
  nothing_found_ = new QLabel(tr("No option has these letters in its name, key or help."), content);
  nothing_found_->setWordWrap(true);
  nothing_found_->setContentsMargins(12, 12, 12, 12);
  set_look(nothing_found_, "dim");
  nothing_found_->hide();
  column_->addWidget(nothing_found_);
  column_->addStretch(1);
  area->setWidget(content);
  outer->addWidget(area, 1);

  sparse_ = new SparseExtras(sparse, theme, content);
  policy_ = new PolicyRows(services.policy, theme, content);
  for (const OptionState& state : link_.states()) {
    QString title = text_of(state.spec.section);
    if (state.spec.key == keys::overrides) title = tr("Overrides");
    if (state.spec.key == keys::kernels) title = tr("Kernel flags");
    if (state.spec.key == kDispatcher) group(title).section->add(policy_);
    if (state.spec.key == kExclude) {
      add_exclusions(group(title), state);
    } else {
      add_rows(group(title), state);
    }
  }
  // People meet the overrides and the flags first, whatever the order of the specs.
  std::stable_sort(groups_.begin(), groups_.end(), [](const Group& a, const Group& b) {
    const auto rank = [](const Group& g) {
      if (g.section->title() == tr("Overrides")) return 0;
      if (g.section->title() == tr("Kernel flags")) return 1;
      if (g.section->title() == "Sparse Attention") return 2;
      return g.section->title() == "Attention Slicing" || g.section->title() == "Attention Dispatcher" ? 4 : 3;
    };
    return rank(a) < rank(b);
  });
  for (std::size_t i = 0; i < groups_.size(); ++i) column_->insertWidget(static_cast<int>(i) + 2, groups_[i].section);
  group(tr("Overrides")).section->header()->set_note(tr("asked in this order"));
  add_kernel_note();

  connect(search_, &QLineEdit::textChanged, this, &ControlPanel::show_search);
  connect(&link_, &EngineLink::settings_changed, this, &ControlPanel::refresh);
  connect(&link_, &EngineLink::refused, this, &ControlPanel::show_refusal);
  connect(&services.policy, &PolicyService::changed, this, &ControlPanel::refresh);
  const auto show_preset = [this] { preset_section_->header()->set_note(presets_->note()); };
  connect(presets_, &PresetRows::changed, this, show_preset);
  show_preset();
  refresh();
}

ControlPanel::Group& ControlPanel::group(const QString& title) {
  for (Group& group : groups_) {
    if (group.section->title() == title) return group;
  }
  auto* section = new Section(title, theme_, column_->parentWidget());
  section->set_open(opens_by_default(title));
  groups_.push_back({section, {}});
  return groups_.back();
}

void ControlPanel::add_rows(Group& group, const OptionState& state) {
  if (state.spec.key == keys::overrides) {
    add_backends(group, state);
    return;
  }
  for (OptionRow* row : make_option_rows(link_, theme_, state, group.section)) {
    if (state.spec.key == kSparse + "enabled") add_companion(group, row, sparse_->headline());
    group.section->add(row);
    group.rows.push_back(row);
    if (state.spec.key == kSparse + "budget") {
      add_companion(group, row, sparse_->density());
      connect(static_cast<NumberRow*>(row), &NumberRow::dragged, sparse_, &SparseExtras::preview_budget);
    }
    if (state.spec.key == kSparse + "schedule_bump") add_companion(group, row, sparse_->schedule());
  }
}

void ControlPanel::add_backends(Group& group, const OptionState& state) {
  for (const std::string& label : state.spec.choices) {
    const BackendSpec* spec = link_.engine().registry().by_label(label);
    if (spec == nullptr) continue;  // the choices are the registry's own labels
    auto* row = new BackendRow(link_, jobs_, theme_, state, *spec, group.section);
    row->show_state(state);
    group.section->add(row);
    group.rows.push_back(row);
    backends_.push_back(row);
  }
}

void ControlPanel::add_kernel_note() {
  Section* section = group(tr("Kernel flags")).section;
  section->header()->set_note(tr("switch · really runs here"));
  kernel_note_ = new QLabel(section);
  kernel_note_->setObjectName("kernel_note");
  kernel_note_->setWordWrap(true);
  kernel_note_->setContentsMargins(26, 0, 12, 2);
  set_look(kernel_note_, "small");
  kernel_note_->hide();
  section->add(kernel_note_);
  kernel_note_->hide();
}

void ControlPanel::add_exclusions(Group& group, const OptionState& state) {
  auto* row = new ExclusionsRow(link_, theme_, state, group.section);
  row->show_state(state);
  group.section->add(row);
  group.rows.push_back(row);
  sparse_->serve(row);
}

void ControlPanel::add_companion(Group& group, OptionRow* row, QWidget* widget) {
  const bool hidden = widget->isHidden();
  group.section->add(widget);
  widget->setHidden(hidden);
  companions_.push_back({row, widget});
}

void ControlPanel::refresh() {
  bool any_edited = link_.engine().target().name != link_.engine().plan()->target().name;
  bool any_changed = false;
  for (Group& group : groups_) {
    const bool asks = group.section->isAncestorOf(policy_);
    bool edited_here = asks && policy_->is_edited();
    bool changed_here = asks && policy_->is_changed();
    if (asks) group.section->header()->set_note(policy_->note());
    for (OptionRow* row : group.rows) {
      if (const OptionState* state = find_state(link_.states(), row->key())) row->show_state(*state);
      edited_here |= row->is_edited();
      changed_here |= row->is_changed();
    }
    group.section->header()->set_marks(edited_here, changed_here);
    any_edited |= edited_here;
    any_changed |= changed_here;
  }
  show_backend_states();
  refusal_->hide();
  emit marked(any_edited, any_changed);
}

void ControlPanel::set_run(const trace::TraceSnapshot& run) {
  served_.clear();
  run_calls_ = run.calls;
  for (const trace::RouteRow& row : run.routes) served_[row.executed] += row.calls;
  effect_->watch().set_run(run, sparse_context_.facts());
  show_backend_states();
}

void ControlPanel::show_backend_states() {
  const std::shared_ptr<const Plan> plan = link_.engine().plan();
  const Target target = link_.engine().target();
  const OptionState* overrides = find_state(link_.states(), keys::overrides);
  if (overrides == nullptr) return;
  for (BackendRow* row : backends_) {
    const BackendReport* report = nullptr;
    for (const BackendReport& one : plan->reports()) {
      if (one.name == row->spec().name) report = &one;
    }
    const BackendFact fact =
        backend_fact(row->spec(), report, target, row->is_on(overrides->wanted), row->is_on(overrides->applied));
    const auto served = served_.find(row->spec().name);
    row->show_facts(fact, run_calls_ == 0 ? std::nullopt : std::optional(served == served_.end() ? 0 : served->second));
  }
}

void ControlPanel::show_search() {
  const QString needle = search_->text().trimmed().toLower();
  bool any = needle.isEmpty();
  target_section_->setVisible(needle.isEmpty() || QStringLiteral("target").contains(needle));
  any |= target_section_->isVisibleTo(this);
  preset_section_->setVisible(needle.isEmpty() || presets_->matches(needle));
  preset_section_->set_searching(!needle.isEmpty());
  any |= preset_section_->isVisibleTo(this);
  for (Group& group : groups_) {
    bool any_here = needle.isEmpty();
    for (OptionRow* row : group.rows) {
      const bool hit = needle.isEmpty() || row->matches(needle);
      row->setVisible(hit);
      any_here |= hit;
    }
    if (group.section->isAncestorOf(policy_)) {
      policy_->setVisible(needle.isEmpty() || policy_->matches(needle));
      any_here |= !policy_->isHidden();
    }
    group.section->set_searching(!needle.isEmpty());
    group.section->setVisible(any_here);
    any |= any_here;
  }
  for (const Companion& companion : companions_) {
    const QVariant wanted = companion.widget->property("wanted");
    companion.widget->setVisible(!companion.row->isHidden() && (!wanted.isValid() || wanted.toBool()));
  }
  nothing_found_->setVisible(!any);
}

void ControlPanel::show_refusal(const QString&, const QString& sentence) {
  refusal_->setText(sentence);
  refusal_->show();
}

void ControlPanel::focus_search() {
  search_->setFocus(Qt::ShortcutFocusReason);
  search_->selectAll();
}

void ControlPanel::search_for(const QString& letters) {
  search_->setText(letters);
  focus_search();
}

void ControlPanel::show_kernels(const std::vector<KernelRow>& kernels) {
  for (Group& group : groups_) {
    for (OptionRow* row : group.rows) {
      if (row->key() != keys::kernels) continue;
      auto* choice = static_cast<ChoiceRow*>(row);
      for (const KernelRow& kernel : kernels) {
        if (kernel.option.empty() || kernel.option != choice->choice()) continue;
        const bool dead = kernel.switched_on && kernel.runs == Support::not_supported;
        const RunsText runs = runs_text(kernel.runs);
        choice->show_note(dead ? tr("on, but does not run here") : runs.words, runs.look, text_of(kernel.reason));
      }
    }
  }
  QStringList others;
  for (const KernelRow& kernel : kernels) {
    if (!kernel.option.empty() || kernel.runs == Support::unknown) continue;
    others << tr("%1 has no switch: %2").arg(text_of(kernel.kernel), runs_text(kernel.runs).words);
  }
  kernel_note_->setText(others.join('\n'));
  kernel_note_->setHidden(others.isEmpty());
}

void ControlPanel::save(QSettings& settings) const {
  QStringList flipped;
  for (const Group& group : groups_) {
    if (group.section->is_open() != opens_by_default(group.section->title())) flipped << group.section->title();
  }
  if (!preset_section_->is_open()) flipped << preset_section_->title();
  settings.setValue("control_panel/flipped_sections", flipped);
}

void ControlPanel::restore(const QSettings& settings) {
  const QStringList flipped = settings.value("control_panel/flipped_sections").toStringList();
  preset_section_->set_open(!flipped.contains(preset_section_->title()));
  for (Group& group : groups_) {
    const QString title = group.section->title();
    group.section->set_open(opens_by_default(title) != flipped.contains(title));
  }
}

}  // namespace attn::ui
