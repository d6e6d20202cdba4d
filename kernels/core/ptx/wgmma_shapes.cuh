// The instruction wgmma.mma_async for each N; for wgmma.cuh.
//
// The registers of d are the operands %0 to %(N / 2 - 1); the other operands follow. RONDO_D<N> is the text
// of the operands of d, RONDO_F<N> are the operands. Each continues the one before with the four registers of
// eight columns.
#pragma once

#include <rondo/kernels/core/hopper.cuh>
#include <rondo/kernels/core/ptx/mma.cuh>

#include <cstdint>

#define RONDO_D8 "%0, %1, %2, %3"
#define RONDO_D16 RONDO_D8 ", %4, %5, %6, %7"
#define RONDO_D24 RONDO_D16 ", %8, %9, %10, %11"
#define RONDO_D32 RONDO_D24 ", %12, %13, %14, %15"
#define RONDO_D40 RONDO_D32 ", %16, %17, %18, %19"
#define RONDO_D48 RONDO_D40 ", %20, %21, %22, %23"
#define RONDO_D56 RONDO_D48 ", %24, %25, %26, %27"
#define RONDO_D64 RONDO_D56 ", %28, %29, %30, %31"
#define RONDO_D72 RONDO_D64 ", %32, %33, %34, %35"
#define RONDO_D80 RONDO_D72 ", %36, %37, %38, %39"
#define RONDO_D88 RONDO_D80 ", %40, %41, %42, %43"
#define RONDO_D96 RONDO_D88 ", %44, %45, %46, %47"
#define RONDO_D104 RONDO_D96 ", %48, %49, %50, %51"
#define RONDO_D112 RONDO_D104 ", %52, %53, %54, %55"
#define RONDO_D120 RONDO_D112 ", %56, %57, %58, %59"
#define RONDO_D128 RONDO_D120 ", %60, %61, %62, %63"
#define RONDO_D136 RONDO_D128 ", %64, %65, %66, %67"
#define RONDO_D144 RONDO_D136 ", %68, %69, %70, %71"
#define RONDO_D152 RONDO_D144 ", %72, %73, %74, %75"
#define RONDO_D160 RONDO_D152 ", %76, %77, %78, %79"
#define RONDO_D168 RONDO_D160 ", %80, %81, %82, %83"
#define RONDO_D176 RONDO_D168 ", %84, %85, %86, %87"
#define RONDO_D184 RONDO_D176 ", %88, %89, %90, %91"
#define RONDO_D192 RONDO_D184 ", %92, %93, %94, %95"
#define RONDO_D200 RONDO_D192 ", %96, %97, %98, %99"
#define RONDO_D208 RONDO_D200 ", %100, %101, %102, %103"
#define RONDO_D216 RONDO_D208 ", %104, %105, %106, %107"
#define RONDO_D224 RONDO_D216 ", %108, %109, %110, %111"
#define RONDO_D232 RONDO_D224 ", %112, %113, %114, %115"
#define RONDO_D240 RONDO_D232 ", %116, %117, %118, %119"
#define RONDO_D248 RONDO_D240 ", %120, %121, %122, %123"
#define RONDO_D256 RONDO_D248 ", %124, %125, %126, %127"

#define RONDO_F(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define RONDO_F8 RONDO_F(0)
#define RONDO_F16 RONDO_F8, RONDO_F(4)
#define RONDO_F24 RONDO_F16, RONDO_F(8)
#define RONDO_F32 RONDO_F24, RONDO_F(12)
#define RONDO_F40 RONDO_F32, RONDO_F(16)
#define RONDO_F48 RONDO_F40, RONDO_F(20)
#define RONDO_F56 RONDO_F48, RONDO_F(24)
#define RONDO_F64 RONDO_F56, RONDO_F(28)
#define RONDO_F72 RONDO_F64, RONDO_F(32)
#define RONDO_F80 RONDO_F72, RONDO_F(36)
#define RONDO_F88 RONDO_F80, RONDO_F(40)
#define RONDO_F96 RONDO_F88, RONDO_F(44)
#define RONDO_F104 RONDO_F96, RONDO_F(48)
#define RONDO_F112 RONDO_F104, RONDO_F(52)
#define RONDO_F120 RONDO_F112, RONDO_F(56)
#define RONDO_F128 RONDO_F120, RONDO_F(60)
#define RONDO_F136 RONDO_F128, RONDO_F(64)
#define RONDO_F144 RONDO_F136, RONDO_F(68)
#define RONDO_F152 RONDO_F144, RONDO_F(72)
#define RONDO_F160 RONDO_F152, RONDO_F(76)
#define RONDO_F168 RONDO_F160, RONDO_F(80)
#define RONDO_F176 RONDO_F168, RONDO_F(84)
#define RONDO_F184 RONDO_F176, RONDO_F(88)
#define RONDO_F192 RONDO_F184, RONDO_F(92)
#define RONDO_F200 RONDO_F192, RONDO_F(96)
#define RONDO_F208 RONDO_F200, RONDO_F(100)
#define RONDO_F216 RONDO_F208, RONDO_F(104)
#define RONDO_F224 RONDO_F216, RONDO_F(108)
#define RONDO_F232 RONDO_F224, RONDO_F(112)
#define RONDO_F240 RONDO_F232, RONDO_F(116)
#define RONDO_F248 RONDO_F240, RONDO_F(120)
#define RONDO_F256 RONDO_F248, RONDO_F(124)

