// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/text/route_text.h"

#include "support/oracle.h"

#include <QtTest>

#include <string>
#include <vector>

using attn::DType;
using attn::Role;
using attn::test::oracle;
using attn::test::q;
using attn::trace::EventShape;
using attn::trace::parse_chain;
using attn::trace::parse_route;
using attn::trace::ParsedChain;
using attn::trace::ParsedRoute;
using attn::trace::RouteIdentity;
using attn::trace::RouteRow;

namespace {

EventShape shape(std::initializer_list<std::int32_t> sizes) {
  EventShape made;
  for (const std::int32_t size : sizes) made.size[made.rank++] = size;
  return made;
}

struct RouteSample {
  std::string text;
  std::string backend;
  Role role;
  int step;  ///< -1: a summary
  EventShape query;
  EventShape key;
  DType dtype;
  bool masked;
  bool contiguous;
  std::int64_t calls = -1;
};

// The synthetic samples of the mirrored systems' log, word for word.
const std::vector<RouteSample>& route_samples() {
  static const std::vector<RouteSample> samples{
      {"Attention route: backend=sdpa role=te step=0 q=[1, 20, 77, 64] k=[1, 20, 77, 64] dtype=torch.float16 "
       "mask=False contiguous=True",
       "sdpa", Role::te, 0, shape({1, 20, 77, 64}), shape({1, 20, 77, 64}), DType::float16, false, true},
      {"Attention route: backend=sdnq role=transformer step=0 q=[1, 24, 4608, 128] k=[1, 24, 4608, 128] "
       "dtype=torch.bfloat16 mask=False contiguous=True",
       "sdnq", Role::transformer, 0, shape({1, 24, 4608, 128}), shape({1, 24, 4608, 128}), DType::bfloat16, false,
       true},
      {"Attention route: backend=sdnq+sparse role=transformer step=2 q=[1, 40, 32760, 128] k=[1, 40, 32760, 128] "
       "dtype=torch.bfloat16 mask=False contiguous=False",
       "sdnq+sparse", Role::transformer, 2, shape({1, 40, 32760, 128}), shape({1, 40, 32760, 128}), DType::bfloat16,
       false, false},
      {"Attention route: backend=sage role=transformer step=0 q=[2, 10, 4096, 64] k=[2, 10, 4096, 64] "
       "dtype=torch.float16 mask=False contiguous=True",
       "sage", Role::transformer, 0, shape({2, 10, 4096, 64}), shape({2, 10, 4096, 64}), DType::float16, false, true},
      {"Attention route: backend=sdpa role=transformer step=0 q=[2, 10, 4096, 64] k=[2, 10, 77, 64] "
       "dtype=torch.float16 mask=True contiguous=True",
       "sdpa", Role::transformer, 0, shape({2, 10, 4096, 64}), shape({2, 10, 77, 64}), DType::float16, true, true},
      {"Attention route: backend=flash role=transformer step=5 q=[1, 30, 9216, 96] k=[1, 30, 9216, 96] "
       "dtype=torch.bfloat16 mask=False contiguous=False",
       "flash", Role::transformer, 5, shape({1, 30, 9216, 96}), shape({1, 30, 9216, 96}), DType::bfloat16, false,
       false},
      {"Attention route: backend=flex+sparse role=transformer step=1 q=[1, 16, 12288, 128] k=[1, 16, 12288, 128] "
       "dtype=torch.float16 mask=False contiguous=True",
       "flex+sparse", Role::transformer, 1, shape({1, 16, 12288, 128}), shape({1, 16, 12288, 128}), DType::float16,
       false, true},
      {"Attention route: backend=dynamic role=vae step=28 q=[1, 1, 16384, 512] k=[1, 1, 16384, 512] "
       "dtype=torch.bfloat16 mask=False contiguous=True",
       "dynamic", Role::vae, 28, shape({1, 1, 16384, 512}), shape({1, 1, 16384, 512}), DType::bfloat16, false, true},
      {"Attention route: backend=sdpa role=None step=0 q=[1, 16, 300, 80] k=[1, 16, 300, 80] dtype=torch.float32 "
       "mask=False contiguous=True",
       "sdpa", Role::none, 0, shape({1, 16, 300, 80}), shape({1, 16, 300, 80}), DType::float32, false, true},
      {"Attention route: backend=triton role=transformer step=0 q=[1, 38, 4250, 64] k=[1, 38, 4250, 64] "
       "dtype=torch.float16 mask=False contiguous=True",
       "triton", Role::transformer, 0, shape({1, 38, 4250, 64}), shape({1, 38, 4250, 64}), DType::float16, false, true},
      {"Attention routes: backend=sdnq role=transformer q=[1, 24, 4608, 128] k=[1, 24, 4608, 128] dtype=torch.bfloat16 "
       "mask=False contiguous=True calls=1596",
       "sdnq", Role::transformer, -1, shape({1, 24, 4608, 128}), shape({1, 24, 4608, 128}), DType::bfloat16, false,
       true, 1596},
      {"Attention routes: backend=sdnq+sparse role=transformer q=[1, 40, 32760, 128] k=[1, 40, 32760, 128] "
       "dtype=torch.bfloat16 mask=False contiguous=False calls=1600",
       "sdnq+sparse", Role::transformer, -1, shape({1, 40, 32760, 128}), shape({1, 40, 32760, 128}), DType::bfloat16,
       false, false, 1600},
      {"Attention routes: backend=sdpa role=transformer q=[1, 40, 32760, 128] k=[1, 40, 512, 128] dtype=torch.bfloat16 "
       "mask=False contiguous=False calls=1600",
       "sdpa", Role::transformer, -1, shape({1, 40, 32760, 128}), shape({1, 40, 512, 128}), DType::bfloat16, false,
       false, 1600},
      {"Attention routes: backend=sage role=transformer q=[2, 10, 4096, 64] k=[2, 10, 4096, 64] dtype=torch.float16 "
       "mask=False contiguous=True calls=400",
       "sage", Role::transformer, -1, shape({2, 10, 4096, 64}), shape({2, 10, 4096, 64}), DType::float16, false, true,
       400},
      {"Attention routes: backend=sdpa role=transformer q=[2, 20, 1024, 64] k=[2, 20, 77, 64] dtype=torch.float16 "
       "mask=True contiguous=True calls=1800",
       "sdpa", Role::transformer, -1, shape({2, 20, 1024, 64}), shape({2, 20, 77, 64}), DType::float16, true, true,
       1800},
      {"Attention routes: backend=sdpa role=te q=[1, 12, 77, 64] k=[1, 12, 77, 64] dtype=torch.float16 mask=True "
       "contiguous=True calls=24",
       "sdpa", Role::te, -1, shape({1, 12, 77, 64}), shape({1, 12, 77, 64}), DType::float16, true, true, 24},
      {"Attention routes: backend=dynamic role=vae q=[1, 1, 16384, 512] k=[1, 1, 16384, 512] dtype=torch.bfloat16 "
       "mask=False contiguous=True calls=1",
       "dynamic", Role::vae, -1, shape({1, 1, 16384, 512}), shape({1, 1, 16384, 512}), DType::bfloat16, false, true, 1},
      {"Attention routes: backend=flash role=transformer q=[1, 30, 9216, 96] k=[1, 30, 9216, 96] dtype=torch.bfloat16 "
       "mask=False contiguous=False calls=870",
       "flash", Role::transformer, -1, shape({1, 30, 9216, 96}), shape({1, 30, 9216, 96}), DType::bfloat16, false,
       false, 870},
      {"Attention routes: backend=flex role=transformer q=[1, 16, 2048, 128] k=[1, 16, 2048, 128] dtype=torch.float16 "
       "mask=False contiguous=True calls=224",
       "flex", Role::transformer, -1, shape({1, 16, 2048, 128}), shape({1, 16, 2048, 128}), DType::float16, false, true,
       224},
      {"Attention routes: backend=sdpa role=te q=[1, 32, 512, 128] k=[1, 8, 512, 128] dtype=torch.bfloat16 mask=True "
       "contiguous=False calls=36",
       "sdpa", Role::te, -1, shape({1, 32, 512, 128}), shape({1, 8, 512, 128}), DType::bfloat16, true, false, 36},
  };
  return samples;
}

struct ChainSample {
  std::string text;
  std::vector<std::string> entries;
  std::optional<std::vector<std::string>> overrides;
  std::string platform;
  std::optional<bool> sparse;
};

const std::vector<ChainSample>& chain_samples() {
  static const std::vector<ChainSample> samples{
      {"2026-10-02 08:14:03,211 | pine | sd | DEBUG | router | Attention: chain=sdpa backend=cuda sparse=False",
       {"sdpa"},
       std::nullopt,
       "cuda",
       false},
      {"2026-10-02 08:15:47,906 | pine | sd | DEBUG | router | Attention: chain=sdnq>sdpa backend=cuda sparse=False",
       {"sdnq", "sdpa"},
       std::nullopt,
       "cuda",
       false},
      {"2026-10-02 08:16:20,034 | pine | sd | DEBUG | router | Attention: chain=sdnq>sdpa backend=cuda sparse=True",
       {"sdnq", "sdpa"},
       std::nullopt,
       "cuda",
       true},
      {"2026-10-02 08:18:55,671 | pine | sd | DEBUG | router | Attention: chain=sage>sdpa backend=cuda sparse=False",
       {"sage", "sdpa"},
       std::nullopt,
       "cuda",
       false},
      {"2026-10-02 08:22:09,448 | oak | sd | DEBUG | router | Attention: chain=dynamic backend=zluda sparse=False",
       {"dynamic"},
       std::nullopt,
       "zluda",
       false},
      {"2026-10-02 08:23:31,120 | oak | sd | DEBUG | router | Attention: chain=triton>sdpa backend=rocm sparse=False",
       {"triton", "sdpa"},
       std::nullopt,
       "rocm",
       false},
      {"2026-10-02 08:25:02,583 | fir | sd | DEBUG | router | Attention: chain=flex>sdpa backend=ipex sparse=True",
       {"flex", "sdpa"},
       std::nullopt,
       "ipex",
       true},
      {"2026-08-25 19:02:14,377 | fir | sd | DEBUG | router | Torch attention: chain=sdnq>sage>sdpa overrides=['Sage "
       "attention', 'SDNQ attention'] backend=cuda",
       {"sdnq", "sage", "sdpa"},
       {{"Sage attention", "SDNQ attention"}},
       "cuda",
       std::nullopt},
      {"2026-08-28 21:40:58,010 | fir | sd | DEBUG | router | Torch attention: chain=flash>dynamic overrides=['Dynamic "
       "attention', 'Flash attention'] backend=rocm sparse=False",
       {"flash", "dynamic"},
       {{"Dynamic attention", "Flash attention"}},
       "rocm",
       false},
      {"2026-08-29 07:11:36,802 | fir | sd | DEBUG | router | Torch attention: chain=sdnq>flex>sdpa overrides=['Flex "
       "attention', 'SDNQ attention'] backend=cuda sparse=True",
       {"sdnq", "flex", "sdpa"},
       {{"Flex attention", "SDNQ attention"}},
       "cuda",
       true},
      {"08:14:03-211402 DEBUG    Attention: chain=sdpa backend=cuda sparse=False",
       {"sdpa"},
       std::nullopt,
       "cuda",
       false},
      {"Torch attention: chain=sdpa overrides=[] backend=cpu sparse=False",
       {"sdpa"},
       std::vector<std::string>{},
       "cpu",
       false},
  };
  return samples;
}

// Lines of the same log that are neither.
const std::vector<std::string>& other_lines() {
  static const std::vector<std::string> lines{
      R"(08:14:03-210877 DEBUG    Attention: type="sdpa" kernels=['Flash', 'Memory', 'Math'])",
      "08:14:03-226190 DEBUG    Attention available: sdnq=0.2.4 flash=False sage=2.2.0 flex=True xformers=False "
      "npu=False xla=False kernels=False",
      R"(08:15:47-905631 DEBUG    Attention: type="SDNQ attention" matmul=enabled:disabled smooth=True hadamard=False quantize_fp32=True fp16_accum=False block_mask=True)",
      "08:16:20-033718 INFO     Sparse attention: backend=sdnq budget=30% gate=8192 schedule=0x+30%",
      "08:17:41-650294 WARNING  Attention: sparse=True compatible=['Flex attention', 'SDNQ attention'] not set",
      R"(08:19:12-004466 WARNING  Attention: type="Triton AMD Flash attention" not available on backend=cuda)",
      R"(08:20:33-918250 ERROR    Attention: type="Flash attention" No module named 'flash_attn')",
      "08:21:07-471009 DEBUG    Attention: dynamo reset, compiled model resident",
      "08:24:50-332941 TRACE    Sparse attention: inactive at tokens=4608, below the minimum sequence of 8192; "
      "attention stays dense",
      "Sparse attention: no token layout (none published), sparsifying the whole sequence at tokens=17280",
      "Sparse attention: \"cosmostransformer3dmodel\" is on the exclusion list; attention stays dense",
      "Sparse attention: static radial pattern density=0.357 against selector 0.361 at budget=30%",
      "",
      "   ",
  };
  return lines;
}

void check(const std::optional<ParsedRoute>& parsed, const RouteSample& wanted) {
  QVERIFY2(parsed.has_value(), wanted.text.c_str());
  QCOMPARE(q(parsed->id.backend), q(wanted.backend));
  QCOMPARE(static_cast<int>(parsed->id.role), static_cast<int>(wanted.role));
  QCOMPARE(parsed->step.value_or(-1), wanted.step);
  QVERIFY(parsed->id.query == wanted.query);
  QVERIFY(parsed->id.key == wanted.key);
  QVERIFY(parsed->id.dtype == wanted.dtype);
  QCOMPARE(parsed->id.masked, wanted.masked);
  QCOMPARE(parsed->id.contiguous, wanted.contiguous);
  QCOMPARE(parsed->calls.value_or(-1), wanted.calls);
}

}  // namespace

