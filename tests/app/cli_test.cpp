// SPDX-License-Identifier: GPL-3.0-or-later
// The real attnctl, as a person or a script runs it: stdout, stderr, exit codes and JSON keys.
#include "support/oracle.h"
#include "support/tensors_file.h"

#include <QFile>
#include <QProcess>
#include <QTemporaryDir>
#include <QtTest>
#include <cmath>
#include <csignal>

using attn::test::q;
using attn::test::TensorsFile;
using nlohmann::json;

namespace {

struct Answer {
  int code = -1;
  QString out;
  QString err;
  [[nodiscard]] json parsed() const {
    const json value = json::parse(out.toStdString(), nullptr, false);
    if (value.is_discarded()) qWarning("no JSON:\n%s\n%s", qPrintable(out), qPrintable(err));
    return value;
  }
};

QString program() { return QStringLiteral(ATTN_BIN "/attnctl"); }

Answer run(const QStringList& arguments, const QStringList& environment = {}) {
  QProcess process;
  QStringList variables = QProcess::systemEnvironment();
  variables.removeIf([](const QString& v) { return v.startsWith("SD_ATTN_DEBUG="); });
  process.setEnvironment(variables + environment);
  process.start(program(), arguments);
  if (!process.waitForFinished(120000)) qFatal("attnctl did not end: %s", qPrintable(arguments.join(' ')));
  return {process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -1,
          QString::fromUtf8(process.readAllStandardOutput()), QString::fromUtf8(process.readAllStandardError())};
}

Answer run(const char* line) { return run(QString(line).split(' ')); }

std::vector<std::string> keys_of(const json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

bool has_keys(const json& object, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    if (object.contains(key)) continue;
    qWarning("no key %s among %s", key, json(keys_of(object)).dump().c_str());
    return false;
  }
  return true;
}

const json* entry_of(const json& explanation, const char* backend) {
  for (const json& entry : explanation["entries"]) {
    if (entry["backend"] == backend) return &entry;
  }
  return nullptr;
}

std::vector<float> zeros(std::size_t count) { return std::vector<float>(count, 0.0F); }

/// heads x tokens values in the first of `dim` channels.
std::vector<float> values(int heads, int tokens, int dim, const std::function<double(int h, int j)>& value) {
  std::vector<float> all(static_cast<std::size_t>(heads * tokens * dim), 0.0F);
  for (int h = 0; h < heads; ++h) {
    for (int j = 0; j < tokens; ++j)
      all[static_cast<std::size_t>((h * tokens + j) * dim)] = static_cast<float>(value(h, j));
  }
  return all;
}

}  // namespace

