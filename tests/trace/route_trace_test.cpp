// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/context/generation_context.h"
#include "support/oracle.h"
#include "trace/routes/route_table.h"
#include "trace/text/route_text.h"

#include <QtTest>

#include <memory>
#include <string>
#include <vector>

using attn::test::oracle;
using attn::test::q;
using nlohmann::json;

namespace {

attn::TensorView view_of(const json& tensor) {
  attn::TensorView view;
  view.rank = static_cast<std::uint8_t>(tensor.at("shape").size());
  for (std::size_t i = 0; i < view.rank; ++i) {
    view.shape[i] = tensor.at("shape")[i].get<std::int64_t>();
    view.stride[i] = tensor.at("stride")[i].get<std::int64_t>();
  }
  if (tensor.contains("dtype")) view.dtype = attn::parse_dtype(tensor.at("dtype").get<std::string>()).value();
  return view;
}

/// What a generation's thread does, with the real context, events and table.
class Player {
 public:
  /// The lines that `event` logs.
  std::vector<std::string> play(const json& event) {
    const auto name = event.at(0).get<std::string>();
    if (name == "begin") {
      begin(event);
    } else if (name == "tick") {
      event.size() > 1 ? context_.tick(event.at(1).get<std::int64_t>()) : context_.tick();
    } else if (name == "set_role") {
      context_.set_role(attn::parse_role(event.at(1).get<std::string>()).value());
    } else if (name == "role_push") {
      const attn::Role role = attn::parse_role(event.at(1).get<std::string>()).value();
      scopes_.push_back(std::make_unique<attn::RoleScope>(context_, role));
    } else if (name == "role_pop") {
      scopes_.pop_back();
    } else if (name == "observe") {
      return observe(event.at(1));
    } else if (name == "end") {
      return end();
    } else if (name == "reset") {
      table_.reset();
    } else {
      qFatal("the oracle has an event that this test does not know: %s", name.c_str());
    }
    return {};
  }
  [[nodiscard]] const attn::trace::RouteTable& table() const { return table_; }

 private:
  void begin(const json& event) {
    const json& pipe = event.at(1);
    std::optional<attn::PipelineInfo> info;
    if (!pipe.is_null()) {
      info.emplace();
      info->pipeline_class = pipe.at("class").get<std::string>();
      if (pipe.contains("transformer")) info->transformer = pipe.at("transformer").get<std::string>();
    }
    context_.begin(info, event.at(2).get<std::int64_t>());
  }

  std::vector<std::string> observe(const json& seen) {
    attn::AttentionCall call;
    call.query = view_of(seen.at("q"));
    call.key = view_of(seen.at("k"));
    call.value = call.key;
    if (seen.at("mask").get<bool>()) call.attn_mask = attn::TensorView::contiguous({1}, attn::DType::boolean);
    const auto name = seen.at("name").get<std::string>();
    const std::size_t plus = name.find("+sparse");
    const std::string backend = name.substr(0, plus);
    const attn::BlockSelection selection;
    const attn::RouteRecord record{call,
                                   backend,
                                   backend,
                                   backend,
                                   "",
                                   plus == std::string::npos ? nullptr : &selection,
                                   context_.role(),
                                   context_.step(),
                                   false,
                                   0,
                                   0};
    const attn::trace::RouteEvent event = attn::trace::make_event(record);
    if (!table_.add(event)) return {};
    return {attn::trace::route_line(attn::trace::identity_of(event), event.step)};
  }

  std::vector<std::string> end() {
    context_.end();
    std::vector<std::string> lines;
    for (const attn::trace::RouteRow& row : table_.by_calls()) lines.push_back(attn::trace::routes_line(row));
    table_.clear_counts();
    return lines;
  }

  attn::GenerationContext context_;
  std::vector<std::unique_ptr<attn::RoleScope>> scopes_;
  attn::trace::RouteTable table_;
};

}  // namespace

class RouteTraceTest : public QObject {
  Q_OBJECT

 private slots:
  void contiguity_is_torchs();
  void every_trace_logs_the_oracles_lines_data();
  void every_trace_logs_the_oracles_lines();
  void the_oracle_is_whole();
};

void RouteTraceTest::contiguity_is_torchs() {
  const json cases = oracle("trace.json").at("contiguity");
  QCOMPARE(cases.size(), std::size_t{23});
  for (const json& one : cases) {
    QVERIFY2(view_of(one).is_contiguous() == one.at("contiguous").get<bool>(), one.dump().c_str());
  }
}

void RouteTraceTest::every_trace_logs_the_oracles_lines_data() {
  QTest::addColumn<int>("index");
  int index = 0;
  const json whole = oracle("trace.json");
  for (const json& trace : whole.at("traces")) {
    QTest::newRow(trace.at("name").get<std::string>().c_str()) << index++;
  }
}

void RouteTraceTest::every_trace_logs_the_oracles_lines() {
  QFETCH(int, index);
  const json whole = oracle("trace.json");
  const json& trace = whole.at("traces").at(static_cast<std::size_t>(index));
  Player player;
  for (const json& step : trace.at("events")) {
    const auto wanted = step.at("lines").get<std::vector<std::string>>();
    const std::vector<std::string> lines = player.play(step.at("event"));
    QCOMPARE(lines.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) QCOMPARE(q(lines[i]), q(wanted[i]));
  }
  QCOMPARE(player.table().seen(), trace.at("seen").get<std::size_t>());
  QCOMPARE(player.table().by_calls().size(), trace.at("pending_counts").get<std::size_t>());
}

void RouteTraceTest::the_oracle_is_whole() {
  const json traces = oracle("trace.json").at("traces");
  std::size_t events = 0;
  for (const json& trace : traces) events += trace.at("events").size();
  QCOMPARE(traces.size(), std::size_t{12});
  QCOMPARE(events, std::size_t{117});
}

QTEST_GUILESS_MAIN(RouteTraceTest)
#include "route_trace_test.moc"
