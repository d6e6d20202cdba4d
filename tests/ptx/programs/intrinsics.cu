// Functions for which nvcc has code of its own, compared with the host's.
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <type_traits>

__device__ __managed__ __int128 numerators[] = {5929,
                                                77,
                                                -7,
                                                -(__int128{1} << 126),
                                                (__int128{1} << 100) + 1,
                                                __int128{1234567890123456789} * -1234567890123456789};
__device__ __managed__ __int128 denominators[] = {
    5, -7, 1000000007, 3, (__int128{1} << 61) + 1, __int128{1} << 64, (__int128{-9} << 80) + 5};
constexpr int kNumerators = sizeof numerators / sizeof numerators[0];
constexpr int kDenominators = sizeof denominators / sizeof denominators[0];
struct Quotients {
  __int128 quotient, remainder;
  unsigned __int128 quotient_of_unsigned, remainder_of_unsigned;
  bool operator==(const Quotients&) const = default;
};
__device__ __managed__ Quotients quotients[kNumerators][kDenominators];

__host__ __device__ Quotients divide(__int128 a, __int128 b) {
  const unsigned __int128 c = static_cast<unsigned __int128>(a), d = static_cast<unsigned __int128>(b);
  return {a / b, a % b, c / d, c % d};
}

__global__ void divide_all() {
  quotients[threadIdx.x][threadIdx.y] = divide(numerators[threadIdx.x], denominators[threadIdx.y]);
}

void check_division() {
  divide_all<<<1, dim3(kNumerators, kDenominators)>>>();
  const cudaError_t error = cudaDeviceSynchronize();
  int wrong = 0;
  for (int a = 0; a < kNumerators; ++a)
    for (int b = 0; b < kDenominators; ++b)
      wrong += quotients[a][b] != divide(numerators[a], denominators[b]);
  std::printf("128-bit divisions: %d wrong, %s\n", wrong, cudaGetErrorString(error));
}

// Words with the limits of their bytes and halves, and drawn ones.
constexpr int kTriples = 500;
struct Triple {
  unsigned a, b, c;
};
__device__ __managed__ Triple triples[kTriples];
__device__ __managed__ unsigned words[kTriples];

void draw_triples() {
  constexpr unsigned kLimits[] = {0,          0x80008000, 0x7FFF7FFF, 0x80808080,
                                  0x7F7F7F7F, ~0u,        0x01010101, 0x12F48001};
  unsigned state = 1;
  const auto draw = [&] {
    state = state * 1664525 + 1013904223;
    return state >> 28 == 0 ? kLimits[state >> 8 & 7] : state ^ state >> 13;
  };
  for (Triple& triple : triples) triple = {draw(), draw(), draw()};
}

template <class Of>
__global__ void compute_words(Of of) {
  for (int n = 0; n < kTriples; ++n) words[n] = of(triples[n].a, triples[n].b, triples[n].c);
}

template <class Device, class Host>
void check_words(const char* name, Device of_device, Host of_host) {
  compute_words<<<1, 1>>>(of_device);
  const cudaError_t error = cudaDeviceSynchronize();
  int wrong = 0;
  for (int n = 0; n < kTriples; ++n)
    wrong += words[n] != static_cast<unsigned>(of_host(triples[n].a, triples[n].b, triples[n].c));
  if (wrong != 0 || error != cudaSuccess)
    std::printf("%s: %d wrong, %s\n", name, wrong, cudaGetErrorString(error));
}

