// SPDX-License-Identifier: GPL-3.0-or-later
// A block of threads on the device: what HostBlock does one thread after the other, the hardware does at once. Only for
// the device compiler.
#pragma once

#include "backends/cuda/grid/fragments.h"

#include <cstdint>

namespace attn::cuda {

/// A block's shared memory. Its address is known when the kernel is assembled, so that it takes no register.
extern __shared__ __align__(1024) unsigned char shared_memory[];

class DeviceBlock {
 public:
  /// A register, or an array of them, of every thread.
  template <class T>
  class PerThread {
   public:
    __device__ __forceinline__ explicit PerThread(const DeviceBlock&) {}
    __device__ __forceinline__ T& operator()(int) { return value_; }

   private:
    T value_;
  };

  [[nodiscard]] __device__ __forceinline__ int x() const { return static_cast<int>(blockIdx.x); }
  [[nodiscard]] __device__ __forceinline__ int y() const { return static_cast<int>(blockIdx.y); }
  [[nodiscard]] __device__ __forceinline__ int z() const { return static_cast<int>(blockIdx.z); }

  template <class F>
  __device__ __forceinline__ void each(F f) {
    f(static_cast<int>(threadIdx.x));
  }
  /// The same where what follows from the thread's number is better computed again than kept in registers.
  template <class F>
  __device__ __forceinline__ void each_anew(F f) {
    int thread;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
    __builtin_assume(thread >= 0 && thread < 1024);  // as of threadIdx: a division by 8 is a shift
    f(thread);
  }
  __device__ __forceinline__ void sync() { __syncthreads(); }

  template <class T>
  [[nodiscard]] __device__ __forceinline__ T load(int, std::uint32_t at) const {
    return *reinterpret_cast<const T*>(shared_memory + at);
  }
  template <class T>
  __device__ __forceinline__ void store(int, std::uint32_t at, T value) {
    *reinterpret_cast<T*>(shared_memory + at) = value;
  }
  __device__ __forceinline__ void add(int, std::uint32_t at, int value) {
    atomicAdd(reinterpret_cast<int*>(shared_memory + at), value);
  }

  __device__ __forceinline__ void copy16(int, std::uint32_t at, const void* from, int bytes) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(place(at)), "l"(__cvta_generic_to_global(from)),
                 "r"(bytes)
                 : "memory");
  }
  __device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
  template <int kPending>
  __device__ __forceinline__ void wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
  }

  template <class To, class At>
  __device__ __forceinline__ void load_matrices(To to, At at) {
    const int thread = static_cast<int>(threadIdx.x);
    std::uint32_t* const r = to(thread);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(place(at(thread))));
  }
  template <class To, class At>
  __device__ __forceinline__ void load_transposed(To to, At at) {
    const int thread = static_cast<int>(threadIdx.x);
    std::uint32_t* const r = to(thread);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(place(at(thread))));
  }

  template <class Numbers, class F>
  __device__ __forceinline__ void mma(F f) {
    multiply(Numbers{}, f(static_cast<int>(threadIdx.x)));
  }

  template <int kWidth, class Value, class Op>
  __device__ __forceinline__ void reduce(Value value, Op op) {
    float& own = value(static_cast<int>(threadIdx.x));
    ATTN_UNROLL
    for (int distance = 1; distance < kWidth; distance *= 2) {
      own = op(own, __shfl_xor_sync(0xFFFFFFFFU, own, distance));
    }
  }

 private:
  static __device__ __forceinline__ void multiply(Int8Numbers, LaneProduct<std::int32_t> p) {
    asm volatile(
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+r"(p.sums[0]), "+r"(p.sums[1]), "+r"(p.sums[2]), "+r"(p.sums[3])
        : "r"(p.a[0]), "r"(p.a[1]), "r"(p.a[2]), "r"(p.a[3]), "r"(p.b[0]), "r"(p.b[1]));
  }
  static __device__ __forceinline__ void multiply(HalfNumbers, LaneProduct<float> p) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(p.sums[0]), "+f"(p.sums[1]), "+f"(p.sums[2]), "+f"(p.sums[3])
        : "r"(p.a[0]), "r"(p.a[1]), "r"(p.a[2]), "r"(p.a[3]), "r"(p.b[0]), "r"(p.b[1]));
  }
  static __device__ __forceinline__ void multiply(BfloatNumbers, LaneProduct<float> p) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(p.sums[0]), "+f"(p.sums[1]), "+f"(p.sums[2]), "+f"(p.sums[3])
        : "r"(p.a[0]), "r"(p.a[1]), "r"(p.a[2]), "r"(p.a[3]), "r"(p.b[0]), "r"(p.b[1]));
  }

  [[nodiscard]] static __device__ __forceinline__ std::uint32_t place(std::uint32_t at) {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(shared_memory)) + at;
  }
};

}  // namespace attn::cuda
