// Functions for which nvcc has code of its own, compared with the host's.
#include <cstdio>

__device__ __managed__ __int128 numerators[] = {5929, 77, -7, -(__int128{1} << 126), (__int128{1} << 100) + 1,
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

int main() {
  check_division();
  return 0;
}