// The elements of type T of a word.
template <class T, class Of>
unsigned each(unsigned a, unsigned b, Of of) {
  using U = std::make_unsigned_t<T>;
  unsigned result = 0;
  for (unsigned shift = 0; shift < 32; shift += 8 * sizeof(T))
    result |= unsigned{static_cast<U>(of(int{static_cast<T>(a >> shift)}, int{static_cast<T>(b >> shift)}))}
              << shift;
  return result;
}
template <class T>
unsigned sum_of_differences(unsigned a, unsigned b) {
  unsigned sum = 0;
  each<T>(a, b, [&](int x, int y) { return sum += static_cast<unsigned>(std::abs(x - y)); });
  return sum;
}
template <class T>
int saturated(int x) {
  return std::clamp<int>(x, std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
}

// NAME of a and b is the expression of the elements x and y.
#define CHECK_EACH(name, type, expression)                                           \
  check_words(                                                                       \
      #name, [] __device__(unsigned a, unsigned b, unsigned) { return name(a, b); }, \
      [](unsigned a, unsigned b, unsigned) {                                         \
        return each<type>(a, b, [](int x, int y) { return expression; });            \
      })
#define CHECK_EACH_OF_ONE(name, type, expression)                               \
  check_words(                                                                  \
      #name, [] __device__(unsigned a, unsigned, unsigned) { return name(a); }, \
      [](unsigned a, unsigned, unsigned) {                                      \
        return each<type>(a, a, [](int x, int) { return expression; });         \
      })
#define CHECK_ORDER(name, type, operation)                  \
  CHECK_EACH(__vcmp##name, type, (x operation y) ? -1 : 0); \
  CHECK_EACH(__vset##name, type, x operation y)
// For 2 and 4 elements with their types.
#define CHECK_ELEMENTS(n, s, u)                                                                     \
  do {                                                                                              \
    CHECK_EACH_OF_ONE(__vabs##n, s, std::abs(x));                                                   \
    CHECK_EACH_OF_ONE(__vabsss##n, s, saturated<s>(std::abs(x)));                                   \
    CHECK_EACH_OF_ONE(__vneg##n, s, -x);                                                            \
    CHECK_EACH_OF_ONE(__vnegss##n, s, saturated<s>(-x));                                            \
    CHECK_EACH(__vadd##n, s, x + y);                                                                \
    CHECK_EACH(__vaddss##n, s, saturated<s>(x + y));                                                \
    CHECK_EACH(__vaddus##n, u, saturated<u>(x + y));                                                \
    CHECK_EACH(__vsub##n, s, x - y);                                                                \
    CHECK_EACH(__vsubss##n, s, saturated<s>(x - y));                                                \
    CHECK_EACH(__vsubus##n, u, saturated<u>(x - y));                                                \
    CHECK_EACH(__vavgs##n, s, (x + y + (x + y >= 0)) >> 1);                                         \
    CHECK_EACH(__vavgu##n, u, (x + y + 1) >> 1);                                                    \
    CHECK_EACH(__vhaddu##n, u, (x + y) >> 1);                                                       \
    CHECK_EACH(__vabsdiffs##n, s, std::abs(x - y));                                                 \
    CHECK_EACH(__vabsdiffu##n, u, std::abs(x - y));                                                 \
    CHECK_EACH(__vmaxs##n, s, std::max(x, y));                                                      \
    CHECK_EACH(__vmaxu##n, u, std::max(x, y));                                                      \
    CHECK_EACH(__vmins##n, s, std::min(x, y));                                                      \
    CHECK_EACH(__vminu##n, u, std::min(x, y));                                                      \
    CHECK_ORDER(eq##n, u, ==);                                                                      \
    CHECK_ORDER(ne##n, u, !=);                                                                      \
    CHECK_ORDER(ges##n, s, >=);                                                                     \
    CHECK_ORDER(geu##n, u, >=);                                                                     \
    CHECK_ORDER(gts##n, s, >);                                                                      \
    CHECK_ORDER(gtu##n, u, >);                                                                      \
    CHECK_ORDER(les##n, s, <=);                                                                     \
    CHECK_ORDER(leu##n, u, <=);                                                                     \
    CHECK_ORDER(lts##n, s, <);                                                                      \
    CHECK_ORDER(ltu##n, u, <);                                                                      \
    check_words(                                                                                    \
        "__vsads" #n, [] __device__(unsigned a, unsigned b, unsigned) { return __vsads##n(a, b); }, \
        [](unsigned a, unsigned b, unsigned) { return sum_of_differences<s>(a, b); });              \
    check_words(                                                                                    \
        "__vsadu" #n, [] __device__(unsigned a, unsigned b, unsigned) { return __vsadu##n(a, b); }, \
        [](unsigned a, unsigned b, unsigned) { return sum_of_differences<u>(a, b); });              \
  } while (false)

// What CUDA's headers compute on the host, too.
#define CHECK_WITH_HOST(expression)                                                          \
  do {                                                                                       \
    const auto of = [] __host__ __device__(unsigned a, unsigned b, unsigned c) -> unsigned { \
      bool high = false, low = false;                                                        \
      const unsigned result = static_cast<unsigned>(expression);                             \
      return result + (high ? 5 : 0) + (low ? 3 : 0);                                        \
    };                                                                                       \
    check_words(#expression, of, of);                                                        \
  } while (false)
#define CHECK_THREE(name)                  \
  CHECK_WITH_HOST(__vimax##name(a, b, c)); \
  CHECK_WITH_HOST(__vimin##name(a, b, c))
#define CHECK_SUMS(name)                       \
  CHECK_WITH_HOST(__viaddmax_##name(a, b, c)); \
  CHECK_WITH_HOST(__viaddmin_##name(a, b, c))

void check_integers() {
  CHECK_ELEMENTS(2, short, unsigned short);
  CHECK_ELEMENTS(4, signed char, unsigned char);
  CHECK_WITH_HOST(__vimax_s32_relu(a, b));
  CHECK_WITH_HOST(__vimin_s32_relu(a, b));
  CHECK_WITH_HOST(__vimax_s16x2_relu(a, b));
  CHECK_WITH_HOST(__vimin_s16x2_relu(a, b));
  CHECK_THREE(3_s32);
  CHECK_THREE(3_u32);
  CHECK_THREE(3_s16x2);
  CHECK_THREE(3_u16x2);
  CHECK_THREE(3_s32_relu);
  CHECK_THREE(3_s16x2_relu);
  CHECK_SUMS(s32);
  CHECK_SUMS(u32);
  CHECK_SUMS(s16x2);
  CHECK_SUMS(u16x2);
  CHECK_SUMS(s32_relu);
  CHECK_SUMS(s16x2_relu);
  CHECK_WITH_HOST(__vibmax_s32(a, b, &low) + c);
  CHECK_WITH_HOST(__vibmin_u32(a, b, &low) + c);
  CHECK_WITH_HOST(__vibmax_u16x2(a, b, &high, &low));
  CHECK_WITH_HOST(__vibmin_s16x2(a, b, &high, &low));
  std::printf("integers are checked\n");
}

__device__ __managed__ float floats[8];
__global__ void compute_halves(float x) {
  const __half2 pair = __floats2half2_rn(x, x);
  floats[0] = __high2float(h2exp(pair));
  floats[1] = __half2float(hexp(pair.x));
  floats[2] = __half2float(hexp2(pair.x));
  floats[3] = __half2float(hsin(pair.x));
  floats[4] = __half2float(hcos(pair.x));
  floats[5] = __half2float(hlog(pair.x));
  floats[6] = __half2float(hlog2(pair.x));
  floats[7] = __half2float(htanh(pair.x));
}

void check_halves() {
  const float x = 1.5f;
  compute_halves<<<1, 1>>>(x);
  const cudaError_t error = cudaDeviceSynchronize();
  const float expected[] = {std::exp(x), std::exp(x), std::exp2(x), std::sin(x),
                            std::cos(x), std::log(x), std::log2(x), std::tanh(x)};
  int wrong = 0;
  for (int n = 0; n < 8; ++n) wrong += std::abs(floats[n] / expected[n] - 1) > 1e-3f;
  std::printf("functions of halves: %d wrong, %s\n", wrong, cudaGetErrorString(error));
}

int main() {
  check_division();
  check_halves();
  draw_triples();
  check_integers();
  return 0;
}
