// Owners of device memory, streams and events, for nn, the tests and the benchmarks. They throw rondo::Error.
// Operations never own resources.
#pragma once

#include <cuda_runtime_api.h>

#include <rondo/kernels/core/size.h>
#include <rondo/kernels/core/status.h>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace rondo {

// Makes `device` current until the end of the scope, and binds this thread to its context, which functions of
// the driver need.
//
// Each of the calls that this takes may return the error of a device that has failed earlier, also of another
// one than `device`. Then the current device stays as it is, as far as CUDA allows.
//
// CUDA creates a context of some hundred megabytes on each device that becomes current. Device 0 is current
// in a thread that has never called cudaSetDevice(). A program that does not use device 0 must therefore make
// one of its own devices current before the first DeviceScope; otherwise the end of that scope creates a
// context on device 0.
class DeviceScope {
 public:
  // Throws rondo::Error.
  explicit DeviceScope(int device) : DeviceScope(device, nullptr) {}
  // The same, but a failure is stored in `status`. It is not changed otherwise.
  DeviceScope(int device, Status& status) : DeviceScope(device, &status) {}
  ~DeviceScope() { restore(); }
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  DeviceScope(int device, Status* status) : device_(device) {
    cudaError_t error = cudaGetDevice(&previous_);
    if (error != cudaSuccess) {
      previous_ = kUnknown;
    } else {
      error = cudaSetDevice(device);
      if (error == cudaSuccess) return;
      int current = kUnknown;
      if (cudaGetDevice(&current) != cudaSuccess || current != previous_) restore();
    }
    Status failure = from_cuda(error, concat("making device ", device, " current"));
    if (!status) throw Error(std::move(failure));
    static_cast<void>(*status = std::move(failure));  // nvcc warns of an assignment whose result is unused
    previous_ = kUnknown;
  }
  void restore() {
    if (previous_ != kUnknown && previous_ != device_) static_cast<void>(cudaSetDevice(previous_));
  }

  static constexpr int kUnknown = -1;
  int device_;
  int previous_ = kUnknown;
};

// Until the end of the scope this thread may query and wait for events while any thread captures a stream.
// Without it such calls would invalidate the capture. Do not use it for calls that are part of a capture.
class RelaxedCaptureScope {
 public:
  // If a device has failed, the mode may stay as it is: the calls in the scope then fail as well.
  RelaxedCaptureScope() : changed_(cudaThreadExchangeStreamCaptureMode(&mode_) == cudaSuccess) {}
  ~RelaxedCaptureScope() {
    if (changed_) static_cast<void>(cudaThreadExchangeStreamCaptureMode(&mode_));
  }
  RelaxedCaptureScope(const RelaxedCaptureScope&) = delete;
  RelaxedCaptureScope& operator=(const RelaxedCaptureScope&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
  const bool changed_;
};

// `size` uninitialised elements on the device that is current at construction. Throws bad_argument for a
// negative size, and out_of_resources if the memory cannot be allocated.
template <class T>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(int64_t size) : size_(size) {
    if (size == 0) return;
    if (size < 0) throw Error(bad_argument("allocating ", size, " elements of device memory"));
    const int64_t bytes = saturating_product({size, sizeof(T)});
    if (bytes > kMaxBytes) {
      const bool saturated = size == INT64_MAX;  // the true size of a product is not known
      throw Error(Status(StatusCode::out_of_resources,
                         concat("allocating ", saturated ? "" : concat(size, " elements of "),
                                "device memory: more than 2^57 bytes")));
    }
    throw_if_error(from_cuda(cudaMalloc(reinterpret_cast<void**>(&data_), static_cast<size_t>(bytes)),
                             concat("allocating ", bytes, " bytes of device memory")));
  }
  explicit Buffer(std::span<const T> host) : Buffer(static_cast<int64_t>(host.size())) { upload(host); }
  explicit Buffer(const std::vector<T>& host) : Buffer(std::span<const T>(host)) {}
  ~Buffer() { static_cast<void>(cudaFree(data_)); }
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  int64_t size() const { return size_; }
  int64_t bytes() const { return size_ * static_cast<int64_t>(sizeof(T)); }

  // upload(), fill_bytes() and download() return when the memory has its new contents. This needs a
  // synchronisation: a copy from pageable memory, and a memset, may return before they have finished on the
  // device, and non-blocking streams do not wait for the default stream.
  void upload(std::span<const T> host) {
    if (static_cast<int64_t>(host.size()) != size_)
      throw Error(bad_argument("upload of ", host.size(), " elements into a buffer of ", size_));
    if (size_ == 0) return;
    RONDO_CUDA_THROW(cudaMemcpy(data_, host.data(), host.size_bytes(), cudaMemcpyHostToDevice));
    RONDO_CUDA_THROW(cudaStreamSynchronize(cudaStreamLegacy));
  }
  void fill_bytes(unsigned char byte) {
    if (size_ == 0) return;
    RONDO_CUDA_THROW(cudaMemset(data_, byte, static_cast<size_t>(bytes())));
    RONDO_CUDA_THROW(cudaStreamSynchronize(cudaStreamLegacy));
  }
  std::vector<T> download() const {
    std::vector<T> host(static_cast<size_t>(size_));
    if (size_ > 0)
      RONDO_CUDA_THROW(cudaMemcpy(host.data(), data_, host.size() * sizeof(T), cudaMemcpyDeviceToHost));
    return host;
  }

 private:
  T* data_ = nullptr;
  int64_t size_ = 0;
};

// A stream on the device that is current at construction. It does not wait for the default stream.
class Stream {
 public:
  Stream() { RONDO_CUDA_THROW(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~Stream() {
    if (stream_) static_cast<void>(cudaStreamDestroy(stream_));
  }
  Stream(Stream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  Stream& operator=(Stream&& other) noexcept {
    std::swap(stream_, other.stream_);
    return *this;
  }
  operator cudaStream_t() const { return stream_; }
  void synchronize() const { RONDO_CUDA_THROW(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
};

// An event on the device that is current at construction. An ordering event has no time stamp; a timing event
// costs slightly more. A host that waits for an event may keep a core busy, except with a blocking one, which
// is for ordering, too.
class Event {
 public:
  enum class Kind { ordering, timing, blocking };
  explicit Event(Kind kind = Kind::ordering) {
    const unsigned flags = kind == Kind::timing     ? cudaEventDefault
                           : kind == Kind::ordering ? cudaEventDisableTiming
                                                    : cudaEventDisableTiming | cudaEventBlockingSync;
    RONDO_CUDA_THROW(cudaEventCreateWithFlags(&event_, flags));
  }
  ~Event() {
    if (event_) static_cast<void>(cudaEventDestroy(event_));
  }
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }
  operator cudaEvent_t() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace rondo
