// Which members of a struct are pointers (simt/struct_pointers.h).
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>
#include <simt/struct_pointers.h>

#include <array>
#include <functional>

namespace {

using simt::detail::pointers_in;
using Offsets = std::vector<size_t>;

struct Matrix {
  int width, height;
  float* values;
};
struct Nested {
  Matrix matrices[2];
  const char* name = nullptr;
  void* opaque;
  void (*function)(int);
  char text[8];
  float4 vector;
  dim3 size;
  double* last;
};
struct Derived : Matrix {
  float* more;
};
struct Small {
  unsigned a : 3, b : 5;
  enum class Kind { one } kind;
  bool flag;
  __half half;
  __nv_bfloat16* narrow;
};
struct Arrays {
  std::array<float*, 2> all;
  float** table;
  int (*rows)[8];
};
struct Unknown;
struct Incomplete {
  Unknown* unknown;
  volatile int* known;
};
struct Empty {};
struct BesideEmpty {
  Empty empty;
  const int* const pointer;
};
template <class T>
struct View {
  T* data = nullptr;
  int64_t rows = 0, stride = rows;
};
struct Views {
  View<float> to;
  View<const float> from;
};
struct WithConstructor {
  explicit WithConstructor(float* p) : pointer(p) {}
  float* pointer;
};
struct Long {
  char bytes[100];
  float* pointer;
};

TEST(StructPointers, AreFoundInAggregates) {
  EXPECT_EQ(pointers_in<Matrix>(), (Offsets{offsetof(Matrix, values)}));
  EXPECT_EQ(pointers_in<Nested>(), (Offsets{8, 24, offsetof(Nested, name), offsetof(Nested, last)}));
  EXPECT_EQ(pointers_in<Derived>(), (Offsets{8, 16}));
  EXPECT_EQ(pointers_in<Small>(), (Offsets{offsetof(Small, narrow)}));
  EXPECT_EQ(pointers_in<Arrays>(), (Offsets{0, 8, 16, 24}));
  EXPECT_EQ(pointers_in<Incomplete>(), (Offsets{8}));
  EXPECT_EQ(pointers_in<BesideEmpty>(), (Offsets{8}));
  EXPECT_EQ(pointers_in<Views>(), (Offsets{0, 24}));
}

TEST(StructPointers, AreNotLookedForElsewhere) {
  const auto lambda = [pointer = static_cast<int*>(nullptr)] { return pointer; };
  EXPECT_EQ(pointers_in<float>(), Offsets{});
  EXPECT_EQ(pointers_in<Empty>(), Offsets{});
  EXPECT_EQ(pointers_in<float4>(), Offsets{});
  EXPECT_EQ(pointers_in<WithConstructor>(), Offsets{});
  EXPECT_EQ(pointers_in<Long>(), Offsets{});
  EXPECT_EQ(pointers_in<decltype(lambda)>(), Offsets{});
  EXPECT_EQ(pointers_in<std::function<void()>>(), Offsets{});
}

}  // namespace