class RouteTextTest : public QObject {
  Q_OBJECT

 private slots:
  void every_sample_route_is_read_under_every_prefix();
  void every_sample_route_is_written_back_word_for_word();
  void every_sample_chain_is_read();
  void other_lines_are_neither();
  void every_line_of_the_oracle_is_read_and_written_back();
  void what_is_written_is_read_back();
  void older_builds_without_contiguity_are_read();
  void the_in_memory_json_form_is_read();
  void damaged_lines_are_not_routes();
  void damaged_lines_are_not_chains();
};

void RouteTextTest::every_sample_route_is_read_under_every_prefix() {
  QCOMPARE(route_samples().size(), std::size_t{20});
  for (const RouteSample& sample : route_samples()) {
    for (const char* prefix :
         {"", "2026-10-02 08:15:47,906 | pine | sd | DEBUG | debug | ",
          "2026-10-02 08:15:47,906 | pine | sd | DEBUG | debug |  | /opt/sd/modules/attention/debug.py:41 | ",
          "08:14:03-211402 DEBUG    ", "\x1b[36m08:14:03-211402\x1b[0m \x1b[32mDEBUG   \x1b[0m "}) {
      check(parse_route(prefix + sample.text), sample);
    }
    check(parse_route(sample.text + "\r\n"), sample);
  }
}

