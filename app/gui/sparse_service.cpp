// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/sparse_service.h"

#include "app/gui/preview_service.h"
#include "app/gui/sweep_job.h"
#include "app/jobs/profile/profile_job.h"
#include "app/jobs/sparse/headline.h"
#include "app/jobs/sparse/structured_tensors.h"
#include "app/jobs/sparse/threads.h"
#include "app/jobs/tensors/generated.h"
#include "core/call/call_text.h"
#include "core/layout/layout_reader.h"
#include "core/sparse/selector.h"
#include "ui/block_mask/npy_file.h"
#include "ui/format/format.h"

#include <QFile>
#include <QFileInfo>
#include <algorithm>
#include <chrono>

namespace attn::app {

namespace {

Expected<BlockSelection> choose(const AttentionCall& call, const std::optional<TokenLayout>& layout, double budget,
                                bool head_shared, double& seconds) {
  if (auto fits = check_memory(call, 0, available_memory()); !fits) return fail(fits.error());
  StructureOptions structure;
  structure.layout = layout;
  const auto tensors = structured_tensors(call, structure);
  if (!tensors) return fail(tensors.error());
  const std::int64_t tokens = call.query_tokens();
  const LayoutTiles marks(layout ? *layout : prefix_layout(tokens), TileGrid{tokens, tokens});
  SelectorRequest request;
  request.budget = budget;
  request.head_shared = head_shared;
  request.force = true;
  request.parallel_for = on_all_threads();
  BlockSelection selection;
  const auto begin = std::chrono::steady_clock::now();
  const Expected<bool> selected = select_tiles(tensors->call.query, tensors->call.key, marks, request, selection);
  seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (!selected) return fail(selected.error());
  return selection;
}

/// A mask of a square sequence, whose tiles are 128 queries by 64 keys.
Expected<BlockSelection> selection_of_npy(const QByteArray& bytes) {
  auto array = ui::bools_of_npy(bytes);
  if (!array) return fail(array.error());
  std::vector<std::int64_t> shape = array->shape;
  if (shape.size() < 2 || shape.size() > 4) {
    return fail("it has " + std::to_string(shape.size()) + " dims, a block mask has heads, query tiles and key tiles");
  }
  while (shape.size() < 4) shape.insert(shape.begin(), 1);
  BlockSelection out;
  out.batch = shape[0];
  out.heads = shape[1];
  out.query_tiles = shape[2];
  out.key_tiles = shape[3];
  if (out.key_tiles != 2 * out.query_tiles && out.key_tiles != 2 * out.query_tiles - 1) {
    return fail("its " + std::to_string(out.query_tiles) + " × " + std::to_string(out.key_tiles) +
                " tiles are no square of tokens: tiles are 128 × 64, so there are twice as many key tiles");
  }
  out.keep = std::move(array->values);
  out.density =
      static_cast<double>(std::count(out.keep.begin(), out.keep.end(), 1)) / static_cast<double>(out.keep.size());
  out.budget = out.density;
  return out;
}

}  // namespace

GuiSparseService::GuiSparseService(Engine& engine, GuiJobControl& jobs, const trace::Collector& collector,
                                   const SelectionKeeper& selections, QObject* parent)
    : ui::SparseService(parent),
      engine_(engine),
      jobs_(jobs),
      collector_(collector),
      selections_(selections),
      postbox_(this) {
  // The key that the stage would be asked with, made the way a generation makes it.
  const auto add = [this](const QString& id, const QString& name, const PipelineInfo& pipeline) {
    GenerationContext context;
    context.begin(pipeline, 1);
    models_.push_back({id, name, *context.model()});
  };
  add(GuiPreviewService::model_id(), GuiPreviewService::model_name(), jobs_.pictures().pipeline());
  for (const Profile& profile : jobs_.library().profiles()) {
    add(ui::text_of(profile.id()), ui::text_of(profile.name()),
        {profile.pipeline(), profile.class_in("transformer"), profile.class_in("unet"), profile.architecture()});
  }
}

GuiSparseService::~GuiSparseService() = default;

ui::SparseServed GuiSparseService::served() const {
  const SparseHeadline headline = sparse_headline(engine_.registry(), *engine_.plan(), collector_.snapshot());
  // In the window the command's answer stands beside the route table.
  const QString reason =
      ui::text_of(headline.reason).replace("`attnctl explain` says why", tr("Explain says why for the selected route"));
  return {headline.on, headline.served, headline.calls, reason};
}

std::shared_ptr<const BlockSelection> GuiSparseService::tiles_of_run(const trace::RouteRow& route,
                                                                     double budget) const {
  return selections_.find(route.id.role, route.id.query, route.id.dtype, budget);
}

Expected<AttentionCall> GuiSparseService::plain_call(const trace::RouteRow& route) const {
  const auto written = parse_call(ui::written_call(route, engine_.plan()->target().is_cpu()));
  if (!written) return fail(written.error());
  AttentionCall call = written->call;
  for (TensorView* view : {&call.query, &call.key, &call.value}) {
    if (view->rank != 4) return fail("only calls of four dims have tiles to choose");
    *view =
        TensorView::contiguous({view->size(0), view->size(1), view->size(2), view->size(3)}, view->dtype, view->device);
  }
  call.attn_mask.reset();
  return call;
}

void GuiSparseService::choose_tiles(const ui::TileRequest& request) {
  const std::uint64_t number = ++newest_request_;
  std::optional<TokenLayout> layout;
  const ui::RunFacts facts = last_run();
  if (const TokenLayout* published = facts.layout_of(request.route.id.query.size[2])) layout = *published;
  worker_.post([this, number, request, layout, call = plain_call(request.route), address = postbox_.address()] {
    if (number != newest_request_) return;
    ui::ChosenTiles out{request.route.id, request.budget, request.head_shared, nullptr, 0.0, {}};
    auto chosen = call ? choose(*call, layout, request.budget, request.head_shared, out.seconds) : fail(call.error());
    if (chosen) {
      out.selection = std::make_shared<const BlockSelection>(std::move(*chosen));
    } else {
      out.error = ui::text_of(chosen.error()) + '.';
    }
    address.post([this, number, out] {
      if (number == newest_request_) emit tiles_chosen(out);
    });
  });
}

void GuiSparseService::open_mask(const QString& path) {
  worker_.post([this, path, address = postbox_.address()] {
    ui::OpenedMask out{QFileInfo(path).fileName(), nullptr, {}};
    QFile file(path);
    const bool read = file.open(QIODevice::ReadOnly);
    auto selection = read ? selection_of_npy(file.readAll()) : fail(ui::utf8_of(file.errorString()));
    if (selection) {
      out.selection = std::make_shared<const BlockSelection>(*std::move(selection));
    } else {
      out.error = tr("%1 was not opened: %2.").arg(out.name, ui::text_of(selection.error()));
    }
    address.post([this, out] { emit mask_opened(out); });
  });
}

Expected<void> GuiSparseService::sweep(const trace::RouteRow& route, bool head_shared) {
  auto call = plain_call(route);
  if (!call) return fail(call.error());
  SweepJobRequest request{route.id, *call, std::nullopt, head_shared, {}};
  const ui::RunFacts facts = last_run();
  if (const TokenLayout* layout = facts.layout_of(call->query_tokens())) request.layout = *layout;
  if (route.id.masked) request.notes << tr("Measured without the call's mask.");
  const auto publish = [this, address = postbox_.address()](const ui::SweepState& state) {
    address.post([this, state] {
      sweep_ = state;
      emit sweep_changed();
    });
  };
  return jobs_.start(make_sweep_job(std::move(request), publish), {.new_run = false, .noun = tr("measurement")});
}

}  // namespace attn::app
