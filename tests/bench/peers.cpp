// SPDX-License-Identifier: GPL-3.0-or-later
#include "peers.h"

#include "core/tensor/host_buffer.h"

#include <omp.h>
#include <unistd.h>
#include <algorithm>
#include <cstdlib>
#include <memory>

#ifdef ATTN_PEER_OPENBLAS
#include <cblas-openblas.h>
#endif
#ifdef ATTN_PEER_DNNL
#include <dnnl.hpp>
#endif

namespace attn::bench {
namespace {

/// The data of head `h` (counted over the batch) of a contiguous tensor.
float* head_of(const TensorView& view, std::int64_t h) {
  return static_cast<float*>(view.data) + h * view.size(-2) * view.size(-1);
}

#ifdef ATTN_PEER_OPENBLAS
void sgemm_products(const AttentionCall& call, float* scores, int threads) {
  constexpr std::int64_t kRows = 256;
  const std::int64_t queries = call.query_tokens(), keys = call.key_tokens(), dim = call.head_dim();
  const auto n = [](std::int64_t size) { return static_cast<blasint>(size); };
  openblas_set_num_threads(threads);
  for (std::int64_t h = 0; h < call.query.size(-4) * call.heads(); ++h) {
    for (std::int64_t first = 0; first < queries; first += kRows) {
      const blasint rows = n(std::min(kRows, queries - first));
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, n(keys), n(dim), 0.125F,
                  head_of(call.query, h) + first * dim, n(dim), head_of(call.key, h), n(dim), 0.0F, scores, n(keys));
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, n(dim), n(keys), 1.0F, scores, n(keys),
                  head_of(call.value, h), n(dim), 0.0F, head_of(call.output, h) + first * dim, n(dim));
    }
  }
}
#endif

#ifdef ATTN_PEER_DNNL
/// One query chunk's primitives, and the memory objects that are pointed at the tensors.
class DnnlAttention {
 public:
  DnnlAttention(std::int64_t rows, const AttentionCall& call, float* scores)
      : call_(call), rows_(rows), engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
    using Tag = dnnl::memory::format_tag;
    using Type = dnnl::memory::data_type;
    const std::int64_t keys = call.key_tokens(), dim = call.head_dim();
    const dnnl::memory::desc q({rows, dim}, Type::f32, Tag::ab), k({dim, keys}, Type::f32, Tag::ba),
        s({rows, keys}, Type::f32, Tag::ab), v({keys, dim}, Type::f32, Tag::ab), o({rows, dim}, Type::f32, Tag::ab);
    dnnl::primitive_attr scaled;
    scaled.set_output_scales(0, {static_cast<float>(call.effective_scale())});
    score_ = dnnl::matmul({dnnl::matmul::desc(q, k, s), scaled, engine_});
    soften_ = dnnl::softmax_forward({dnnl::softmax_forward::desc(dnnl::prop_kind::forward_inference, s, 1), engine_});
    add_ = dnnl::matmul({dnnl::matmul::desc(s, v, o), engine_});
    query_ = dnnl::memory(q, engine_, nullptr), key_ = dnnl::memory(k, engine_, nullptr);
    value_ = dnnl::memory(v, engine_, nullptr), output_ = dnnl::memory(o, engine_, nullptr);
    scores_ = dnnl::memory(s, engine_, scores);
  }

  void run(std::int64_t head, std::int64_t first) {
    const std::int64_t dim = call_.head_dim();
    query_.set_data_handle(head_of(call_.query, head) + first * dim);
    key_.set_data_handle(head_of(call_.key, head));
    value_.set_data_handle(head_of(call_.value, head));
    output_.set_data_handle(head_of(call_.output, head) + first * dim);
    score_.execute(stream_, {{DNNL_ARG_SRC, query_}, {DNNL_ARG_WEIGHTS, key_}, {DNNL_ARG_DST, scores_}});
    soften_.execute(stream_, {{DNNL_ARG_SRC, scores_}, {DNNL_ARG_DST, scores_}});
    add_.execute(stream_, {{DNNL_ARG_SRC, scores_}, {DNNL_ARG_WEIGHTS, value_}, {DNNL_ARG_DST, output_}});
    stream_.wait();
  }
  [[nodiscard]] std::int64_t rows() const { return rows_; }

 private:
  AttentionCall call_;
  std::int64_t rows_;
  dnnl::engine engine_;
  dnnl::stream stream_;
  dnnl::matmul score_, add_;
  dnnl::softmax_forward soften_;
  dnnl::memory query_, key_, value_, output_, scores_;
};

Peer dnnl_peer(const AttentionCall& call, const std::shared_ptr<HostBuffer>& scores, int threads) {
  constexpr std::int64_t kRows = 128;
  const std::int64_t queries = call.query_tokens();
  const auto whole = std::make_shared<DnnlAttention>(std::min(kRows, queries), call, scores->as<float>());
  const std::int64_t rest = queries % whole->rows();
  const auto last = rest == 0 ? nullptr : std::make_shared<DnnlAttention>(rest, call, scores->as<float>());
  return {"oneDNN matmul, softmax, matmul", [=] {
            omp_set_num_threads(threads);
            for (std::int64_t h = 0; h < call.query.size(-4) * call.heads(); ++h) {
              std::int64_t first = 0;
              for (; first + whole->rows() <= queries; first += whole->rows()) whole->run(h, first);
              if (last != nullptr) last->run(h, first);
            }
          }};
}
#endif

}  // namespace

std::vector<Peer> peers_of(const AttentionCall& call, int threads) {
  std::vector<Peer> peers;
  const auto scores = std::make_shared<HostBuffer>(static_cast<std::size_t>(256 * call.key_tokens()) * sizeof(float));
#ifdef ATTN_PEER_OPENBLAS
  peers.push_back({"OpenBLAS sgemm, same FLOPs", [=] { sgemm_products(call, scores->as<float>(), threads); }});
#endif
#ifdef ATTN_PEER_DNNL
  peers.push_back(dnnl_peer(call, scores, threads));
#endif
  return peers;
}

std::string describe_peers() {
  std::string text;
#ifdef ATTN_PEER_OPENBLAS
  text += std::string("OpenBLAS with kernels for ") + openblas_get_corename();
#else
  text += "no OpenBLAS (libopenblas-dev was not there)";
#endif
#ifdef ATTN_PEER_DNNL
  const dnnl_version_t* version = dnnl_version();
  text += ", oneDNN " + std::to_string(version->major) + "." + std::to_string(version->minor);
#endif
  return text;
}

void choose_blas_kernels(char** argv) {
#if defined(ATTN_PEER_OPENBLAS) && defined(__x86_64__)
  if (std::getenv("OPENBLAS_CORETYPE") != nullptr || __builtin_cpu_supports("avx512f") == 0) return;
  setenv("OPENBLAS_CORETYPE", "SKYLAKEX", 1);
  execv("/proc/self/exe", argv);  // on failure the run goes on, and the table names the kernels
#else
  (void)argv;
#endif
}

}  // namespace attn::bench