void RouteTextTest::every_sample_route_is_written_back_word_for_word() {
  for (const RouteSample& sample : route_samples()) {
    const auto parsed = parse_route(sample.text);
    QVERIFY(parsed);
    if (parsed->step) {
      QCOMPARE(q(attn::trace::route_line(parsed->id, *parsed->step)), q(sample.text));
    } else {
      RouteRow row;
      row.id = parsed->id;
      row.calls = parsed->calls.value();
      QCOMPARE(q(attn::trace::routes_line(row)), q(sample.text));
    }
  }
}

void RouteTextTest::every_sample_chain_is_read() {
  for (const ChainSample& sample : chain_samples()) {
    const std::optional<ParsedChain> parsed = parse_chain(sample.text);
    QVERIFY2(parsed.has_value(), sample.text.c_str());
    QVERIFY(parsed->entries == sample.entries);
    QVERIFY(parsed->overrides == sample.overrides);
    QCOMPARE(q(parsed->platform), q(sample.platform));
    QVERIFY(parsed->sparse == sample.sparse);
    QVERIFY(!parse_route(sample.text));
  }
}

void RouteTextTest::other_lines_are_neither() {
  for (const std::string& line : other_lines()) {
    QVERIFY2(!parse_route(line), line.c_str());
    QVERIFY2(!parse_chain(line), line.c_str());
  }
}

