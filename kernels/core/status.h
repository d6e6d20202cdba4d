// Status: what every call of Rondo's kernels and collectives returns.
//
// Four kinds of failure that a caller can tell apart, because he reacts differently to each:
//   bad_argument      nothing happened; the message names the argument, its value and what would be valid.
//   out_of_resources  recoverable: memory or launch resources were short; the CUDA error has been cleared.
//   device_failed     the device's context is dead (a fault inside a kernel); every later call says so too.
//   timed_out         something did not happen in the time that was given to it; it may still happen.
#pragma once

#include <cuda_runtime_api.h>

#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

namespace rondo {

enum class StatusCode { ok, bad_argument, out_of_resources, device_failed, timed_out };

const char* name_of(StatusCode code);

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == StatusCode::ok; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }

 private:
  StatusCode code_ = StatusCode::ok;
  std::string message_;  // empty when ok: the good path never allocates
};

// Joins its arguments into one text: concat("lda is ", 3, ", must be at least ", 4).
template <class... Parts>
std::string concat(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  return text.str();
}

template <class... Parts>
Status bad_argument(const Parts&... parts) {
  return Status(StatusCode::bad_argument, concat(parts...));
}

// The Status of a CUDA call; `what` says what was tried. Clears the error where CUDA lets one go on. Where
// the program has no kernels for the current device's architecture, the message names the device and the
// option that compiles them.
Status from_cuda(cudaError_t error, const std::string& what);

// What nn and the programs throw; carries the Status it was made from.
class Error : public std::runtime_error {
 public:
  explicit Error(Status status) : std::runtime_error(status.message()), status_(std::move(status)) {}
  const Status& status() const { return status_; }

 private:
  Status status_;
};

inline void throw_if_error(Status status) {
  if (!status.ok()) throw Error(std::move(status));
}

#define RONDO_RETURN_IF_ERROR(expression)          \
  do {                                             \
    ::rondo::Status rondo_status_ = (expression);  \
    if (!rondo_status_.ok()) return rondo_status_; \
  } while (false)

// RONDO_CUDA(cudaMalloc(&p, n)): returns a Status out of the enclosing function when the call fails. A call
// that succeeds costs a comparison and no text.
#define RONDO_CUDA(call)                                                             \
  do {                                                                               \
    const cudaError_t rondo_error_ = (call);                                         \
    if (rondo_error_ != cudaSuccess) return ::rondo::from_cuda(rondo_error_, #call); \
  } while (false)

// The same for code that owns memory and throws rondo::Error.
#define RONDO_CUDA_THROW(call)                                                                      \
  do {                                                                                              \
    const cudaError_t rondo_error_ = (call);                                                        \
    if (rondo_error_ != cudaSuccess) throw ::rondo::Error(::rondo::from_cuda(rondo_error_, #call)); \
  } while (false)

}  // namespace rondo
