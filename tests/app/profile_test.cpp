// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/profile/profile.h"
#include "app/jobs/profile/expression.h"
#include "support/oracle.h"

#include <QtTest>
#include <map>
#include <set>

using attn::app::Expression;
using attn::app::Profile;
using attn::app::ProfileCall;
using attn::app::ProfileInputs;
using attn::app::ProfileLibrary;
using attn::test::q;
using nlohmann::json;

namespace {

/// calls, batch, heads, kv_heads, q, kv, head_dim, mask, causal: the columns of a recording.
using Group = std::array<std::int64_t, 9>;

const std::string& models_text() {
  static const std::string text = attn::test::file_bytes(ATTN_SOURCE "/resources/models/models.json");
  return text;
}

json models_json() { return json::parse(models_text()); }

ProfileInputs inputs_of(const json& object) {
  ProfileInputs inputs;
  for (const auto& [name, value] : object.items()) inputs[name] = value.get<double>();
  return inputs;
}

/// The groups that the profile says, by everything but the calls.
std::set<Group> stated_groups(const std::vector<ProfileCall>& calls, const json& traced) {
  std::map<Group, std::int64_t> sums;
  for (const ProfileCall& call : calls) {
    if (call.slot != traced["slot"] || call.pass != traced["pass"] || !call.sdpa) continue;
    const bool whole_decode = call.role == "vae_decoder";
    sums[{0, call.batch, call.heads, call.kv_heads, call.query_tokens, call.key_tokens, call.head_dim,
          call.mask ? 1 : 0, call.causal ? 1 : 0}] += call.calls * (whole_decode ? call.runs : 1);
  }
  std::set<Group> groups;
  for (const auto& [key, calls_sum] : sums) {
    Group group = key;
    group[0] = calls_sum;
    if (calls_sum != 0) groups.insert(group);
  }
  return groups;
}

std::set<Group> recorded_groups(const json& traced) {
  std::set<Group> groups;
  for (const json& group : traced["groups"]) groups.insert(group.get<Group>());
  return groups;
}

/// A partial recording was made with fewer layers or smaller heads: its calls and head_dim do not count.
std::set<Group> without_calls_and_head_dim(const std::set<Group>& groups) {
  std::set<Group> cut;
  for (Group group : groups) {
    group[0] = group[6] = 0;
    cut.insert(group);
  }
  return cut;
}

QString text_of(const std::set<Group>& groups) {
  return q(json(std::vector<Group>(groups.begin(), groups.end())).dump());
}

/// The whole file with one model changed by `change`.
std::string error_after(std::string_view id, const std::function<void(json& model)>& change) {
  json file = models_json();
  for (json& model : file["models"]) {
    if (model["id"] == id) change(model);
  }
  const auto library = ProfileLibrary::parse(file.dump(), "models.json");
  return library ? std::string() : library.error();
}

}  // namespace

class ProfileTest : public QObject {
  Q_OBJECT

