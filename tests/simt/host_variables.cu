// Variables of device code, each device's copy, and the functions that copy them.
#include <array>

#include "host_support.h"

using namespace simt_test;

namespace variables {
struct Params {
  int scale;
  float weights[2];
};
float simt_first_table[4] = {1, 2, 3, 4};
SIMT_CONSTANT_VARIABLE(table)
static Params simt_first_params = {5, {6, 7}};
SIMT_DEVICE_VARIABLE(params)
int simt_first_grid[2][3] = {};
SIMT_DEVICE_VARIABLE(grid)
}  // namespace variables

extern unsigned simt_first_counter;
SIMT_DEVICE_VARIABLE(counter)
unsigned simt_first_counter = 9;
int managed = 3;
SIMT_MANAGED_VARIABLE(managed)

namespace {

int no_symbol = 0;

// Templates and overloads see the types of the variables.
template <class T>
__device__ T twice(T value) {
  return value + value;
}

__global__ void read_all(float* out) {
  using namespace variables;
  out[0] = table[0] + table[3];
  out[1] = static_cast<float>(params.scale) + params.weights[1];
  out[2] = static_cast<float>(twice(counter));
  out[3] = static_cast<float>(managed);
  const float table = -1;  // hides the variable
  out[4] = table;
  out[5] = static_cast<float>(sizeof(variables::table) + sizeof(grid));
}
__global__ void count(int times) {
  for (int i = 0; i < times; ++i) atomicAdd(&counter, 1u);
  if (threadIdx.x == 0 && blockIdx.x == 0) {
    variables::params.scale += 1;
    variables::grid[1][2] = times;
  }
}
__global__ void store(float* to, float value) { *to = value; }

struct Variables : HostTest {
  void SetUp() override {
    HostTest::SetUp();
    int devices = 0;
    CUDA_OK(cudaGetDeviceCount(&devices));
    devices_ = devices;
    // What other tests have changed.
    for (int device = 0; device < devices_; ++device) {
      cudaSetDevice(device);
      cudaDeviceReset();
    }
    cudaSetDevice(0);
  }
  static std::array<float, 6> values() {
    float* out = allocate<float>(6);
    const cudaLaunchConfig_t config = shape(1, 1);
    EXPECT_EQ(cudaLaunchKernelEx(&config, read_all, out), cudaSuccess);
    std::array<float, 6> host = {};
    EXPECT_EQ(cudaMemcpy(host.data(), out, sizeof(host), cudaMemcpyDeviceToHost), cudaSuccess);
    cudaFree(out);
    return host;
  }
  int devices_ = 0;
};

using Values = std::array<float, 6>;
constexpr float kBytes = 16 + 24;

TEST_F(Variables, HaveTheirFirstValuesOnEveryDevice) {
  for (int device = 0; device < devices_; ++device) {
    CUDA_OK(cudaSetDevice(device));
    EXPECT_EQ(values(), (Values{5, 12, 18, 3, -1, kBytes})) << "device " << device;
  }
}

TEST_F(Variables, AreOfOneDevice) {
  if (devices_ < 2) GTEST_SKIP() << "one device";
  // Kernels of both devices in turns, on the same workers.
  for (int round = 0; round < 4; ++round)
    for (const int device : {0, 1}) {
      CUDA_OK(cudaSetDevice(device));
      const float value = static_cast<float>(10 * device + round);
      CUDA_OK(cudaMemcpyToSymbol(variables::table, &value, sizeof(value)));
      const cudaLaunchConfig_t config = shape(2, 32);
      CUDA_OK(cudaLaunchKernelEx(&config, count, device + 1));
    }
  for (const int device : {1, 0}) {
    CUDA_OK(cudaSetDevice(device));
    unsigned counted = 0;
    CUDA_OK(cudaMemcpyFromSymbol(&counted, counter, sizeof(counted)));
    EXPECT_EQ(counted, 9u + 4 * 64 * static_cast<unsigned>(device + 1));
    int cell = 0;
    CUDA_OK(cudaMemcpyFromSymbol(&cell, variables::grid, sizeof(cell), 5 * sizeof(int)));
    EXPECT_EQ(cell, device + 1);
    const Values seen = values();
    EXPECT_EQ(seen[0], static_cast<float>(10 * device + 3 + 4));
    EXPECT_EQ(seen[1], 5 + 4 + 7);
  }
}

TEST_F(Variables, AddressesAreOfDeviceMemory) {
  float *first = nullptr, *second = nullptr;
  CUDA_OK(cudaGetSymbolAddress(&first, variables::table));
  const cudaLaunchConfig_t config = shape(1, 1);
  CUDA_OK(cudaLaunchKernelEx(&config, store, first + 3, 8.0f));
  EXPECT_EQ(values()[0], 9.0f);
  EXPECT_EQ(read(first + 3), 8.0f);
  cudaPointerAttributes attributes;
  CUDA_OK(cudaPointerGetAttributes(&attributes, first + 1));
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  EXPECT_EQ(attributes.device, 0);
  size_t bytes = 0;
  CUDA_OK(cudaGetSymbolSize(&bytes, variables::table));
  EXPECT_EQ(bytes, 16u);
  CUDA_ERROR(cudaFree(first), cudaErrorInvalidValue);
  if (devices_ < 2) return;
  CUDA_OK(cudaSetDevice(1));
  CUDA_OK(cudaGetSymbolAddress(&second, variables::table));
  EXPECT_NE(first, second);
  CUDA_OK(cudaPointerGetAttributes(&attributes, second));
  EXPECT_EQ(attributes.device, 1);
  EXPECT_EQ(values()[0], 5.0f);
}

TEST_F(Variables, CopiesOutsideOfAVariableAreRefused) {
  float value[5] = {};
  CUDA_ERROR(cudaMemcpyToSymbol(variables::table, value, sizeof(value)), cudaErrorInvalidValue);
  CUDA_ERROR(cudaMemcpyToSymbol(variables::table, value, 4, 13), cudaErrorInvalidValue);
  CUDA_ERROR(cudaMemcpyFromSymbol(value, variables::table, 4, SIZE_MAX), cudaErrorInvalidValue);
  CUDA_ERROR(cudaMemcpyToSymbol(no_symbol, value, 4), cudaErrorInvalidSymbol);
  void* address = nullptr;
  CUDA_ERROR(cudaGetSymbolAddress(&address, no_symbol), cudaErrorInvalidSymbol);
  EXPECT_EQ(values()[0], 5.0f);
  CUDA_OK(cudaMemcpyToSymbol(variables::table, value, 4, 12));
  EXPECT_EQ(values()[0], 1.0f);
}

TEST_F(Variables, CopiesFollowTheirStream) {
  const cudaStream_t stream = make_stream();
  float *source = nullptr, *back = nullptr;
  CUDA_OK(cudaMallocHost(&source, 4));
  CUDA_OK(cudaMallocHost(&back, 4));
  *source = 11;
  {
    Gate gate;
    gate.hold(stream);
    CUDA_OK(cudaMemcpyToSymbolAsync(variables::table, source, 4, 4, cudaMemcpyHostToDevice, stream));
    CUDA_OK(cudaMemcpyFromSymbolAsync(back, variables::table, 4, 4, cudaMemcpyDeviceToHost, stream));
    *source = 12;  // before the copy
  }
  CUDA_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(*back, 12.0f);
  CUDA_OK(cudaFreeHost(source));
  CUDA_OK(cudaFreeHost(back));
  CUDA_OK(cudaStreamDestroy(stream));
}

TEST_F(Variables, AResetRestoresThem) {
  for (int device = 0; device < devices_; ++device) {
    CUDA_OK(cudaSetDevice(device));
    const cudaLaunchConfig_t config = shape(1, 32);
    CUDA_OK(cudaLaunchKernelEx(&config, count, 1));
    CUDA_OK(cudaDeviceSynchronize());
    CUDA_OK(cudaDeviceReset());
    EXPECT_EQ(values(), (Values{5, 12, 18, 3, -1, kBytes})) << "device " << device;
  }
}

TEST_F(Variables, ManagedOnesAreOfAll) {
  managed = 40;
  for (int device = 0; device < devices_; ++device) {
    CUDA_OK(cudaSetDevice(device));
    EXPECT_EQ(values()[3], 40.0f);
  }
  int* address = nullptr;
  CUDA_OK(cudaGetSymbolAddress(&address, managed));
  EXPECT_EQ(address, &managed);
  managed = 3;
}

TEST_F(Variables, ManagedMemoryIsOfDevicesAndHost) {
  float* values = nullptr;
  CUDA_OK(cudaMallocManaged(&values, 2 * sizeof(float)));
  values[0] = 1;
  for (int device = 0; device < devices_; ++device) {
    CUDA_OK(cudaSetDevice(device));
    CUDA_OK(cudaMemPrefetchAsync(values, 8, device));
    const cudaLaunchConfig_t config = shape(1, 1);
    CUDA_OK(cudaLaunchKernelEx(&config, store, values + 1, static_cast<float>(device) + 2));
    CUDA_OK(cudaDeviceSynchronize());
    EXPECT_EQ(values[1], static_cast<float>(device) + 2);
  }
  CUDA_OK(cudaMemAdvise(values, 8, cudaMemAdviseSetReadMostly, 0));
  CUDA_OK(cudaMemAdvise(values, 8, cudaMemAdviseSetPreferredLocation, cudaCpuDeviceId));
  CUDA_ERROR(cudaMemPrefetchAsync(values, 9, 0), cudaErrorInvalidValue);
  CUDA_ERROR(cudaMallocManaged(&values, 0), cudaErrorInvalidValue);
  cudaPointerAttributes attributes;
  CUDA_OK(cudaPointerGetAttributes(&attributes, values));
  EXPECT_EQ(attributes.type, cudaMemoryTypeManaged);
  CUDA_OK(cudaFree(values));
}

}  // namespace