void RouteTextTest::every_line_of_the_oracle_is_read_and_written_back() {
  std::size_t lines = 0;
  const nlohmann::json traces = oracle("trace.json").at("traces");
  for (const auto& trace : traces) {
    for (const auto& event : trace.at("events")) {
      for (const auto& text : event.at("lines")) {
        const auto line = text.get<std::string>();
        const auto parsed = parse_route(line);
        QVERIFY2(parsed.has_value(), line.c_str());
        RouteRow row;
        row.id = parsed->id;
        row.calls = parsed->calls.value_or(0);
        QCOMPARE(q(parsed->step ? attn::trace::route_line(parsed->id, *parsed->step) : attn::trace::routes_line(row)),
                 q(line));
        ++lines;
      }
    }
  }
  QVERIFY(lines > 60);
}

void RouteTextTest::what_is_written_is_read_back() {
  const std::vector<EventShape> shapes{shape({}),
                                       shape({0}),
                                       shape({128, 64}),
                                       shape({8, 77, 64}),
                                       shape({1, 24, 4608, 128}),
                                       shape({2, 1, 8, 0, 2147483647})};
  const DType dtypes[] = {DType::float32, DType::float16, DType::bfloat16, DType::float64, DType::int8, DType::boolean};
  std::size_t count = 0;
  for (const char* backend : {"sdpa", "sdnq+sparse", "memory-efficient", "a"}) {
    for (const Role role : {Role::none, Role::te, Role::transformer, Role::vae, Role::other}) {
      for (const EventShape& query : shapes) {
        for (const EventShape& key : shapes) {
          for (const DType dtype : dtypes) {
            RouteRow row;
            row.id = {backend, role, query, key, dtype, count % 2 == 0, count % 3 == 0};
            row.calls = static_cast<std::int64_t>(count) * 10'000'000'000;
            const auto step = static_cast<std::int32_t>(count % 1000);
            const auto first = parse_route(attn::trace::route_line(row.id, step));
            QVERIFY(first && first->id == row.id && first->step == step && !first->calls && first->contiguity_known);
            const auto summary = parse_route(attn::trace::routes_line(row));
            QVERIFY(summary && summary->id == row.id && !summary->step && summary->calls == row.calls);
            ++count;
          }
        }
      }
    }
  }
  QCOMPARE(count, std::size_t{4 * 5 * 36 * 6});
}