class CliTest : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir folder_;
  QString path(const char* name) const { return folder_.filePath(name); }

  /// Runs `attnctl run --tensors` and gives the first channel of every output row.
  std::vector<double> first_channels(const TensorsFile& tensors, int dim, const QStringList& words,
                                     json* whole = nullptr) {
    tensors.save(path("t.safetensors"));
    const Answer answer = run(QStringList{"run", "--tensors", path("t.safetensors"), "--json"} + words);
    if (answer.code != 0) qWarning("%s", qPrintable(answer.err));
    const json result = answer.parsed();
    std::vector<double> rows;
    const json& flat = result["output"]["values"];
    for (std::size_t i = 0; i < flat.size(); i += static_cast<std::size_t>(dim)) rows.push_back(flat[i].get<double>());
    if (whole != nullptr) *whole = result;
    return rows;
  }

 private slots:
  void help_is_there_for_every_subcommand_data() {
    QTest::addColumn<QString>("subcommand");
    for (const char* name : {"backends", "targets", "models", "explain", "plan", "run", "compare", "export", "import",
                             "report", "gui", "policy", "generate", "sparse"}) {
      QTest::newRow(name) << QString(name);
    }
  }
  void help_is_there_for_every_subcommand() {
    QFETCH(QString, subcommand);
    const Answer answer = run({subcommand, "--help"});
    QCOMPARE(answer.code, 0);
    QVERIFY(answer.out.contains("Usage: attnctl " + subcommand));
    QVERIFY2(answer.err.isEmpty(), qPrintable(answer.err));
    QVERIFY(run({"--help"}).out.contains(subcommand));
  }

  void help_of_jobs_names_every_input() {
    const Answer answer = run({"run", "--help"});
    for (const char* option :
         {"--width", "--height", "--steps", "--frames", "--batch", "--prompt-tokens", "--fps", "--target",
          "--overrides", "--set", "--require", "--compute", "--json", "--log", "--debug"}) {
      QVERIFY2(answer.out.contains(option), option);
    }
  }

  void wrong_input_is_one_sentence_and_exit_code_2_data() {
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<QString>("part");
    const auto row = [](const char* line, const char* part) {
      QTest::newRow(line) << QString(line).split(' ', Qt::SkipEmptyParts) << QString(part);
    };
    row("", "no subcommand given; there are");
    row("frobnicate", "unknown subcommand \"frobnicate\"");
    row("plan", "no job given");
    row("plan flux1-dev", "unknown model \"flux1-dev\"; nearest: flux.1-dev");
    row("models nothing-like-it-at-all", "unknown model");
    row("plan flux.1-dev sdxl", "one job at a time");
    row("plan flux.1-dev --widht 1024", "unknown option --widht; nearest: --width");
    row("plan flux.1-dev --width 0", "input width is 0; it must be a whole number from 1");
    row("plan flux.1-dev --width -64", "input width is -64");
    row("plan flux.1-dev --width 10.5", "input width is 10.5");
    row("plan flux.1-dev --width wide", "\"wide\" is no number");
    row("plan flux.1-dev --width inf", "\"inf\" is no number");
    row("plan flux.1-dev --steps 0", "input steps is 0");
    row("plan flux.1-dev --fps 24", "has no input fps");
    row("plan flux.1-dev --input tiles=2", "has no input tiles");
    row("plan flux.1-dev --input width", "write NAME=VALUE");
    row("plan sana-1.6b --width 8", "comes out as 0");
    row("plan flux.1-dev --target rtx-9999", "rtx-9999");
    row("plan flux.1-dev --target platform=cuda,sm=banana", "banana");
    row("plan flux.1-dev --overrides sauge",
        "unknown backend \"sauge\" in --overrides; there are sdnq (SDNQ attention), sage");
    row("plan flux.1-dev --require sauge", "unknown backend \"sauge\" in --require");
    row("plan flux.1-dev --require unet=sage", "write ROLE=NAME");
    row("plan flux.1-dev --set nothing", "write KEY=VALUE");
    row("plan flux.1-dev --set no_such_key=1", "there is no setting no_such_key");
    row("plan flux.1-dev --set sparse_attention_budget=300", "a whole number from 5 to 100");
    row("plan flux.1-dev --set sdnq_attention_matmul_type=int3", "it takes one of: ");
    row("plan flux.1-dev --import /no/such/config.json", "/no/such/config.json");
    row("plan flux.1-dev --log /dev/null/x.log", "/dev/null/x.log");
    row("run flux.1-dev --compute some", "some");
    row("run flux.1-dev -o x.safetensors", "name a file there");
    row("run --tensors /no/such/file", "there is no such file");
    row("explain", "explain: ");
    row("explain fp16", "the call has no query");
    row("explain q[1,24,0,128]", "size 0 is below 1");
    row("explain q[1,24,-1,128]", "size -1 is below 1");
    row("explain q[1,8,64,64] mask=odd", "write mask=none, bool, float, padding:N");
    row("explain q[1,8,64,64] k[1,3,64,64] gqa", "do not divide the 8 heads");
    row("plan q[1,8,64,64] --width 3", "a written call has no inputs such as width");
    row("compare q[1,8,64,64]", "--b is missing");
    row("compare q[1,8,64,64] --b sauge", "side b: unknown backend");
    row("compare q[1,8,64,64] --b odd=1", "side b: --set odd=1: there is no setting odd");
    row("export", "export: name the config.json with -o FILE");
    row("export --format comfy -o x.json", "there is no format \"comfy\"; it is one of sdnext, ");
    row("export -o /tmp --overrides sage", "/tmp");
    row("export -o x.json --form both", "write overrides or selector");
    row("import /no/such/config.json", "/no/such/config.json");
    row("import", "import: ");
  }
  void wrong_input_is_one_sentence_and_exit_code_2() {
    QFETCH(QStringList, arguments);
    QFETCH(QString, part);
    const Answer answer = run(arguments);
    QCOMPARE(answer.code, 2);
    QVERIFY2(answer.out.isEmpty(), qPrintable(answer.out));
    QVERIFY2(answer.err.contains(part), qPrintable(answer.err));
    QVERIFY2(answer.err.startsWith("attnctl: ") && answer.err.count('\n') == 1, qPrintable(answer.err));
  }

  void plan_answers_with_the_keys_of_the_contract() {
    const Answer answer =
        run("plan flux.1-dev --width 1024 --height 1024 --steps 20 --target rtx-3090 --overrides sage --json");
    QCOMPARE(answer.code, 0);
    QVERIFY2(answer.err.isEmpty(), qPrintable(answer.err));
    const json plan = answer.parsed();
    QVERIFY(has_keys(plan, {"chain", "target", "calls", "routes", "dropped_events"}));
    QCOMPARE(q(plan["chain"].get<std::string>()), QString("sage>sdpa"));
    QCOMPARE(q(plan["target"].get<std::string>()), QString("rtx-3090"));
    QCOMPARE(plan["calls"].get<int>(), 12 + 20 * 57 + 1);
    QCOMPARE(plan["dropped_events"].get<int>(), 0);
    QCOMPARE(plan["routes"].size(), std::size_t{3});
    const json& route = plan["routes"][1];
    QVERIFY(
        has_keys(route, {"backend", "kernel", "role", "first_step", "q", "k", "dtype", "mask", "contiguous", "calls"}));
    QVERIFY(!route.contains("seconds"));
    QCOMPARE(q(route["backend"].get<std::string>()), QString("sage"));
    QCOMPARE(q(route["role"].get<std::string>()), QString("transformer"));
    QVERIFY(route["q"] == json({1, 24, 4608, 128}));
    QCOMPARE(q(route["dtype"].get<std::string>()), QString("bfloat16"));
    QCOMPARE(route["calls"].get<int>(), 1140);
    QCOMPARE(q(plan["routes"][2]["backend"].get<std::string>()), QString("sdpa"));
  }

  void long_plans_lose_no_event() {
    const Answer answer = run("plan ltx-2 --steps 200 --target h100 --overrides sdnq,sage --json");
    QCOMPARE(answer.code, 0);
    const json plan = answer.parsed();
    QVERIFY(plan["calls"].get<int>() > 100000);
    QCOMPARE(plan["dropped_events"].get<int>(), 0);
    std::int64_t sum = 0;
    for (const json& route : plan["routes"]) sum += route["calls"].get<std::int64_t>();
    QCOMPARE(sum, plan["calls"].get<std::int64_t>());
  }

  void every_way_to_write_an_input_and_a_backend_is_the_same() {
    const json a = run("plan sdxl --width 512 --steps 2 --target rtx-3090 --overrides sage,sdnq --json").parsed();
    const json b = run({"plan", "SDXL", "--input", "width=512", "--input", "steps=2", "--target", "RTX-3090",
                        "--overrides", "SDNQ attention, Sage attention", "--json"})
                       .parsed();
    QVERIFY(!a.is_discarded());
    QCOMPARE(q(a["chain"].dump()), q(b["chain"].dump()));
    QCOMPARE(q(a["routes"].dump()), q(b["routes"].dump()));
    QVERIFY(run("plan sdxl --overrides none --json").parsed()["chain"] == "sdpa");
  }

  void run_computes_and_says_how_its_seconds_came_about() {
    const Answer answer = run("run sd-1.5 --width 64 --height 64 --steps 2 --target rtx-3090 --overrides sage --json");
    QCOMPARE(answer.code, 0);
    QVERIFY2(answer.err.isEmpty(), qPrintable(answer.err));
    const json result = answer.parsed();
    QVERIFY(result["calls"].get<int>() > 0);
    for (const json& route : result["routes"]) {
      QVERIFY(route["seconds"].get<double>() > 0.0);
      QCOMPARE(route["measured_calls"].get<int>(), 1);
      QVERIFY(std::abs(route["seconds"].get<double>() -
                       route["measured_seconds"].get<double>() * route["calls"].get<double>()) < 1e-9);
    }
    QVERIFY(q(result["seconds_are"].get<std::string>()).contains("times the route's calls"));
    const Answer text = run("run sd-1.5 --width 64 --height 64 --steps 2 --target rtx-3090");
    QVERIFY(text.out.contains("emulated on this host"));
    QVERIFY(text.out.contains("one call of each route was measured"));
  }

  void the_same_seed_gives_the_same_answer() {
    const char* line = "compare q[1,4,128,64] fp16 --b sage --seed 5 --json";
    const json a = run(line).parsed();
    const json b = run(line).parsed();
    const json c = run("compare q[1,4,128,64] fp16 --b sage --seed 6 --json").parsed();
    QCOMPARE(a["calls"][0]["relative_l1"].get<double>(), b["calls"][0]["relative_l1"].get<double>());
    QVERIFY(a["calls"][0]["relative_l1"] != c["calls"][0]["relative_l1"]);
  }

  void a_requirement_that_cannot_be_met_runs_nothing() {
    const Answer all = run("run flux.1-dev --target rtx-3090 --overrides sage --require sage --json");
    QCOMPARE(all.code, 1);
    QVERIFY(all.out.isEmpty());
    QVERIFY2(all.err.contains("sage is required but would not serve the vae call") && all.err.contains("nothing ran"),
             qPrintable(all.err));
    QCOMPARE(run("plan flux.1-dev --target rtx-3090 --overrides sage --require transformer=sage").code, 0);
    // Field case 05: prefer falls through, require stops.
    QCOMPARE(run("explain q[2,8,64,160] fp16 --overrides sage").code, 0);
    const Answer strict = run("explain q[2,8,64,160] fp16 --overrides sage --require sage");
    QCOMPARE(strict.code, 1);
    QVERIFY2(strict.err.contains("head_dim 160 not in {64,96,128}"), qPrintable(strict.err));
  }

  void explain_answers_with_the_keys_of_the_contract() {
    const Answer answer = run("explain q[2,8,64,160] fp16 --overrides sage --target platform=cuda,sm=86 --json");
    QCOMPARE(answer.code, 0);
    QVERIFY2(answer.err.isEmpty(), qPrintable(answer.err));
    const json e = answer.parsed();
    QVERIFY(has_keys(e, {"chain", "route", "entries", "stage", "memory_bytes", "warnings"}));
    QVERIFY(has_keys(e["route"], {"requested", "selected", "kernel", "reason"}));
    QVERIFY(has_keys(e["stage"], {"selects", "reason", "budget"}));
    QCOMPARE(q(e["route"]["requested"].get<std::string>()), QString("sage"));
    QCOMPARE(q(e["route"]["selected"].get<std::string>()), QString("sdpa"));
    std::vector<std::string> order;
    for (const json& entry : e["entries"]) {
      QVERIFY(has_keys(entry, {"backend", "state", "accepts", "checks"}));
      order.push_back(entry["backend"]);
      for (const json& check : entry["checks"]) QVERIFY(has_keys(check, {"check", "required", "actual", "ok"}));
    }
    QCOMPARE(order, (std::vector<std::string>{"sdnq", "sage", "flash", "triton", "flex", "dynamic", "sdpa"}));
    const json& sage = *entry_of(e, "sage");
    QVERIFY(sage["accepts"] == false && sage["state"] == "ready");
    bool found = false;
    for (const json& check : sage["checks"]) {
      if (check["check"] != "head_dim") continue;
      found = true;
      QVERIFY(check["ok"] == false);
      QCOMPARE(q(check["required"].get<std::string>()), QString("64, 96, 128"));
      QCOMPARE(q(check["actual"].get<std::string>()), QString("160"));
    }
    QVERIFY(found);
  }

  void field_cases_are_answered_by_explain_data() {
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<QString>("selected");
    QTest::addColumn<QString>("part");
    const auto row = [](const char* name, const char* line, const char* selected, const char* part) {
      QTest::newRow(name) << QString(line).split(' ') << QString(selected) << QString(part);
    };
    row("05 D=64", "q[2,8,64,64] fp16 --overrides sage", "sage", "first in chain sage>sdpa");
    row("05 D=40", "q[2,8,64,40] fp16 --overrides sage", "sdpa", "head_dim 40 not in {64,96,128}");
    row("09 unequal", "q[1,8,2,64] k[1,8,5,64] causal --overrides flash", "sdpa", "bottom-right causal, Sq != Sk");
    row("09 equal", "q[1,8,5,64] causal --overrides flash", "flash", "served by  flash");
    row("11", "q[1,32,27000,128] k[1,8,27000,128] mask=float gqa role=te --target platform=cuda", "sdpa",
        "gqa+mask: math path, score matrix 93.3 GB (32*27000^2*4 bytes)");
    row("11 remedy", "q[1,32,27000,128] k[1,8,27000,128] mask=float gqa role=te --target platform=cuda", "sdpa",
        "expand k/v: +0.33 GB net");
    row("39", "q[1,30,1024,64] q=fp32 k=fp32 v=bf16 --overrides flash", "sdpa", "mixed dtype q=fp32 v=bf16");
    row("41 fits", "q[1,56,99865,128] strides=qkv --overrides sage", "sage", "first in chain sage>sdpa");
    row("41 reaches too far", "q[1,56,99866,128] strides=qkv --overrides sage", "sdpa", "32-bit offset reach");
    row("41 contiguous", "q[1,56,299593,128] --overrides sage", "sage", "first in chain sage>sdpa");
    row("41 contiguous too long", "q[1,56,299594,128] --overrides sage", "sdpa", "32-bit offset reach");
  }
  void field_cases_are_answered_by_explain() {
    QFETCH(QStringList, arguments);
    QFETCH(QString, selected);
    QFETCH(QString, part);
    const Answer text = run(QStringList{"explain"} + arguments);
    QCOMPARE(text.code, 0);
    QVERIFY2(text.out.contains(part), qPrintable(text.out));
    const json e = run(QStringList{"explain"} + arguments + QStringList{"--json"}).parsed();
    QCOMPARE(q(e["route"]["selected"].get<std::string>()), selected);
  }

  void explain_shows_the_layout_of_every_tensor() {
    const json e = run("explain q[1,16,62,128] v_strides=[126976,128,2048,1] --json").parsed();
    QVERIFY(e["tensors"]["q"]["layout"] == "contiguous");
    QVERIFY(e["tensors"]["v"]["layout"] == "transposed");
    QVERIFY(e["tensors"]["v"]["strides"] == json({126976, 128, 2048, 1}));
    const json plan = run("plan q[1,16,62,128] v_strides=[126976,128,2048,1] --json").parsed();
    QVERIFY(plan["routes"][0]["layouts"]["v"] == "transposed");
  }

  void exact_answers_come_out_of_run() {
    {
      TensorsFile o1;
      o1.add("q", {1, 1, 2, 8}, zeros(16));
      o1.add("k", {1, 1, 5, 8}, zeros(40));
      o1.add("v", {1, 1, 5, 8}, values(1, 5, 8, [](int, int j) { return j + 1; }));
      QCOMPARE(first_channels(o1, 8, {"causal"}), (std::vector<double>{1.0, 1.5}));
    }
    {
      TensorsFile o2;
      o2.add("q", {1, 1, 2, 8}, zeros(16));
      o2.add("k", {1, 1, 4, 8}, zeros(32));
      o2.add("v", {1, 1, 4, 8}, values(1, 4, 8, [](int, int j) { return j + 1; }));
      o2.add_mask({2, 4}, {false, false, false, false, true, true, true, true});
      json whole;
      QCOMPARE(first_channels(o2, 8, {}, &whole), (std::vector<double>{0.0, 2.5}));
      QCOMPARE(whole["nan"].get<int>(), 0);
      QCOMPARE(whole["fully_masked_rows"].get<int>(), 1);
      QVERIFY(q(whole["notes"][0].get<std::string>()).startsWith("1 fully masked row"));
    }
    {
      TensorsFile o3;
      o3.add("q", {2, 1, 1, 8}, zeros(16));
      o3.add("k", {2, 1, 8, 8}, zeros(128));
      std::vector<float> v = values(1, 8, 8, [](int, int j) { return j; });
      const std::vector<float> once = v;
      v.insert(v.end(), once.begin(), once.end());
      o3.add("v", {2, 1, 8, 8}, v);
      o3.add_mask({2, 1, 1, 8}, {true, true, true, true, false, false, false, false, false, false, false, false, true,
                                 true, true, true});
      QCOMPARE(first_channels(o3, 8, {}), (std::vector<double>{1.5, 5.5}));
    }
    {
      TensorsFile o4;
      o4.add("q", {1, 4, 1, 8}, zeros(32));
      o4.add("k", {1, 2, 1, 8}, zeros(16));
      o4.add("v", {1, 2, 1, 8}, values(2, 1, 8, [](int h, int) { return h + 1; }));
      QCOMPARE(first_channels(o4, 8, {"gqa"}), (std::vector<double>{1, 1, 2, 2}));
    }
    {
      TensorsFile o5;
      o5.add("q", {1, 4, 4, 8}, zeros(128));
      o5.add("v", {1, 4, 4, 8}, values(4, 4, 8, [](int h, int j) { return 10 * h + j; }));
      std::vector<double> expected;
      for (int h = 0; h < 4; ++h) expected.insert(expected.end(), 4, 10 * h + 1.5);
      QCOMPARE(first_channels(o5, 8, {}), expected);
    }
    {
      TensorsFile o6;
      o6.add("q", {1, 1, 1, 4}, {1, 0, 0, 0});
      o6.add("k", {1, 1, 2, 4}, {std::log(3.0F), 0, 0, 0, 0, 0, 0, 0});
      o6.add("v", {1, 1, 2, 4}, {0, 0, 0, 0, 1, 0, 0, 0});
      const auto out = first_channels(o6, 4, {"scale=1"});
      QVERIFY2(out.size() == 1 && std::abs(out[0] - 0.25) < 1e-6,
               qPrintable(QString::number(out.empty() ? -1 : out[0])));
    }
  }

  void a_float_mask_of_zeros_and_ones_is_pointed_out() {
    TensorsFile case13;
    case13.add("q", {1, 1, 2, 8}, zeros(16));
    case13.add("k", {1, 1, 4, 8}, zeros(32));
    case13.add("v", {1, 1, 4, 8}, values(1, 4, 8, [](int, int j) { return j + 1; }));
    case13.add("mask", {2, 4}, {0, 0, 0, 0, 1, 1, 1, 1});
    json whole;
    QCOMPARE(first_channels(case13, 8, {}, &whole), (std::vector<double>{2.5, 2.5}));
    QVERIFY(q(whole["notes"][0].get<std::string>()).contains("float mask of only 0/1: did you mean bool?"));
    const Answer text = run({"run", "--tensors", path("t.safetensors"), "-o", path("out.safetensors")});
    QCOMPARE(text.code, 0);
    QVERIFY(text.out.contains("did you mean bool?") && text.out.contains("0 NaN, 0 Inf"));
    QVERIFY(QFile::exists(path("out.safetensors")));
    QVERIFY(run({"run", "--tensors", path("out.safetensors")}).err.contains("has no tensor q; it has output"));
  }

  void compare_answers_with_error_time_and_moved_routes() {
    const Answer answer = run("compare q[2,4,128,64] fp16 --a none --b sage --json");
    QCOMPARE(answer.code, 0);
    const json result = answer.parsed();
    QVERIFY(has_keys(result, {"chain_a", "chain_b", "calls", "moved_calls"}));
    const json& call = result["calls"][0];
    QVERIFY(has_keys(
        call, {"a", "b", "relative_l1", "cosine", "max_abs", "mean_abs", "time_ratio", "batch", "moved", "notes"}));
    QVERIFY(has_keys(call["b"], {"backend", "kernel", "seconds", "nan", "inf"}));
    QCOMPARE(call["batch"].size(), std::size_t{2});
    QVERIFY(call["moved"] == true);
    QCOMPARE(result["moved_calls"].get<int>(), 1);
    QVERIFY(call["cosine"].get<double>() > 0.99);
    const json options = run({"compare", "q[1,4,600,64]", "--a", "sdnq", "--b",
                              "overrides=sdnq; sdnq_attention_smooth_k=false", "--json"})
                             .parsed();
    QVERIFY(options["calls"][0]["moved"] == false);
    const json apart = run({"compare", "q[1,4,600,64]", "--a-overrides", "sdnq", "--b-overrides", "sdnq", "--b-set",
                            "sdnq_attention_smooth_k=false", "--json"})
                           .parsed();
    QVERIFY(apart["calls"][0]["relative_l1"] == options["calls"][0]["relative_l1"]);
    const json routes = run("compare hunyuanvideo --b sage --compute none --target h100 --json").parsed();
    QVERIFY(routes["moved_calls"].get<int>() > 0);
    QVERIFY(!routes["calls"][0].contains("cosine"));
  }

  void lists_say_what_there_is_with_state_and_reason() {
    const json backends = run("backends --target rtx-3090 --overrides sage,triton --json").parsed();
    QCOMPARE(backends["backends"].size(), std::size_t{7});
    for (const json& backend : backends["backends"])
      QVERIFY(has_keys(backend, {"backend", "label", "state", "reason"}));
    QVERIFY(backends["backends"][1]["state"] == "ready");
    QVERIFY(backends["backends"][3]["state"] == "unavailable");
    QVERIFY(q(backends["backends"][3]["reason"].get<std::string>()).contains("cuda"));
    const json targets = run("targets --json").parsed();
    QVERIFY(targets["targets"].size() > 10);
    QVERIFY(targets["targets"][0]["state"] == "present");
    const json models = run("models --json").parsed();
    QCOMPARE(models["models"].size(), std::size_t{53});
    const json flux = run("models flux.1-dev --json").parsed();
    QVERIFY(has_keys(flux, {"model", "inputs", "values", "calls", "notes", "architecture"}));
    QCOMPARE(flux["values"]["seq"].get<int>(), 4608);
    for (const char* list : {"backends", "targets", "models", "models flux.1-dev", "report"}) {
      const Answer answer = run(list);
      QCOMPARE(answer.code, 0);
      QVERIFY2(answer.out.count('\n') > 5 && answer.err.isEmpty(), list);
    }
  }

  void report_holds_chain_overrides_sparse_and_context() {
    const json report = run({"report", "--target", "rtx-3090", "--overrides", "sdnq", "--set",
                             "sparse_attention_enabled=true", "--json"})
                            .parsed();
    QVERIFY(has_keys(report, {"chain", "overrides", "sparse", "backend", "context"}));
    QVERIFY(has_keys(report["sparse"], {"enabled", "budget", "gate", "capable", "layout"}));
    QVERIFY(has_keys(report["context"], {"active", "role", "step", "steps", "model"}));
    QVERIFY(report["chain"] == "sdnq>sdpa" && report["backend"] == "cuda");
    QVERIFY(report["sparse"]["enabled"] == true && report["context"]["active"] == false);
  }

  void what_is_exported_is_imported_again() {
    const QString file = path("config.json");
    const Answer dry = run({"export", "-o", file, "--target", "rtx-3090", "--overrides", "sage,sdnq", "--dry-run"});
    QCOMPARE(dry.code, 0);
    QVERIFY(dry.out.contains("+ \"sdp_overrides\""));
    QVERIFY(!QFile::exists(file));
    const Answer written = run({"export", "--format", "sdnext", "-o", file, "--target", "rtx-3090", "--overrides",
                                "sage,sdnq", "--set", "sdnq_attention_smooth_k=false", "--json"});
    QCOMPARE(written.code, 0);
    QVERIFY(written.parsed()["written"] == true);
    const json back = run({"import", "--format", "sdnext", file, "--target", "rtx-3090", "--json"}).parsed();
    QVERIFY(back["chain"] == "sdnq>sage>sdpa");
    QVERIFY(back["values"]["sdnq_attention_smooth_k"] == false);
    const json plan =
        run({"plan", "flux.1-dev", "--steps", "1", "--target", "rtx-3090", "--import", file, "--json"}).parsed();
    QVERIFY(plan["chain"] == "sdnq>sage>sdpa");
  }

  void a_config_that_is_wrong_is_refused_and_left_alone() {
    const QString file = path("bad.json");
    const QByteArray bytes = "{\"sdp_overrides\": [\"Sage attentoin\"], \"sparse_attention_budget\": \"30\"}";
    QFile out(file);
    QVERIFY(out.open(QIODevice::WriteOnly));
    out.write(bytes);
    out.close();
    const Answer imported = run({"import", file});
    QCOMPARE(imported.code, 2);
    QVERIFY2(imported.err.contains("Sage attentoin") && imported.err.contains("sparse_attention_budget"),
             qPrintable(imported.err));
    QCOMPARE(run({"plan", "flux.1-dev", "--import", file}).code, 2);
    QVERIFY(out.open(QIODevice::ReadOnly));
    QCOMPARE(out.readAll(), bytes);
    out.close();
    QVERIFY(out.open(QIODevice::WriteOnly));
    out.write("not json");
    out.close();
    QCOMPARE(run({"export", "-o", file, "--overrides", "sage"}).code, 2);
    QCOMPARE(run({"import", folder_.path()}).code, 2);
  }

  void debug_lines_go_to_stderr_and_to_the_log() {
    const QStringList plan{"plan",     "flux.1-dev",  "--steps", "1",     "--target",
                           "rtx-3090", "--overrides", "sage",    "--json"};
    const Answer quiet = run(plan);
    QVERIFY2(quiet.err.isEmpty(), qPrintable(quiet.err));
    const Answer debug = run(plan + QStringList{"--debug", "--log", path("sdnext.log")});
    QVERIFY(
        debug.err.contains("Torch attention: chain=sage>sdpa overrides=['Sage attention'] backend=cuda sparse=False"));
    QVERIFY(
        debug.err.contains("Attention route: backend=sage role=transformer step=0 q=[1, 24, 4608, 128] "
                           "k=[1, 24, 4608, 128] dtype=torch.bfloat16 mask=False contiguous=True"));
    QVERIFY(debug.err.contains("Attention routes: backend=sage role=transformer"));
    QCOMPARE(debug.out, quiet.out);
    QVERIFY(run(plan, {"SD_ATTN_DEBUG=1"}).err.contains("Attention route: "));
    QFile log(path("sdnext.log"));
    QVERIFY(log.open(QIODevice::ReadOnly));
    QVERIFY(log.readAll().contains(" | DEBUG | router | Torch attention: chain=sage>sdpa"));
  }

  void a_backend_that_the_platform_has_not_warns() {
    const Answer answer = run("plan flux.1-dev --steps 1 --target rtx-3090 --overrides triton");
    QCOMPARE(answer.code, 0);
    QVERIFY2(answer.err.contains("WARNING") && answer.err.contains("Triton Flash attention"), qPrintable(answer.err));
  }

  void a_job_that_cannot_be_served_is_exit_code_1() {
    const Answer answer = run({"plan", "flux.1-dev", "--target", "rtx-3090", "--set", "sdp_options=", "--json"});
    QCOMPARE(answer.code, 1);
    QVERIFY2(answer.err.contains("could not be served"), qPrintable(answer.err));
    QVERIFY(answer.parsed()["outcome"] == "failed");
  }

  void an_interrupt_stops_between_calls_and_keeps_the_table() {
    QProcess process;
    process.setReadChannel(QProcess::StandardError);
    process.start(program(), {"run", "sd-1.5", "--compute", "all", "--json", "--target", "rtx-3090", "--log",
                              path("stop.log"), "--debug"});
    QVERIFY(process.waitForStarted());
    // The first route line says that calls run.
    QByteArray seen;
    while (!seen.contains("Attention route:") && process.waitForReadyRead(60000))
      seen += process.readAllStandardError();
    QVERIFY(seen.contains("Attention route:"));
    ::kill(static_cast<pid_t>(process.processId()), SIGINT);
    QVERIFY(process.waitForFinished(120000));
    QVERIFY(process.exitStatus() == QProcess::NormalExit);
    QCOMPARE(process.exitCode(), 1);
    const json table = json::parse(process.readAllStandardOutput().toStdString(), nullptr, false);
    QVERIFY(!table.is_discarded());
    QVERIFY(table["outcome"] == "stopped");
    QVERIFY(table["calls"].get<int>() > 0);
  }
};

QTEST_GUILESS_MAIN(CliTest)
#include "cli_test.moc"
