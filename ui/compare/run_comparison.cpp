// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/compare/run_comparison.h"

#include "ui/format/format.h"

#include <QCoreApplication>
#include <algorithm>

namespace attn::ui {

namespace {

QString said(const char* text) { return QCoreApplication::translate("Compare", text); }

SettingChange change_of(const QString& label, const QString& before, const QString& after) {
  return {{}, label, before, after, label + ' ' + before + QStringLiteral(" → ") + after};
}

QString work_text(Work work) {
  switch (work) {
    case Work::planned:
      return said("planned, routes only");
    case Work::representatives:
      return said("computed, one call per route");
    case Work::all:
      break;
    case Work::compiled:
      return said("computed, every call, compiled");
  }
  return said("computed, every call");
}

QString on_off(bool on) { return on ? said("on") : said("off"); }

void picture_changes(const PictureRequest& a, const PictureRequest& b, std::vector<SettingChange>& changes) {
  const auto add = [&](const QString& label, const QString& before, const QString& after) {
    if (before != after) changes.push_back(change_of(label, before, after));
  };
  const auto quoted = [](const QString& text) {
    return text.isEmpty() ? said("none") : QStringLiteral("“%1”").arg(text);
  };
  add(said("Prompt"), quoted(a.prompt), quoted(b.prompt));
  add(said("Negative prompt"), quoted(a.negative_prompt), quoted(b.negative_prompt));
  add(said("Seed"), QString::number(a.seed), QString::number(b.seed));
  add(said("Width"), QString::number(a.width), QString::number(b.width));
  add(said("Height"), QString::number(a.height), QString::number(b.height));
  add(said("Steps"), QString::number(a.steps), QString::number(b.steps));
  add(said("Guidance"), QString::number(a.guidance), QString::number(b.guidance));
  const auto second = [](const PictureRequest& request) {
    return request.second ? QStringLiteral("%1 × %2, %3")
                                .arg(request.second->width)
                                .arg(request.second->height)
                                .arg(counted(request.second->steps, said("step")))
                          : said("off");
  };
  add(said("High-resolution pass"), second(a), second(b));
  add(said("Attention dtype"), text_of(short_name_of(a.dtype)), text_of(short_name_of(b.dtype)));
  add(said("Trimmed text"), on_off(a.trimmed_text), on_off(b.trimmed_text));
  add(said("Compiled"), on_off(a.compiled), on_off(b.compiled));
}

PartChange& part_of(std::vector<PartChange>& parts, Role role, int step) {
  const auto at = std::find_if(parts.begin(), parts.end(),
                               [&](const PartChange& part) { return part.role == role && part.step == step; });
  if (at != parts.end()) return *at;
  PartChange part;
  part.role = role;
  part.step = step;
  part.name = step < 0 ? text_of(name_of(role)) : said("step %1").arg(step);
  parts.push_back(std::move(part));
  return parts.back();
}

void add_run(const CallIndex& run, const trace::TraceSnapshot& snapshot, bool now, RunComparison& out) {
  const auto add = [&](PartChange& part, const CallIndex::Part& calls) {
    (now ? part.calls_now : part.calls_then) += calls.calls;
    (now ? part.now : part.then)
        .add({calls.each.seconds * static_cast<double>(calls.calls), calls.each.known, calls.each.scaled});
  };
  for (const auto& [key, steps] : run.calls()) {
    for (const auto& [step, parts] : steps) {
      for (const CallIndex::Part& part : parts) {
        const Role role = snapshot.routes[part.route].id.role;
        add(out.total, part);
        add(part_of(out.roles, role, -1), part);
        if (role == Role::transformer) add(part_of(out.steps, role, step), part);
      }
    }
  }
}

void add_moved(const RouteMatch& match, const ArchivedRun& then, const ArchivedRun& now, RunComparison& out) {
  for (const RouteFlow& flow : match.flows()) {
    if (flow.then == RouteFlow::kNone) {
      out.new_calls += flow.calls_now;
      continue;
    }
    if (flow.now == RouteFlow::kNone) {
      out.gone_calls += flow.calls_then;
      continue;
    }
    const trace::RouteRow& before = then.trace.routes[flow.then];
    const trace::RouteRow& after = now.trace.routes[flow.now];
    if (flow.calls_now == 0 || before.id.backend == after.id.backend) continue;
    out.moved_calls += flow.calls_now;
    out.moved.push_back({after.id.role, shape_text(after.id.query) + ' ' + dtype_text(after),
                         text_of(before.id.backend), text_of(after.id.backend), flow.calls_now, flow.time_then,
                         flow.time_now});
    if (after.id.key != after.id.query) out.moved.back().call.prepend("q ").append(", k " + shape_text(after.id.key));
  }
  std::stable_sort(out.moved.begin(), out.moved.end(),
                   [](const MovedCalls& a, const MovedCalls& b) { return a.calls > b.calls; });
}

}  // namespace

QString RunComparison::sentence() const {
  QStringList parts;
  parts << (moved_calls == 0 ? said("No call moved to another backend")
                             : said("%1 of %2 moved to another backend")
                                   .arg(count_text(moved_calls), counted(total.calls_now, said("call"))));
  if (new_calls > 0) parts << said("%1 of kinds that the baseline has not").arg(counted(new_calls, said("call")));
  if (gone_calls > 0) parts << said("%1 of the baseline are gone").arg(counted(gone_calls, said("call")));
  parts << (settings.empty()
                ? said("no setting differs")
                : (settings.size() == 1 ? said("1 setting differs") : said("%1 settings differ").arg(settings.size())));
  return parts.join(", ") + '.';
}

QString untimed_reason(const PartChange& total) {
  if (total.timed()) return {};
  const bool no_then = !total.then.known || total.calls_then == 0;
  const bool no_now = !total.now.known || total.calls_now == 0;
  if (no_then && no_now) return said("Neither run was computed, so there are no times: choose computed beside Run.");
  return no_then ? said("The baseline was planned only, so it has no times: compare with a computed run.")
                 : said("This run was planned only, so it has no times: choose computed beside Run.");
}

std::vector<SettingChange> request_changes(const ArchivedRun& then, const ArchivedRun& now,
                                           const std::vector<ModelInfo>& models) {
  std::vector<SettingChange> changes;
  if (then.request.model != now.request.model) changes.push_back(change_of(said("Model"), then.model, now.model));
  const auto label_of = [&](const QString& key) {
    for (const ModelInfo& model : models) {
      if (model.id != now.request.model) continue;
      for (const ModelInput& input : model.inputs) {
        if (input.key == key) return input.label;
      }
    }
    return key;
  };
  for (const auto& [key, value] : now.request.inputs) {
    const auto old = then.request.inputs.find(key);
    // An input that only one of two models has is no difference that anybody chose.
    if (old == then.request.inputs.end() || old->second == value) continue;
    changes.push_back(change_of(label_of(key), QString::number(old->second), QString::number(value)));
  }
  if (then.request.picture && now.request.picture) {
    picture_changes(*then.request.picture, *now.request.picture, changes);
  } else if (!then.request.picture && !now.request.picture && then.request.work != now.request.work) {
    changes.push_back(change_of(said("Computed"), work_text(then.request.work), work_text(now.request.work)));
  }
  return changes;
}

RunComparison compare_runs(const ArchivedRun& then, const ArchivedRun& now, const std::vector<OptionSpec>& specs,
                           const std::vector<ModelInfo>& models) {
  RunComparison out;
  out.then_title = then.title();
  out.now_title = now.title();
  out.whole = then.finished() && now.finished();
  if (!now.finished()) {
    out.part = said("Run #%1 %2: what follows compares a part with the whole baseline.")
                   .arg(QString::number(now.number), now.where);
  }
  out.chain_then = then.chain;
  out.chain_now = now.chain;
  out.settings = request_changes(then, now, models);
  for (SettingChange& change : changes_between(specs, then.settings, now.settings)) {
    out.settings.push_back(std::move(change));
  }
  const CallIndex before(then.trace);
  const CallIndex after(now.trace);
  out.total.name = said("all calls");
  add_run(before, then.trace, false, out);
  add_run(after, now.trace, true, out);
  std::stable_sort(out.roles.begin(), out.roles.end(),
                   [](const PartChange& a, const PartChange& b) { return rank_of(a.role) < rank_of(b.role); });
  std::stable_sort(out.steps.begin(), out.steps.end(),
                   [](const PartChange& a, const PartChange& b) { return a.step < b.step; });
  add_moved(RouteMatch(before, after), then, now, out);
  return out;
}

}  // namespace attn::ui