namespace rondo::ptx::detail {

// wgmma_shared(): a and b by descriptors. wgmma_registers(): a in registers.
template <int N>
struct WgmmaShape;

// The text of an instruction. The operand `add` selects whether d is added; `rest` are the operands after d.
#define RONDO_WGMMA_TEXT(n, k, type, add, rest)                                                         \
  "{.reg .pred add; setp.ne.b32 add, %" #add ", 0; wgmma.mma_async.sync.aligned.m64n" #n k ".f32." type \
  "." type " {" RONDO_D##n "}, " rest ";}"

// o0 to o8: the numbers of the operands after d.
#define RONDO_WGMMA(n, o0, o1, o2, o3, o4, o5, o6, o7, o8)                                                \
  template <>                                                                                             \
  struct WgmmaShape<n> {                                                                                  \
    template <class Element, int scale_a, int scale_b, int transpose_a, int transpose_b>                  \
    __device__ __forceinline__ static void wgmma_shared(float (&d)[n / 2], uint64_t a, uint64_t b,        \
                                                        int add) {                                        \
      if constexpr (std::is_same_v<Element, Tf32>)                                                        \
        RONDO_SM90A_ASM(RONDO_WGMMA_TEXT(n, "k8", "tf32", o0, "%" #o1 ", %" #o2 ", add, %" #o3 ", %" #o4) \
                        : RONDO_F##n                                                                      \
                        : "r"(add), "l"(a), "l"(b), "n"(scale_a), "n"(scale_b)                            \
                        : "memory");                                                                      \
      else if constexpr (std::is_same_v<Element, __nv_bfloat16>)                                          \
        RONDO_SM90A_ASM(RONDO_WGMMA_TEXT(n, "k16", "bf16", o0,                                            \
                                         "%" #o1 ", %" #o2 ", add, %" #o3 ", %" #o4 ", %" #o5 ", %" #o6)  \
                        : RONDO_F##n                                                                      \
                        : "r"(add), "l"(a), "l"(b), "n"(scale_a), "n"(scale_b), "n"(transpose_a),         \
                          "n"(transpose_b)                                                                \
                        : "memory");                                                                      \
      else                                                                                                \
        RONDO_SM90A_ASM(RONDO_WGMMA_TEXT(n, "k16", "f16", o0,                                             \
                                         "%" #o1 ", %" #o2 ", add, %" #o3 ", %" #o4 ", %" #o5 ", %" #o6)  \
                        : RONDO_F##n                                                                      \
                        : "r"(add), "l"(a), "l"(b), "n"(scale_a), "n"(scale_b), "n"(transpose_a),         \
                          "n"(transpose_b)                                                                \
                        : "memory");                                                                      \
    }                                                                                                     \
    template <class Element, int scale_a, int scale_b, int transpose_b>                                   \
    __device__ __forceinline__ static void wgmma_registers(float (&d)[n / 2], const unsigned (&a)[4],     \
                                                           uint64_t b, int add) {                         \
      if constexpr (std::is_same_v<Element, Tf32>)                                                        \
        RONDO_SM90A_ASM(                                                                                  \
            RONDO_WGMMA_TEXT(n, "k8", "tf32", o0,                                                         \
                             "{%" #o1 ", %" #o2 ", %" #o3 ", %" #o4 "}, %" #o5 ", add, %" #o6 ", %" #o7)  \
            : RONDO_F##n                                                                                  \
            : "r"(add), "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(scale_a), "n"(scale_b)    \
            : "memory");                                                                                  \
      else if constexpr (std::is_same_v<Element, __nv_bfloat16>)                                          \
        RONDO_SM90A_ASM(RONDO_WGMMA_TEXT(n, "k16", "bf16", o0,                                            \
                                         "{%" #o1 ", %" #o2 ", %" #o3 ", %" #o4 "}, %" #o5 ", add, %" #o6 \
                                         ", %" #o7 ", %" #o8)                                             \
                        : RONDO_F##n                                                                      \
                        : "r"(add), "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(scale_a),     \
                          "n"(scale_b), "n"(transpose_b)                                                  \
                        : "memory");                                                                      \
      else                                                                                                \
        RONDO_SM90A_ASM(RONDO_WGMMA_TEXT(n, "k16", "f16", o0,                                             \
                                         "{%" #o1 ", %" #o2 ", %" #o3 ", %" #o4 "}, %" #o5 ", add, %" #o6 \
                                         ", %" #o7 ", %" #o8)                                             \
                        : RONDO_F##n                                                                      \
                        : "r"(add), "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(scale_a),     \
                          "n"(scale_b), "n"(transpose_b)                                                  \
                        : "memory");                                                                      \
    }                                                                                                     \
  };

RONDO_WGMMA(8, 4, 5, 6, 7, 8, 9, 10, 11, 12)
RONDO_WGMMA(16, 8, 9, 10, 11, 12, 13, 14, 15, 16)
RONDO_WGMMA(24, 12, 13, 14, 15, 16, 17, 18, 19, 20)
RONDO_WGMMA(32, 16, 17, 18, 19, 20, 21, 22, 23, 24)
RONDO_WGMMA(40, 20, 21, 22, 23, 24, 25, 26, 27, 28)
RONDO_WGMMA(48, 24, 25, 26, 27, 28, 29, 30, 31, 32)
RONDO_WGMMA(56, 28, 29, 30, 31, 32, 33, 34, 35, 36)
RONDO_WGMMA(64, 32, 33, 34, 35, 36, 37, 38, 39, 40)
RONDO_WGMMA(72, 36, 37, 38, 39, 40, 41, 42, 43, 44)
RONDO_WGMMA(80, 40, 41, 42, 43, 44, 45, 46, 47, 48)
RONDO_WGMMA(88, 44, 45, 46, 47, 48, 49, 50, 51, 52)
RONDO_WGMMA(96, 48, 49, 50, 51, 52, 53, 54, 55, 56)
RONDO_WGMMA(104, 52, 53, 54, 55, 56, 57, 58, 59, 60)
RONDO_WGMMA(112, 56, 57, 58, 59, 60, 61, 62, 63, 64)
RONDO_WGMMA(120, 60, 61, 62, 63, 64, 65, 66, 67, 68)
RONDO_WGMMA(128, 64, 65, 66, 67, 68, 69, 70, 71, 72)
RONDO_WGMMA(136, 68, 69, 70, 71, 72, 73, 74, 75, 76)
RONDO_WGMMA(144, 72, 73, 74, 75, 76, 77, 78, 79, 80)
RONDO_WGMMA(152, 76, 77, 78, 79, 80, 81, 82, 83, 84)
RONDO_WGMMA(160, 80, 81, 82, 83, 84, 85, 86, 87, 88)
RONDO_WGMMA(168, 84, 85, 86, 87, 88, 89, 90, 91, 92)
RONDO_WGMMA(176, 88, 89, 90, 91, 92, 93, 94, 95, 96)
RONDO_WGMMA(184, 92, 93, 94, 95, 96, 97, 98, 99, 100)
RONDO_WGMMA(192, 96, 97, 98, 99, 100, 101, 102, 103, 104)
RONDO_WGMMA(200, 100, 101, 102, 103, 104, 105, 106, 107, 108)
RONDO_WGMMA(208, 104, 105, 106, 107, 108, 109, 110, 111, 112)
RONDO_WGMMA(216, 108, 109, 110, 111, 112, 113, 114, 115, 116)
RONDO_WGMMA(224, 112, 113, 114, 115, 116, 117, 118, 119, 120)
RONDO_WGMMA(232, 116, 117, 118, 119, 120, 121, 122, 123, 124)
RONDO_WGMMA(240, 120, 121, 122, 123, 124, 125, 126, 127, 128)
RONDO_WGMMA(248, 124, 125, 126, 127, 128, 129, 130, 131, 132)
RONDO_WGMMA(256, 128, 129, 130, 131, 132, 133, 134, 135, 136)

#undef RONDO_WGMMA
#undef RONDO_WGMMA_TEXT
#undef RONDO_F

}  // namespace rondo::ptx::detail
