// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/chain_bar/chain_diff.h"

#include "backends/all.h"
#include "ui/link/option_state.h"

#include <QtTest>

using namespace attn;
using namespace attn::ui;

namespace {

Target card() {
  Target target;
  target.name = "rtx-3090";
  target.label = "NVIDIA RTX 3090";
  target.platform = "cuda";
  target.capability = 86;
  target.memory_bytes = std::int64_t{24} << 30;
  return target;
}

QStringList printed(const std::vector<ChainLink>& links) {
  QStringList lines;
  for (const ChainLink& link : links) {
    const char* state =
        link.state == ChainLink::State::stays ? "" : (link.state == ChainLink::State::joins ? "+" : "-");
    lines << state + link.name + (link.calls > 0 ? QString(" %1").arg(link.calls) : QString());
  }
  return lines;
}

}  // namespace

class ChainDiffTest : public QObject {
  Q_OBJECT

 private slots:
  void the_wanted_chain_is_drawn_into_the_one_in_force() {
    Engine engine(make_registry(), card());
    QVERIFY(engine.set(keys::overrides, OptionList{"SDNQ attention", "Sage attention", "Flash attention"}).has_value());
    const auto applied = engine.plan();
    Pipe pipe;
    trace::TraceSnapshot run;
    trace::RouteRow row;
    row.executed = "sdnq";
    row.calls = 3;
    run.routes.push_back(row);
    run.calls = 4;
    {
      auto job = engine.begin_job(pipe, 1, nullptr, false);
      QVERIFY(job.has_value());
      QVERIFY(
          engine.set(keys::overrides, OptionList{"SDNQ attention", "Flex attention", "Flash attention"}).has_value());
      const auto links = chain_links(engine.registry(), *engine.plan(), *engine.wanted_plan(), run);
      QCOMPARE(printed(links), (QStringList{"sdnq 3", "-sage", "flash", "+flex", "sdpa"}));
      QCOMPARE(links[0].share, 0.75);
      QVERIFY(links[3].note.contains("block mask"));
    }
    QCOMPARE(printed(chain_links(engine.registry(), *engine.plan(), *engine.wanted_plan(), run)),
             (QStringList{"sdnq 3", "flash", "flex", "sdpa"}));
    QVERIFY(engine.plan() != applied);
  }

  void a_terminal_takes_the_place_of_the_original() {
    Engine engine(make_registry(), card());
    Pipe pipe;
    auto job = engine.begin_job(pipe, 1, nullptr, false);
    QVERIFY(engine.set(keys::overrides, OptionList{"Dynamic attention"}).has_value());
    QCOMPARE(printed(chain_links(engine.registry(), *engine.plan(), *engine.wanted_plan(), {})),
             (QStringList{"+dynamic", "-sdpa"}));
  }

  void option_states_tell_wanted_applied_and_default_apart() {
    Engine engine(make_registry(), card());
    Pipe pipe;
    auto job = engine.begin_job(pipe, 1, nullptr, false);
    QVERIFY(engine.set("sparse_attention_budget", std::int64_t{50}).has_value());
    const OptionStates states = option_states(engine);
    const OptionState* budget = find_state(states, "sparse_attention_budget");
    QVERIFY(budget != nullptr);
    QVERIFY(budget->edited);
    QVERIFY(!budget->changed);
    QCOMPARE(QString::fromStdString(value_text(budget->wanted)), QString("50"));
    QCOMPARE(QString::fromStdString(value_text(budget->applied)), QString("30"));
    QCOMPARE(QString::fromStdString(short_label(budget->spec)), QString("KV budget"));
    QCOMPARE(QString::fromStdString(short_label(find_state(states, "sparse_attention_enabled")->spec)),
             QString("Enabled"));
    QVERIFY(find_state(states, "no_such_key") == nullptr);
  }

  void a_list_keeps_what_it_does_not_know() {
    OptionState state;
    state.spec.choices = {"a", "b", "c"};
    state.wanted = OptionList{"c", "old spelling"};
    QVERIFY(std::get<OptionList>(with_item(state, "a", true)) == (OptionList{"a", "c", "old spelling"}));
    QVERIFY(std::get<OptionList>(with_item(state, "c", false)) == (OptionList{"old spelling"}));
  }
};

QTEST_GUILESS_MAIN(ChainDiffTest)
#include "chain_diff_test.moc"
