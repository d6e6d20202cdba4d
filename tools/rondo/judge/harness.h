// What calls a solution: compiled with it, in the student's program. It reads the arguments from the standard
// input (CaseFile of trial.cpp), calls the solution, and writes the results to file 3. It knows no expected
// result.
#pragma once

// First, because it renames functions that sources before C++20 may have.
#include <cuda_runtime.h>

#include <cuda_fp16.h>
#include <simt/counted_operations.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace judge {

constexpr int kHarnessFailed = 70;

[[noreturn]] inline void fail(const char* what) {
  std::fprintf(stderr, "judge: %s\n", what);
  std::_Exit(kHarnessFailed);
}

inline void require(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "judge: %s: %s\n", what, cudaGetErrorString(error));
  std::_Exit(kHarnessFailed);
}

inline void read_bytes(void* to, size_t bytes) {
  if (std::fread(to, 1, bytes, stdin) != bytes) fail("the case is not complete");
}

template <class T>
T read_value() {
  T value;
  read_bytes(&value, sizeof(value));
  return value;
}

class Results {
 public:
  template <class T>
  void add(const T& value) {
    add_bytes(&value, sizeof(value));
  }
  void add_bytes(const void* bytes, size_t count) { text_.append(static_cast<const char*>(bytes), count); }
  void add_text(const std::string& text) {
    add(static_cast<uint64_t>(text.size()));
    text_ += text;
  }
  void write() const {
    for (size_t done = 0; done < text_.size();) {
      const ssize_t count = ::write(3, text_.data() + done, text_.size() - done);
      if (count <= 0) fail("the results could not be written");
      done += static_cast<size_t>(count);
    }
  }

 private:
  std::string text_;
};

// Of the file; the order is that of CaseFile.
struct Header {
  uint8_t role, place;  // 0 scalar, 1 input, 2 output, 3 in and out; 0 device, 1 pinned, 2 every device
  uint16_t element_bytes;
  int32_t devices;
  int64_t count;  // elements, on each device
};

class Argument {
 public:
  Argument() : header_(read_value<Header>()) {
    const size_t bytes = static_cast<size_t>(header_.count) * header_.element_bytes;
    if (header_.role == 0) {
      read_bytes(scalar_, bytes);
      return;
    }
    for (int device = 0; device < header_.devices; ++device) {
      std::vector<char>& content = contents_.emplace_back(bytes, char(0xFF));  // as memory that nobody wrote
      if (header_.role != 2) read_bytes(content.data(), bytes);
      require(cudaSetDevice(device), "cudaSetDevice");
      void* array = nullptr;
      require(header_.place == 1 ? cudaMallocHost(&array, bytes) : cudaMalloc(&array, bytes),
              "memory of an argument");
      if (header_.role != 2)
        require(cudaMemcpy(array, content.data(), bytes, cudaMemcpyDefault), "a copy of an argument");
      arrays_.push_back(array);
    }
    require(cudaSetDevice(0), "cudaSetDevice");
  }

  template <class T>
  T as() {
    if constexpr (std::is_pointer_v<T> && std::is_pointer_v<std::remove_cv_t<std::remove_pointer_t<T>>>) {
      return reinterpret_cast<T>(arrays_.data());
    } else if constexpr (std::is_pointer_v<T>) {
      return static_cast<T>(arrays_[0]);
    } else {
      T value;
      __builtin_memcpy(&value, scalar_, sizeof(value));
      return value;
    }
  }

  // The values before the first call.
  void restore() const {
    for (size_t i = 0; i < arrays_.size(); ++i)
      require(cudaMemcpy(arrays_[i], contents_[i].data(), contents_[i].size(), cudaMemcpyDefault),
              "a copy of an argument");
  }

  void add_to(Results& results) const {
    if (header_.role == 0) return;
    std::vector<char> content(static_cast<size_t>(header_.count) * header_.element_bytes);
    for (void* const array : arrays_) {
      require(cudaMemcpy(content.data(), array, content.size(), cudaMemcpyDefault), "a copy of a result");
      results.add_bytes(content.data(), content.size());
    }
  }

 private:
  Header header_;
  char scalar_[8] = {};
  std::vector<void*> arrays_;                // by device
  std::vector<std::vector<char>> contents_;  // before the first call
};

inline void synchronize_all(int devices) {
  for (int device = 0; device < devices; ++device) {
    cudaSetDevice(device);
    cudaDeviceSynchronize();
  }
  cudaSetDevice(0);
}

// The first error that a device reports, after what is still running.
inline cudaError_t error_of_devices(int devices) {
  cudaError_t first = cudaSuccess;
  for (int device = 0; device < devices; ++device) {
    cudaSetDevice(device);
    const cudaError_t error = cudaDeviceSynchronize();
    if (first == cudaSuccess) first = error;
  }
  cudaSetDevice(0);
  return first;
}

template <class... T, size_t... i>
int call(void (*solution)(T...), std::index_sequence<i...>) {
  const auto counts = read_value<int32_t>();
  const auto devices = read_value<int32_t>();
  const auto calls = read_value<int32_t>();
  std::vector<Argument> arguments(sizeof...(T));
  synchronize_all(devices);
  if (counts) require(simt::start_profile(), "the counts");
  cudaGetLastError();
  solution(arguments[i].template as<T>()...);
  for (int more = 1; more < calls && error_of_devices(devices) == cudaSuccess; ++more) {
    for (const Argument& argument : arguments) argument.restore();
    solution(arguments[i].template as<T>()...);
  }
  cudaError_t launch = cudaGetLastError();  // of a call that the solution did not check
  if (launch == cudaErrorNotReady)
    launch = cudaSuccess;  // an answer of cudaStreamQuery() and cudaEventQuery()
  const cudaError_t error = error_of_devices(devices);
  Results results;
  results.add(static_cast<int32_t>(launch));
  results.add_text(
      launch == cudaSuccess ? "" : std::string(cudaGetErrorName(launch)) + ": " + cudaGetErrorString(launch));
  results.add(static_cast<int32_t>(error));
  results.add_text(
      error == cudaSuccess ? "" : std::string(cudaGetErrorName(error)) + ": " + cudaGetErrorString(error));
  results.add_text(counts ? json(simt::stop_program_profile()) : "");
  if (error == cudaSuccess)
    for (const Argument& argument : arguments) argument.add_to(results);
  results.write();
  return 0;
}

template <class... T>
int run(void (*solution)(T...)) {
  return call(solution, std::index_sequence_for<T...>{});
}

}  // namespace judge
