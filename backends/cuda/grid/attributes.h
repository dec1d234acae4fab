// SPDX-License-Identifier: GPL-3.0-or-later
// Words that the device compiler needs and others do not know. The one place where code asks which compiler reads it.
#pragma once

#if defined(__CUDACC__)
#define ATTN_HD __host__ __device__ __forceinline__
#define ATTN_KERNEL \
  __device__ __forceinline__  ///< a kernel's own code: run by a DeviceBlock, or on the host by a HostBlock
#define ATTN_UNROLL _Pragma("unroll")
#else
#define ATTN_HD inline
#define ATTN_KERNEL inline
#define ATTN_UNROLL
#endif
