// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/block_mask/block_mask_panel.h"

#include "core/call/call_text.h"
#include "core/sparse/schedule.h"
#include "ui/block_mask/npy_file.h"
#include "ui/block_mask/tile_legend.h"
#include "ui/format/format.h"
#include "ui/panel/elided_label.h"
#include "ui/panel/flow_layout.h"
#include "ui/sparse/schedule_plot.h"
#include "ui/sparse/sparse_extras.h"

#include <QBuffer>
#include <QFileDialog>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QSignalBlocker>
#include <QSpinBox>
#include <QStackedWidget>
#include <QToolButton>
#include <QVBoxLayout>

namespace attn::ui {

BlockMaskPanel::BlockMaskPanel(SparseContext& context, const Theme& theme, QWidget* parent)
    : QWidget(parent), context_(context), theme_(theme) {
  setObjectName("block_mask_panel");
  set_look(this, "panel");
  auto* outer = new QVBoxLayout(this);
  outer->setContentsMargins(0, 0, 0, 0);
  stack_ = new QStackedWidget(this);
  auto* nothing = new QWidget(stack_);
  auto* column = new QVBoxLayout(nothing);
  column->setContentsMargins(24, 16, 24, 16);
  column->addStretch(2);
  nothing_headline_ = new QLabel(nothing);
  nothing_advice_ = new QLabel(nothing);
  for (auto [label, look] : {std::pair{nothing_headline_, "title"}, std::pair{nothing_advice_, "dim"}}) {
    label->setAlignment(Qt::AlignCenter);
    label->setWordWrap(true);
    set_look(label, look);
    column->addWidget(label);
  }
  column->addStretch(3);
  stack_->addWidget(nothing);
  stack_->addWidget(make_body());
  outer->addWidget(stack_);
  connect(&context_, &SparseContext::changed, this, &BlockMaskPanel::refresh);
  connect(&context_.service(), &SparseService::tiles_chosen, this, &BlockMaskPanel::take);
  connect(&context_.service(), &SparseService::mask_opened, this, [this](const OpenedMask& mask) {
    opened_ = mask;
    const trace::RouteRow* route = context_.route();
    opened_beside_ = route != nullptr ? std::optional(route->id) : std::nullopt;
    refresh();
  });
  refresh();
}

QToolButton* BlockMaskPanel::tool(const QString& text, const QString& tip, const char* name, QWidget* parent) {
  auto* button = new QToolButton(parent);
  button->setText(text);
  button->setToolTip(tip);
  button->setAccessibleName(tip);
  button->setObjectName(name);
  button->setFocusPolicy(Qt::StrongFocus);
  button->setFixedHeight(24);
  button->setMinimumWidth(24);
  set_look(button, "button_small");
  return button;
}

QWidget* BlockMaskPanel::make_controls(QWidget* parent) {
  auto* bar = new QWidget(parent);
  auto* flow = new FlowLayout(8, 5);
  bar->setLayout(flow);
  QSizePolicy policy(QSizePolicy::Preferred, QSizePolicy::Minimum);
  policy.setHeightForWidth(true);
  bar->setSizePolicy(policy);
  const auto cell = [&] {
    auto* made = new QWidget(bar);
    auto* row = new QHBoxLayout(made);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(5);
    flow->addWidget(made);
    return made;
  };
  const auto spin = [&](const QString& name, const char* object, const QString& tip, int width) {
    QWidget* home = cell();
    auto* made = new QSpinBox(home);
    made->setObjectName(object);
    made->setAccessibleName(name);
    made->setToolTip(tip);
    made->setFixedWidth(width);
    auto* text = new QLabel(name, home);
    text->setBuddy(made);
    set_look(text, "dim");
    home->layout()->addWidget(text);
    home->layout()->addWidget(made);
    return made;
  };
  step_ = spin(tr("Step"), "mask_step", tr("The denoising step: the schedule gives it its budget"), 52);
  head_ = spin(tr("Head"), "mask_head",
               tr("The head whose tiles are shown; \"all\" shades tiles by how many heads chose them"), 54);
  head_->setMinimum(-1);
  head_->setSpecialValueText(tr("all"));
  batch_ = spin(tr("Batch"), "mask_batch", tr("The batch element whose tiles are shown"), 46);
  batch_->parentWidget()->hide();
  QWidget* buttons = cell();
  QToolButton* out = tool(QStringLiteral("−"), tr("Zoom out (-)"), "mask_zoom_out", buttons);
  QToolButton* in = tool(QStringLiteral("+"), tr("Zoom in (+, or the wheel)"), "mask_zoom_in", buttons);
  QToolButton* fit = tool(tr("Fit"), tr("Show the whole map (0)"), "mask_fit", buttons);
  for (QToolButton* button : {out, in, fit}) {
    button->setFixedWidth(button == fit ? 38 : 27);
    buttons->layout()->addWidget(button);
  }
  connect(out, &QToolButton::clicked, this, [this] { view_->zoom_out(); });
  connect(in, &QToolButton::clicked, this, [this] { view_->zoom_in(); });
  connect(fit, &QToolButton::clicked, this, [this] { view_->fit(); });
  connect(step_, &QSpinBox::valueChanged, this, [this](int step) {
    refresh();
    context_.choose_step(step, this);
  });
  for (QSpinBox* box : {head_, batch_}) {
    connect(box, &QSpinBox::valueChanged, this, [this] {
      view_->show_head(batch_->value(), head_->value());
      show_facts();
    });
  }
  return bar;
}

QWidget* BlockMaskPanel::make_footer(QWidget* parent) {
  auto* bar = new QWidget(parent);
  auto* rows = new QVBoxLayout(bar);
  rows->setContentsMargins(0, 0, 0, 0);
  rows->setSpacing(6);
  compute_ = new QPushButton(tr("Compute on generated tensors"), bar);
  compute_->setObjectName("mask_compute");
  compute_->setToolTip(
      tr("Generates query and key with the structure of a picture (places and kinds of things) in the\n"
         "shapes of this call and chooses tiles from them. The run's own tensors are not kept."));
  auto* png = new QPushButton(tr("Save PNG…"), bar);
  png->setObjectName("mask_png");
  png->setToolTip(tr("Save the map of this head as a picture"));
  npy_ = new QPushButton(tr("Save .npy…"), bar);
  npy_->setObjectName("mask_npy");
  npy_->setToolTip(tr("Save the kept tiles of all heads as a NumPy array (heads, query tiles, key tiles)"));
  auto* files = new QHBoxLayout;
  files->setSpacing(6);
  files->addWidget(png);
  files->addWidget(npy_);
  files->addStretch(1);
  rows->addWidget(compute_);
  rows->addLayout(files);
  connect(compute_, &QPushButton::clicked, this, &BlockMaskPanel::compute);
  connect(png, &QPushButton::clicked, this,
          [this] { save_as(tr("Save the block mask as a picture"), "png", &BlockMaskPanel::export_png); });
  connect(npy_, &QPushButton::clicked, this,
          [this] { save_as(tr("Save the block mask as a NumPy array"), "npy", &BlockMaskPanel::export_npy); });
  return bar;
}

QWidget* BlockMaskPanel::make_body() {
  auto* body = new QWidget(stack_);
  auto* column = new QVBoxLayout(body);
  column->setContentsMargins(12, 10, 12, 10);
  column->setSpacing(6);
  title_ = new ElidedLabel(body);
  set_look(title_, "title");
  facts_ = new QLabel(body);
  facts_->setObjectName("mask_facts");
  facts_->setWordWrap(true);
  facts_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  set_look(facts_, "dim");
  view_ = new TileView(theme_, body);
  legend_ = new TileLegend(theme_, body);
  note_ = new QLabel(body);
  note_->setObjectName("mask_note");
  note_->setWordWrap(true);
  set_look(note_, "dim");
  column->addWidget(title_);
  column->addWidget(make_controls(body));
  column->addWidget(facts_);
  column->addWidget(view_);
  column->addWidget(legend_);
  column->addWidget(note_);
  column->addWidget(make_footer(body));
  column->addStretch(1);
  return body;
}

QString BlockMaskPanel::title_of(const trace::RouteRow& route) const {
  return QStringLiteral("%1 · q %2 · %3")
      .arg(text_of(name_of(route.id.role)), shape_text(route.id.query), text_of(route.id.backend));
}

void BlockMaskPanel::show_nothing(const QString& headline, const QString& advice) {
  nothing_headline_->setText(headline);
  nothing_advice_->setText(advice);
  stack_->setCurrentIndex(0);
}

void BlockMaskPanel::showEvent(QShowEvent*) { refresh(); }

void BlockMaskPanel::refresh() {
  if (!isVisible()) return;  // it catches up when it is shown
  const trace::RouteRow* route = context_.route();
  if (opened_ && opened_beside_ == (route != nullptr ? std::optional(route->id) : std::nullopt)) return show_opened();
  opened_.reset();
  if (route == nullptr) {
    show_nothing(tr("No route yet"),
                 tr("After a run, the tiles that a self attention of the denoiser keeps are drawn here."));
    return;
  }
  if (!has_tiles_to_choose(*route)) {
    show_nothing(tr("This route has no tiles to choose"),
                 tr("Only self attention of the denoiser is made sparse: as many keys as queries, four dims, not "
                    "causal. Select such a route."));
    return;
  }
  if (!shown_ || !(*shown_ == route->id)) {
    shown_ = route->id;
    computing_ = false;
    written_.clear();
    const QSignalBlocker quiet(step_);
    step_->setMaximum(std::max<int>(0, static_cast<int>(context_.facts().steps) - 1));
    step_->setValue(std::max(route->first_step, (route->first_step + route->last_step) / 2));
    followed_step_.reset();
  }
  if (const std::optional<int> step = context_.step(); step != followed_step_) {
    followed_step_ = step;
    const QSignalBlocker quiet(step_);
    if (step) step_->setValue(*step);
  }
  show_map(*route);
  stack_->setCurrentIndex(1);
}

void BlockMaskPanel::show_map(const trace::RouteRow& route) {
  const SparseOptions options = context_.options();
  const BudgetSchedule schedule{options.budget, options.schedule_bump, options.schedule_steps};
  const double budget = schedule.at(step_->value(), context_.facts().steps);
  const std::int64_t tokens = route.id.query.size[2];
  std::shared_ptr<const BlockSelection> selection = context_.service().tiles_of_run(route, budget);
  TileOrigin origin = TileOrigin::run;
  if (selection == nullptr && generated_ && generated_->route == route.id && generated_->budget == budget &&
      generated_->head_shared == options.head_shared) {
    selection = generated_->selection;
    origin = TileOrigin::generated;
  }
  const TokenLayout* layout = context_.facts().layout_of(tokens);
  Drawn wanted{route.id, budget, selection, layout != nullptr ? std::optional(*layout) : std::nullopt};
  if (!drawn_ || !(*drawn_ == wanted)) {
    view_->set_map(TileMap(tokens, layout, budget, std::move(selection), origin));
    drawn_ = std::move(wanted);
  }
  show_spins();
  title_->setText(title_of(route));
  show_facts();
  show_note(route);
}

void BlockMaskPanel::show_opened() {
  if (opened_->selection == nullptr) return show_nothing(tr("No block mask"), opened_->error);
  const BlockSelection& mask = *opened_->selection;
  const std::int64_t tokens = mask.key_tiles * mask.block_kv;
  drawn_.reset();
  shown_.reset();
  view_->set_map(TileMap(tokens, nullptr, mask.budget, opened_->selection, TileOrigin::file));
  show_spins();
  title_->setText(opened_->name);
  show_facts();
  note_->setText(tr("Out of a file. Choose a route and its tiles are shown again."));
  compute_->setVisible(false);
  npy_->setEnabled(true);
  stack_->setCurrentIndex(1);
}

void BlockMaskPanel::show_spins() {
  const TileMap& map = view_->map();
  const bool of_file = map.origin() == TileOrigin::file;
  step_->setEnabled(!of_file);
  const QSignalBlocker quiet_head(head_);
  const QSignalBlocker quiet_batch(batch_);
  head_->setMaximum(map.heads() - 1);
  head_->setEnabled(map.heads() > 1);
  batch_->setMaximum(map.batches() - 1);
  batch_->parentWidget()->setVisible(map.batches() > 1);
  view_->show_head(batch_->value(), head_->value());
}

void BlockMaskPanel::show_facts() {
  const TileMap& map = view_->map();
  QString density = tr("density %1").arg(map.density(batch_->value(), head_->value()), 0, 'f', 3);
  if (!map.has_tiles()) {
    density += tr(" in every head");
  } else if (map.heads() == 1) {
    density += tr(", one selection for all heads");
  } else {
    density += head_->value() < 0 ? tr(" over %1 heads").arg(map.heads())
                                  : tr(" in head %1 of %2").arg(head_->value()).arg(map.heads());
  }
  const QString keeps = map.origin() == TileOrigin::file ? tr("as written") : keep_text(map.budget());
  facts_->setText(tr("%1 · %2 · %3 × %4 tiles of 128 × 64 tokens")
                      .arg(keeps, density, count_text(map.grid().query_tiles()), count_text(map.grid().key_tiles())));
  legend_->show_kinds(view_->kinds_shown());
}

void BlockMaskPanel::show_note(const trace::RouteRow& route) {
  const TileMap& map = view_->map();
  QStringList said;
  const StageForecast stage = context_.forecast_of(route, context_.options(), step_->value());
  switch (map.origin()) {
    case TileOrigin::geometry:
      said << tr(
          "Planned: pins, drops and the diagonal follow from geometry; which candidates are kept depends on "
          "the tensors.");
      break;
    case TileOrigin::generated:
      said << tr("Chosen on generated tensors in %1.").arg(seconds_text(generated_->seconds));
      break;
    case TileOrigin::run:
      said << tr("The tiles that the last run used.");
      break;
    case TileOrigin::file:
      break;  // has a note of its own
  }
  if (!stage.selects) said << tr("As set, the stage leaves this call dense: %1.").arg(stage.reason);
  if (!map.layout_published()) said << tr("No token layout of this length was published: all of it counts as image.");
  if (generated_ && generated_->route == route.id && !generated_->error.isEmpty()) said << generated_->error;
  if (!written_.isEmpty()) said << written_;
  note_->setText(said.join(' '));
  compute_->setText(computing_ ? tr("Computing…") : tr("Compute on generated tensors"));
  compute_->setEnabled(!computing_);
  compute_->setVisible(map.origin() == TileOrigin::geometry);
  npy_->setEnabled(map.has_tiles());
}

void BlockMaskPanel::compute() {
  const trace::RouteRow* route = context_.route();
  if (route == nullptr || !has_tiles_to_choose(*route)) return;
  computing_ = true;
  generated_.reset();
  context_.service().choose_tiles({*route, view_->map().budget(), context_.options().head_shared});
  show_note(*route);
}

void BlockMaskPanel::take(const ChosenTiles& tiles) {
  if (!shown_ || !(tiles.route == *shown_)) return;
  computing_ = false;
  generated_ = tiles;
  refresh();
}

Expected<void> BlockMaskPanel::export_png(const QString& path) const {
  const TileMap& map = view_->map();
  if (map.empty()) return fail("no route with tiles is selected");
  QByteArray bytes;
  QBuffer buffer(&bytes);
  const QString head = view_->head() < 0 ? tr("all heads") : tr("head %1").arg(view_->head());
  const QImage picture = view_->picture(title_->text() + " · " + head + " · " + tr("step %1").arg(step_->value()) +
                                        " · " + keep_text(map.budget()));
  if (!buffer.open(QIODevice::WriteOnly) || !picture.save(&buffer, "PNG")) return fail("the picture cannot be encoded");
  return write_whole_file(path, bytes);
}

Expected<void> BlockMaskPanel::export_npy(const QString& path) const {
  const TileMap& map = view_->map();
  if (!map.has_tiles()) return fail("there are no tiles to write; compute them first");
  const std::vector<std::uint8_t> keep = map.keep(batch_->value());
  return write_whole_file(path, npy_of_bools(keep, {map.heads(), map.grid().query_tiles(), map.grid().key_tiles()}));
}

void BlockMaskPanel::save_as(const QString& title, const QString& suffix,
                             Expected<void> (BlockMaskPanel::*write)(const QString&) const) {
  auto* dialog = new QFileDialog(this, title);
  dialog->setObjectName("mask_save");
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setAcceptMode(QFileDialog::AcceptSave);
  dialog->setNameFilter(QStringLiteral("*.") + suffix);
  dialog->setDefaultSuffix(suffix);
  dialog->selectFile(QStringLiteral("block-mask.") + suffix);
  connect(dialog, &QFileDialog::fileSelected, this, [this, write](const QString& path) {
    const Expected<void> done = (this->*write)(path);
    written_ = done ? tr("Written: %1.").arg(path) : text_of(done.error()) + '.';
    if (const trace::RouteRow* route = context_.route()) show_note(*route);
  });
  dialog->open();
}

}  // namespace attn::ui