void RouteTextTest::older_builds_without_contiguity_are_read() {
  const auto parsed = parse_route(
      "2026-08-25 19:02:14,377 | fir | sd | DEBUG | debug | Attention route: backend=sage role=transformer step=1 "
      "q=[2, 10, 4096, 64] k=[2, 10, 4096, 64] dtype=torch.float16 mask=False");
  QVERIFY(parsed);
  QVERIFY(!parsed->contiguity_known);
  QVERIFY(parsed->id.contiguous);
  QCOMPARE(parsed->step.value_or(-1), 1);
}

void RouteTextTest::the_in_memory_json_form_is_read() {
  const RouteSample& sample = route_samples().back();
  check(parse_route(R"({ "asctime": "08:14:03", "level": "DEBUG", "func": "log", "msg": ")" + sample.text + R"(" })"),
        sample);
  const auto chain = parse_chain(
      R"({ "level": "DEBUG", "msg": "Torch attention: chain=sage>sdpa overrides=['Sage attention'] backend=cuda" })");
  QVERIFY(chain);
  QCOMPARE(q(chain->platform), q("cuda"));
}

void RouteTextTest::damaged_lines_are_not_routes() {
  const std::string whole = route_samples().front().text;
  // Cut anywhere but before the optional field, it is no route.
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const std::string cut = whole.substr(0, length);
    const bool older_form = cut.ends_with("mask=False") || cut.ends_with("mask=False ");
    QVERIFY2(parse_route(cut).has_value() == older_form, cut.c_str());
  }
  for (const char* line :
       {"Attention route: backend= role=te step=0 q=[1] k=[1] dtype=torch.float16 mask=False contiguous=True",
        "Attention route: backend=a role=te step=-1 q=[1] k=[1] dtype=torch.float16 mask=False contiguous=True",
        "Attention route: backend=a role=te step=0 q=[1,,2] k=[1] dtype=torch.float16 mask=False contiguous=True",
        "Attention route: backend=a role=te step=0 q=[1, 2, 3, 4, 5, 6] k=[1] dtype=torch.float16 mask=False "
        "contiguous=True",
        "Attention route: backend=a role=te step=0 q=[-1] k=[1] dtype=torch.float16 mask=False contiguous=True",
        "Attention route: backend=a role=te step=0 q=[4294967296] k=[1] dtype=torch.float16 mask=False contiguous=True",
        "Attention route: backend=a role=te step=0 q=[1] k=[1] dtype=torch.complex64 mask=False contiguous=True",
        "Attention route: backend=a role=te step=0 q=[1] k=[1] dtype=torch.float16 mask=maybe contiguous=True",
        "Attention route: backend=a role=te step=0 q=[1] k=[1] dtype=torch.float16 mask=False contiguous=True and more",
        "Attention route: backend=a role=te q=[1] k=[1] dtype=torch.float16 mask=False contiguous=True",
        "Attention routes: backend=a role=te q=[1] k=[1] dtype=torch.float16 mask=False contiguous=True",
        "Attention routes: backend=a role=te step=0 q=[1] k=[1] dtype=torch.float16 mask=False contiguous=True "
        "calls=1"}) {
    QVERIFY2(!parse_route(line), line);
  }
}

void RouteTextTest::damaged_lines_are_not_chains() {
  for (const char* line :
       {"Attention: chain= backend=cuda sparse=False", "Attention: chain=sdnq> backend=cuda",
        "Attention: chain=>sdpa backend=cuda", "Attention: chain=sdpa",
        "Torch attention: chain=sdpa overrides=['a backend=cuda",
        "Torch attention: chain=sdpa overrides=[a] backend=cuda", "Attention: chain=sdpa backend=cuda sparse=Maybe",
        "Attention: chain=sdpa backend=cuda sparse=True more"}) {
    QVERIFY2(!parse_chain(line), line);
  }
  const auto quoted = parse_chain(R"(Torch attention: chain=sdpa overrides=["it's", 'a\'b'] backend=cuda)");
  QVERIFY(quoted);
  QVERIFY((quoted->overrides == std::vector<std::string>{"it's", "a'b"}));
}

QTEST_GUILESS_MAIN(RouteTextTest)
#include "route_text_test.moc"
