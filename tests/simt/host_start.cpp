// The start of the executor: values of environment variables that it refuses, and a lack of threads or
// memory. Each case is a process of its own, because a process starts the executor once.
// Above 400 lines because every variable and its values are listed.
#include "host_support.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED  // these sanitizers track mappings, so mmap() must not be replaced
#endif

namespace {

// How many more threads pthread_create() may start. The default keeps the executor from exhausting the
// machine.
std::atomic<int> threads_left{1500};
std::atomic<bool> mappings_fail{false};  // calls from this program only, not from within the C library

// Frees memory at exit, like a Buffer in static storage. This must not hang after refused settings.
struct AtExit {
  ~AtExit() { cudaFree(nullptr); }
} at_exit;

}  // namespace

// These two replace the C library's functions in the whole program.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                              void* argument) noexcept {
  static const auto real = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  return threads_left-- > 0 ? real(thread, attributes, body, argument) : EAGAIN;
}
#ifndef SANITIZED
extern "C" void* mmap(void* address, size_t bytes, int protection, int flags, int file,
                      off_t offset) noexcept {
  if (mappings_fail) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return reinterpret_cast<void*>(syscall(SYS_mmap, address, bytes, protection, flags, file, offset));
}
#endif

namespace simt_test {
namespace {

struct Start : testing::Test {
  Start() {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    unsetenv("SIMT_DEVICES");  // the default is tested
  }
};
using StartDeathTest = Start;

constexpr int kPassed = 7;  // the exit code of a process in which all checks passed

void end_with(bool right) { std::exit(right ? kPassed : 1); }

// Sets a variable, and a time limit of 60 s so that a process that hangs fails.
void set(const char* variable, const std::string& value) {
  alarm(60);
  setenv(variable, value.c_str(), 1);
}

long threads_of_process() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

// A regular expression that matches only `text`.
std::string literally(const std::string& text) {
  std::string expression;
  for (const char c : text) expression.append("[").append(1, c).append("]");
  return expression;
}

__global__ void nothing() {}

void first_call(const char* variable, const std::string& value) {
  set(variable, value);
  int count = 0;
  cudaGetDeviceCount(&count);
  std::exit(0);
}

void expect_refused(const char* variable, const std::string& range, const std::vector<std::string>& values) {
  for (const std::string& value : values)
    EXPECT_EXIT(first_call(variable, value), testing::ExitedWithCode(2),
                "^simt: " + std::string(variable) + "=" + literally(value) + " is not a whole number from " +
                    range + "\n$");
}

const std::vector<std::string> kNoNumbers = {"-1",
                                             "+1",
                                             " 4",
                                             "4 ",
                                             "4x",
                                             "0x4",
                                             "4.0",
                                             "1e2",
                                             "many",
                                             " ",
                                             "18446744073709551616",
                                             "99999999999999999999999999"};

std::vector<std::string> and_no_numbers(std::vector<std::string> values) {
  values.insert(values.end(), kNoNumbers.begin(), kNoNumbers.end());
  return values;
}

TEST_F(StartDeathTest, RefusesWorkers) {
  expect_refused("SIMT_WORKERS", "1 to 1024",
                 and_no_numbers({"0", "1025", "100000000", "2147483647", "2147483648", "4294967295",
                                 "4294967296", "4294967297", "18446744073709551615"}));
}

TEST_F(StartDeathTest, RefusesDevices) {
  expect_refused("SIMT_DEVICES", "1 to 1024",
                 and_no_numbers({"0", "1025", "2147483648", "4294967296", "4294967297"}));
}

TEST_F(StartDeathTest, RefusesMemory) {
  expect_refused("SIMT_MEMORY", "1 to 18446744073709551615", and_no_numbers({"0", "8G"}));
}

TEST_F(StartDeathTest, RefusesASeed) { expect_refused("SIMT_SEED", "0 to 18446744073709551615", kNoNumbers); }

TEST_F(StartDeathTest, RefusesLateCopies) {
  expect_refused("SIMT_LATE_COPIES", "0 to 1", and_no_numbers({"2", "256", "4294967296", "yes"}));
}

TEST_F(StartDeathTest, RefusesZeroedMemory) {
  expect_refused("SIMT_ZEROED_MEMORY", "0 to 1", and_no_numbers({"2", "yes"}));
}

// New memory has the bytes 0xFF, or 0.
TEST_F(StartDeathTest, ReadsWhetherMemoryIsZeroed) {
  const auto first_byte = [](const char* zeroed) {
    set("SIMT_ZEROED_MEMORY", zeroed);
    unsigned char* memory = nullptr;
    unsigned char byte = 1;
    const bool right = cudaMalloc(reinterpret_cast<void**>(&memory), 64) == cudaSuccess &&
                       cudaMemcpy(&byte, memory + 63, 1, cudaMemcpyDeviceToHost) == cudaSuccess;
    end_with(right && byte == (std::string(zeroed) == "1" ? 0 : 0xFF));
  };
  for (const char* const zeroed : {"", "0", "1"})
    EXPECT_EXIT(first_byte(zeroed), testing::ExitedWithCode(kPassed), "^$") << zeroed;
}

TEST_F(StartDeathTest, RefusesTheLengthOfAQueue) {
  expect_refused("SIMT_QUEUE_LENGTH", "1 to 1048576", and_no_numbers({"0", "1048577"}));
}

TEST_F(StartDeathTest, RefusesConnections) {
  expect_refused("CUDA_DEVICE_MAX_CONNECTIONS", "1 to 32", and_no_numbers({"0", "33"}));
}

TEST_F(StartDeathTest, RefusesWaitsAndReports) {
  expect_refused("SIMT_ALLOCATION_WAITS", "0 to 1", and_no_numbers({"2"}));
  expect_refused("SIMT_REPORT_CONTEXTS", "0 to 1", and_no_numbers({"2"}));
  expect_refused("SIMT_CAPTURE_LOADS", "0 to 1", and_no_numbers({"2"}));
}

TEST_F(StartDeathTest, RefusesAnUnknownModuleLoading) {
  for (const std::string value : {"eager", "EAGER ", "1", "EAGERLY", " "})
    EXPECT_EXIT(first_call("CUDA_MODULE_LOADING", value), testing::ExitedWithCode(2),
                "^simt: CUDA_MODULE_LOADING=" + literally(value) + " is not LAZY, DEFAULT or EAGER\n$");
}

TEST_F(StartDeathTest, ReadsTheVariablesOfWaits) {
  const auto all = [](const char* length, const char* connections, const char* waits, const char* loading) {
    set("SIMT_QUEUE_LENGTH", length);
    set("CUDA_DEVICE_MAX_CONNECTIONS", connections);
    set("SIMT_ALLOCATION_WAITS", waits);
    set("CUDA_MODULE_LOADING", loading);
    set("SIMT_CAPTURE_LOADS", waits);
    const simt::Settings& found = simt::settings();
    bool right = std::to_string(found.queue_length) == length;
    right = right && std::to_string(found.connections) == connections;
    right = right && std::to_string(found.allocation_waits) == waits;
    right = right && std::to_string(found.capture_loads) == waits;
    end_with(right && found.lazy_loading == (std::string(loading) != "EAGER"));
  };
  EXPECT_EXIT(all("1", "1", "0", "EAGER"), testing::ExitedWithCode(kPassed), "^$");
  EXPECT_EXIT(all("1048576", "32", "1", "LAZY"), testing::ExitedWithCode(kPassed), "^$");
  EXPECT_EXIT(all("5", "7", "1", "DEFAULT"), testing::ExitedWithCode(kPassed), "^$");
}

TEST_F(StartDeathTest, ReportsContexts) {
  const auto touch = [](bool asked, std::vector<int> devices) {
    set("SIMT_REPORT_CONTEXTS", asked ? "1" : "0");
    int count = 0;
    cudaGetDeviceCount(&count);
    for (const int device : devices) cudaSetDevice(device);
    if (devices.size() == 3) cudaDeviceReset();  // must not change the report
    end_with(true);
  };
  EXPECT_EXIT(touch(false, {1, 2}), testing::ExitedWithCode(kPassed), "^$");
  EXPECT_EXIT(touch(true, {}), testing::ExitedWithCode(kPassed), "^simt: contexts on devices none\n$");
  EXPECT_EXIT(touch(true, {2, 1}), testing::ExitedWithCode(kPassed), "^simt: contexts on devices 1, 2\n$");
  EXPECT_EXIT(touch(true, {0, 1, 7}), testing::ExitedWithCode(kPassed),
              "^simt: contexts on devices 0, 1, 7\n$");
}

// A blocked host function runs on its own thread, so the only worker stays free.
TEST_F(StartDeathTest, ABlockedHostFunctionTakesNoWorker) {
  const auto run = [] {
    set("SIMT_WORKERS", "1");
    const cudaStream_t held = make_stream(), other = make_stream();
    const auto config = shape(1, 1, other);
    cudaFuncAttributes attributes;
    Gate gate;
    bool right = cudaFuncGetAttributes(&attributes, nothing) == cudaSuccess;
    gate.hold(held);
    usleep(50'000);  // by now the function runs
    right = right && cudaLaunchKernelEx(&config, nothing) == cudaSuccess;
    for (int i = 0; i < 5000 && cudaStreamQuery(other) == cudaErrorNotReady; ++i) usleep(1000);
    right = right && cudaStreamQuery(other) == cudaSuccess && cudaStreamQuery(held) == cudaErrorNotReady;
    gate.open();
    end_with(right && cudaDeviceSynchronize() == cudaSuccess);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(kPassed), "^$");
}

TEST_F(StartDeathTest, RefusesAGpu) {
  for (const std::string name : {"v100", "T4", "t4 ", " ", "7.5", "75", "t4,", ",t4", "t4,,h100", "t4, h100"})
    EXPECT_EXIT(
        first_call("SIMT_GPU", name), testing::ExitedWithCode(2),
        "^simt: SIMT_GPU=" + literally(name) +
            " is no GPU whose limits are known; there are t4, a100, rtx4090, h100, h200, b200, rtx5090\n$");
}

// Checks the properties of device `device` + 2, the equivalent attributes of `device`, and the limits above
// which launches on it are refused.
bool device_has_limits(int device, const std::string& title, int major, int minor, int multiprocessors,
                       int shared_opt_in_kb, int threads, int blocks) {
  cudaDeviceProp p;
  if (cudaSetDevice(device) != cudaSuccess) return false;
  if (cudaGetDeviceProperties(&p, device + 2) != cudaSuccess) return false;
  bool right = p.name == "CPU executor" + title && p.major == major && p.minor == minor;
  right = right && p.multiProcessorCount == multiprocessors && p.maxThreadsPerBlock == 1024;
  right = right && p.maxThreadsPerMultiProcessor == threads && p.maxBlocksPerMultiProcessor == blocks;
  const int most = shared_opt_in_kb << 10;
  int attribute = 0;
  right = right && p.sharedMemPerBlock == 48 << 10 && p.sharedMemPerBlockOptin == static_cast<size_t>(most);
  right =
      right &&
      cudaDeviceGetAttribute(&attribute, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) == cudaSuccess &&
      attribute == most;
  right = right && p.sharedMemPerMultiprocessor == p.sharedMemPerBlockOptin + p.reservedSharedMemPerBlock;
  const auto kernel = reinterpret_cast<const void*>(nothing);
  constexpr cudaFuncAttribute kShared = cudaFuncAttributeMaxDynamicSharedMemorySize;
  right = right && cudaFuncSetAttribute(kernel, kShared, most + 1) == cudaErrorInvalidValue;
  right = right && cudaFuncSetAttribute(kernel, kShared, most) == cudaSuccess;
  const auto fits = shape(1, 1024, nullptr, static_cast<size_t>(most)),
             shared = shape(1, 32, nullptr, static_cast<size_t>(most) + 1), wide = shape(1, 1025);
  right = right && cudaLaunchKernelEx(&fits, nothing) == cudaSuccess;
  right = right && cudaLaunchKernelEx(&shared, nothing) == cudaErrorInvalidValue;
  right = right && cudaLaunchKernelEx(&wide, nothing) == cudaErrorInvalidConfiguration;
  // Clusters, from 9.0 on.
  cudaLaunchAttribute pairs = {};
  pairs.id = cudaLaunchAttributeClusterDimension;
  pairs.val.clusterDim = {2, 1, 1};
  auto clusters = shape(2, 32);
  clusters.attrs = &pairs;
  clusters.numAttrs = 1;
  right = right && p.clusterLaunch == (p.major >= 9);
  right =
      right && cudaLaunchKernelEx(&clusters, nothing) == (p.major >= 9 ? cudaSuccess : cudaErrorNotSupported);
  // By shared memory, by threads, by blocks.
  int resident = 0;
  const auto resident_are = [&](int block, size_t bytes, int expected) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, block, bytes) == cudaSuccess &&
           resident == expected;
  };
  right = right && resident_are(32, static_cast<size_t>(most), 1);
  right = right && resident_are(512, 0, threads / 512) && resident_are(32, 0, std::min(blocks, threads / 32));
  return right && cudaDeviceSynchronize() == cudaSuccess;
}

bool has_limits(const auto&... limits) { return device_has_limits(0, limits...); }

// The expected numbers come from the tables of compute capabilities 7.5, 8.0, 8.9, 9.0 and 10.0.
TEST_F(StartDeathTest, HasTheLimitsOfANamedGpu) {
  const auto named = [](bool by_call, const char* name, auto... limits) {
    if (by_call)
      end_with(simt::set_gpu(name) == cudaSuccess && has_limits(limits...) &&
               simt::set_gpu(name) == cudaErrorSetOnActiveProcess);
    set("SIMT_GPU", name);
    end_with(has_limits(limits...) && simt::settings().gpu == name);
  };
  for (const bool by_call : {false, true}) {
    const auto right = testing::ExitedWithCode(kPassed);
    EXPECT_EXIT(named(by_call, "t4", " (limits of a T4)", 7, 5, 40, 64, 1024, 16), right, "^$");
    EXPECT_EXIT(named(by_call, "a100", " (limits of an A100)", 8, 0, 108, 163, 2048, 32), right, "^$");
    EXPECT_EXIT(named(by_call, "rtx4090", " (limits of an RTX 4090)", 8, 9, 128, 99, 1536, 24), right, "^$");
    EXPECT_EXIT(named(by_call, "h100", " (limits of an H100)", 9, 0, 132, 227, 2048, 32), right, "^$");
    EXPECT_EXIT(named(by_call, "h200", " (limits of an H200)", 9, 0, 132, 227, 2048, 32), right, "^$");
    EXPECT_EXIT(named(by_call, "b200", " (limits of a B200)", 10, 0, 148, 227, 2048, 32), right, "^$");
    EXPECT_EXIT(named(by_call, "rtx5090", " (limits of an RTX 5090)", 12, 0, 170, 99, 1536, 24), right, "^$");
    EXPECT_EXIT(named(by_call, "", "", 9, 0, simt::settings().workers, 227, 2048, 32), right, "^$");
  }
  EXPECT_EXIT(end_with(simt::set_gpu("v100") == cudaErrorInvalidValue && simt::settings().gpu.empty()),
              testing::ExitedWithCode(kPassed), "^$");
}

// The list repeats: devices 0, 2, ... are the first GPU and devices 1, 3, ... the second.
TEST_F(StartDeathTest, HasTheLimitsOfSeveralGpus) {
  const auto listed = [](bool by_call) {
    if (by_call)
      static_cast<void>(simt::set_gpu("h100,t4"));
    else
      set("SIMT_GPU", "h100,t4");
    end_with(device_has_limits(0, " (limits of an H100)", 9, 0, 132, 227, 2048, 32) &&
             device_has_limits(1, " (limits of a T4)", 7, 5, 40, 64, 1024, 16));
  };
  for (const bool by_call : {false, true})
    EXPECT_EXIT(listed(by_call), testing::ExitedWithCode(kPassed), "^$");
}

TEST_F(StartDeathTest, EscapesControlCharacters) {
  EXPECT_EXIT(first_call("SIMT_WORKERS", "\x1b[31m2\n"), testing::ExitedWithCode(2),
              "^simt: SIMT_WORKERS=.x1b.31m2.x0a is not a whole number");
}

// A variable does not affect the next one, and the ends of a range are accepted.
TEST_F(StartDeathTest, AcceptsTheEndsOfEachRange) {
  const auto all = [](const char* devices, const char* memory, const char* seed, const char* late) {
    set("SIMT_DEVICES", devices);
    set("SIMT_MEMORY", memory);
    set("SIMT_SEED", seed);
    set("SIMT_LATE_COPIES", late);
    int count = 0;
    size_t free = 0, total = 0;
    bool right = cudaGetDeviceCount(&count) == cudaSuccess && std::to_string(count) == devices;
    right = right && cudaSetDevice(count - 1) == cudaSuccess;
    right = right && cudaMemGetInfo(&free, &total) == cudaSuccess && std::to_string(total) == memory;
    right = right && simt::settings().seed && std::to_string(*simt::settings().seed) == seed;
    end_with(right && std::to_string(simt::settings().late_copies) == late);
  };
  EXPECT_EXIT(all("1", "1", "0", "0"), testing::ExitedWithCode(kPassed), "^$");
  EXPECT_EXIT(all("1024", "18446744073709551615", "18446744073709551615", "1"),
              testing::ExitedWithCode(kPassed), "^$");
}

TEST_F(StartDeathTest, AnEmptyVariableIsNotSet) {
  const auto all = [] {
    for (const char* name :
         {"SIMT_DEVICES", "SIMT_WORKERS", "SIMT_MEMORY", "SIMT_SEED", "SIMT_LATE_COPIES", "SIMT_GPU",
          "SIMT_FREE_WAITS", "SIMT_GRAPH_NODE_BYTES", "SIMT_QUEUE_LENGTH", "CUDA_DEVICE_MAX_CONNECTIONS",
          "CUDA_MODULE_LOADING", "SIMT_ALLOCATION_WAITS", "SIMT_REPORT_CONTEXTS", "SIMT_CAPTURE_LOADS"})
      set(name, "");
    int count = 0;
    const simt::Settings& found = simt::settings();
    end_with(cudaGetDeviceCount(&count) == cudaSuccess && count == 8 && found.workers >= 1 && !found.seed &&
             !found.late_copies && found.gpu.empty() && found.memory_bytes == size_t{8} << 30 &&
             found.queue_length == 1024 && found.connections == 8 && found.lazy_loading &&
             found.capture_loads && !found.allocation_waits && found.free_waits && !found.report_contexts);
  };
  EXPECT_EXIT(all(), testing::ExitedWithCode(kPassed), "^$");
}

TEST_F(StartDeathTest, ProgramsHaveTheSameLimits) {
  const auto ask = [] {
    bool right = true;
    for (const int bad : {INT_MIN, -1, 0, 1025, INT_MAX})
      right = right && simt::set_device_count(bad) == cudaErrorInvalidValue &&
              simt::set_worker_count(bad) == cudaErrorInvalidValue;
    right = right && simt::set_worker_count(1024) == cudaSuccess && simt::settings().workers == 1024;
    right = right && simt::set_worker_count(1) == cudaSuccess;
    int count = 0;
    right = right && simt::set_device_count(1024) == cudaSuccess;
    end_with(right && cudaGetDeviceCount(&count) == cudaSuccess && count == 1024);
  };
  EXPECT_EXIT(ask(), testing::ExitedWithCode(kPassed), "^$");
}

// All calls return the same error, the message is printed once, and no thread is left.
void start_with(int threads, int wanted) {
  set("SIMT_WORKERS", std::to_string(wanted));
  std::thread([] {}).join();  // with the first thread, the thread sanitizer starts one of its own
  const long before = threads_of_process();
  threads_left = threads;
  int count = 0;
  void* memory = nullptr;
  bool right = cudaGetDeviceCount(&count) == cudaErrorInitializationError;
  right = right && cudaGetLastError() == cudaErrorInitializationError && cudaGetLastError() == cudaSuccess;
  threads_left = 8;
  right = right && cudaMalloc(&memory, 4) == cudaErrorInitializationError;
  right = right && cudaDeviceSynchronize() == cudaErrorInitializationError;
  right = right && simt::set_memory_limit(0, 4) == cudaErrorInitializationError;
  // A joined thread may still be listed for a moment.
  for (int i = 0; i < 1000 && threads_of_process() > before; ++i) usleep(1000);
  end_with(right && threads_of_process() == before);
}

TEST_F(StartDeathTest, ReportsHowManyThreadsStarted) {
  for (int started = 0; started < 8; ++started)
    EXPECT_EXIT(start_with(started, 8), testing::ExitedWithCode(kPassed),
                "^simt: the executor could not start: only " + std::to_string(started) +
                    " of 8 worker threads could be started: [^\n]*; SIMT_WORKERS asks for fewer\n$");
  EXPECT_EXIT(start_with(8, 8), testing::ExitedWithCode(kPassed),
              "only the 8 worker threads, not that for host functions, could be started: ");
  EXPECT_EXIT(start_with(0, 1024), testing::ExitedWithCode(kPassed), "only 0 of 1024 worker threads");
}

#ifndef SANITIZED

__global__ void barrier_kernel() { __syncthreads(); }

// A kernel's threads get no stacks: either the first stack of a worker or of the host thread that helps, or
// the stacks of a block's other threads, at its first barrier.
void launch_without_stacks(bool seeded, bool first_stack) {
  set("SIMT_WORKERS", "2");
  if (seeded) set("SIMT_SEED", "1");
  const auto one = shape(1, 1), many = shape(20, 64);
  bool right = true;
  if (first_stack) {
    for (int i = 0; i < 100; ++i) right = right && cudaLaunchKernelEx(&one, barrier_kernel) == cudaSuccess;
    right = right && cudaDeviceSynchronize() == cudaSuccess;
  }
  mappings_fail = true;
  right = right && cudaLaunchKernelEx(&many, barrier_kernel) == cudaSuccess;
  right = right && cudaDeviceSynchronize() == cudaErrorLaunchFailure;
  mappings_fail = false;
  right =
      right && cudaDeviceReset() == cudaSuccess && cudaLaunchKernelEx(&many, barrier_kernel) == cudaSuccess;
  end_with(right && cudaDeviceSynchronize() == cudaSuccess);
}

TEST_F(StartDeathTest, AKernelWithoutStacksIsALaunchFailure) {
  for (const bool seeded : {false, true}) {
    EXPECT_EXIT(launch_without_stacks(seeded, false), testing::ExitedWithCode(kPassed),
                "cudaErrorLaunchFailure: no host memory");
    EXPECT_EXIT(launch_without_stacks(seeded, true), testing::ExitedWithCode(kPassed),
                "cudaErrorLaunchFailure: ");
  }
}

#endif

}  // namespace
}  // namespace simt_test