 private slots:
  void expressions_follow_the_grammar_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<double>("value");
    const auto row = [](const char* text, double value) { QTest::newRow(text) << QString(text) << value; };
    row("1", 1);
    row("0.5", 0.5);
    row("a", 7);
    row("a+b*2", 13);
    row("(a+b)*2", 20);
    row("a-b-1", 3);
    row("a/2/7", 0.5);
    row("ceil(a/2)", 4);
    row("floor(a/2)", 3);
    row("min(a,b)", 3);
    row("max(a, min(b,100))", 7);
    row(" a + b ", 10);
    row("ceil(floor(a/2)/2)*2", 4);
    row("a_1", 11);
  }
  void expressions_follow_the_grammar() {
    QFETCH(QString, text);
    QFETCH(double, value);
    const auto parsed = Expression::parse(text.toStdString());
    QVERIFY2(parsed.has_value(), parsed ? "" : parsed.error().c_str());
    const auto result = parsed->evaluate({{"a", 7}, {"b", 3}, {"a_1", 11}});
    QVERIFY2(result.has_value(), result ? "" : result.error().c_str());
    QCOMPARE(*result, value);
  }

  void what_leaves_the_grammar_is_refused_data() {
    QTest::addColumn<QString>("text");
    for (const char* text : {"",        " ",   "1+",  "+1",   "-1",  "a b",    "1 2",        "1.",        ".5",
                             "1e3",     "2a",  "(1",  "1)",   "a()", "min(1)", "min(1,2,3)", "ceil(1,2)", "round(1)",
                             "sqrt(a)", "a^2", "a%2", "a//2", "a=1", "1,2",    "\"a\"",      "a[0]",      "a.b"}) {
      QTest::newRow(text) << QString(text);
    }
    QTest::newRow("deep") << QString(100000, '(') + "1" + QString(100000, ')');
  }
  void what_leaves_the_grammar_is_refused() {
    QFETCH(QString, text);
    const auto parsed = Expression::parse(text.toStdString());
    QVERIFY(!parsed.has_value());
    QVERIFY2(parsed.error().find("is needed") != std::string::npos, parsed.error().c_str());
  }

  void evaluation_names_what_is_missing_and_division_by_zero() {
    QVERIFY(Expression::parse("a+c")->evaluate({{"a", 1}}).error().find("c has no value") != std::string::npos);
    QVERIFY(Expression::parse("1/(a-a)")->evaluate({{"a", 1}}).error().find("divides by zero") != std::string::npos);
  }

  void the_file_is_right_by_its_own_rule() {
    const json file = models_json();
    const auto library = ProfileLibrary::parse(models_text(), "models.json");
    QVERIFY2(library.has_value(), library ? "" : library.error().c_str());
    QCOMPARE(library->profiles().size(), std::size_t{53});

    int checks = 0;
    int numbers = 0;
    int recordings = 0;
    std::set<std::string> ids;
    for (std::size_t i = 0; i < file["models"].size(); ++i) {
      const json& model = file["models"][i];
      const Profile& profile = library->profiles()[i];
      const QString id = q(profile.id());
      QCOMPARE(id, q(model["id"].get<std::string>()));
      QVERIFY2(ids.insert(profile.id()).second, profile.id().c_str());
      for (const auto& [name, value] : profile.defaults()) QVERIFY2(library->input_help().contains(name), name.c_str());

      for (const json& check : model["checks"]) {
        ++checks;
        const ProfileInputs inputs = inputs_of(check["inputs"]);
        const auto values = profile.values(inputs);
        QVERIFY2(values.has_value(), values ? "" : values.error().c_str());
        for (const auto& [name, expected] : check["expect"].items()) {
          ++numbers;
          const auto found = values->find(name);
          QVERIFY2(found != values->end(), qPrintable(id + " " + q(name)));
          QVERIFY2(found->second == expected.get<double>(), qPrintable(id + " " + q(name)));
        }
        const auto calls = profile.calls(inputs);
        QVERIFY2(calls.has_value(), calls ? "" : calls.error().c_str());
        for (const ProfileCall& call : *calls) {
          QCOMPARE(call.heads % call.kv_heads, std::int64_t{0});
          QVERIFY((std::set<std::string>{"text_encoder", "connector", "denoiser", "vae_decoder"}.contains(call.role)));
          QVERIFY((std::set<std::string>{"self", "cross", "joint", "pool"}.contains(call.kind)));
        }
        for (const json& traced : check.value("traced", json::array())) {
          ++recordings;
          std::set<Group> stated = stated_groups(*calls, traced);
          std::set<Group> recorded = recorded_groups(traced);
          QVERIFY(!recorded.empty());
          if (traced["partial"].get<bool>()) {
            stated = without_calls_and_head_dim(stated);
            recorded = without_calls_and_head_dim(recorded);
          }
          QVERIFY2(stated == recorded, qPrintable(id + " " + q(traced["slot"].get<std::string>()) + " " +
                                                  q(traced["pass"].get<std::string>()) + "\nprofile  " +
                                                  text_of(stated) + "\nrecorded " + text_of(recorded)));
        }
      }
    }
    QCOMPARE(checks, 142);
    QCOMPARE(numbers, 266);
    QCOMPARE(recordings, 80);
  }

  void flux_at_1024_is_57_joint_calls_a_step() {
    const auto library = ProfileLibrary::parse(models_text(), "models.json");
    const auto profile = library->find("FLUX.1-Dev");
    QVERIFY(profile.has_value());
    const auto calls = (*profile)->calls({{"steps", 4}});
    std::int64_t denoiser = 0;
    for (const ProfileCall& call : *calls) {
      if (call.role != "denoiser") continue;
      denoiser += call.runs * call.calls;
      QCOMPARE(call.query_tokens, std::int64_t{4608});
      QCOMPARE(call.query_stream_tokens, (std::vector<std::int64_t>{512, 4096}));
    }
    QCOMPARE(denoiser, std::int64_t{4 * 57});
    QCOMPARE(q((*profile)->denoiser_class().value()), QString("FluxTransformer2DModel"));
    QCOMPARE(q((*profile)->architecture().value()), QString("f1"));
  }

  void stream_lengths_add_up_wherever_they_are_known() {
    const auto library = ProfileLibrary::parse(models_text(), "models.json");
    int joint = 0;
    for (const Profile& profile : library->profiles()) {
      const auto calls = profile.calls({});
      for (const ProfileCall& call : *calls) {
        if (call.kind != "joint" || call.role != "denoiser") continue;
        ++joint;
        QVERIFY2(call.query_stream_tokens.size() == call.query_streams.size(), profile.id().c_str());
        std::int64_t sum = 0;
        for (const std::int64_t tokens : call.query_stream_tokens) {
          QVERIFY2(tokens > 0, profile.id().c_str());
          sum += tokens;
        }
        QCOMPARE(sum, call.query_tokens);
      }
    }
    QVERIFY(joint > 40);
  }

  void wrong_inputs_are_refused_in_a_sentence_data() {
    QTest::addColumn<QString>("name");
    QTest::addColumn<double>("value");
    QTest::addColumn<QString>("part");
    QTest::newRow("unknown") << "wdith" << 1024.0 << "has no input wdith; it has batch, cfg, frames, height";
    QTest::newRow("zero") << "width" << 0.0 << "input width is 0; it must be a whole number from 1";
    QTest::newRow("negative") << "height" << -8.0 << "input height is -8";
    QTest::newRow("broken") << "steps" << 2.5 << "input steps is 2.5";
    QTest::newRow("no steps") << "steps" << 0.0 << "input steps is 0";
    QTest::newRow("switch") << "cfg" << 7.0 << "input cfg is 7; it must be 0 (off) or 1 (on)";
    QTest::newRow("huge") << "width" << 1e9 << "input width is 1000000000";
    QTest::newRow("not a number") << "width" << std::nan("") << "input width is not a number";
    QTest::newRow("too small for a token") << "width" << 8.0 << "field q comes out as 0";
  }
  void wrong_inputs_are_refused_in_a_sentence() {
    QFETCH(QString, name);
    QFETCH(double, value);
    QFETCH(QString, part);
    const auto library = ProfileLibrary::parse(models_text(), "models.json");
    const auto calls = (*library->find("sana-1.6b"))->calls({{name.toStdString(), value}});
    QVERIFY(!calls.has_value());
    QVERIFY2(q(calls.error()).contains(part), calls.error().c_str());
    QVERIFY(q(calls.error()).contains("sana-1.6b"));
  }

  void an_unknown_model_lists_the_nearest() {
    const auto library = ProfileLibrary::parse(models_text(), "models.json");
    const auto found = library->find("flux1-dev");
    QVERIFY(!found.has_value());
    QVERIFY2(q(found.error()).contains("nearest: flux.1-dev"), found.error().c_str());
    QVERIFY(library->find("zzzzzzzzzzzz").error().find("attnctl models") != std::string::npos);
  }

  void a_faulty_file_is_refused_by_model_and_field() {
    const auto transformer = [](json& model) -> json& {
      for (json& component : model["components"]) {
        if (component["slot"] == "transformer") return component;
      }
      qFatal("no transformer");
    };
    const std::string place = "models.json: model flux.1-dev: component transformer: ";
    const auto is = [](const std::string& error, const std::string& expected) {
      if (error == expected) return true;
      qWarning("%s\n is not\n%s", error.c_str(), expected.c_str());
      return false;
    };
    QVERIFY(is(error_after("flux.1-dev", [&](json& m) { transformer(m)["attention"][0].erase("heads"); }),
               place + "field heads is missing"));
    QVERIFY(
        is(error_after("flux.1-dev", [&](json& m) { transformer(m).erase("role"); }), place + "field role is missing"));
    QVERIFY(is(error_after("flux.1-dev", [&](json& m) { transformer(m)["role"] = "denoise"; }),
               place + "field role is \"denoise\"; it must be one of text_encoder, connector, denoiser, vae_decoder"));
    QVERIFY(is(error_after("flux.1-dev", [&](json& m) { transformer(m)["attention"][0]["heads"] = "24"; }),
               place + "field heads must be a whole number from 1 to 1000000"));
    QVERIFY(is(error_after("flux.1-dev", [&](json& m) { transformer(m)["attention"][0]["kv_heads"] = 5; }),
               place + "field heads is 24 at transformer_blocks.*.attn, which is no multiple of its kv_heads, 5"));
    QVERIFY(is(error_after("flux.1-dev", [&](json& m) { transformer(m)["attention"][0]["q"] = "sequence"; }),
               place + "field q uses the name sequence, which is neither an input nor a value defined before it"));
    QVERIFY(is(error_after("flux.1-dev", [&](json& m) { transformer(m)["attention"][0]["q"] = "seq+"; }),
               place + "field q is wrong: expression \"seq+\": the end where a number, a name or '(' is needed"));
    QVERIFY(is(error_after("flux.1-dev", [&](json& m) { transformer(m)["attention"][0]["heds"] = 24; }),
               place + "field heds is not one that a profile has"));
    QVERIFY(is(error_after("flux.1-dev", [&](json& m) { m["inputs"]["tiles"] = 1; }),
               "models.json: model flux.1-dev: inputs: field tiles is not described in input_names"));
    QVERIFY(is(error_after("flux.1-dev", [&](json& m) { m["inputs"].erase("steps"); }),
               "models.json: model flux.1-dev: inputs: field steps is missing"));
    QVERIFY(is(error_after("flux.1-dev", [&](json& m) { m["id"] = "sdxl"; }),
               "models.json: model sdxl: field id is taken by an earlier model"));
    QVERIFY(is(error_after("flux.1-dev", [&](json& m) { m["values"][0]["value"] = "height/3"; }),
               "models.json: model flux.1-dev: component transformer: pass prompt: transformer_blocks.*.attn: field q, "
               "\"seq\", comes out as 853.333333 for these inputs; it must be a whole number, 0 or more"));
    QVERIFY(is(error_after("flux.1-dev", [&](json& m) { m = 3; }),
               "models.json: model number " + std::to_string(8) + ": needs an object, not number"));
  }

  void a_text_that_is_no_profile_file_is_refused() {
    const auto error = [](std::string_view text) { return ProfileLibrary::parse(text, "x.json").error(); };
    QCOMPARE(q(error("")), QString("x.json: line 1: the text is not JSON from here on"));
    QCOMPARE(q(error("{\n\"format\": 1,}")), QString("x.json: line 2: the text is not JSON from here on"));
    QCOMPARE(q(error("[]")), QString("x.json: needs an object, not array"));
    QCOMPARE(q(error("{\"format\": 5}")), QString("x.json: field format must be a text"));
    QCOMPARE(q(error("{\"format\": \"other\"}")), QString("x.json: field format must be \"attention-profiles\""));
  }

  void one_head_too_many_is_caught_for_every_fully_traced_model() {
    // What the file's authors tried by hand: change one head count by one, and some recording must disagree.
    const json file = models_json();
    int tried = 0;
    for (std::size_t i = 0; i < file["models"].size(); ++i) {
      json changed = file;
      json& model = changed["models"][i];
      const json* recording = nullptr;
      const json* check = nullptr;
      for (const json& candidate : model["checks"]) {
        if (!candidate.contains("traced")) continue;
        for (const json& traced : candidate["traced"]) {
          if (traced["partial"].get<bool>() || traced["slot"] == "vae" || recording != nullptr) continue;
          recording = &traced;
          check = &candidate;
        }
      }
      if (recording == nullptr) continue;
      for (json& component : model["components"]) {
        if (component["slot"] != (*recording)["slot"]) continue;
        for (json& entry : component["attention"]) {
          if (!entry["sdpa"].get<bool>()) continue;
          entry["heads"] = entry["heads"].get<int>() + 1;
          entry["kv_heads"] = entry["heads"];
          break;
        }
      }
      const auto library = ProfileLibrary::parse(changed.dump(), "models.json");
      QVERIFY2(library.has_value(), library ? "" : library.error().c_str());
      const auto calls = library->profiles()[i].calls(inputs_of((*check)["inputs"]));
      QVERIFY2(stated_groups(*calls, *recording) != recorded_groups(*recording),
               model["id"].get<std::string>().c_str());
      ++tried;
    }
    QVERIFY2(tried >= 45, qPrintable(QString::number(tried)));
  }
};

QTEST_GUILESS_MAIN(ProfileTest)
#include "profile_test.moc"
